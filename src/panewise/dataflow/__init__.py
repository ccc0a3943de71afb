"""Running queries: a plan becomes a graph of operators, which engines host.

The embedded engine runs one in its own process; Spark runs one per shard.
"""

from panewise.dataflow.events import WindowEvent
from panewise.dataflow.opening import open_plan
from panewise.dataflow.query import Query
from panewise.dataflow.status import QueryStatus

__all__ = ["Query", "QueryStatus", "WindowEvent", "open_plan"]
