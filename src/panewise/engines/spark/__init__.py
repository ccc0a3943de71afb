"""The Spark engine: plans over DataFrames, in batch and in Structured Streaming, on a laptop or a cluster."""

from panewise.engines.spark.engine import explain_strategy, run, run_batch, run_streaming, source_schema
from panewise.engines.spark.failures import plain_errors, translate
from panewise.engines.spark.progress import punctuated, split_late
from panewise.engines.spark.session import session
from panewise.engines.spark.sources import read_batch, read_stream

__all__ = [
    "explain_strategy",
    "plain_errors",
    "punctuated",
    "read_batch",
    "read_stream",
    "run",
    "run_batch",
    "run_streaming",
    "session",
    "source_schema",
    "split_late",
    "translate",
]
