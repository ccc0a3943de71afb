"""Progress of streaming DataFrames: policies, punctuation as rows, and late rows as an output.

A streaming DataFrame carries punctuation as rows of its own (:mod:`panewise.engines.spark.host.wire`); ``punctuated``
makes one from a column, and panewise's own file source from NDJSON lines, from policies and from the end of the files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from panewise.core.errors import PlanError, ProgressError, SchemaError, UnsupportedError
from panewise.core.ordinals import OrdinalKind
from panewise.engines.spark.host.wire import CONTROL, LATE_COLUMN, POSITION
from panewise.engines.spark.lower.stateless_steps import quoted
from panewise.engines.spark.lower.types import INTEGERS
from panewise.progress.clocks import clocks_of
from panewise.progress.generators import SourceSupplied
from panewise.progress.lateness import ColumnSupplied, TimeLate
from panewise.progress.policy import parse_progress

Progress: TypeAlias = str | Mapping[str, str]
"""One policy for all streams, or one for each by its name."""


@dataclass(frozen=True)
class Derived:
    """A bound that follows the largest value of a column, ``delay`` steps behind."""

    delay: int
    column: str | None = None
    """Another column than the windowing attribute, whose values are bounds themselves."""


def derived(policy: str, kind: OrdinalKind) -> Derived | None:
    """A progress policy for a DataFrame whose rows come in no known order; ``None`` when the source supplies it.

    >>> derived("late:10 s", OrdinalKind.TIMESTAMP), derived("source", OrdinalKind.TIMESTAMP)
    (Derived(delay=10000000, column=None), None)
    """
    generator = parse_progress(policy, kind)
    if isinstance(generator, SourceSupplied):
        return None
    if isinstance(generator, TimeLate) and generator.guard is None:
        return Derived(generator.delay)
    if isinstance(generator, ColumnSupplied) and generator.guard is None:
        return Derived(0, generator.columns[0])
    if next(clocks_of(generator), None) is not None:
        raise UnsupportedError(
            f"progress {policy!r} looks at the wall clock, and Spark runs nothing while a stream is silent, unless its "
            "source reports that time has passed. panewise's own do: read the stream with read_stream(…, finite=False, "
            f"progress={policy!r}) or read_socket of panewise.engines.spark, or use ordered, late:<duration> or "
            "column:<name>")
    raise UnsupportedError(
        f"progress {policy!r} needs the rows in their order of arrival, which a Spark DataFrame does not have: read "
        "the files with panewise.read_stream, or use ordered, late:<duration> or column:<name>")


def policies_of(progress: Progress, streams: Iterable[str]) -> dict[str, str]:
    """The policy of each stream; one for a stream that is not read is refused."""
    known = sorted(set(streams))
    if not isinstance(progress, str) and (unknown := sorted(set(progress) - set(known))):
        raise PlanError(f"progress is given for {', '.join(unknown)}, but the query reads {', '.join(known)}")
    return {name: progress if isinstance(progress, str) else progress.get(name, "source") for name in known}


def punctuated(frame: DataFrame, column: str = "punctuation") -> DataFrame:
    """Declare that rows whose ``column`` is not null are punctuation, not data.

    The column is JSON text as in NDJSON files (``{"ts": "2026-01-01T00:01:00Z", "seg_id": "s1"}``; ``{}`` ends the
    stream), or a struct or map of the same form.
    """
    if column not in frame.columns:
        raise SchemaError(f"no column {column!r} to take punctuation from; there are {', '.join(frame.columns)}")
    data_type = frame.schema[column].dataType
    text = quoted(column)
    if isinstance(data_type, T.StructType | T.MapType):
        text = F.to_json(text, {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"})
    elif not isinstance(data_type, T.StringType):
        raise SchemaError(f"punctuation column {column!r} is {data_type.simpleString()}: use JSON text or a struct")
    return frame.withColumn(CONTROL, text).drop(column)


def arrival(frame: DataFrame, column: str) -> DataFrame:
    """Declare that a column of integers says in which order rows arrived; windows over row positions need it.

    It stays a column of the data. Spark itself keeps no order: a sequence number of the source, a Kafka offset of a
    single partition or a line number does.
    """
    if column not in frame.columns:
        raise SchemaError(f"no column {column!r} to order arrivals by; there are {', '.join(frame.columns)}")
    data_type = frame.schema[column].dataType
    if not isinstance(data_type, INTEGERS):
        raise SchemaError(f"column {column!r} is {data_type.simpleString()}, and arrivals are counted in integers")
    return frame.withColumn(POSITION, quoted(column).cast("bigint"))


def split_late(output: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Results and late rows of an output under the late policy ``side``; for use inside ``foreachBatch``.

    Late rows come as one column, ``late``, with the row as JSON text.
    """
    if LATE_COLUMN not in output.columns:
        raise ProgressError("this output has no late rows beside it: run with the late policy 'side'")
    late = quoted(LATE_COLUMN)
    return output.where(late.isNull()).drop(LATE_COLUMN), output.where(late.isNotNull()).select(late.alias("late"))
