"""The embedded engine: queries in process, columnar, out of order, without a JVM; sources, sinks, checkpoints."""

from panewise.engines.embedded.run import EmbeddedRun, run_embedded

__all__ = ["EmbeddedRun", "run_embedded"]
