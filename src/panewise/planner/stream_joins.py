"""Plans with joins of streams: what the engine that runs them has, and what it has not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa

from panewise.core.join_kinds import JoinKind
from panewise.core.schema import ROW_NUM_NAMES, SourceSchema
from panewise.plan import nodes as n
from panewise.planner.relation_statistics import speaks_of_inputs

STREAM_JOINS = (n.BandJoin, n.TumblingJoin)
AROUND = (n.Source, n.Filter, n.Project, n.Qualify, n.Union, n.WindowAggregate)
"""What may stand below and above a join of streams."""
RELATIONS = (n.GroupAggregate, n.Distinct)
"""What may stand above them and makes a relation of their pairs: one that only grows or is replaced group by group."""
BORN = "<born>"
"""The instant of a pair: the later of its two times (rule U6)."""
OF_ARRIVAL = frozenset({"first", "last"})
"""Aggregates whose answer depends on the order in which rows come."""


def has_stream_join(plan: n.Node) -> bool:
    """Whether a plan joins streams by their times."""
    return any(isinstance(node, STREAM_JOINS) for node in plan.walk())


def stream_join_gaps(plan: n.Node) -> Iterator[str]:
    """Why a plan with joins of streams cannot be run, from the root down."""
    over_relation = is_relation_of_pairs(plan)
    yield from _without_partners(plan)
    for node in plan.walk():
        if not isinstance(node, STREAM_JOINS + AROUND + RELATIONS):
            yield f"{type(node).__name__} with a join of streams is not yet run"
    if over_relation:
        yield from _under_relation(plan)
    aggregates = [node for node in plan.walk() if isinstance(node, n.WindowAggregate)]
    if len(aggregates) > 1:
        yield "a window aggregate over another is not yet run"
    elif aggregates:
        yield from _over_joins(plan, aggregates[0])


def _without_partners(plan: n.Node) -> Iterator[str]:
    """What stands around outer, semi and anti joins: rows without a partner have a null where a time would be."""
    joins = [node for node in plan.walk() if isinstance(node, n.TimePairs)]
    for join in joins:
        if join.kind is JoinKind.INNER:
            continue
        if len(joins) > 1:
            yield f"a {join.kind.value} join of streams with another join is not yet run"
        if is_relation_of_pairs(plan):
            yield f"a changing relation over a {join.kind.value} join of streams is not yet run"


def is_relation_of_pairs(plan: n.Node) -> bool:
    """Whether the pairs of a plan's joins make a changing relation, rather than leave as they are."""
    return any(isinstance(node, RELATIONS) for node in plan.walk())


def _under_relation(plan: n.Node) -> Iterator[str]:
    joins = tops(plan)
    inside = {id(node) for join in joins for node in join.walk()}
    if any(isinstance(node, n.WindowAggregate) for node in plan.walk()):
        yield "a window aggregate with a join of streams and a changing relation is not yet run"
    if any(isinstance(node, RELATIONS) for join in joins for node in join.walk()):
        yield "a join of streams over a changing relation is not yet run"
    if any(isinstance(node, n.Source) and id(node) not in inside for node in plan.walk()):
        yield "a join of streams beside another stream in a changing relation is not yet run"
    for join in joins:
        if sum(isinstance(node, STREAM_JOINS) for node in join.walk()) > 1:
            yield "a changing relation over a join of joins is not yet run"
        for source in join.walk():
            if isinstance(source, n.Source) and not {source.schema.time} >= _times(join, source):
                yield (f"a changing relation over a join on another column than the time of {source.name!r} is not "
                       "yet run")


def tops(plan: n.Node) -> list[n.BandJoin | n.TumblingJoin]:
    """The joins of streams that are under no other."""
    if isinstance(plan, n.BandJoin | n.TumblingJoin):
        return [plan]
    return [join for below in plan.inputs for join in tops(below)]


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
            case _:
                for below in node.inputs:
                    visit(below, name)

    visit(join.left, join.left_time)
    visit(join.right, join.right_time)
    return found


def unused_statistics(plan: n.Node, stats: object) -> str | None:
    """Why statistics decide nothing about a plan with joins of streams by their times; None where they may.

    >>> from panewise.core.schema import SourceSchema
    >>> a, b = (n.Source(name, SourceSchema(open=True)) for name in "ab")
    >>> unused_statistics(n.BandJoin(a, b, "ts", "ts", 3, 2), {"a.rows_per_second": 5})
    'a join of streams by their times runs as it is written, and nothing above it is chosen by statistics of its inputs'
    """
    if stats is None or not has_stream_join(plan):
        return None
    above = [node for node in plan.walk() if isinstance(node, n.WindowAggregate)]
    if above and not (isinstance(stats, Mapping) and speaks_of_inputs(stats)):
        return None
    kernel = "; those of the window aggregate have no dot: rows_per_second" if above else ""
    return ("a join of streams by their times runs as it is written, and nothing above it is chosen by statistics of "
            f"its inputs{kernel}")


def over_pairs(plan: n.Node, columns: Callable[[str, n.Project], Mapping[str, pa.DataType]],
               ) -> tuple[n.Node, dict[str, n.BandJoin | n.TumblingJoin]]:
    """The plan over streams of pairs in the place of its joins, and the joins by the names of these streams.

    ``columns`` is told each stream and the join that makes it, cut down to the columns that are read, and gives types.
    """
    joins: dict[str, n.BandJoin | n.TumblingJoin] = {}

    def visit(node: n.Node, read: set[str]) -> n.Node:
        match node:
            case n.BandJoin() | n.TumblingJoin():
                name = f"<pairs {len(joins) + 1}>"
                joins[name] = node
                shown = [c for c in node.columns if c in read | {node.left_time, node.right_time}]
                items = tuple(n.NamedScalar.column(c) for c in shown)
                types = columns(name, n.Project(node, items))
                schema = SourceSchema({**types, BORN: types.get(node.left_time, pa.int64())}, time=BORN)
                return n.Project(n.Source(name, schema), items)
            case n.GroupAggregate():
                scalars = [k.scalar for k in node.keys] + [s for call in node.aggregates for s in call.arguments]
                return node.with_inputs(visit(node.input, {c for scalar in scalars for c in scalar.columns}))
            case n.Project():
                return node.with_inputs(visit(node.input, {c for i in node.items for c in i.scalar.columns}))
            case n.Filter():
                return node.with_inputs(visit(node.input, read | node.predicate.columns))
            case _:  # by position, or all of a row
                return node.with_inputs(*(visit(below, set(below.columns)) for below in node.inputs))

    return visit(plan, set(plan.columns)), joins


def _over_joins(plan: n.Node, aggregate: n.WindowAggregate) -> Iterator[str]:
    node = plan
    while node is not aggregate:
        if not isinstance(node, n.Project | n.Filter):
            yield f"{type(node).__name__} over a window aggregate is not yet run"
            return
        node = node.inputs[0]
    by_arrival = aggregate.window.attribute in ROW_NUM_NAMES or aggregate.window.spec.kind == "slide by tuple"
    if by_arrival or any(call.function in OF_ARRIVAL for call in aggregate.aggregates):
        streams = Counter(node.name for node in aggregate.walk() if isinstance(node, n.Source))
        if max(streams.values()) > 1 or sum(isinstance(node, STREAM_JOINS) for node in aggregate.walk()) > 1:
            yield ("an aggregate of the arrival order over several joins, or over a stream joined with itself, is not "
                   "yet run")
