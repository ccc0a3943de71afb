"""Which engine runs which plan: one table that `check` enforces, `explain` quotes and the documentation prints.

An engine refuses what it cannot run by name, before it reads a row; there is no silent difference between engines. An
engine that learns a node or a window kind changes its entry here, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from panewise.core.errors import PlanError, UnsupportedError, WindowSpecError
from panewise.core.ordinals import OrdinalKind
from panewise.core.time import HOUR, MILLISECOND, MINUTE, SECOND
from panewise.plan import nodes as n
from panewise.plan.written import refuses_at_place
from panewise.planner.facts.patterns import format_amount
from panewise.planner.facts.result_forms import exposed_windows, form_of, hidden_column
from panewise.planner.facts.stream_joins import STREAM_JOINS, has_stream_join, is_pairs
from panewise.planner.legal import refusals
from panewise.planner.legal.joins_of_streams import stream_join_gaps
from panewise.planner.legal.refusals import Said
from panewise.planner.legal.relational import is_nested, is_relational, relational_gaps
from panewise.planner.legal.typing import check_set_operations
from panewise.windows import KINDS
from panewise.windows.base import ContextClass
from panewise.windows.predicate import PredicateWindow
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tumbling import Disclosure

NodeKind = type[n.Node]

MOST_OF_A_ROW = 1_000_000
"""In so many windows one row may be, each of them a result: some tens of megabytes."""

WINDOW_KINDS: tuple[tuple[str, str], ...] = (
    ("sliding", "sliding over time, dates or integers, any RANGE and SLIDE, gaps, lag, origin"),
    ("tumbling", "tumbling, reported when it closes"),
    ("growing tumbling", "tumbling, members visible while it fills"),
    ("now", "NOW"),
    ("calendar", "days and months in a time zone"),
    ("session", "sessions by a gap"),
    ("landmark", "landmark, `RANGE ALL`"),
    ("band", "`UNBOUNDED START AT … END AT …`"),
    ("row", "by row position"),
    ("partitioned row", "by row position of each partition"),
    ("count", "the n newest rows"),
    ("partitioned count", "the n newest rows of each partition"),
    ("slide by tuple", "one window per row, or per n rows"),
    ("varying", "a RANGE that changes at given instants"),
    ("linear", "ends that are linear in the window id"),
    ("predicate", "a condition inside the window"),
    ("own", "a kind of your own that is context free, given as `[:name]` ([how](contributing.md#a-window-kind))"),
    ("partitioned", "`PARTITION BY` with a time window"),
    ("internal", "`INTERNAL`"),
)
"""Every window kind a plan can name, with what it is; the rows of the documentation's first table."""

NODE_KINDS: tuple[tuple[NodeKind, str], ...] = (
    (n.Source, "a stream"),
    (n.Filter, "WHERE, HAVING"),
    (n.Project, "SELECT list"),
    (n.Explode, "explode, posexplode, inline"),
    (n.Qualify, "an alias in FROM"),
    (n.Union, "UNION of streams"),
    (n.WindowAggregate, "window aggregate, one row per group and window"),
    (n.Window, "a window's changing contents"),
    (n.GroupAggregate, "aggregate over changing contents"),
    (n.Distinct, "DISTINCT"),
    (n.Join, "join of windows"),
    (n.BandJoin, "join of streams in a time band"),
    (n.TumblingJoin, "join of streams in tumbling buckets"),
    (n.TableJoin, "join with a table"),
    (n.Table, "a table"),
    (n.SemiJoin, "EXISTS"),
    (n.AntiJoin, "NOT EXISTS"),
    (n.BagDifference, "EXCEPT ALL"),
    (n.RelationToStream, "Istream, Dstream, Rstream, Wstream"),
    (n.Lifetime, "LIFETIME"),
)
"""Every node kind, with what it is in a query; the rows of the documentation's second table."""


@dataclass(frozen=True)
class Capability:
    """What one engine runs. ``nodes`` and ``windows`` are None for an engine that runs everything."""

    engine: str
    nodes: frozenset[NodeKind] | None = None
    windows: frozenset[str] | None = None
    above: frozenset[NodeKind] = frozenset()
    """What may stand over the window aggregate."""
    relations: frozenset[NodeKind] = frozenset()
    """The nodes of plans that are relations at every instant (`relational`)."""
    stream_joins: frozenset[NodeKind] = frozenset()
    """The joins of streams by their times (`stream_joins`)."""
    streaming: bool = True
    """Whether inputs may go on for ever, and results leave as promises come."""

    def runs_window(self, kind: str) -> bool:
        """Whether the engine has this window kind."""
        return self.windows is None or kind in self.windows

    def runs_node(self, kind: NodeKind) -> bool:
        """Whether the engine has this operator at all."""
        return self.nodes is None or kind in self.nodes | self.relations | self.stream_joins


_SLICE = frozenset({n.Source, n.Filter, n.Project, n.Explode, n.Qualify, n.Union, n.WindowAggregate})
_SLICE_WINDOWS = frozenset({"sliding", "tumbling"})
_BY_VALUE = frozenset({"growing tumbling", "now", "calendar", "session", "landmark", "band", "varying", "linear",
                       "predicate", "own", "partitioned", "internal"})
_BY_POSITION = frozenset({"row", "partitioned row", "count", "partitioned count", "slide by tuple"})
_ABOVE = frozenset({n.Project, n.Filter})

_RELATIONS = frozenset({n.Source, n.Filter, n.Project, n.Explode, n.Qualify, n.Union, n.Window, n.Join, n.Distinct,
                        n.SemiJoin, n.AntiJoin, n.BagDifference, n.GroupAggregate,
                        n.RelationToStream, n.Lifetime, n.TableJoin, n.Table, n.WindowAggregate, n.Relayed})

ENGINES: dict[str, Capability] = {
    "spark": Capability("spark", _SLICE, _SLICE_WINDOWS | _BY_VALUE | _BY_POSITION, _ABOVE, _RELATIONS,
                        frozenset(STREAM_JOINS)),
    "embedded": Capability("embedded", _SLICE, _SLICE_WINDOWS | _BY_VALUE | _BY_POSITION, _ABOVE, _RELATIONS,
                           frozenset(STREAM_JOINS)),
    "oracle": Capability("oracle", streaming=False),
}


def window_kinds(clause: n.WindowClause) -> Iterator[str]:
    """Everything an engine must have to run this window: its kind, and what stands around it.

    >>> from panewise.windows.sliding import SlidingWindow
    >>> list(window_kinds(n.WindowClause(SlidingWindow(5, 1), "ts", OrdinalKind.TIMESTAMP, internal=True)))
    ['sliding', 'internal']
    """
    spec = clause.spec
    while isinstance(spec, PredicateWindow):
        yield spec.kind
        spec = spec.spec
    kind = spec.kind
    if kind == "sliding" and clause.ordinal is OrdinalKind.ROWS:
        kind = "row"
    if kind == "tumbling" and getattr(spec, "disclosure", None) is Disclosure.GROWING:
        kind = "growing tumbling"
    yield "own" if spec.kind not in KINDS and spec.context_class is ContextClass.CF else kind
    if clause.predicate is not None and spec is clause.spec:
        yield "predicate"
    if clause.partition and not kind.startswith("partitioned") and kind != "session":
        yield "partitioned"
    if clause.internal:
        yield "internal"


def unsupported(plan: n.Node, engine: str) -> Iterator[Said]:
    """Every reason why the engine cannot run the plan, from the root down."""
    capability = _capability(engine)
    if capability.nodes is None:
        return
    if capability.stream_joins and has_stream_join(plan):
        yield from (Said(f"{gap}: not run by the {engine} engine") for gap in stream_join_gaps(plan, engine))
        if is_pairs(plan):
            return
    relational = bool(capability.relations) and (is_relational(plan) or is_nested(plan))
    nodes = capability.relations | capability.stream_joins if relational else capability.nodes
    for node in plan.walk():
        if type(node) not in nodes:
            yield refusals.NOT_RUN(what=f"{_node_name(type(node))} is", engine=engine)
        for clause in _clauses(node):
            for kind in window_kinds(clause):
                if not capability.runs_window(kind):
                    yield refusals.NOT_RUN(what=f"{kind} windows are", engine=engine)
    if not relational:
        yield from _shape(plan, capability)
        return
    yield from (Said(f"{gap}: not run by the {engine} engine") for gap in relational_gaps(plan, engine))


def _shape(plan: n.Node, capability: Capability) -> Iterator[Said]:
    """The slice has one window aggregate: projections and filters above it, a stateless input below."""
    aggregates = sum(isinstance(node, n.WindowAggregate) for node in plan.walk())
    if aggregates != 1:
        what = "a window aggregate over another is" if aggregates else "a query without a window aggregate is"
        yield refusals.NOT_RUN(what=what, engine=capability.engine)
        return
    node = plan
    while not isinstance(node, n.WindowAggregate):
        if type(node) not in capability.above:
            what = f"{_node_name(type(node))} over a window aggregate is"
            yield refusals.NOT_RUN(what=what, engine=capability.engine)
            return
        node = node.inputs[0]


def supports(plan: n.Node, engine: str, *, streaming: bool = False) -> bool:
    """Whether the engine runs the plan, over inputs that end, or ``streaming`` over such that do not.

    >>> from panewise.core.schema import SourceSchema
    >>> stream = n.Source("bids", SourceSchema(time="ts", open=True))
    >>> supports(stream, "spark", streaming=True), supports(stream, "oracle", streaming=True)
    (True, False)
    """
    return next(unsupported(plan, engine), None) is None and (not streaming or _capability(engine).streaming)


@refuses_at_place
def check(plan: n.Node, engine: str) -> None:
    """Raise `UnsupportedError` naming the first thing the engine lacks and an engine that has it.

    A window that no engine could run, because its results would fill any memory, is a `WindowSpecError`; a column with
    the name of one that results add is a `PlanError`.
    """
    for reason in unsupported(plan, engine):
        able = next(name for name in ENGINES if supports(plan, name))
        raise UnsupportedError(f"{reason}; use engine='{able}'")
    for node in plan.walk():
        if isinstance(node, n.WindowAggregate):
            _refuse_floods(node.window)
        if isinstance(node, n.GroupAggregate | n.RelationToStream) and _shows_every_refresh(node):
            for clause in (window.clause for window in exposed_windows(node.input)):
                if isinstance(clause.spec, SlidingWindow) and clause.spec.slide > 1:
                    _refuse_floods(clause, "is shown at {:,} refreshes, each with results of its own")
    check_set_operations(plan)
    refuse_hidden(plan)


def refuse_hidden(plan: n.Node) -> None:
    """Refuse a plan with a column that its results would hide behind one they add."""
    if (hidden := hidden_column(plan)) is not None:
        raise PlanError(refusals.HIDDEN(form=form_of(plan).value, name=hidden))


def _shows_every_refresh(node: n.GroupAggregate | n.RelationToStream) -> bool:
    """Whether results come at every refresh of the windows below, and not only where something changes."""
    if isinstance(node, n.GroupAggregate):
        return node.internal
    return node.kind is n.RelationToStreamKind.RSTREAM


def _refuse_floods(clause: n.WindowClause,
                   what: str = "puts every row in {:,} windows, each with a result of its own") -> None:
    """Every window of a row is a row of the result: refused where one input row alone would fill the memory."""
    spec, unit = clause.spec, clause.ordinal
    if isinstance(spec, SlidingWindow) and spec.ratio > MOST_OF_A_ROW:
        missing = ". Without SLIDE a window moves by one step of its attribute" if spec.slide == 1 else ""
        least = _rounded_up(-(-spec.range // MOST_OF_A_ROW), unit)
        raise WindowSpecError(refusals.FLOOD(
            range=format_amount(spec.range, unit), slide=format_amount(spec.slide, unit), what=what.format(spec.ratio),
            least=format_amount(least, unit), missing=missing))


def _rounded_up(amount: int, unit: OrdinalKind) -> int:
    """An amount of time up to whole milliseconds, seconds, minutes or hours, whatever is next below it in size.

    >>> _rounded_up(8_640, OrdinalKind.TIMESTAMP), _rounded_up(8_640, OrdinalKind.INTEGER)
    (9000, 8640)
    """
    sizes = (HOUR, MINUTE, SECOND, MILLISECOND, 1) if unit is OrdinalKind.TIMESTAMP else (1,)
    size = next(size for size in sizes if amount >= size)
    return -(-amount // size) * size


def _capability(engine: str) -> Capability:
    if engine not in ENGINES:
        raise UnsupportedError(f"there is no engine {engine!r}: use one of {', '.join(ENGINES)}")
    return ENGINES[engine]


def _clauses(node: n.Node) -> Iterator[n.WindowClause]:
    match node:
        case n.Window():
            yield node.clause
        case n.WindowAggregate():
            yield node.window
        case n.RelationToStream(output_window=n.WindowClause() as clause):
            yield clause
        case _:
            return


def _node_name(kind: NodeKind) -> str:
    return f"{kind.__name__} ({dict(NODE_KINDS)[kind]})"


def docs_table() -> str:
    """The two tables of ``docs/engines.md`` as Markdown."""
    head = f"| {{}} | | {' | '.join(ENGINES)} |\n|---|---|{'---|' * len(ENGINES)}"
    windows = [_row(name, text, [c.runs_window(name) for c in ENGINES.values()]) for name, text in WINDOW_KINDS]
    nodes = [_row(kind.__name__, text, [c.runs_node(kind) for c in ENGINES.values()]) for kind, text in NODE_KINDS]
    return "\n".join([head.format("window kind"), *windows, "", head.format("plan node"), *nodes, ""])


def _row(name: str, text: str, marks: list[bool]) -> str:
    return f"| {name} | {text} | {' | '.join('yes' if m else 'refused' for m in marks)} |"
