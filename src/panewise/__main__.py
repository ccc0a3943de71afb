"""``python -m panewise``: the command line."""

import sys

from panewise.cli.entry import main

sys.exit(main())
