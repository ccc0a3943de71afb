"""The physical plan: how a query runs. Made once by ``planner.choose``, obeyed by compilers, printed by ``explain``.

One node is one operator that runs. It names its kernel, the structure that holds each input, how departures are
reported on its output, and why. Nothing below this decides any of it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import pyarrow as pa

from panewise.core.errors import PlanError
from panewise.kernels.relations.edges.departures import Departures
from panewise.kernels.relations.joins.many_join import Manner
from panewise.kernels.relations.stores.structures import Structure
from panewise.plan import nodes as n

__all__ = ["NOT_KEPT", "STYLES", "Algorithm", "Asked", "AtOnce", "Clock", "Departures", "Layout", "Path",
           "PhysicalNode", "RelationPlan", "State", "Structure", "Style"]

Path = tuple[int, ...]
"""Where a node of the logical plan is: the inputs to take from the root."""


class Style(Enum):
    """Three ways to run one plan: how expiry travels through it (Golab 3.6)."""

    UPA = "upa"            # by update pattern: known ends travel with rows, others are sent
    NEGATIVE = "negative"  # every expiry is sent as a negative tuple, rows are found by their number
    DIRECT = "direct"      # known ends travel with rows, lists by arrival are looked through

    @classmethod
    def parse(cls, text: str | Style) -> Style:
        """By name."""
        try:
            return cls(text)
        except ValueError:
            raise PlanError(f"no execution style {text!r}; there are {', '.join(s.value for s in cls)}") from None


STYLES = tuple(style.value for style in Style)


class Layout(Enum):
    """What is kept of the rows of an edge, beside the structure that knows which leaves next."""

    ROWS = "rows"
    CHAINS = "chains by key"
    VALUE_CHAINS = "chains by value"
    COUNTS = "counts by key"
    VALUE_COUNTS = "counts by value"
    STATES = "a state per group"
    BLOCKS = "blocks by group"
    SPARES = "a row and a spare one per value"
    LAST_ENDS = "an end per value"
    FIRST_ROWS = "a row per value"
    TO_SEND = "ends to send"
    NOTHING = "not kept"


class Algorithm(Enum):
    """Which of several algorithms DISTINCT runs (Golab 2.2.2, 3.5.2; law L4)."""

    DELTA_STAR = "delta*"           # one result and one replacement per value
    COUNTERS = "counters"           # rows per value, negatives in and out
    SEARCH = "search"               # all rows of the input, looked through when a value needs another one
    NEWEST_ROW = "newest row"       # the last end of every value
    FIRST_ROW = "first row"         # nothing leaves: later duplicates are dropped


@dataclass(frozen=True)
class State:
    """What an operator keeps of one input."""

    layout: Layout
    structure: Structure | None = None
    """What knows which row leaves next; None where that is not asked."""
    catalogues: tuple[str, ...] = ()
    """The windows by rows that end some of them, each with a catalogue of what hangs on its rows."""

    def __str__(self) -> str:
        own = [self.layout.value] if self.layout is not Layout.ROWS else []
        if self.catalogues:
            own += ["calendar queue by time"] if self.structure is Structure.CALENDAR else []
            own.append(f"catalogue{'s' if len(self.catalogues) > 1 else ''} of {', '.join(self.catalogues)}")
        elif self.structure is not None:
            own.append(self.structure.value)
        return ", ".join(own)


NOT_KEPT = State(Layout.NOTHING)


@dataclass(frozen=True)
class Clock:
    """Signals an operator when the windows below refresh; ``beside`` is another one with the same signals."""

    number: int
    beside: Clock | None = None


@dataclass(frozen=True)
class Asked:
    """What the operators above ask of those below."""

    ticking: bool = False
    """Every instant at which anything can change."""
    clock: Clock | None = None
    """When windows refresh."""
    every: bool = False
    """Every change of a group, also to an equal value."""
    ordered: bool = False
    """Rows of one instant are counted one by one above, so their ages must be exact, however many streams lie between.
    """
    late: bool = False
    """Late rows of the stream count."""
    by_time: bool = False
    """Rows of a stream that is never late still wait for a table."""


@dataclass(frozen=True)
class AtOnce:
    """A tree of joins that is run as one: the column of each input, and who is probed when (Golab 5.3)."""

    columns: tuple[str, ...]
    key: pa.DataType
    """The type of all these columns."""
    manner: Manner
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class PhysicalNode:
    """One operator of a relation."""

    kernel: str
    """The class that runs."""
    node: n.Node
    """What it runs of the logical plan, as it runs: below results that stay, windows are external."""
    path: Path
    """Where that is in the plan that was chosen; helpers have the path of the node they serve."""
    inputs: tuple[PhysicalNode, ...]
    pattern: str
    """The update pattern of what it puts out, in the clock of time."""
    departures: Departures
    because: str = ""
    """Why departures are reported so."""
    timed: bool = False
    """Some rows know at birth when they leave."""
    expiry: str = ""
    """Which windows by rows, or other inputs, end its rows beside their time; empty where none does."""
    keeps: tuple[State | None, ...] = ()
    """What is kept of every input."""
    asked: Asked = Asked()
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What the kernel takes beside its inputs."""
    algorithm: Algorithm | AtOnce | None = None
    """Where there is a choice."""
    why: str = ""
    """Why this kernel."""
    title: str = ""
    """What status() calls it."""

    @property
    def helps(self) -> bool:
        """Whether the logical plan has no node for it."""
        return self.title != type(self.node).__name__

    def walk(self) -> Iterator[PhysicalNode]:
        """This node and all below, inputs first."""
        for below in self.inputs:
            yield from below.walk()
        yield self


@dataclass(frozen=True)
class RelationPlan:
    """How one relation runs: what was asked, the logical plan that answers it, its operators and its results."""

    plan: n.Node
    running: n.Node
    style: Style
    root: PhysicalNode
    form: str
    """The class that shows results."""
    result: State | None
    """What is kept of the results alone; None where they are a stream."""
    inside: bool = False
    """Something above reads its rows."""
    current: bool = False
    """The relation as it is now is kept."""
    guarded: bool = True
    """Whether rows of its streams may be too late: not of a plan that is nothing but streams, unless it stops some time
    after the first."""
    waits: bool = True
    """Whether rows wait until their instant is complete."""
    cost: Mapping[Path, tuple[float, float]] = field(default_factory=dict, hash=False, compare=False)
    """By path what rows and state are estimated to cost; empty without statistics."""

    def walk(self) -> Iterator[PhysicalNode]:
        """All operators, inputs first."""
        return self.root.walk()

    @property
    def at_once(self) -> list[AtOnce]:
        """The joins that are run as one."""
        return [node.algorithm for node in self.walk() if isinstance(node.algorithm, AtOnce)]

    @property
    def fingerprint(self) -> str:
        """How it runs, as far as its state depends on that: of windows joined at once the rows are kept, in whatever
        manner they are joined."""
        operators = [f"{node.kernel} {node.departures.name} {', '.join(map(str, node.keeps))} "
                     f"{node.algorithm.columns if isinstance(node.algorithm, AtOnce) else ''}" for node in self.walk()]
        return f"{self.running!r} {self.style.value} {'; '.join(operators)} {self.form} {self.result}"

    def at(self, path: Path) -> PhysicalNode | None:
        """The topmost operator of the logical node at this path; None where it runs with another."""
        return next((node for node in reversed(list(self.walk())) if node.path == path), None)
