"""What a program imports: ``sql``, ``run``, ``stream``, ``open_query``, ``explain`` and the results they give."""

from panewise.api.functions import function
from panewise.api.instants import kept_instant
from panewise.api.live import Run, follow, run
from panewise.api.query import explain, open_query, spark_session, sql
from panewise.api.results import Results
from panewise.api.stream import Stream, stream
from panewise.api.tables import table

__all__ = ["Results", "Run", "Stream", "explain", "follow", "function", "kept_instant", "open_query", "run",
           "spark_session", "sql", "stream", "table"]
