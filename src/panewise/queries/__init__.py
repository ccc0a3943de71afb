"""Running queries: rows and punctuation in, results out, state saved and restored. Engines host them.

The embedded engine runs one in its own process; Spark runs one per shard.
"""

from panewise.queries.events import WindowEvent
from panewise.queries.opening import RunningQuery, open_plan
from panewise.queries.query import WindowQuery
from panewise.queries.relations import RelationQuery
from panewise.queries.status import QueryStatus

__all__ = ["QueryStatus", "RelationQuery", "RunningQuery", "WindowEvent", "WindowQuery", "open_plan"]
