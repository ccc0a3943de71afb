"""Where the ``panewise`` command begins: nothing is imported yet, so that an interrupt at start-up ends it quietly."""

from __future__ import annotations

import sys

INTERRUPTED = 130


def main() -> int:
    """Load the command line and run it."""
    try:
        from panewise.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
