"""Window queries over data streams: every window kind, any disorder, one answer, on Spark.

The public names are found when they are first used: Spark's workers import parts of this package many times, and must
not pay for a parser they never call.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from panewise.aggregates import Aggregate, register
    from panewise.api import (
        Results,
        Run,
        explain,
        follow,
        function,
        kept_instant,
        open_query,
        run,
        spark_session,
        sql,
        stream,
        table,
    )
    from panewise.core.errors import PanewiseError
    from panewise.engines.spark import (
        StatusListener,
        arrival,
        current_state,
        plain_errors,
        punctuated,
        query_status,
        read_auction,
        read_batch,
        read_current,
        read_parts,
        read_stream,
        register_parts,
        split_bad,
        split_late,
    )
    from panewise.progress.punctuation import END, Punctuation

__all__ = [
    "END",
    "Aggregate",
    "PanewiseError",
    "Punctuation",
    "Results",
    "Run",
    "StatusListener",
    "arrival",
    "current_state",
    "explain",
    "follow",
    "function",
    "kept_instant",
    "open_query",
    "plain_errors",
    "punctuated",
    "query_status",
    "read_auction",
    "read_batch",
    "read_current",
    "read_parts",
    "read_stream",
    "register",
    "register_parts",
    "run",
    "spark_session",
    "split_bad",
    "split_late",
    "sql",
    "stream",
    "table",
]

_HOMES = {
    **dict.fromkeys(("Aggregate", "register"), "panewise.aggregates"),
    **dict.fromkeys(("Results", "Run", "explain", "follow", "function", "kept_instant", "open_query", "run",
                     "spark_session", "sql", "stream", "table"), "panewise.api"),
    "PanewiseError": "panewise.core.errors",
    **dict.fromkeys(("StatusListener", "arrival", "current_state", "plain_errors", "punctuated", "query_status",
                     "read_auction", "read_batch", "read_current", "read_parts", "read_stream", "register_parts",
                     "split_bad", "split_late"),
                    "panewise.engines.spark"),
    **dict.fromkeys(("END", "Punctuation"), "panewise.progress.punctuation"),
}


class _Package(ModuleType):
    """Keeps ``panewise.sql`` the function: importing the sub-package of the same name would put itself there."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name == "sql" and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
