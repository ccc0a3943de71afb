"""A window aggregate as a hosted query over the rows that Spark has computed, or over partials of their panes.

Expressions below the aggregate, its keys and its arguments are columns of a DataFrame already; what is left is the
aggregate over plain columns, on any window kernel. The rows of a window, or the partials of a group, come together in
one shard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from panewise.aggregates.registry import lent
from panewise.core.errors import UnsupportedError
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceSchema
from panewise.engines.spark.host.host_step import with_late_rows
from panewise.engines.spark.host.partial_stage import PartialStage
from panewise.engines.spark.host.sharding import default_shards, plain_zero
from panewise.engines.spark.host.stage import RAW
from panewise.engines.spark.host.wire import CONTROL, INPUT, LATE_COLUMN, POSITION, ROW_BOUND
from panewise.engines.spark.lower.bound_calls import ROWS, argument_columns, bound_aggregates
from panewise.engines.spark.lower.fragment import ORDINAL, Fragment, result_field
from panewise.engines.spark.lower.lineage import Origin, origins
from panewise.engines.spark.lower.stateless_steps import quoted
from panewise.engines.spark.lower.types import arrow_type
from panewise.engines.spark.queries.placing import HostedInput
from panewise.engines.spark.queries.shard import QueryConfig, QueryShard
from panewise.engines.spark.queries.stage import RowStage
from panewise.kernels.contract.emission import FINAL, Emission
from panewise.plan.nodes import (
    WID_COLUMN,
    WINDOW_COLUMN,
    NamedScalar,
    Node,
    Source,
    Union,
    WindowAggregate,
    WindowClause,
)
from panewise.progress.late import LatePolicy
from panewise.storage import MemoryChunks

COUNTED = "__pw_row"
"""The first column of rows that windows count by their arrival."""
NEEDS_ORDER = ("{} windows and aggregates like first need the order of arrival, which a DataFrame does not have: "
               "read files with read_stream or read_batch of panewise.engines.spark, or name the column that counts "
               "arrivals with its arrival(frame, 'column')")


def over_rows(fragment: Fragment, types: pa.Schema, inputs: Sequence[Origin], late: LatePolicy, shards: int, *,
              emission: Emission = FINAL, delays: Mapping[str, int] | None = None, raw: bool = False,
              partials: bool = False) -> QueryConfig:
    """What shards run; ``types`` are those of the groups and arguments, ``delays`` how far bounds stay behind values.

    With ``raw`` rows bring along what leaves of them when they are late. ``partials`` of panes may come in their place.
    """
    clause, by_position = fragment.clause, fragment.by_position
    first = COUNTED if by_position else clause.attribute
    texts = [pa.field(RAW, pa.string())] if raw else []
    schema = pa.schema([pa.field(first, pa.int8() if by_position else pa.int64()), *types, *texts])
    hosted = tuple(_input(origin, schema, None if by_position else first, inputs) for origin in inputs)
    below: Node = hosted[0].source if len(hosted) == 1 else Union(tuple(item.source for item in hosted))
    kind = clause.ordinal if clause.ordinal is OrdinalKind.ROWS else OrdinalKind.INTEGER
    calls = tuple(replace(call, arguments=tuple(map(Scalar.column, fragment.arguments(i))))
                  for i, call in enumerate(fragment.aggregates))
    partition = () if partials else tuple(fragment.partition)
    plan = WindowAggregate(below, WindowClause(fragment.spec, clause.attribute, kind, partition),
                           tuple(map(NamedScalar.column, fragment.keys)), calls)
    emit = f"{emission.mode}:{emission.every}" if emission.every else emission.mode
    made = QueryConfig(plan, hosted, late, shards, pa.schema([]), windows=True, partials=partials, emit=emit,
                       behind=tuple((tag, (first, delay)) for tag, delay in (delays or {}).items()),
                       in_turn=fragment.ordered and len(hosted) > 1,
                       own_aggregates=lent(call.function for call in calls))
    return replace(made, result_schema=made.open().nothing().schema)


def _input(origin: Origin, schema: pa.Schema, attribute: str | None, inputs: Sequence[Origin]) -> HostedInput:
    """An input as a stream of its own; two that read one stream are told apart."""
    name = origin.source.name
    if sum(other.source.name == name for other in inputs) > 1:
        name = f"{name} {origin.tag}"
    source = Source(name, SourceSchema({f.name: f.type for f in schema}, attribute, zone=origin.source.schema.zone))
    reads = replace(origin, names=tuple((schema.names[0] if n == ORDINAL else n, c) for n, c in origin.names))
    return HostedInput(origin.tag, name, attribute, origin.kind, source, schema, reads)


def of_fragment(fragment: Fragment, late: LatePolicy, shards: int, *, emission: Emission = FINAL,
                delays: Mapping[str, int] | None = None, raw: bool = False, partials: bool = False) -> QueryConfig:
    """The same over DataFrames; what no kernel runs is refused here, and so is an order that the rows do not have."""
    if fragment.ordered and POSITION not in fragment.rows.columns:
        raise UnsupportedError(NEEDS_ORDER.format(fragment.spec.kind))
    bound_aggregates(fragment)
    return over_rows(fragment, types_of(fragment), origins(fragment), late, shards, emission=emission, delays=delays,
                     raw=raw, partials=partials)


def types_of(fragment: Fragment) -> pa.Schema:
    """The columns that tell groups apart and the arguments of aggregates, with their Arrow types."""
    arguments = (n for i in range(len(fragment.aggregates)) for n in fragment.arguments(i))
    named = dict.fromkeys([*fragment.groups, *arguments])
    return pa.schema([pa.field(n, arrow_type(fragment.rows.schema[n].dataType)) for n in named])


def partials_of(fragment: Fragment, config: QueryConfig, shards: tuple[int, ...], followed: tuple[str, ...] = (), *,
                counted: bool = False) -> PartialStage:
    """What tasks make of rows for panes; with ``counted`` also of how many rows each partial is."""
    aggregates = tuple(bound_aggregates(fragment))
    arguments = argument_columns(fragment, aggregates)
    if counted:
        aggregates, arguments = (*aggregates, ROWS), (*arguments, ())
    return PartialStage(tuple(i.origin() for i in config.inputs), shards, followed, fragment.window,
                        tuple(fragment.keys), aggregates, arguments, config.late, fragment.clause.attribute,
                        fragment.clause.ordinal)


def shared_columns(fragment: Fragment) -> list[str]:
    """What the rows of one window have in common, so that tasks can share the work; nothing when windows are global."""
    if fragment.partition:
        return fragment.partition
    return [] if fragment.by_position or fragment.spec.of_all_rows else fragment.groups


def shown(fragment: Fragment, found: DataFrame) -> DataFrame:
    """The results of shards with their public columns."""
    edges = None
    if fragment.clause.has_time_range:
        edges = F.col(f"{WINDOW_COLUMN}.start"), F.col(f"{WINDOW_COLUMN}.end")
    results = {a.name: quoted(a.name) for a in fragment.aggregates}
    return fragment.windowed(found, quoted(WID_COLUMN), results, edges)


# -- batch


def row_batch(fragment: Fragment, late: LatePolicy) -> DataFrame:
    """The results over bounded DataFrames: rows of a group come to one task, are sorted, and stream through a query.

    Memory is the state of the query and one Arrow batch. Rows are sorted by arrival where the order of arrival matters
    or rows carry bounds; else by the windowing attribute, so that windows close on the way and their state is let go.
    Row windows could also be numbered and merged in Spark SQL. That sorts by group as well as by arrival and took 1.4
    times as long as this (bench/spark_rows.py), so all windows over rows come here.
    """
    beside = late is LatePolicy.SIDE and ROW_BOUND in fragment.rows.columns
    config = of_fragment(fragment, late, 1, raw=beside)
    rows = fragment.rows_with(fragment.late_text.alias(RAW)) if beside else fragment.rows
    if CONTROL in rows.columns:
        rows = rows.where(quoted(CONTROL).isNull())
    by_arrival = fragment.ordered or ROW_BOUND in rows.columns
    sides = [c for c in (INPUT, POSITION, ROW_BOUND) if c in rows.columns]
    rows = rows.select(*map(quoted, dict.fromkeys([ORDINAL, *config.inputs[0].schema.names[1:], *sides])))
    together = shared_columns(fragment)
    rows = rows.repartition(default_shards(rows), *(plain_zero(rows, c) for c in together)) if together \
        else rows.coalesce(1)
    rows = rows.sortWithinPartitions(POSITION if by_arrival and POSITION in rows.columns else ORDINAL)
    schema = config.result_schema.append(pa.field(LATE_COLUMN, pa.string())) if beside else config.result_schema
    task = SortedRows(config, closing=not by_arrival and not fragment.by_position, beside=beside)
    return shown(fragment, rows.mapInArrow(task, T.StructType([result_field(f.name, f.type) for f in schema])))


@dataclass(frozen=True)
class SortedRows:
    """One task of a batch: rows in, results out."""

    config: QueryConfig
    closing: bool
    """Whether rows come in the order of their values."""
    beside: bool
    """Whether late rows leave with results."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Batch by batch; a task without rows has no results."""
        shard, told = QueryShard(self.config, MemoryChunks(), None, 0), 0
        for found in shard.piece_by_piece(self._pieces(batches), closing=self.closing):
            late, told = shard.late_texts[told:], len(shard.late_texts)
            results = with_late_rows(found, late) if self.beside else found
            if results.num_rows:
                yield from results.to_batches()

    def _pieces(self, batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.Table]]:
        stage = RowStage.of(self.config.inputs, ())
        for batch in batches:
            if batch.num_rows:
                yield [plain for _, plain in stage.by_input(pa.Table.from_batches([batch]))]
