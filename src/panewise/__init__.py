"""Window queries over data streams: every window kind, any disorder, one answer, on Spark."""

from typing import TYPE_CHECKING, Any

from panewise.aggregates import Aggregate, register
from panewise.api import Results, explain, open_query, sql, stream
from panewise.core.errors import PanewiseError
from panewise.progress.punctuation import END, Punctuation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "END",
    "Aggregate",
    "PanewiseError",
    "Punctuation",
    "Results",
    "explain",
    "open_query",
    "register",
    "spark_session",
    "sql",
    "stream",
]


def spark_session(master: str = "local[*]", **conf: Any) -> "SparkSession":
    """The running Spark session, or a new one with settings that fit window queries."""
    from panewise.engines.spark.session import session

    return session(master, **conf)
