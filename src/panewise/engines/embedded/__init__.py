"""The embedded engine: the same kernels in process, columnar, out of order, without a JVM."""

from panewise.engines.embedded.events import WindowEvent
from panewise.engines.embedded.opening import RunningQuery, open_plan
from panewise.engines.embedded.query import EmbeddedQuery
from panewise.engines.embedded.relations import RelationQuery
from panewise.engines.embedded.run import EmbeddedRun, run_embedded
from panewise.engines.embedded.status import QueryStatus

__all__ = ["EmbeddedQuery", "EmbeddedRun", "QueryStatus", "RelationQuery", "RunningQuery", "WindowEvent", "open_plan",
           "run_embedded"]
