"""The embedded engine: the same kernels in process, columnar, out of order, without a JVM."""

from panewise.engines.embedded.events import WindowEvent
from panewise.engines.embedded.query import EmbeddedQuery
from panewise.engines.embedded.run import run_embedded

__all__ = ["EmbeddedQuery", "WindowEvent", "run_embedded"]
