"""The inputs of a hosted query as one DataFrame: every row with its input, its shard and its columns as a struct."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from panewise.core.errors import SchemaError, UnsupportedError
from panewise.core.ordinals import OrdinalKind
from panewise.dataflow import Query, open_plan
from panewise.engines.spark.host.sharding import SHARD, one_zero, shard_labels
from panewise.engines.spark.host.stage import RAW
from panewise.engines.spark.host.wire import CONTROL, INPUT, POSITION, ROW_BOUND
from panewise.engines.spark.lower.fragment import ORDINAL, as_ordinal, late_text, result_field
from panewise.engines.spark.lower.lineage import Origin
from panewise.engines.spark.lower.stateless_steps import (
    data_columns,
    quoted,
    refuse_own,
    rows_of_streams,
    scalar_column,
    source_schema,
    undated,
)
from panewise.engines.spark.lower.types import INTEGERS, spark_type
from panewise.plan.nodes import Named, Node, Source, Table
from panewise.planner.choose.partitioning import Placement, placement
from panewise.planner.facts.result_forms import CHANGE
from panewise.progress.late import LatePolicy

NEEDS_ORDER = ("the rows of {} have no time, so they are dated by their order of arrival, which a DataFrame does not "
               "have: read files with read_stream or read_batch of panewise.engines.spark, or name the column that "
               "counts arrivals with its arrival(frame, 'column')")


@dataclass(frozen=True)
class HostedInput:
    """One input as the workers know it."""

    tag: str
    name: str
    attribute: str | None
    """The column that orders it and that promises are about."""
    kind: OrdinalKind
    source: Source
    schema: pa.Schema
    reads: Origin | None = None
    """How its punctuation reads where its rows are columns of their own, computed by Spark already, and no struct."""

    @property
    def column(self) -> str:
        """Where its rows are in the common DataFrame."""
        return f"__pw_i{self.tag}"

    def origin(self) -> Origin:
        """How its punctuation reads."""
        if self.reads is not None:
            return self.reads
        names = tuple((name, name) for name in self.schema.names)
        types = tuple((f.name, f.type) for f in self.schema)
        return Origin(self.tag, self.source, self.attribute, names, types, self.kind)


def hosted_input(number: int, node: Named, attribute: str | None, *, deletions: bool = False) -> HostedInput:
    """An input by its number; a table may say of its rows whether they come or go."""
    fields = [pa.field(c, t) for c, t in node.schema.columns.items()]
    if deletions and isinstance(node, Table) and CHANGE not in node.schema.columns:
        fields.append(pa.field(CHANGE, pa.int64()))
    kind = node.schema.ordinal_kind(attribute) if attribute is not None else OrdinalKind.INTEGER
    return HostedInput(str(number), node.name, attribute, kind, Source(node.name, node.schema), pa.schema(fields))


class Placed:
    """A plan over DataFrames, with where each row goes."""

    def __init__(self, plan: Node, frames: Mapping[str, DataFrame], late: LatePolicy, shards: int) -> None:
        self.plan, self.frames, self.late = plan, frames, late
        self.query: Query = open_plan(plan, late=late)
        ordering = self.query.ordering_columns()
        self._nodes = {node.name: node for node in plan.walk() if isinstance(node, Named)}
        self.inputs = tuple(self._input(number, name, ordering.get(name))
                            for number, name in enumerate(self.query.streams))
        self.found = self._placement()
        self.labels = shard_labels(shards if self.found is not None else 1)

    def _input(self, number: int, name: str, attribute: str | None) -> HostedInput:
        if name not in self.frames:
            given = ", ".join(sorted(self.frames)) or "none"
            raise SchemaError(f"no stream named {name!r}; the streams given are: {given}")
        node, frame = self._nodes[name], self.frames[name]
        refuse_own(frame, name)
        known = data_columns(frame)
        if missing := [c for c in node.schema.columns if c not in known and c not in node.schema.computed]:
            raise SchemaError(f"stream {name!r} has no column {missing[0]!r}; there are {', '.join(known)}")
        if attribute is None and isinstance(node, Source) and POSITION not in frame.columns:
            raise UnsupportedError(NEEDS_ORDER.format(repr(name)))
        return hosted_input(number, node, attribute, deletions=CHANGE in known)

    def _placement(self) -> Placement | None:
        """How the plan is split; one piece where rows are dated by arrival, or keys of several types would meet."""
        if any(i.attribute is None and isinstance(self._nodes[i.name], Source) for i in self.inputs):
            return None
        found = placement(self.plan)
        if found is None:
            return None
        types = [spark_type(self._nodes[stream].schema.columns[column]) for stream, column in found.keys]
        alike = all(isinstance(t, INTEGERS) for t in types) or len({t.simpleString() for t in types}) == 1
        return found if alike else None

    # -- rows

    def static(self) -> list[HostedInput]:
        """The inputs that are complete before a streaming query begins."""
        return [i for i in self.inputs if not self.frames[i.name].isStreaming]

    def rows(self, inputs: list[HostedInput] | None = None) -> DataFrame:
        """All rows and punctuation of some inputs (default: all)."""
        chosen = list(self.inputs) if inputs is None else inputs
        return reduce(DataFrame.union, [self._tagged(i, chosen) for i in chosen])

    @cached_property
    def _sides(self) -> list[str]:
        return [c for c in (CONTROL, ROW_BOUND, POSITION) if any(c in f.columns for f in self.frames.values())]

    def _tagged(self, item: HostedInput, chosen: list[HostedInput]) -> DataFrame:
        frame = self.frames[item.name]
        data = F.struct(*(self._value(item, f.name).alias(f.name) for f in item.schema))
        if CONTROL in frame.columns:
            data = F.when(quoted(CONTROL).isNull(), data)
        types = {i.tag: T.StructType([result_field(f.name, f.type) for f in i.schema]) for i in chosen}
        columns = [F.lit(item.tag).alias(INPUT), self._shard(item).alias(SHARD), self._ordinal(item).alias(ORDINAL)]
        columns += [self._side(frame, side) for side in self._sides]
        if self.late is LatePolicy.SIDE:
            text = late_text(frame, self._ordinal(item)) if ROW_BOUND in frame.columns else F.lit(None).cast("string")
            columns.append(text.alias(RAW))
        columns += [(data if i is item else F.lit(None)).cast(types[i.tag]).alias(i.column) for i in chosen]
        return frame.select(*columns)

    def _side(self, frame: DataFrame, name: str) -> Column:
        kind = "string" if name == CONTROL else "bigint"
        return (quoted(name) if name in frame.columns else F.lit(None)).cast(kind).alias(name)

    def _shard(self, item: HostedInput) -> Column:
        """The number of the shard; null for rows that every shard needs."""
        if self.found is None or len(self.labels) == 1:
            return F.lit(self.labels[0])
        key = self.found.column(item.name)
        if key is None:
            return F.lit(None).cast("int")
        of, value = spark_type(item.schema.field(key).type), self._value(item, key)
        value = value.cast("bigint") if isinstance(of, INTEGERS) else one_zero(value, of)
        place = F.pmod(F.xxhash64(value), F.lit(len(self.labels))).cast("int") + F.lit(1)
        shard = F.element_at(F.array(*map(F.lit, self.labels)), place)
        if key in self._nodes[item.name].schema.computed and CONTROL in self.frames[item.name].columns:
            return F.when(quoted(CONTROL).isNull(), shard)  # nothing is computed on punctuation
        return shard

    def _value(self, item: HostedInput, name: str) -> Column:
        """A column of an input: one it has, or one that is computed here."""
        computed = self._nodes[item.name].schema.computed.get(name)
        return quoted(name) if computed is None else scalar_column(
            computed, self.frames[item.name], rows_of_streams(item.name))

    def _ordinal(self, item: HostedInput) -> Column:
        """The ordering attribute as a bigint; a null in a row fails the query with a message."""
        if item.attribute is None:
            return F.lit(0).cast("bigint")
        frame = self.frames[item.name]
        missing = quoted(item.attribute).isNull()
        if CONTROL in frame.columns:
            missing = missing & quoted(CONTROL).isNull()
        ordinal = as_ordinal(frame, quoted(item.attribute), item.kind)
        return F.when(missing, undated(frame, item.attribute, item.name).cast("bigint")).otherwise(ordinal)


def with_columns(plan: Node, frames: Mapping[str, DataFrame]) -> Node:
    """The plan with the columns of its inputs, where it was written without knowing them."""
    if isinstance(plan, Named) and plan.schema.open and plan.name in frames:
        found = source_schema(frames[plan.name], time=plan.schema.time)
        return replace(plan, schema=replace(plan.schema, columns=found.columns, open=False))
    return plan.with_inputs(*(with_columns(below, frames) for below in plan.inputs)) if plan.inputs else plan
