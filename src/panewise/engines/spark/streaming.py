"""Streaming: pane partials of every micro-batch, gathered by shards that close windows as punctuation arrives.

``source ─ filter, project (JVM) ─ partials (stateless) ─ by shard ─ kernel host (stateful) ─ results``

Lateness. Where the source stamps rows with the bound in force at their arrival (panewise's file source does), each row
is judged by its own stamp, so results do not depend on how the stream is cut into micro-batches. Other DataFrames have
no order inside a micro-batch: their rows are judged by what was promised before it, a pane at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from panewise.core.errors import PlanError, SchemaError, UnsupportedError
from panewise.core.ordinals import OrdinalKind
from panewise.engines.spark.calls import argument_columns, bound_aggregates
from panewise.engines.spark.fragment import ORDINAL, Fragment, as_ordinal, field_of, result_field
from panewise.engines.spark.host import hosted
from panewise.engines.spark.host_step import Unpack
from panewise.engines.spark.lineage import Origin, origins
from panewise.engines.spark.observed import new_metric
from panewise.engines.spark.partial_stage import (
    MESSAGE_DDL,
    PROGRESS_COLUMN,
    RAW,
    PartialStage,
)
from panewise.engines.spark.progress import Derived, derived
from panewise.engines.spark.relation import quoted
from panewise.engines.spark.row_batch import shared_columns
from panewise.engines.spark.row_kernel import RowKernel
from panewise.engines.spark.row_shard import RowShardConfig
from panewise.engines.spark.row_stage import RowStage
from panewise.engines.spark.shard import ShardConfig
from panewise.engines.spark.sharding import shard_labels, with_shard
from panewise.engines.spark.wire import CHANGE_COLUMN, INPUT, LATE_COLUMN, POSITION, ROW_BOUND
from panewise.kernels.emission import CHANGE, Emission
from panewise.kernels.panes import WINDOW_ID
from panewise.progress.late import LatePolicy

Progress: TypeAlias = str | Mapping[str, str]
"""One policy for all streams, or one for each by its name."""
NEEDS_STAMPS = ("late rows as an output need rows that carry the bound in force at their arrival: read files with "
                "panewise.engines.spark.sources.read_stream, or choose another late policy")


def streaming(fragment: Fragment, *, late: LatePolicy, progress: Progress, shards: int,
              emit: str = "final") -> DataFrame:
    """The results of a fragment over streaming DataFrames: each window once, when it is complete, or early."""
    emission = emitted(emit, fragment)
    config: ShardConfig | RowShardConfig
    stage: PartialStage | RowStage
    if fragment.paned:
        config, stage, rows = prepare(fragment, late=late, progress=progress, shards=shards)
    else:
        config, stage, rows = prepare_rows(fragment, late=late, progress=progress, shards=shards)
    config = replace(config, emission=emission)
    messages = rows.mapInArrow(stage, MESSAGE_DDL)
    gathered = hosted(messages, config)
    observed = gathered.observe(new_metric(), *measured(config.shared_windows))
    schema = config.result_schema
    if emission.early:
        schema = schema.append(pa.field(CHANGE_COLUMN, pa.int64()))
    if late is LatePolicy.SIDE:
        schema = schema.append(pa.field(LATE_COLUMN, pa.string()))
    results = observed.mapInArrow(Unpack(schema), T.StructType([result_field(f.name, f.type) for f in schema]))
    found = {a.name: quoted(a.name) for a in fragment.aggregates}
    finished = fragment.finished(fragment.windowed(results, quoted(WINDOW_ID), found))
    if not emission.early:
        return finished
    if CHANGE in finished.columns:
        raise PlanError(f"early results have a column {CHANGE!r}, and the query names one so: give it another name")
    return finished.withColumnRenamed(CHANGE_COLUMN, CHANGE)


def emitted(emit: str, fragment: Fragment) -> Emission:
    """When results leave; the clock of a streaming query is its trigger."""
    emission = Emission.parse(emit, fragment.clause.ordinal)
    if emission.mode == "clock":
        raise UnsupportedError(f"emit={emit!r}: on Spark the trigger is the clock. Use emit='change', which shows "
                               "after every micro-batch what has changed, with .trigger(processingTime='5 seconds')")
    return emission


def measured(shared_windows: bool) -> list[Column]:
    """What a micro-batch says of itself: late rows, the windows open after it, and whether another plan is better."""
    opened, until = F.col("open_from"), F.col("open_until")
    windows = F.max(until) - F.min(opened) if shared_windows else F.sum(until - opened)
    return [F.coalesce(F.sum("late_rows"), F.lit(0)).alias("late_rows"),
            F.when(F.count(F.lit(1)) > 0, F.coalesce(windows, F.lit(0))).alias("open_windows"),
            F.max("replan").alias("replan")]


def prepare(fragment: Fragment, *, late: LatePolicy, progress: Progress, shards: int) \
        -> tuple[ShardConfig, PartialStage, DataFrame]:
    """The two halves of the operator, and the rows the first one reads."""
    rows = fragment.rows
    stamped = ROW_BOUND in rows.columns
    inputs = tuple(origins(fragment))
    follow = followed(inputs, progress, fragment.clause.ordinal)
    if late is LatePolicy.SIDE and not stamped:
        raise UnsupportedError(NEEDS_STAMPS)
    aggregates = tuple(bound_aggregates(fragment))
    if any(a.function.needs_order for a in aggregates) and POSITION not in rows.columns:
        raise UnsupportedError("first and last need the order of arrival, which this DataFrame does not have: read "
                               "files with panewise.engines.spark.sources.read_stream")
    keys = fragment.key_schema
    labels = shard_labels(shards if fragment.keys else 1)
    config = ShardConfig(fragment.scheme, keys, aggregates, tuple(o.tag for o in inputs), late, stamped, len(labels),
                         _delays(follow), fragment.clause.attribute, fragment.clause.ordinal)
    names = argument_columns(fragment, aggregates)
    if not stamped:
        names = (*names, ())
    stage = PartialStage(fragment.scheme, keys, config.carried, names, labels, inputs, late, stamped,
                         tuple(follow), fragment.clause.attribute, fragment.clause.ordinal)
    more = _progress_columns(fragment, follow)
    if late is LatePolicy.SIDE:
        more.append(fragment.late_text.alias(RAW))
    return config, stage, with_shard(fragment.rows_with(*more), fragment.keys, labels)


def prepare_rows(fragment: Fragment, *, late: LatePolicy, progress: Progress, shards: int) \
        -> tuple[RowShardConfig, RowStage, DataFrame]:
    """The same for windows that panes do not serve."""
    inputs = tuple(origins(fragment))
    follow = followed(inputs, progress, fragment.clause.ordinal)
    kernel = RowKernel.of(fragment, late)
    stamped = ROW_BOUND in fragment.rows.columns
    if late is LatePolicy.SIDE and not stamped and not fragment.by_position:
        raise UnsupportedError(NEEDS_STAMPS)
    together = shared_columns(fragment)
    labels = shard_labels(shards if together else 1)
    config = RowShardConfig(kernel, tuple(o.tag for o in inputs), len(labels), _delays(follow),
                            fragment.clause.attribute, fragment.clause.ordinal)
    more = _progress_columns(fragment, follow)
    if late is LatePolicy.SIDE and stamped:
        more.append(fragment.late_text.alias(RAW))
    rows = with_shard(fragment.rows_with(*more), together, labels)
    sides = [c for c in (POSITION, ROW_BOUND, RAW) if c in rows.columns]
    stage = RowStage(tuple(dict.fromkeys([*kernel.columns, *sides])), labels, inputs, tuple(follow))
    needed = [c for c in rows.columns if c != ORDINAL or follow or c in kernel.columns]
    rows = rows.select(*map(quoted, needed))
    return config, stage, rows


def followed(inputs: Sequence[Origin], progress: Progress, kind: OrdinalKind) -> dict[str, Derived]:
    """The inputs whose bound follows their largest value, by tag; the others carry punctuation."""
    known = {o.source.name for o in inputs}
    if not isinstance(progress, str) and (unknown := sorted(set(progress) - known)):
        raise PlanError(f"progress is given for {', '.join(unknown)}, but the query reads {', '.join(sorted(known))}")
    found: dict[str, Derived] = {}
    for origin in inputs:
        policy = progress if isinstance(progress, str) else progress.get(origin.source.name, "source")
        if (follow := derived(policy, kind)) is not None:
            found[origin.tag] = follow
    return found


def _delays(follow: Mapping[str, Derived]) -> tuple[tuple[str, int], ...]:
    return tuple((tag, f.delay) for tag, f in follow.items())


def _progress_columns(fragment: Fragment, follow: Mapping[str, Derived]) -> list[Column]:
    """What the bounds follow, where for one input it is not the windowing attribute."""
    if all(f.column is None for f in follow.values()):
        return []
    parts = []
    for tag, f in follow.items():
        value = fragment.ordinal if f.column is None else _progress_column(fragment, f.column)
        parts.append(F.when(quoted(INPUT) == tag, value) if INPUT in fragment.below.columns else value)
    return [F.coalesce(*parts).alias(PROGRESS_COLUMN)]


def _progress_column(fragment: Fragment, column: str) -> Column:
    """A column of the input that says how far the stream is, as a bigint; a null says nothing."""
    expected, found = (field_of(fragment.below, c).dataType for c in (fragment.clause.attribute, column))
    if type(expected) is not type(found):
        raise SchemaError(f"progress column {column!r} is {found.simpleString()}, but the windowing attribute is "
                          f"{expected.simpleString()}: both must be of one kind")
    return as_ordinal(fragment.below, quoted(column), fragment.clause.ordinal)
