"""What state every operator keeps, and in which structure: chosen per edge from its update pattern (Golab 3.5.2).

The choice is data: one `StateChoice` per kept edge with its reason, one `OperatorChoice` where an operator has several
algorithms. ``structure`` is what the pattern of the edge asks for and what it costs; ``held`` is what the kernel of the
consumer has of it, and what explain shows (`held`).

Three execution styles of the same plan:

- ``upa`` (the default): the structure follows the pattern of the edge; negatives only above a strict operator.
- ``negative``: every expiry is sent as a negative; base windows are kept, state is a hash table by row identity.
- ``direct``: rows carry the time they leave; state is a list in order of arrival that is searched for what has left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from panewise.core.errors import PlanError
from panewise.plan import nodes as n
from panewise.planner.expiry_vectors import carries_vectors, reads_vectors, vector_of
from panewise.planner.forms import is_retroactive
from panewise.planner.held import CHAINS, NOTHING, Style, held_as_result, held_by, maker_of, passed_on
from panewise.planner.labels import Label, Labels, Path, UpdatePattern, label
from panewise.planner.relation_flow import Flows
from panewise.planner.rewrites.distinct_through_window import newest_row_is_enough
from panewise.planner.working import working_labels

STYLES: tuple[Style, ...] = ("upa", "negative", "direct")
KEEP, EXPIRE, FIND, SEND = 1.0, 0.7, 0.8, 4.0
"""What it costs to put a row into a calendar, to take it out on its day, to find it by its number, and to send an end
through one operator. Only ratios matter: the first three are round figures of what ``bench/negation_crossover.py``
prints, the last is a guess by how much dearer negative tuples make whole queries."""
MON, WKS, WK, STR = UpdatePattern
TAKES_BACK = (n.AntiJoin, n.BagDifference, n.SemiJoin, n.TableJoin, n.Distinct)
"""Operators that take results back before their time, even if nothing below them does."""
MAY_ANNOUNCE = (n.AntiJoin, n.BagDifference, n.SemiJoin, n.TableJoin)
"""Strict operators that know the ends of their rows."""
KEEPS_INPUTS = (n.Join, n.SemiJoin, n.AntiJoin, n.BagDifference, n.Distinct, n.GroupAggregate)


class Structure(Enum):
    """How rows are kept."""

    APPEND = "append-only list"              # nothing leaves
    FIFO = "queue"                           # first in, first out
    CALENDAR = "calendar queue"              # known expiry, any order
    CATALOGUE = "expiry catalogue"           # expiry by arrival positions, one sorted map per window
    HASH = "rows by number"                  # leaves by a negative
    GROUPS = "array by group"                # a new row replaces the old one
    LIST = "list in order of arrival"        # the direct style's one structure


class Negatives(Enum):
    """Which expiries arrive as negatives on an edge."""

    NONE = "none"
    EARLY = "early ones"
    ALL = "all"


class Algorithm(Enum):
    """Which of several algorithms an operator runs."""

    DELTA_STAR = "delta*"           # one result and one replacement per value
    COUNTERS = "counters"           # rows per value, negatives in and out
    SEARCH = "search"               # all rows of the input, looked through when a value needs another one
    NEWEST_ROW = "newest row"       # the last end of every value, law L4: no window below is kept
    FIRST_ROW = "first row"         # nothing leaves: later duplicates are dropped


BY_VALUE = {Algorithm.DELTA_STAR: "a row and a spare one per value, calendar queue",
            Algorithm.NEWEST_ROW: "an end per value, calendar queue", Algorithm.FIRST_ROW: "a row per value"}
"""Algorithms that keep values instead of the rows of their input."""


@dataclass(frozen=True)
class StateChoice:
    """How the rows of one edge are kept by their consumer."""

    path: Path
    """The node whose output it is, by the inputs to take from the root."""
    node: n.Node
    consumer: n.Node | None
    """Who keeps the rows; None for the result of the plan itself."""
    structure: Structure
    negatives: Negatives
    reason: str
    held: str = ""
    """What the kernel has; nothing where it is the structure itself."""

    def __str__(self) -> str:
        negatives = "" if self.negatives is Negatives.NONE else f", negatives: {self.negatives.value}"
        return f"{self.held or self.structure.value}{negatives} ({self.reason})"


@dataclass(frozen=True)
class OperatorChoice:
    """Which algorithm an operator runs."""

    path: Path
    node: n.Node
    algorithm: Algorithm
    reason: str


@dataclass(frozen=True)
class Structures:
    """All choices of one plan in one style."""

    plan: n.Node
    style: Style
    edges: tuple[StateChoice, ...]
    operators: tuple[OperatorChoice, ...]
    negatives: tuple[tuple[Path, n.Node, Negatives], ...]
    """For every edge, kept or not, which expiries come as negatives."""

    def edge(self, path: Path) -> StateChoice | None:
        """The state kept of the output of the node at this path; None if nobody keeps it."""
        return next((choice for choice in self.edges if choice.path == path), None)

    def operator(self, path: Path) -> OperatorChoice | None:
        """The algorithm of the operator at this path; None if it has only one."""
        return next((choice for choice in self.operators if choice.path == path), None)


def choose_structures(plan: n.Node, *, style: Style = "upa", labels: Labels | None = None,
                      flows: Flows | None = None) -> Structures:
    """The state of every operator of a plan; by rule, and by estimated or measured shares where ``flows`` has them.

    >>> from panewise.core.ordinals import OrdinalKind
    >>> from panewise.core.schema import SourceSchema
    >>> from panewise.windows.sliding import SlidingWindow
    >>> clause = n.WindowClause(SlidingWindow.scoped(60), "ts", OrdinalKind.INTEGER)
    >>> left, right = (n.Window(n.Source(s, SourceSchema()), clause) for s in "ab")
    >>> for choice in choose_structures(n.Join(left, right)).edges:
    ...     print(choice.path, choice)
    () not kept (rows leave at known moments in any order)
    (0,) chains by key (rows leave in the order they came)
    (1,) chains by key (rows leave in the order they came)
    """
    labels = working_labels(labels or label(plan))
    if style not in STYLES:
        raise PlanError(f"no execution style {style!r}: there are {', '.join(STYLES)}")
    modes = _negatives(plan, labels, style, flows)
    sent = {path: mode for path, (mode, _) in modes.items()}
    edges = [_as_held(choice, plan, labels, style, sent) for choice in _kept(plan, (), None, labels, style, modes)]
    operators = [choice for path, node in walk(plan) if (choice := _algorithm(path, node, labels, style)) is not None]
    return Structures(plan, style, tuple(edges), tuple(operators),
                      tuple((path, node, modes[path][0]) for path, node in walk(plan)))


def walk(plan: n.Node, path: Path = ()) -> Iterator[tuple[Path, n.Node]]:
    """Every node with its path, parents first."""
    yield path, plan
    for i, child in enumerate(plan.inputs):
        yield from walk(child, (*path, i))


# -- negatives -----------------------------------------------------------------------------------------------------


def _negatives(plan: n.Node, labels: Labels, style: Style, flows: Flows | None) -> dict[Path, tuple[Negatives, str]]:
    """For every edge which expiries come as negatives, and why; once all do, they do everywhere above."""
    found: dict[Path, tuple[Negatives, str]] = {}
    for path, node in reversed(list(walk(plan))):
        found[path] = _negatives_of(path, node, labels, style, flows, found)
    return found


def _negatives_of(path: Path, node: n.Node, labels: Labels, style: Style, flows: Flows | None,
                  found: dict[Path, tuple[Negatives, str]]) -> tuple[Negatives, str]:
    seen = labels[node]
    if seen.pattern is MON:
        return Negatives.NONE, "nothing leaves"
    if seen.replace:
        return Negatives.NONE, "a new row of a group replaces the old one"
    if style == "negative":
        return Negatives.ALL, "style: every expiry is sent"
    choice = _algorithm(path, node, labels, style)
    if choice is not None and choice.algorithm in (Algorithm.COUNTERS, Algorithm.NEWEST_ROW):
        return Negatives.ALL, "a value ends when its last row does"
    if seen.pattern is not STR:
        return Negatives.NONE, ""
    if style == "direct":
        return Negatives.EARLY, "style: only what leaves early is sent"
    if isinstance(node, n.Relayed):
        return Negatives.ALL, "the part below sends every change"
    below = [found[*path, i] for i in range(len(node.inputs))]
    for mode in (Negatives.ALL, Negatives.EARLY):
        inherited = next((why for kind, why in below if kind is mode), None)
        if inherited is not None and (mode is Negatives.ALL or not isinstance(node, TAKES_BACK)):
            return mode, inherited
    if seen.domain == "order":
        return Negatives.ALL, "when rows leave is not known beforehand"
    return _calendar_or_negatives(path, node, flows)


def _calendar_or_negatives(path: Path, node: n.Node, flows: Flows | None) -> tuple[Negatives, str]:
    """Golab 3.5.2: a queue by expiry in every structure above, unless nearly all results leave early anyway."""
    if isinstance(node, n.TableJoin) and is_retroactive(node) and flows is None:
        return Negatives.EARLY, "few are taken back: only by updates of the table"
    if flows is None:
        return Negatives.EARLY, "what leaves early is found by its number"
    share, above = flows[node].premature, len(path) + 1
    mode = Negatives.EARLY if prefers_calendar(share, above) else Negatives.ALL
    return mode, f"{share:.0%} leave early"


def prefers_calendar(premature: float, above: int) -> bool:
    """Whether a calendar in each of the structures above costs less than one below them and an end sent for every row.

    Rows that leave early are found by their numbers in either case, so their number does not matter, only their share.

    >>> prefers_calendar(0.4, 3), prefers_calendar(0.99, 1), prefers_calendar(0.99, 3)
    (True, True, False)
    """
    calendars = above * (KEEP + (1 - premature) * EXPIRE + premature * (FIND + SEND))
    announced = KEEP + EXPIRE + above * (FIND + SEND)
    return calendars <= announced


def announced(structures: Structures) -> frozenset[n.Node]:
    """The strict operators from which on every end is sent, although it is known when their rows leave."""
    modes = {path: mode for path, _, mode in structures.negatives}
    return frozenset(node for path, node, _ in structures.negatives if _announces(path, node, modes))


def _announces(path: Path, node: n.Node, modes: Mapping[Path, Negatives]) -> bool:
    return (modes[path] is Negatives.ALL and isinstance(node, MAY_ANNOUNCE) and label(node).output.domain != "order"
            and not any(modes[*path, i] is Negatives.ALL for i in range(len(node.inputs))))


# -- state ---------------------------------------------------------------------------------------------------------


def _kept(node: n.Node, path: Path, consumer: n.Node | None, labels: Labels, style: Style,
          modes: dict[Path, tuple[Negatives, str]]) -> Iterator[StateChoice]:
    if consumer is None and _passes_on(node):
        yield from _kept(node.inputs[0], (*path, 0), None, labels, style, modes)
        return
    if _keeps(consumer, path, style, node):
        yield _structure(path, node, consumer, labels[node], style, *modes[path])
    for i, child in enumerate(node.inputs):
        yield from _kept(child, (*path, i), node, labels, style, modes)


def _passes_on(node: n.Node) -> bool:
    """Whether a node at the root only reports the relation below it, which is the result that is kept."""
    return isinstance(node, n.Lifetime) or (isinstance(node, n.RelationToStream) and node.output_window is None)


def result_path(plan: n.Node) -> Path:
    """Where the relation is that a plan reports: below Istream, Dstream, Rstream and LIFETIME."""
    path: Path = ()
    while _passes_on(plan):
        plan, path = plan.inputs[0], (*path, 0)
    return path


def _keeps(consumer: n.Node | None, path: Path, style: Style, node: n.Node) -> bool:
    """Whether the consumer keeps the rows of this input."""
    if consumer is None:
        return True
    if isinstance(node, n.Table):
        return isinstance(consumer, n.TableJoin)
    if isinstance(consumer, n.TableJoin):
        return is_retroactive(consumer) and path[-1] == 0
    if isinstance(consumer, n.Distinct) and newest_row_is_enough(consumer) and style == "upa":
        return False
    if style == "negative" and isinstance(node, n.Window):
        return True
    return isinstance(consumer, KEEPS_INPUTS)


def _structure(path: Path, node: n.Node, consumer: n.Node | None, seen: Label, style: Style, negatives: Negatives,
               why: str) -> StateChoice:
    if isinstance(node, n.Table):
        return StateChoice(path, node, consumer, Structure.HASH, Negatives.ALL, "a table by its join columns")
    if seen.replace:
        return StateChoice(path, node, consumer, Structure.GROUPS, negatives, why)
    if seen.pattern is MON:
        return StateChoice(path, node, consumer, Structure.APPEND, negatives, why)
    if negatives is Negatives.ALL:
        return StateChoice(path, node, consumer, Structure.HASH, negatives, why)
    if style == "direct":
        return StateChoice(path, node, consumer, Structure.LIST, negatives, why or "style: searched for what has left")
    if seen.domain == "order":
        if seen.pattern is WKS:
            return StateChoice(path, node, consumer, Structure.FIFO, negatives, "rows leave in the order they came")
        return StateChoice(path, node, consumer, Structure.CATALOGUE, negatives,
                           "rows leave by arrivals of their window")
    if seen.pattern is WKS:
        return StateChoice(path, node, consumer, Structure.FIFO, negatives, "rows leave in the order they came")
    return StateChoice(path, node, consumer, Structure.CALENDAR, negatives,
                       why or "rows leave at known moments in any order")


def _as_held(choice: StateChoice, plan: n.Node, labels: Labels, style: Style,
             sent: Mapping[Path, Negatives]) -> StateChoice:
    """The choice with what the kernel of the consumer has of it."""
    seen, announced = labels[choice.node], choice.negatives is Negatives.ALL
    if isinstance(choice.node, n.Table):
        return replace(choice, held=CHAINS, negatives=Negatives.NONE)
    made = (*choice.path, *(0 for _ in passed_on(choice.node)))
    named = not _announces(made, maker_of(choice.node), sent)
    if named and carries_vectors(choice.node, labels) and reads_vectors(choice.consumer, plan, style):
        return _by_vector(choice, plan, labels)
    if seen.downgrade().pattern is not seen.pattern:  # rows that leave by arrivals: who counts them says so
        choice = replace(choice, negatives=Negatives.ALL)
    if choice.consumer is None:
        return replace(choice, held=held_as_result(plan, seen, style, announced=announced, named=named))
    if not isinstance(choice.consumer, KEEPS_INPUTS) and not isinstance(choice.consumer, n.TableJoin):
        return replace(choice, held="ends to send")
    algorithm = _algorithm(choice.path[:-1], choice.consumer, labels, style)
    if algorithm is not None and algorithm.algorithm in BY_VALUE:
        return replace(choice, held=BY_VALUE[algorithm.algorithm])
    return replace(choice, held=held_by(choice.consumer, choice.path[-1], seen, style, announced=announced))


def _by_vector(choice: StateChoice, plan: n.Node, labels: Labels) -> StateChoice:
    """Rows that come with their expiry vectors: a queue for the time component, a catalogue for every other."""
    vector, seen = vector_of(choice.node, labels), labels[choice.node]
    by_arrivals = seen.downgrade().pattern is not seen.pattern
    if choice.consumer is not None:
        held = held_by(choice.consumer, choice.path[-1], seen, "upa", announced=False, vector=vector)
        return replace(choice, held=held, negatives=Negatives.NONE)
    held = held_as_result(plan, seen, "upa", announced=False, named=True, vector=vector)
    if held != NOTHING:
        return replace(choice, held=held, negatives=Negatives.NONE)
    if by_arrivals:
        choice = replace(choice, negatives=Negatives.NONE, reason="a row that leaves meets the other side once more")
    return replace(choice, held=held)


def _algorithm(path: Path, node: n.Node, labels: Labels, style: Style) -> OperatorChoice | None:
    """Duplicate elimination has several algorithms (Golab 2.2.2, 3.5.2; law L4)."""
    if not isinstance(node, n.Distinct):
        return None
    below = labels[node.input]
    if style == "negative" and below.pattern is not MON:
        return OperatorChoice(path, node, Algorithm.COUNTERS, "style: every expiry arrives as a negative")
    if below.pattern is MON:
        return OperatorChoice(path, node, Algorithm.FIRST_ROW, "nothing leaves")
    if below.downgrade().pattern is STR:
        why = "rows leave by arrivals" if below.pattern is not STR else "the input may take rows back"
        return OperatorChoice(path, node, Algorithm.COUNTERS, why)
    if node.policy == "keep" and style == "direct":
        return OperatorChoice(path, node, Algorithm.SEARCH, "style: lists are searched for a replacement")
    if node.policy == "keep":
        return OperatorChoice(path, node, Algorithm.DELTA_STAR, "when a row leaves is known: one replacement a value")
    if style == "direct":
        return OperatorChoice(path, node, Algorithm.COUNTERS, "style: lists are searched for what has left")
    why = "the newest row of a value leaves last (law L4)" if newest_row_is_enough(node) else \
        "of a value only the row counts that leaves last"
    return OperatorChoice(path, node, Algorithm.NEWEST_ROW, why)
