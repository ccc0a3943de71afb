"""Logical plan nodes: everything the query language can say.

A node is a frozen dataclass; its inputs are fields. ``columns`` are the names a node puts out, in order. Nothing here
knows how a node is evaluated.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Self

from panewise.core.generators import Generator
from panewise.core.join_kinds import JoinKind
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import ROW_NUM_NAMES, SourceSchema
from panewise.plan.node import AggregateCall as AggregateCall  # noqa: PLC0414 (known by this module)
from panewise.plan.node import Computed as Computed  # noqa: PLC0414
from panewise.plan.node import NamedScalar as NamedScalar  # noqa: PLC0414
from panewise.plan.node import Node as Node  # noqa: PLC0414
from panewise.plan.node import OfNodes as OfNodes  # noqa: PLC0414
from panewise.plan.node import folded as folded  # noqa: PLC0414
from panewise.windows.base import WindowSpec

WINDOW_COLUMN = "window"  # struct<start, end>, as Spark names it
WID_COLUMN = "wid"
INSTANT = "window.time"
"""The last instant of the window of a result: the time of the row that the result is for what reads it as a stream."""
WINDOW_TIMES = ("window.start", "window.end", INSTANT)
"""What a window above may go by."""
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
    def reads(self) -> frozenset[str]:
        """The columns of a row that the window looks at; positions of rows are in none."""
        columns = frozenset({self.attribute, *self.partition}) - ROW_NUM_NAMES
        return columns | (self.predicate.columns if self.predicate is not None else frozenset())

    @property
    def has_time_range(self) -> bool:
        """Whether results carry ``window`` (start, end) rather than ``wid``."""
        return self.spec.shows_range and self.ordinal is not OrdinalKind.ROWS


@dataclass(frozen=True)
class Named(Node):
    """An input of the query, by the name it has there."""

    name: str
    schema: SourceSchema

    @property
    def columns(self) -> tuple[str, ...]:
        """The schema's columns."""
        return tuple(self.schema.columns)

    @property
    def columns_known(self) -> bool:
        """Not where the schema is open."""
        return not self.schema.open

    def has(self, column: str) -> bool:
        """By the schema."""
        return self.schema.has(column)


def below_selections(plan: Node) -> Node:
    """The first node from the root down that is neither a selection nor a projection."""
    while isinstance(plan, Filter | Project):
        plan = plan.input
    return plan


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
class PerRow(Node):
    """Base of nodes that look at one row of their one input at a time."""

    input: Node


@dataclass(frozen=True)
class Qualify(PerRow):
    """Prefix every column with an alias, as the sources of a join are: ``ts`` becomes ``M1.ts``."""

    alias: str

    @property
    def columns(self) -> tuple[str, ...]:
        """Prefixed names."""
        return tuple(f"{self.alias}.{c}" for c in self.input.columns)

    def has(self, column: str) -> bool:
        """With the prefix."""
        return column.startswith(f"{self.alias}.") and self.input.has(column.removeprefix(f"{self.alias}."))

    def comes_from(self, column: str) -> tuple[tuple[Node, str], ...]:
        """Without the prefix."""
        return ((self.input, column.removeprefix(f"{self.alias}.")),)

    def shown_as(self, column: str) -> tuple[str, ...]:
        """With the prefix."""
        return (f"{self.alias}.{column}",)


@dataclass(frozen=True)
class Filter(PerRow):
    """Rows for which the predicate is true."""

    predicate: Scalar


@dataclass(frozen=True)
class Project(Computed, PerRow):
    """Computed columns, duplicates kept."""

    items: tuple[NamedScalar, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The items' names."""
        return tuple(item.name for item in self.items)

    def comes_from(self, column: str) -> tuple[tuple[Node, str], ...]:
        """Of an item that is a column and nothing else."""
        below = next((item.scalar.column_name for item in self.items if item.name == column), None)
        return () if below is None else ((self.input, below),)

    def shown_as(self, column: str) -> tuple[str, ...]:
        """The names of the items that are this column."""
        return tuple(item.name for item in self.items if item.scalar.column_name == column)


@dataclass(frozen=True)
class Explode(PerRow):
    """A row for every element of a collection: the columns of the row it is of, then those of the element.

    Elements follow each other in their order, and are as old as their row. A row whose collection is null or empty has
    none, or one of nulls where ``outer``.
    """

    generator: Generator
    collection: Scalar
    names: tuple[str, ...]
    """Of the columns it adds: the place, if it is shown, then the element, the key and the value, or the fields."""
    outer: bool = False
    number: int = 0
    """Which of the generators of a query this is: distinguishes elements of two of them that are of one row."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The input's, then its own."""
        return (*self.input.columns, *self.names)

    def has(self, column: str) -> bool:
        """Of the element or of its row."""
        return column in self.names or self.input.has(column)

    def comes_from(self, column: str) -> tuple[tuple[Node, str], ...]:
        """Not of elements."""
        return () if column in self.names else ((self.input, column),)

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
        """The input's; with the position of each row where the window shows it."""
        return (*self.input.columns, POSITION_COLUMN) if self.clause.numbered else self.input.columns

    def has(self, column: str) -> bool:
        """A position of its own, or a column of its input."""
        return (self.clause.numbered and column == POSITION_COLUMN) or self.input.has(column)


@dataclass(frozen=True)
class Union(Node):
    """Bag union; columns by position, named by the first input."""

    parts: tuple[Node, ...]

    def comes_from(self, column: str) -> tuple[tuple[Node, str], ...]:
        """Of every part the one at its place."""
        place = self.columns.index(column) if column in self.columns else None
        return () if place is None else \
            tuple((part, part.columns[place]) for part in self.parts if place < len(part.columns))


@dataclass(frozen=True)
class Distinct(Node):
    """One representative per value; ``keep`` leaves it until it expires, ``recent`` replaces it by each duplicate."""

    input: Node
    policy: str = "keep"


@dataclass(frozen=True)
class WindowAggregate(Computed):
    """One result row per group and window (window ids as data, Li 5 and 6).

    Output: the keys, then ``window`` or ``wid``, then the aggregates, then the times that are asked for.
    """

    input: Node
    window: WindowClause
    keys: tuple[NamedScalar, ...]
    aggregates: tuple[AggregateCall, ...]
    times: tuple[str, ...] = ()
    """Which of the ``WINDOW_TIMES`` are columns of their own, because a window above goes by them."""

    @property
    def window_column(self) -> str:
        """``window`` for windows with a time range, else ``wid``."""
        return WINDOW_COLUMN if self.window.has_time_range else WID_COLUMN

    @property
    def columns(self) -> tuple[str, ...]:
        """Keys, window, aggregates."""
        return (*(k.name for k in self.keys), self.window_column, *(a.name for a in self.aggregates), *self.times)


@dataclass(frozen=True)
class GroupAggregate(Computed):
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

    @property
    def passes(self) -> tuple[Node, ...]:
        """Both."""
        return self.inputs


@dataclass(frozen=True)
class Join(Pairs):
    """Pairs of rows of two relations (window states, streams) for which the predicate holds."""

    predicate: Scalar | None = None


@dataclass(frozen=True)
class TimePairs(Pairs):
    """Rows of two streams whose times meet; ``kind`` says what becomes of rows that meet no other."""

    left_time: str
    right_time: str
    kind: JoinKind = field(default=JoinKind.INNER, kw_only=True)

    @property
    def columns(self) -> tuple[str, ...]:
        """Left, then right unless only left rows come out."""
        return self.left.columns if self.kind.left_only else (*self.left.columns, *self.right.columns)

    @property
    def passes(self) -> tuple[Node, ...]:
        """Both unless only left rows come out."""
        return (self.left,) if self.kind.left_only else self.inputs


@dataclass(frozen=True)
class BandJoin(TimePairs):
    """Pairs of rows of two streams whose times lie in a band (Li 2.8, canonical by erratum E8).

    ``left_range`` is the window declared on the left stream: ``l - right_range <= r <= l + left_range``. One of the
    two may be negative: partners then lie wholly before or after (``2 <= r - l <= 10`` has the ranges 10 and -2).
    ``bounds`` says which ends count: ``both``, ``left``, ``right`` or ``strict``.
    """

    left_range: int
    right_range: int
    predicate: Scalar | None = None
    bounds: str = "both"


@dataclass(frozen=True)
class TumblingJoin(TimePairs):
    """Pairs of rows of two streams whose times fall in the same tumbling bucket (Li 2.8), counted from ``origin``."""

    range: int
    predicate: Scalar | None = None
    origin: int = 0

    def bucket(self, time: int) -> int:
        """Where the bucket of a time begins."""
        return time - (time - self.origin) % self.range


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

    @property
    def passes(self) -> tuple[Node, ...]:
        """Both."""
        return self.inputs


@dataclass(frozen=True)
class Existence(Node):
    """Left rows by whether there is a match."""

    left: Node
    right: Node
    predicate: Scalar | None = None


@dataclass(frozen=True)
class SemiJoin(Existence):
    """Left rows with at least one match (EXISTS)."""


@dataclass(frozen=True)
class AntiJoin(Existence):
    """Left rows without a match (NOT EXISTS; Golab erratum E11)."""


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
