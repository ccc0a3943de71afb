"""The embedded engine: queries in process, columnar, out of order, without a JVM; sources, sinks, checkpoints."""

from panewise.engines.embedded.run import EmbeddedRun, run_embedded
from panewise.queries import QueryStatus, RelationQuery, RunningQuery, WindowEvent, WindowQuery, open_plan

__all__ = ["EmbeddedRun", "QueryStatus", "RelationQuery", "RunningQuery", "WindowEvent", "WindowQuery", "open_plan",
           "run_embedded"]
