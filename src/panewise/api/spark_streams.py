"""Streams that Spark reads, named as on the command line: ``rate:1000``, ``kafka://…``, ``tcp://…``, ``auction:…``.

Rows of Kafka messages and sockets are JSON objects, one each; an object whose only key is ``punctuation`` is a promise,
as in NDJSON files.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from panewise.api.columns import parse_columns
from panewise.api.naming import is_spark_stream
from panewise.core.errors import BadRowError, PlanError, SourceError, UnsupportedError
from panewise.datasets.auction import STREAMS, AuctionSite
from panewise.engines.spark.host.wire import BAD
from panewise.engines.spark.io.generated import SEGMENT_EVENTS, read_auction
from panewise.engines.spark.io.sockets import SocketSpool, read_socket
from panewise.engines.spark.io.sources import read_stream
from panewise.engines.spark.lower.progress import punctuated
from panewise.engines.spark.lower.types import spark_type
from panewise.engines.spark.session.failures import refuse
from panewise.files.senders import Address
from panewise.files.types import normal_schema
from panewise.planner.options import RunOptions
from panewise.progress.punctuation import PUNCTUATION_KEY

KAFKA_PACKAGE = "org.apache.spark:spark-sql-kafka-0-10_2.13"


@dataclass
class SparkStreams:
    """Opens streams for one session; what listens for them hangs up when ``stack`` is closed."""

    spark: SparkSession
    home: Path
    """Where received lines are spooled: beside the checkpoint."""
    stack: ExitStack
    addresses: dict[str, Address]
    """Where sockets listen, by the name of the stream."""

    def open(self, name: str, text: str, options: RunOptions, *, time: str | None = None) -> DataFrame:
        """A stream by its text; columns are declared where messages do not tell them.

        Bad rows are handed on, marked, where the policy is that a run goes on with them.
        """
        declared, max_jump = (options.columns or {}).get(name), options.max_jump
        reading: dict[str, Any] = {"time": time, "progress": options.progress, "max_line": options.max_line,
                                   "max_jump": max_jump, "bad_rows": "stop" if options.bad_rows.stops else "skip"}
        scheme, _, rest = text.partition(":")
        if not is_spark_stream(text):
            return read_stream(self.spark, text, **reading)
        if max_jump is not None and scheme != "tcp":
            raise UnsupportedError(f"max_jump= compares each row with the newest before it, and rows of {text!r} come "
                                   "in no order on Spark: leave it out, or leave out future rows with WHERE")
        if scheme == "rate":
            return rate(self.spark, rest)
        if scheme == "auction":
            return auction(self.spark, rest)
        if declared is None:
            raise PlanError(f"declare the columns of {name!r}: --columns {name}='ts timestamp, price double'")
        columns = parse_columns(declared)
        if scheme == "kafka":
            return kafka(self.spark, text, columns, bad_rows=reading["bad_rows"])
        return self._socket(name, text, columns, **reading)

    def _socket(self, name: str, text: str, columns: pa.Schema, **options: Any) -> DataFrame:
        spool = self.stack.enter_context(SocketSpool(self.home / "spool" / name, text))
        self.addresses[name] = spool.address
        return read_socket(self.spark, spool, columns, **options)


def rate(spark: SparkSession, text: str) -> DataFrame:
    """Spark's rate source: ``timestamp`` and ``value``, so many rows per second."""
    if not text.isdigit() or not int(text):
        raise SourceError(f"rate:{text} says no number of rows per second: write rate:1000")
    return spark.readStream.format("rate").option("rowsPerSecond", text).load()


def auction(spark: SparkSession, text: str) -> DataFrame:
    """A stream of the auction site: ``bids``, or ``bids?rate=1000&keys=50&events=100000&live``.

    Without ``events`` it has no end.
    """
    stream, _, query = text.partition("?")
    given = dict(parse_qsl(query, keep_blank_values=True))
    known = [f.name for f in fields(AuctionSite)]
    live = given.pop("live", None) is not None
    segment = given.pop("segment", str(SEGMENT_EVENTS))
    punctuate = given.pop("punctuate", "1 s")
    if unknown := sorted(set(given) - set(known)):
        raise SourceError(f"auction:{text}: an auction site has no {unknown[0]!r}; there are "
                          f"{', '.join([*known, 'punctuate', 'segment', 'live'])}")
    if not segment.isdigit():
        raise SourceError(f"auction:{text}: a segment is a number of events, not {segment!r}")
    if stream not in STREAMS:
        raise SourceError(f"auction:{text}: an auction site has no stream {stream!r}; there are {', '.join(STREAMS)}")
    kinds: dict[str, Any] = {"skew": float, "disorder": float, "start": str, "max_delay": str}
    try:
        numbers: dict[str, Any] = {k: kinds.get(k, int)(v) for k, v in given.items()}
    except ValueError as error:
        raise SourceError(f"auction:{text}: {error}") from error
    return read_auction(spark, stream, AuctionSite(**numbers), punctuate=punctuate, segment_events=int(segment),
                        live=live, endless="events" not in given)


def kafka(spark: SparkSession, text: str, columns: pa.Schema, *, bad_rows: str = "stop") -> DataFrame:
    """``kafka://host:9092/topic?startingOffsets=earliest``: messages are JSON; options are those of Spark's source."""
    url = urlsplit(text)
    topic = url.path.strip("/")
    if not url.netloc or not topic:
        raise SourceError(f"{text!r} names no topic: write kafka://host:9092/topic")
    options = {"kafka.bootstrap.servers": url.netloc, "subscribe": topic, "startingOffsets": "earliest",
               **dict(parse_qsl(url.query))}
    try:
        messages = spark.readStream.format("kafka").options(**options).load()
        return from_json(messages, F.col("value").cast("string"), columns, bad_rows=bad_rows)
    except PySparkException as error:
        if "kafka" in str(error).lower() and "find" in str(error).lower():
            raise SourceError("Kafka needs Spark's connector on the class path: start the session with "
                              f"spark.jars.packages={KAFKA_PACKAGE}:{spark.version} (--conf on the command line), or "
                              "put its jar there") from None
        raise


def from_json(messages: DataFrame, text: Column, columns: pa.Schema, *, bad_rows: str = "stop") -> DataFrame:
    """Rows and punctuation from messages of JSON text, one object each.

    A message that does not fit the columns, which Spark would make null, is an error, or handed on as a bad row.
    """
    types = T.StructType([T.StructField(f.name, spark_type(f.type)) for f in normal_schema(columns)])
    both = T.StructType([*types, T.StructField(PUNCTUATION_KEY, T.StringType()), T.StructField(BAD, T.StringType())])
    parsed = messages.select(text.alias("text")).select(
        F.from_json(F.col("text"), both, {"columnNameOfCorruptRecord": BAD}).alias("row"), "text")
    misfit = F.col("row").isNull() | F.col(f"row.{BAD}").isNotNull()
    reason = F.lit(f"is no JSON object with the columns {', '.join(types.names)}")
    if bad_rows == "stop":
        checked = F.when(misfit, refuse(BadRowError, F.concat(F.lit("a message "), reason, F.lit(": "), F.substring(
            F.coalesce(F.col("text"), F.lit("null")), 1, 200), F.lit("; to go on without such rows: bad_rows='skip'"))))
        marked = parsed.select("row.*", checked.alias("checked")).where(F.col("checked").isNull())
        return punctuated(marked.drop("checked", BAD), PUNCTUATION_KEY)
    told = F.to_json(F.struct(F.lit("message").alias("place"), F.lit(None).cast("string").alias("column"),
                              reason.alias("reason"), F.col("text").alias("row")), {"ignoreNullFields": "false"})
    blank = [F.when(~misfit, F.col(f"row.`{f.name}`")).alias(f.name) for f in both if f.name != BAD]
    return punctuated(parsed.select(*blank, F.when(misfit, told).alias(BAD)), PUNCTUATION_KEY)
