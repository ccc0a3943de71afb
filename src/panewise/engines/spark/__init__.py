"""The Spark engine: plans over DataFrames, in batch and in Structured Streaming, on a laptop or a cluster.

Names are found when they are first used: Spark starts small processes that import one module of this package, and
should not wait for the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from panewise.engines.spark.engine import explain_strategy, run, run_batch, run_streaming, source_schema
    from panewise.engines.spark.failures import plain_errors, translate
    from panewise.engines.spark.progress import punctuated, split_late
    from panewise.engines.spark.sources import read_batch, read_stream

__all__ = [
    "explain_strategy",
    "plain_errors",
    "punctuated",
    "read_batch",
    "read_stream",
    "run",
    "run_batch",
    "run_streaming",
    "source_schema",
    "split_late",
    "translate",
]

_HOMES = {
    **dict.fromkeys(("explain_strategy", "run", "run_batch", "run_streaming", "source_schema"), "engine"),
    **dict.fromkeys(("plain_errors", "translate"), "failures"),
    **dict.fromkeys(("punctuated", "split_late"), "progress"),
    **dict.fromkeys(("read_batch", "read_stream"), "sources"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
