"""The Spark engine: plans over DataFrames, in batch and in Structured Streaming, on a laptop or a cluster.

Names are found when they are first used: Spark starts small processes that import one module of this package, and
should not wait for the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from panewise.engines.spark.engine import run, run_batch, run_streaming
    from panewise.engines.spark.io.current import current_state, read_current
    from panewise.engines.spark.io.generated import read_auction
    from panewise.engines.spark.io.sinks import committed_parts, read_parts, register_parts
    from panewise.engines.spark.io.sockets import SocketSpool, read_socket
    from panewise.engines.spark.io.sources import read_batch, read_spool, read_stream
    from panewise.engines.spark.lower.admitting import split_bad
    from panewise.engines.spark.lower.progress import arrival, punctuated, split_late
    from panewise.engines.spark.lower.stateless_steps import source_schema
    from panewise.engines.spark.observe.describe import explain_frames
    from panewise.engines.spark.observe.status import QueryStatus, StatusListener, query_status
    from panewise.engines.spark.session.failures import plain_errors, translate
    from panewise.engines.spark.session.shipping import package_zip, ship

_NAMES = {
    "lower.admitting": ("split_bad",),
    "io.current": ("current_state", "read_current"),
    "observe.describe": ("explain_frames",),
    "engine": ("run", "run_batch", "run_streaming"),
    "session.failures": ("plain_errors", "translate"),
    "io.generated": ("read_auction",),
    "lower.progress": ("arrival", "punctuated", "split_late"),
    "lower.stateless_steps": ("source_schema",),
    "session.shipping": ("package_zip", "ship"),
    "io.sinks": ("committed_parts", "read_parts", "register_parts"),
    "io.sockets": ("SocketSpool", "read_socket"),
    "io.sources": ("read_batch", "read_spool", "read_stream"),
    "observe.status": ("QueryStatus", "StatusListener", "query_status"),
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
