"""The Spark engine: plans over DataFrames, in batch and in Structured Streaming, on a laptop or a cluster.

Names are found when they are first used: Spark starts small processes that import one module of this package, and
should not wait for the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from panewise.engines.spark.admitting import split_bad
    from panewise.engines.spark.current import current_state, read_current
    from panewise.engines.spark.describe import explain_frames
    from panewise.engines.spark.engine import explain_strategy, run, run_batch, run_streaming
    from panewise.engines.spark.failures import plain_errors, translate
    from panewise.engines.spark.generated import read_auction
    from panewise.engines.spark.progress import arrival, punctuated, split_late
    from panewise.engines.spark.relation import source_schema
    from panewise.engines.spark.shipping import package_zip, ship
    from panewise.engines.spark.sinks import committed_parts, read_parts, register_parts
    from panewise.engines.spark.sockets import SocketSpool, read_socket
    from panewise.engines.spark.sources import read_batch, read_spool, read_stream
    from panewise.engines.spark.status import QueryStatus, StatusListener, query_status

_NAMES = {
    "admitting": ("split_bad",),
    "current": ("current_state", "read_current"),
    "describe": ("explain_frames",),
    "engine": ("explain_strategy", "run", "run_batch", "run_streaming"),
    "failures": ("plain_errors", "translate"),
    "generated": ("read_auction",),
    "progress": ("arrival", "punctuated", "split_late"),
    "relation": ("source_schema",),
    "shipping": ("package_zip", "ship"),
    "sinks": ("committed_parts", "read_parts", "register_parts"),
    "sockets": ("SocketSpool", "read_socket"),
    "sources": ("read_batch", "read_spool", "read_stream"),
    "status": ("QueryStatus", "StatusListener", "query_status"),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}

__all__ = [
    "QueryStatus",
    "SocketSpool",
    "StatusListener",
    "arrival",
    "committed_parts",
    "current_state",
    "explain_frames",
    "explain_strategy",
    "package_zip",
    "plain_errors",
    "punctuated",
    "query_status",
    "read_auction",
    "read_batch",
    "read_current",
    "read_parts",
    "read_socket",
    "read_spool",
    "read_stream",
    "register_parts",
    "run",
    "run_batch",
    "run_streaming",
    "ship",
    "source_schema",
    "split_bad",
    "split_late",
    "translate",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
