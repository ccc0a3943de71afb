"""The embedded engine: the same kernels in process, columnar, out of order, without a JVM."""

from panewise.engines.embedded.events import WindowEvent
from panewise.engines.embedded.query import EmbeddedQuery
from panewise.engines.embedded.run import EmbeddedRun, run_embedded
from panewise.engines.embedded.status import QueryStatus

__all__ = ["EmbeddedQuery", "EmbeddedRun", "QueryStatus", "WindowEvent", "run_embedded"]
