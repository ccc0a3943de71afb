"""Logical plan nodes: everything the query language can say.

A node is a frozen dataclass; its inputs are fields. ``columns`` are the names a node puts out, in order. Nothing here
knows how a node is evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Self

from panewise.core.generators import Generator
from panewise.core.join_kinds import JoinKind
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceSchema
from panewise.windows.base import WindowSpec

WINDOW_COLUMN = "window"  # struct<start, end>, as Spark names it
WID_COLUMN = "wid"
POSITION_COLUMN = "<row-num>"
"""The position of a row among those its window counts, where something above asks for it; no query can name it."""


class RelationToStreamKind(Enum):
    """How a changing relation becomes a stream again (CQL; Golab 3.4)."""

    ISTREAM = "Istream"  # what came in
    DSTREAM = "Dstream"  # what went out
    RSTREAM = "Rstream"  # all of it, at every refresh
    WSTREAM = "Wstream"  # what came in, kept by an output window


@dataclass(frozen=True)
class WindowClause:
    """A window specification bound to the columns it works on."""

    spec: WindowSpec
    attribute: str
    """WATTR, or RATTR where range and slide differ; ``row-num`` for arrival positions."""
    ordinal: OrdinalKind
    partition: tuple[str, ...] = ()
    predicate: Scalar | None = None
    """Filters before anything is counted (papers 1.2, predicate windows)."""
    internal: bool = False
    """Append-only output: results never expire (Golab 3.3.2)."""
    numbered: bool = False
    """Whether a window by rows shows the position of every row too."""

    @property
    def has_time_range(self) -> bool:
        """Whether results carry ``window`` (start, end) rather than ``wid``."""
        return self.spec.kind in {"sliding", "tumbling", "calendar", "session"} and self.ordinal is not OrdinalKind.ROWS


@dataclass(frozen=True)
class NamedScalar:
    """An output column: its name and how it is computed."""

    name: str
    scalar: Scalar

    @classmethod
    def column(cls, name: str) -> NamedScalar:
        """A column under its own name."""
        return cls(name, Scalar.column(name))


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate in a SELECT list: the function, its argument columns and its constant parameters."""

    name: str
    """The output column."""
    function: str
    arguments: tuple[Scalar, ...] = ()
    parameters: tuple[int | float | str, ...] = ()
    """Constants that fix the function, such as the fraction of a quantile."""
    distinct: bool = False


@dataclass(frozen=True)
class Node:
    """Base of all plan nodes."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The plans this node reads."""
        found: list[Node] = []
        for name in self.__dataclass_fields__:  # asked for at every step of every walk; fields() costs three times it
            value = getattr(self, name)
            if isinstance(value, Node):
                found.append(value)
            elif isinstance(value, tuple) and value and isinstance(value[0], Node):
                found.extend(value)
        return tuple(found)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the output columns; the first input's unless a node says otherwise."""
        return self.inputs[0].columns

    def with_inputs(self, *inputs: Node) -> Self:
        """The same node over other inputs."""
        remaining = iter(inputs)
        changes: dict[str, object] = {}
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if isinstance(value, Node):
                changes[name] = next(remaining)
            elif isinstance(value, tuple) and value and isinstance(value[0], Node):
                changes[name] = tuple([next(remaining) for _ in value])
        return replace(self, **changes)

    def walk(self) -> Iterator[Node]:
        """This node and everything below it, parents first."""
        yield self
        for child in self.inputs:
            yield from child.walk()


@dataclass(frozen=True)
class Named(Node):
    """An input of the query, by the name it has there."""

    name: str
    schema: SourceSchema

    @property
    def columns(self) -> tuple[str, ...]:
        """The schema's columns."""
        return tuple(self.schema.columns)


def zone_of(plan: Node) -> str:
    """The time zone in which a plan's expressions read clocks: that of its inputs."""
    return next((node.schema.zone for node in plan.walk() if isinstance(node, Named)), "UTC")


@dataclass(frozen=True)
class Source(Named):
    """An unbounded stream."""


@dataclass(frozen=True)
class Table(Named):
    """A relation; its schema says whether updates are retroactive."""


@dataclass(frozen=True)
class Relayed(Named):
    """The changing relation of a plan that runs elsewhere: what happens to it arrives as rows.

    To those who look from above it is an input; ``of`` says how its rows come and go. The schema has, behind the
    columns of the relation, those of its changes, and is ordered by their instants.
    """

    of: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        """None here."""
        return ()

    def with_inputs(self, *inputs: Node) -> Self:
        """Itself."""
        del inputs
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the relation."""
        return self.of.columns


@dataclass(frozen=True)
class Qualify(Node):
    """Prefix every column with an alias, as the sources of a join are: ``ts`` becomes ``M1.ts``."""

    input: Node
    alias: str

    @property
    def columns(self) -> tuple[str, ...]:
        """Prefixed names."""
        return tuple(f"{self.alias}.{c}" for c in self.input.columns)


@dataclass(frozen=True)
class Filter(Node):
    """Rows for which the predicate is true."""

    input: Node
    predicate: Scalar


@dataclass(frozen=True)
class Project(Node):
    """Computed columns, duplicates kept."""

    input: Node
    items: tuple[NamedScalar, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The items' names."""
        return tuple(item.name for item in self.items)


@dataclass(frozen=True)
class Explode(Node):
    """A row for every element of a collection: the columns of the row it is of, then those of the element.

    Elements follow each other in their order, and are as old as their row. A row whose collection is null or empty has
    none, or one of nulls where ``outer``.
    """

    input: Node
    generator: Generator
    collection: Scalar
    names: tuple[str, ...]
    """Of the columns it adds: the place, if it is shown, then the element, the key and the value, or the fields."""
    outer: bool = False
    number: int = 0
    """Which of the generators of a query this is: tells elements of two of them apart where both are of one row."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The input's, then its own."""
        return (*self.input.columns, *self.names)

    @property
    def call(self) -> str:
        """The generator as it is written."""
        return f"{self.generator.value}{'_outer' if self.outer else ''}({self.collection})"


@dataclass(frozen=True)
class Window(Node):
    """The changing contents of a window over a stream: a relation at every instant."""

    input: Node
    clause: WindowClause

    @property
    def columns(self) -> tuple[str, ...]:
        """The input's; with the position of each row where the window tells it."""
        return (*self.input.columns, POSITION_COLUMN) if self.clause.numbered else self.input.columns


@dataclass(frozen=True)
class Union(Node):
    """Bag union; columns by position, named by the first input."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Distinct(Node):
    """One representative per value; ``keep`` leaves it until it expires, ``recent`` replaces it by each duplicate."""

    input: Node
    policy: str = "keep"


@dataclass(frozen=True)
class WindowAggregate(Node):
    """One result row per group and window (window ids as data, Li 5 and 6).

    Output: the keys, then ``window`` or ``wid``, then the aggregates.
    """

    input: Node
    window: WindowClause
    keys: tuple[NamedScalar, ...]
    aggregates: tuple[AggregateCall, ...]

    @property
    def window_column(self) -> str:
        """``window`` for windows with a time range, else ``wid``."""
        return WINDOW_COLUMN if self.window.has_time_range else WID_COLUMN

    @property
    def columns(self) -> tuple[str, ...]:
        """Keys, window, aggregates."""
        return (*(k.name for k in self.keys), self.window_column, *(a.name for a in self.aggregates))


@dataclass(frozen=True)
class GroupAggregate(Node):
    """Aggregates over the current contents of a relation; a new row per group replaces the old (rule U4)."""

    input: Node
    keys: tuple[NamedScalar, ...]
    aggregates: tuple[AggregateCall, ...]
    internal: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """Keys, aggregates."""
        return (*(k.name for k in self.keys), *(a.name for a in self.aggregates))


@dataclass(frozen=True)
class Pairs(Node):
    """Rows of two inputs side by side."""

    left: Node
    right: Node

    @property
    def columns(self) -> tuple[str, ...]:
        """Left, then right."""
        return (*self.left.columns, *self.right.columns)


@dataclass(frozen=True)
class Join(Pairs):
    """Pairs of rows of two relations (window states, streams) for which the predicate holds."""

    predicate: Scalar | None = None


@dataclass(frozen=True)
class TimePairs(Pairs):
    """Rows of two streams whose times meet; ``kind`` says what becomes of rows that meet nobody."""

    kind: JoinKind = field(default=JoinKind.INNER, kw_only=True)

    @property
    def columns(self) -> tuple[str, ...]:
        """Left, then right unless only left rows come out."""
        return self.left.columns if self.kind.left_only else (*self.left.columns, *self.right.columns)


@dataclass(frozen=True)
class BandJoin(TimePairs):
    """Pairs of rows of two streams whose times lie in a band (Li 2.8, canonical by erratum E8).

    ``left_range`` is the window declared on the left stream: ``l - right_range <= r <= l + left_range``. One of the
    two may be negative: partners then lie wholly before or after (``2 <= r - l <= 10`` has the ranges 10 and -2).
    ``bounds`` says which ends count: ``both``, ``left``, ``right`` or ``strict``.
    """

    left_time: str
    right_time: str
    left_range: int
    right_range: int
    predicate: Scalar | None = None
    bounds: str = "both"


@dataclass(frozen=True)
class TumblingJoin(TimePairs):
    """Pairs of rows of two streams whose times fall in the same tumbling bucket (Li 2.8)."""

    left_time: str
    right_time: str
    range: int
    predicate: Scalar | None = None


@dataclass(frozen=True)
class TableJoin(Node):
    """A stream or window with a relation; the table's schema says whether updates reach back (Golab 3.3.1)."""

    input: Node
    table: Node
    predicate: Scalar | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Input, then table."""
        return (*self.input.columns, *self.table.columns)


@dataclass(frozen=True)
class SemiJoin(Node):
    """Left rows with at least one match (EXISTS)."""

    left: Node
    right: Node
    predicate: Scalar | None = None


@dataclass(frozen=True)
class AntiJoin(Node):
    """Left rows without a match (NOT EXISTS; Golab erratum E11)."""

    left: Node
    right: Node
    predicate: Scalar | None = None


@dataclass(frozen=True)
class BagDifference(Node):
    """EXCEPT ALL: of k1 and k2 copies, k1 - k2 stay, the youngest of the left (rule U10)."""

    left: Node
    right: Node


@dataclass(frozen=True)
class RelationToStream(Node):
    """Turn a changing relation into a stream; ``restore`` also reports what lived only between two refreshes."""

    input: Node
    kind: RelationToStreamKind
    restore: bool = False
    output_window: WindowClause | None = None


@dataclass(frozen=True)
class Lifetime(Node):
    """Stop the query this long (an ordinal amount) after it was registered."""

    input: Node
    amount: int
