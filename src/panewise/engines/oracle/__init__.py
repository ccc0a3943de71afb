"""Brute force from the definitions: slow, and obviously right."""

from panewise.engines.oracle.changes import Change
from panewise.engines.oracle.engine import Oracle, run_oracle
from panewise.engines.oracle.tables import TableChange
from panewise.engines.oracle.windows import Closing

__all__ = ["Change", "Closing", "Oracle", "TableChange", "run_oracle"]
