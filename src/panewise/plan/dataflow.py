"""The physical plan of a whole query: the graph of operators that runs it.

Made once by ``planner.choose.dataflow``, obeyed by ``dataflow.build``, printed by ``planner.explain``. Steps read
others by their numbers, and every step stands behind those it reads; equal sub-plans are one step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from panewise.plan import nodes as n
from panewise.plan.physical import Path, RelationPlan
from panewise.progress.late import LatePolicy


@dataclass(frozen=True)
class Estimate:
    """What a kernel would take."""

    kernel: str
    seconds: float | None
    """Per window, all groups; None for a kernel without a formula."""
    bytes: float | None
    """Of state while windows are open."""
    formula: str = ""
    """Where the figures come from."""

    def __str__(self) -> str:
        if self.seconds is None or self.bytes is None:
            return f"{self.kernel}: no estimate"
        return f"{self.kernel}: {format_seconds(self.seconds)} per window, {format_bytes(self.bytes)}" + (
            f" ({self.formula})" if self.formula else "")


@dataclass(frozen=True)
class KernelChoice:
    """The kernel of a window aggregate, what it and the others would cost, and why it was taken."""

    kernel: str
    reason: str
    estimates: tuple[Estimate, ...] = ()
    """Of every kernel that could run it, in the catalog's order; empty without statistics."""
    candidates: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What the kernel is given beside the window, the groups and the aggregates."""
    given: str = ""
    """The statistics it was chosen by."""
    keeps: str = ""
    """The state it keeps."""

    def estimate_of(self, kernel: str) -> Estimate | None:
        """What a kernel would cost."""
        return next((e for e in self.estimates if e.kernel == kernel), None)


@dataclass(frozen=True)
class Step:
    """One operator that runs: ``node`` is what it does of the logical plan, ``inputs`` are the steps at its ports."""

    node: n.Node
    inputs: tuple[int, ...] = ()
    operator: ClassVar[str] = ""
    """The class that runs."""


@dataclass(frozen=True)
class Describe:
    """What makes promises of the rows of a stream."""

    policy: str = "source"
    """Where they come from."""
    substreams: str | None = None
    """The column whose values name substreams that each get promises of their own, where results are grouped by it."""


@dataclass(frozen=True)
class Judge:
    """An operator for which late rows are found where they enter, because it does not see all of them."""

    step: int
    side: int = 0
    """Of a join, which of its inputs reads them."""
    ahead: int = 0
    """How much later the attribute that it goes by is than the column that orders them."""


@dataclass(frozen=True)
class Guard:
    """What holds the rows of a stream to all promises about it."""

    column: str | None
    """A row is late by it; without one arrival orders rows, and none is."""
    late: LatePolicy = LatePolicy.GENEROUS
    judges: tuple[Judge, ...] = ()


@dataclass(frozen=True)
class Entry(Step):
    """A stream or table as one of its columns orders it, or its arrival."""

    describe: Describe = field(kw_only=True)
    guard: Guard = field(kw_only=True)
    needed: tuple[str, ...] = ()
    """Columns that rows must have whatever is asked of them."""
    operator: ClassVar[str] = "StreamInput"

    @property
    def input(self) -> n.Named:
        """The stream or table."""
        assert isinstance(self.node, n.Named)
        return self.node


@dataclass(frozen=True)
class Stateless(Step):
    """Rows in, rows out, nothing kept."""

    reads: frozenset[str] | None = None
    """The columns that something above reads; None: all."""
    ahead: int = 0
    """How much later the column is by which something above orders rows than the one it is computed from."""
    times: tuple[tuple[str, Any], ...] = ()
    """Columns that are computed from times, and how (``planner.facts.derived_times``): promises are about them, too."""
    operator: ClassVar[str] = "RowStep"


@dataclass(frozen=True)
class UnionStep(Step):
    """Rows of all inputs as they come; ``attribute`` is what progress is asked of."""

    attribute: str | None = None
    operator: ClassVar[str] = "Merged"


@dataclass(frozen=True)
class StreamJoinStep(Step):
    """A join of two streams; both sides keep the rows that may still meet others."""

    wanted: frozenset[str] = frozenset()
    """The columns that something above reads."""
    attribute: str | None = None
    """What is above goes by this column."""
    keys: frozenset[str] = frozenset()
    """And groups by these."""
    dated: bool = False
    """Results say when they were born and from which rows they are made."""
    late: LatePolicy = LatePolicy.GENEROUS
    made_by: tuple[tuple[int | None, ...], ...] = ((None,), (None,))
    """The joins that make the rows of each side; None among them for rows of streams."""
    both: tuple[int, int] | None = None
    """What is above goes by the greatest or least of both times, each with so many steps added."""
    operator: ClassVar[str] = "StreamJoin"
    kernel: ClassVar[str] = "OAJoin"

    @property
    def takes_late(self) -> bool:
        """Whether late rows meet what is still kept."""
        return self.late is LatePolicy.GENEROUS


@dataclass(frozen=True)
class BucketStep(Step):
    """The ids of windows, as columns of the rows that are in them; of all aggregates of such windows over one input."""

    window: n.WindowClause = field(kw_only=True)
    operator: ClassVar[str] = "Bucket"


@dataclass(frozen=True)
class WindowAggregateStep(Step):
    """A window aggregate on a kernel."""

    choice: KernelChoice | None = None
    """None where the columns are not known yet."""
    late: LatePolicy = LatePolicy.GENEROUS
    dated: bool = False
    """Results carry the last instant of their window: by it what stands above orders them."""
    by_rows: bool = False
    """Or that of the newest row of their window, which is one of so many rows."""
    in_order: bool = False
    """Results leave by the end of their windows and by group, whatever closed them."""
    tells: bool = False
    """Something above reads promises about results to come."""
    bucket: str = ""
    """Where windows become ids: in a Bucket ``below``, or ``inside``, in the loops of the kernel; else they have none
    that follow from a row, or from a bound."""
    emit: str = "final"
    empty_windows: bool = False
    events: bool = False
    operator: ClassVar[str] = "WindowAggregation"

    @property
    def aggregate(self) -> n.WindowAggregate:
        """The node."""
        assert isinstance(self.node, n.WindowAggregate)
        return self.node


@dataclass(frozen=True)
class Port:
    """Where rows enter a relation: a stream or table under a guard, or what another step makes."""

    node: n.Named | n.WindowAggregate | n.TimePairs
    guard: str | None = None
    reads: frozenset[str] | None = None
    """The columns of made rows that the relation looks at; None: all."""
    entries: tuple[int, ...] = ()
    """The streams that made rows come from."""
    in_full: bool = False
    """Whether the first row of all these counts, which no made row need contain; its rows wait for all of theirs."""


@dataclass(frozen=True)
class RelationStep(Step):
    """A relation: its operators step together from bound to bound."""

    relation: RelationPlan = field(kw_only=True)
    ports: tuple[Port, ...] = ()
    """One for each input."""
    late: LatePolicy = LatePolicy.GENEROUS
    chosen_from: Any = field(default=None, hash=False, compare=False)
    """What it was chosen from (``planner.choose.optimizer.Optimized``); None where nothing was known to choose by."""
    watched: bool = False
    """Whether figures are compared with those it was chosen by while it runs."""
    operator: ClassVar[str] = "Relation"


@dataclass(frozen=True)
class Outlet(Step):
    """Where results leave."""

    columns: tuple[str, ...] = ()
    form: str = ""
    """What results look like."""
    promises: tuple[str, ...] = ()
    """What is said of results to come."""
    operator: ClassVar[str] = "Outlet"


@dataclass(frozen=True)
class PhysicalPlan:
    """How a query runs: every operator, and where its results come from."""

    plan: n.Node
    """What was asked."""
    running: n.Node
    """The logical plan that answers it."""
    steps: tuple[Step, ...]
    places: Mapping[Path, int] = field(hash=False)
    """By the place of a node in the plan that runs the step that begins there; the nodes of a relation below its top
    are operators of that one step."""
    labels: Mapping[n.Node, Any] = field(default_factory=dict, hash=False, compare=False)
    """The update pattern of every edge of the plan that runs, with its reason (``planner.facts.labels.Labels``)."""
    progress: Mapping[n.Node, Any] = field(default_factory=dict, hash=False, compare=False)
    """What progresses on every edge (``planner.facts.progress.Progress``)."""
    windows: int | None = None
    """The step whose windows are the results."""
    relation: int | None = None
    """The step whose changes are the results."""

    @property
    def outlet(self) -> Outlet:
        """The last step."""
        found = self.steps[-1]
        assert isinstance(found, Outlet)
        return found

    @property
    def is_as_asked(self) -> bool:
        """Whether the plan runs as it is written."""
        return self.running == self.plan


def format_seconds(seconds: float) -> str:
    """A time with three digits.

    >>> [format_seconds(s) for s in (0.0000000512, 0.0000123, 0.5, 125)]
    ['51 ns', '12.3 µs', '500 ms', '125 s']
    """
    for size, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= size:
            return f"{seconds / size:.3g} {name}"
    return f"{seconds * 1e9:.0f} ns"


def format_bytes(size: float) -> str:
    """A size with three digits.

    >>> [format_bytes(b) for b in (12, 4_700, 123_456_789)]
    ['12 B', '4.7 kB', '123 MB']
    """
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size:.0f} B"
