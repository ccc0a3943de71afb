"""What one window aggregate needs from Spark: the plan taken apart and checked against the DataFrames it reads.

A *fragment* is the stateless input, the window, the keys and the aggregates; what stands above it (a projection of the
results, HAVING) is applied to the finished rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from panewise.aggregates.registry import resolve
from panewise.core.errors import SchemaError, UnsupportedError
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import ROW_NUM_NAMES
from panewise.engines.spark.host.wire import CHANGE_COLUMN, CONTROL, LATE_COLUMN, ROW_BOUND
from panewise.engines.spark.lower import stateless_steps as steps
from panewise.engines.spark.lower.pane_columns import PaneScheme
from panewise.engines.spark.lower.types import INTEGERS, arrow_type, spark_type
from panewise.plan.nodes import AggregateCall, Filter, Node, Project, WindowAggregate, WindowClause
from panewise.windows.base import Clock, WindowSpec
from panewise.windows.sliding import SlidingWindow

ORDINAL = "__pw_ordinal"
BESIDE_RESULTS = (CHANGE_COLUMN, LATE_COLUMN)
_EPOCH = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"
_UTC = ("UTC", "Etc/UTC", "Z", "GMT")


@dataclass(frozen=True)
class Fragment:
    """A window aggregate over a stateless input, ready to be run.

    ``rows`` has the side columns of its inputs, the ordinal of the windowing attribute, the keys as ``__pw_k0``… and
    the arguments of the aggregates as ``__pw_a0_0``….
    """

    node: WindowAggregate
    above: tuple[Project | Filter, ...]
    """Projections and filters over the results, the lowest first."""
    below: DataFrame
    """The input with its own column names."""
    exact: bool = False
    """Whether sums of floats must be the exact ones also where Spark could add them."""

    @property
    def clause(self) -> WindowClause:
        """The window and what it works on."""
        return self.node.window

    @property
    def spec(self) -> WindowSpec:
        """The specification, whatever its kind; its predicate, if any, is a filter of ``below`` already."""
        return self.node.window.spec.plain

    @property
    def by_position(self) -> bool:
        """Whether the window is over arrival positions."""
        return self.clause.attribute in ROW_NUM_NAMES

    @property
    def paned(self) -> bool:
        """Whether windows can be put together from panes of values: sliding windows over a column."""
        return isinstance(self.spec, SlidingWindow) and self.spec.clock is Clock.TIME and not self.by_position

    @property
    def ordered(self) -> bool:
        """Whether the answer depends on the order in which rows arrived."""
        return _ordered(self.node)

    @property
    def window(self) -> SlidingWindow:
        """The specification of a window made of panes."""
        assert isinstance(self.spec, SlidingWindow)
        return self.spec

    @property
    def scheme(self) -> PaneScheme:
        """How rows fall into panes."""
        return PaneScheme(self.window)

    @property
    def aggregates(self) -> tuple[AggregateCall, ...]:
        """The aggregates in output order."""
        return self.node.aggregates

    @property
    def keys(self) -> list[str]:
        """The internal names of the key columns."""
        return [f"__pw_k{i}" for i in range(len(self.node.keys))]

    @property
    def partition(self) -> list[str]:
        """The internal names of the PARTITION BY columns: keys where they are, else columns of their own."""
        found = {k.scalar.column_name: name for name, k in zip(self.keys, self.node.keys, strict=True)}
        return [found.get(c) or f"__pw_p{i}" for i, c in enumerate(self.clause.partition)]

    @property
    def groups(self) -> list[str]:
        """All columns that tell groups apart: the keys, then the partition columns that are no keys."""
        return list(dict.fromkeys([*self.keys, *self.partition]))

    def arguments(self, index: int) -> list[str]:
        """The internal names of one aggregate's argument columns; equal arguments share one."""
        return [self._argument_names[argument] for argument in self.aggregates[index].arguments]

    @cached_property
    def _argument_names(self) -> dict[Scalar, str]:
        names: dict[Scalar, str] = {}
        for i, call in enumerate(self.aggregates):
            for j, argument in enumerate(call.arguments):
                names.setdefault(argument, f"__pw_a{i}_{j}")
        return names

    @property
    def bounds_type(self) -> T.DataType:
        """The type of a window's start and end."""
        if self.clause.ordinal in (OrdinalKind.INTEGER, OrdinalKind.ROWS):
            return T.LongType()
        return field_of(self.below, self.clause.attribute).dataType

    @cached_property
    def rows(self) -> DataFrame:
        """The input reduced to what the aggregate reads, in internal names."""
        return self.rows_with()

    def rows_with(self, *more: Column) -> DataFrame:
        """As ``rows``, with further columns computed from the input."""
        columns, of = [self.ordinal.alias(ORDINAL)], steps.rows_of(self.node.input)
        for name, key in zip(self.keys, self.node.keys, strict=True):
            columns.append(steps.scalar_column(key.scalar, self.below, of).alias(name))
        for name, column in zip(self.partition, self.clause.partition, strict=True):
            if name not in self.keys:
                columns.append(steps.quoted(column).alias(name))
        columns += [steps.scalar_column(argument, self.below, of).alias(name)
                    for argument, name in self._argument_names.items()]
        return self.below.select(*columns, *map(steps.quoted, steps.side_columns(self.below)), *more)

    @property
    def ordinal(self) -> Column:
        """The windowing attribute as a bigint; a null fails the query with a message, except on punctuation rows."""
        attribute = self.clause.attribute
        if self.by_position:  # kernels number the rows they count
            return F.lit(0).cast("bigint")
        missing = steps.quoted(attribute).isNull()
        if CONTROL in self.below.columns:
            missing = missing & steps.quoted(CONTROL).isNull()
        ordinal = as_ordinal(self.below, steps.quoted(attribute), self.clause.ordinal)
        return F.when(missing, steps.undated(self.below, attribute).cast("bigint")).otherwise(ordinal)

    @property
    def late_text(self) -> Column:
        """A row as JSON where it is late, else null."""
        return late_text(self.below, self.ordinal)

    def argument_types(self, index: int) -> tuple[pa.DataType, ...]:
        """Arrow types of one aggregate's arguments."""
        return tuple(arrow_type(self.rows.schema[name].dataType) for name in self.arguments(index))

    def windowed(self, rows: DataFrame, wid: Column, results: Mapping[str, Column],
                 edges: tuple[Column, Column] | None = None) -> DataFrame:
        """Result rows with their public columns: keys, window, aggregates; then what the plan has above.

        ``edges`` are the ordinals of starts and ends, where they do not follow from the id of a window.
        """
        window = wid
        if self.clause.has_time_range:
            start, end = edges or window_bounds(self.window, wid)
            window = F.struct(self._value(start).alias("start"), self._value(end).alias("end"))
        keys = [steps.quoted(i).alias(k.name) for i, k in zip(self.keys, self.node.keys, strict=True)]
        return rows.select(*keys, window.alias(self.node.window_column),
                           *(results[a.name].alias(a.name) for a in self.aggregates), *_beside(rows))

    def finished(self, results: DataFrame) -> DataFrame:
        """The results with the projections and filters above the aggregate."""
        return steps.over_results(results, self.above, BESIDE_RESULTS)

    def _value(self, ordinal: Column) -> Column:
        kind = self.clause.ordinal
        if kind is OrdinalKind.TIMESTAMP:
            if isinstance(self.bounds_type, T.TimestampNTZType) and not _in_utc(self.below):
                seconds = (ordinal.cast("decimal(20,0)") / F.lit(1_000_000)).cast("decimal(18,6)")
                return F.expr(_EPOCH) + F.make_dt_interval(F.lit(0), F.lit(0), F.lit(0), seconds)
            return F.timestamp_micros(ordinal).cast(self.bounds_type)
        if kind is OrdinalKind.DATE:
            return F.date_from_unix_date(ordinal.cast("int"))
        return ordinal


def _beside(rows: DataFrame) -> list[Column]:
    """The columns beside the results: late rows, changes."""
    return [steps.quoted(c) for c in BESIDE_RESULTS if c in rows.columns]


def take_apart(plan: Node, inputs: Mapping[str, DataFrame], *, exact: bool = False) -> Fragment:
    """The fragment of a plan; what Spark cannot run is refused here, and so are columns that are not there."""
    above: list[Project | Filter] = []
    node = plan
    while isinstance(node, Project | Filter):
        above.insert(0, node)
        node = node.input
    if not isinstance(node, WindowAggregate):
        raise UnsupportedError(f"the Spark engine runs window aggregates, {type(node).__name__} does not run on it "
                               "yet: use `--engine oracle` or `--engine embedded`")
    for below in node.input.walk():
        if not isinstance(below, steps.STATELESS):
            raise UnsupportedError(f"{type(below).__name__} below a window aggregate does not run on Spark yet: "
                                   "use `--engine oracle` or `--engine embedded`")
    frame = steps.lower(node.input, inputs, ordered=_ordered(node))
    if node.window.predicate is not None:
        frame = steps.filtered(frame, node.window.predicate)
    wanted = {c for k in node.keys for c in k.scalar.columns}
    wanted |= {c for a in node.aggregates for s in a.arguments for c in s.columns}
    steps.require(frame, wanted | set(node.window.partition))
    if node.window.attribute not in ROW_NUM_NAMES:
        _check_attribute(frame, node.window)
    return Fragment(node, tuple(above), frame, exact)


def _ordered(node: WindowAggregate) -> bool:
    """Whether an aggregate asks in which order rows came."""
    functions = (resolve(c.function, c.parameters, c.distinct) for c in node.aggregates)
    by_arrival = node.window.attribute in ROW_NUM_NAMES or node.window.spec.plain.by_arrival
    return by_arrival or any(f.needs_order for f in functions)


def _check_attribute(frame: DataFrame, clause: WindowClause) -> None:
    field = field_of(frame, clause.attribute)
    fits = {
        OrdinalKind.TIMESTAMP: isinstance(field.dataType, T.TimestampType | T.TimestampNTZType),
        OrdinalKind.DATE: isinstance(field.dataType, T.DateType),
        OrdinalKind.INTEGER: isinstance(field.dataType, INTEGERS),
        OrdinalKind.ROWS: isinstance(field.dataType, INTEGERS),
    }[clause.ordinal]
    if not fits:
        found = field.dataType.simpleString()
        if isinstance(field.dataType, (T.TimestampType, T.TimestampNTZType, T.DateType, *INTEGERS)):
            raise SchemaError(f"column {clause.attribute!r} is {found}, but the query was written for a "
                              f"{clause.ordinal.value} column: cast it, or give the query this schema")
        raise SchemaError(f"column {clause.attribute!r} is {found} and cannot order a window: "
                          "use a timestamp, date or integer column, or cast it")


def field_of(frame: DataFrame, name: str) -> T.StructField:
    """A column of a DataFrame; its name in any case, as Spark has it."""
    for field in frame.schema.fields:
        if field.name.lower() == name.lower():
            return field
    raise SchemaError(f"no column {name!r}; there are {', '.join(steps.data_columns(frame))}")


def late_text(frame: DataFrame, ordinal: Column) -> Column:
    """A row as JSON where it came below the bound it carries, else null."""
    written = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "ignoreNullFields": "false"}
    text = F.to_json(F.struct(*map(steps.quoted, steps.data_columns(frame))), written)
    return F.when(steps.quoted(ROW_BOUND) > ordinal, text)


def as_ordinal(frame: DataFrame, value: Column, kind: OrdinalKind) -> Column:
    """A value of the windowing attribute, a column of the frame, as a bigint."""
    if kind is OrdinalKind.TIMESTAMP:
        instant = F.unix_micros(value.cast("timestamp"))
        if _in_utc(frame):
            return instant
        return F.when(F.typeof(value) == "timestamp_ntz", naive_ordinal(value)).otherwise(instant)
    return F.unix_date(value).cast("bigint") if kind is OrdinalKind.DATE else value.cast("bigint")


def naive_ordinal(value: Column) -> Column:
    """A time without a zone as a bigint. A cast to a timestamp would read it in the session's zone, where hours are
    missing or come twice."""
    since = (value.cast("timestamp_ntz") - F.expr(_EPOCH)).cast("interval second")
    return (since.cast("decimal(18,6)") * F.lit(1_000_000)).cast("bigint")


def _in_utc(frame: DataFrame) -> bool:
    """Whether the frame's session takes times without a zone as we do; then the fast conversions are right."""
    return frame.sparkSession.conf.get("spark.sql.session.timeZone") in _UTC


def window_bounds(window: SlidingWindow, wid: Column) -> tuple[Column, Column]:
    """Start and end ordinals of a window id (equation 5.2, shifted by the lag)."""
    end = (wid + F.lit(1)) * F.lit(window.slide) + F.lit(window.origin - window.lag)
    return end - F.lit(window.range), end


def result_field(name: str, data_type: pa.DataType) -> T.StructField:
    """A result column for a schema."""
    return T.StructField(name, spark_type(data_type))
