"""Plans with joins of streams: which run as pairs, which as relations over pairs, and what is not run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from panewise.core.join_kinds import JoinKind
from panewise.core.schema import ROW_NUM_NAMES
from panewise.plan import nodes as n
from panewise.planner.relation_statistics import speaks_of_inputs
from panewise.windows.base import Clock

STREAM_JOINS = (n.BandJoin, n.TumblingJoin)
BELOW = (n.Source, n.Filter, n.Project, n.Explode, n.Qualify, n.Union, *STREAM_JOINS)
"""What may stand below a join of streams."""
OF_ARRIVAL = frozenset({"first", "last"})
"""Aggregates whose answer depends on the order in which rows come."""


def has_stream_join(plan: n.Node) -> bool:
    """Whether a plan joins streams by their times."""
    return any(isinstance(node, STREAM_JOINS) for node in plan.walk())


def is_pairs(plan: n.Node) -> bool:
    """Whether a plan gives pairs as they are found, or window aggregates over them, and nothing else."""
    node = plan
    while isinstance(node, n.Project | n.Filter):
        node = node.input
    counted = node.input if isinstance(node, n.WindowAggregate) else plan
    return has_stream_join(plan) and all(isinstance(below, BELOW) for below in counted.walk())


def stream_join_gaps(plan: n.Node, engine: str = "embedded") -> Iterator[str]:
    """Why a plan with joins of streams cannot be run, from the root down."""
    for join in tops(plan):
        yield from _below(join)
    for node in plan.walk():
        if isinstance(node, n.WindowAggregate) and has_stream_join(node):
            yield from _in_order_of_arrival(node, engine)
    if not is_pairs(plan):
        yield from _dated(plan)
    yield from _elements_in_order(plan)


def _elements_in_order(plan: n.Node) -> Iterator[str]:
    """Pairs know when their rows arrived, and not which elements of these they are."""
    for node in plan.walk():
        counts = isinstance(node, n.Window) and node.clause.spec.clock is not Clock.TIME
        grouped = isinstance(node, n.GroupAggregate | n.WindowAggregate) and (
            any(call.function in OF_ARRIVAL for call in node.aggregates)
            or (isinstance(node, n.WindowAggregate) and node.window.attribute in ROW_NUM_NAMES))
        if (counts or grouped) and any(isinstance(below, n.Explode) for join in tops(node) for below in join.walk()):
            yield ("what counts or chooses rows by their order, over a join of streams with explode below it, is not "
                   "yet run")


def tops(plan: n.Node) -> list[n.BandJoin | n.TumblingJoin]:
    """The joins of streams that are under no other."""
    if isinstance(plan, n.BandJoin | n.TumblingJoin):
        return [plan]
    return [join for below in plan.inputs for join in tops(below)]


def _below(join: n.TimePairs) -> Iterator[str]:
    for node in join.walk():
        if not isinstance(node, BELOW):
            yield f"{type(node).__name__} below a join of streams is not yet run"
    for node in join.walk():
        if not isinstance(node, n.BandJoin | n.TumblingJoin):
            continue
        for side, time in ((node.left, node.left_time), (node.right, node.right_time)):
            if (outer := missing_in(side, time)) is not None:
                yield (f"a join of streams on {time}, which is null in rows of the {outer.kind.value} join below that "
                       "have no partner, is not run")


def missing_in(node: n.Node, column: str | None) -> n.TimePairs | None:
    """The outer join of streams for want of whose partners a column of a stream may be null."""
    match node:
        case n.TimePairs() if column is not None:
            for number, side in enumerate(node.inputs):
                if column in side.columns:
                    return missing_in(side, column) if number in node.kind.whole else node
        case n.Project():
            return missing_in(node.input, next((i.scalar.column_name for i in node.items if i.name == column), None))
        case n.Qualify():
            return missing_in(node.input, column and column.removeprefix(f"{node.alias}."))
        case n.Union():
            place = node.columns.index(column) if column in node.columns else None
            found = [missing_in(part, None if place is None else part.columns[place]) for part in node.parts]
            return next((join for join in found if join is not None), None)
        case n.Filter() | n.Explode():
            return missing_in(node.input, column)
    return None


def _in_order_of_arrival(aggregate: n.WindowAggregate, engine: str) -> Iterator[str]:
    by_arrival = aggregate.window.attribute in ROW_NUM_NAMES or aggregate.window.spec.kind == "slide by tuple"
    if by_arrival or any(call.function in OF_ARRIVAL for call in aggregate.aggregates):
        if engine == "spark":
            yield ("an aggregate of the arrival order over a join of streams, of which a shard does not know whose "
                   "rows came first, is not yet run")
        streams = Counter(node.name for node in aggregate.walk() if isinstance(node, n.Source))
        if max(streams.values()) > 1 or sum(isinstance(node, STREAM_JOINS) for node in aggregate.walk()) > 1:
            yield ("an aggregate of the arrival order over several joins, or over a stream joined with itself, is not "
                   "yet run")
        if any(isinstance(node, n.TimePairs) and node.kind is not JoinKind.INNER for node in aggregate.walk()):
            yield ("an aggregate of the arrival order over an outer, semi or anti join of streams, whose rows come out "
                   "in another order than they came, is not yet run")


def _dated(plan: n.Node) -> Iterator[str]:
    """A relation dates pairs by the times of their rows, which must be what the join promises about."""
    inside: dict[str, str | None] = {}
    counted = {id(join) for node in plan.walk() if isinstance(node, n.WindowAggregate) for join in tops(node)}
    for join in tops(plan):
        if id(join) in counted:  # results are dated by their windows
            continue
        for source in join.walk():
            if not isinstance(source, n.Source):
                continue
            inside[source.name] = source.schema.time
            if source.schema.time is None or _times(join, source) != {source.schema.time}:
                yield (f"a changing relation over a join on another column than the time of {source.name!r} is not "
                       "yet run")
    for window in plan.walk():
        if not isinstance(window, n.Window) or window.clause.spec.clock is not Clock.TIME or has_stream_join(window):
            continue
        beside = {node.name for node in window.walk() if isinstance(node, n.Source)} & inside.keys()
        if other := sorted(name for name in beside if window.clause.attribute not in ("", inside[name])):
            yield (f"the stream {other[0]!r} inside a join of streams and beside it, ordered by different columns, is "
                   "not yet run")


def _times(join: n.BandJoin | n.TumblingJoin, source: n.Source) -> set[str | None]:
    """What a source calls the times its rows are joined by."""
    found: set[str | None] = set()

    def visit(node: n.Node, name: str | None) -> None:
        match node:
            case n.Source():
                found.update({name} if node is source else ())
            case n.Project():
                visit(node.input, next((i.scalar.column_name for i in node.items if i.name == name), None))
            case n.Qualify():
                visit(node.input, name and name.removeprefix(f"{node.alias}."))
            case n.Union():
                for part in node.parts:
                    visit(part, part.columns[node.columns.index(name)] if name in node.columns else name)
            case n.BandJoin() | n.TumblingJoin():  # each side by its time, and one by what pairs are joined by above
                owners = [side for side in node.inputs if name in side.columns]
                found.update(() if owners else {None})
                for side in owners:
                    visit(side, name)
                both_times(node)
            case _:
                for below in node.inputs:
                    visit(below, name)

    def both_times(node: n.BandJoin | n.TumblingJoin) -> None:
        visit(node.left, node.left_time)
        visit(node.right, node.right_time)

    both_times(join)
    return found


def unused_statistics(plan: n.Node, stats: object) -> str | None:
    """Why statistics decide nothing about a plan over the pairs of joined streams; None where they may.

    >>> from panewise.core.schema import SourceSchema
    >>> a, b = (n.Source(name, SourceSchema(open=True)) for name in "ab")
    >>> unused_statistics(n.BandJoin(a, b, "ts", "ts", 3, 2), {"a.rows_per_second": 5})
    'a join of streams by their times runs as it is written, and nothing above it is chosen by statistics of its inputs'
    """
    if stats is None or not has_stream_join(plan) or any(isinstance(node, n.Window) for node in plan.walk()):
        return None
    above = [node for node in plan.walk() if isinstance(node, n.WindowAggregate)]
    if above and not (isinstance(stats, Mapping) and speaks_of_inputs(stats)):
        return None
    kernel = "; those of the window aggregate have no dot: rows_per_second" if above else ""
    return ("a join of streams by their times runs as it is written, and nothing above it is chosen by statistics of "
            f"its inputs{kernel}")
