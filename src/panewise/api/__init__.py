"""What a program imports: ``sql``, ``stream``, ``open_query``, ``explain`` and the results they give."""

from panewise.api.query import explain, open_query, spark_session, sql
from panewise.api.results import Results
from panewise.api.stream import Stream, stream

__all__ = ["Results", "Stream", "explain", "open_query", "spark_session", "sql", "stream"]
