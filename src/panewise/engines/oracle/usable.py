"""Rows that a query can use, by definition: those with a time wherever a window or a join asks for it, and no jump.

A row goes up the plan on its own. A condition that looks at nothing but this row and does not hold ends its way, and a
row that ends so needs no time. One that comes to a window without a time is bad.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from panewise.core.join_kinds import JoinKind
from panewise.core.ordinals import LIMIT, OrdinalKind
from panewise.core.time import AmountGiven, Quantity
from panewise.engines.oracle.late import kind_of
from panewise.engines.oracle.operators import elements
from panewise.engines.oracle.tuples import ordinal
from panewise.plan.nodes import (
    BandJoin,
    Distinct,
    Explode,
    Filter,
    Join,
    Lifetime,
    Named,
    Node,
    Project,
    Qualify,
    SemiJoin,
    Source,
    TableJoin,
    TumblingJoin,
    Union,
    Window,
    WindowAggregate,
)
from panewise.planner.rewrites.scalars import conjuncts
from panewise.progress.timeline import Timeline

if TYPE_CHECKING:
    from panewise.engines.oracle.expressions import Expressions

Row = dict[str, Any]
Bad = tuple[str, str, Row]
"""Stream, what is wrong, the row."""


def usable(plan: Node, timeline: Timeline, expressions: Expressions, max_jump: AmountGiven | None) -> tuple[
        Timeline, list[Bad]]:
    """The timeline without rows that have no time, or one too far ahead; and the bad ones among those left out."""
    sources = {node.name: node for node in plan.walk() if isinstance(node, Named)}
    times = {name: _columns_asked(plan, node) for name, node in sources.items()}
    kept: Timeline = []
    bad: list[Bad] = []
    newest: dict[tuple[str, str], int] = {}
    for arrival in timeline:
        source = sources.get(arrival.stream)
        if not arrival.is_row or not isinstance(source, Source):
            kept.append(arrival)
            continue
        row: Any = arrival.item
        problem = ""
        without = [c for c in times[source.name] if row.get(c) is None]
        if without:
            if not _reaches(plan, source.name, dict.fromkeys(source.columns) | dict(row), expressions):
                continue
            problem = f"{without[0]!r} is null; every row needs a value of the windowing attribute"
        for column in times[source.name] if not without else ():
            problem = problem or _misplaced(source, column, row, newest, max_jump)
        if problem:
            bad.append((source.name, problem, dict(row)))
        else:
            kept.append(arrival)
    return kept, bad


def _misplaced(source: Source, column: str, row: Any, newest: dict[tuple[str, str], int],
               max_jump: AmountGiven | None) -> str:
    """Why a time cannot be used, or nothing; the newest so far is noted."""
    kind = kind_of(source.schema, column)
    value = ordinal(row[column], column, kind)
    if abs(value) >= LIMIT:
        return f"{column!r} is {value}, too far from zero to compute windows with"
    at = (source.name, column)
    if max_jump is not None:
        reach = (kind or OrdinalKind.INTEGER).amount(Quantity.parse(max_jump))
        if at in newest and value - newest[at] > reach:
            return f"{column!r} is {row[column]}, further ahead of the newest row than max_jump={max_jump!r} allows"
    newest[at] = max(newest.get(at, value), value)
    return ""


def _columns_asked(plan: Node, source: Named) -> list[str]:
    """The columns of a stream by which some window or join orders it; its time, if none does."""
    found = [column for _, column in _asked(plan, source.name) if column is not None]
    asked = list(dict.fromkeys(found)) or ([source.schema.time] if source.schema.time else [])
    return [column for column in asked if not source.schema.columns or column in source.schema.columns]


def _asked(node: Node, stream: str) -> Iterator[tuple[dict[str, str], str | None]]:
    """What the columns of a node are in the stream below it, and the columns that were asked for their order."""
    if isinstance(node, Named):
        if node.name == stream:
            yield {c: c for c in node.columns}, None
        return
    for part in node.inputs:
        for names, column in _asked(part, stream):
            if column is not None:
                yield names, column
                continue
            wanted = {Window: lambda n: [n.clause.attribute], WindowAggregate: lambda n: [n.window.attribute],
                      BandJoin: lambda n: [n.left_time, n.right_time],
                      TumblingJoin: lambda n: [n.left_time, n.right_time]}.get(type(node), lambda _: [])(node)
            yield from ((names, names[w]) for w in wanted if w in names)
            yield _renamed(node, part, names), None


def _renamed(node: Node, part: Node, names: dict[str, str]) -> dict[str, str]:
    match node:
        case Qualify():
            return {f"{node.alias}.{new}": old for new, old in names.items()}
        case Project():
            return {i.name: names[i.scalar.column_name] for i in node.items if i.scalar.column_name in names}
        case Union():
            return {new: names[old] for new, old in zip(node.columns, part.columns, strict=False) if old in names}
        case _:
            return names


def _reaches(plan: Node, stream: str, row: Row, expressions: Expressions) -> bool:
    """Whether a row comes to a window of the plan."""
    return any(alive for alive, _ in _ways(plan, stream, row, expressions))


def _ways(node: Node, stream: str, row: Row, expressions: Expressions) -> Iterator[tuple[bool, Row | None]]:
    """For every place where a stream is read: whether the row is still there, and what it looks like, if it does."""
    if isinstance(node, Named):
        if node.name == stream:
            yield True, row
        return
    for part in node.inputs:
        for alive, seen in _ways(part, stream, row, expressions):
            if isinstance(node, Explode) and alive and seen is not None:
                yield from _of_elements(node, seen, expressions)
                continue
            yield _step(node, part, alive, seen, expressions) if alive and seen is not None else (alive, seen)


def _of_elements(node: Explode, seen: Row, expressions: Expressions) -> Iterator[tuple[bool, Row | None]]:
    """A row goes on as each of its elements, and not at all without one."""
    if not node.collection.columns <= seen.keys():
        yield True, None
        return
    made = elements(node, expressions.compute(node.collection, [seen], node.input)[0])
    yield from ((True, {**seen, **element}) for element in made)


def _step(node: Node, part: Node, alive: bool, seen: Row, expressions: Expressions) -> tuple[bool, Row | None]:
    match node:
        case Filter() | Join() | SemiJoin() | TableJoin():
            return _holds(node.predicate, seen, part, expressions), seen
        case BandJoin() | TumblingJoin() if node.kind is JoinKind.INNER:
            return _holds(node.predicate, seen, part, expressions), seen
        case Window():
            return _holds(node.clause.predicate, seen, part, expressions), seen
        case WindowAggregate():
            return _holds(node.window.predicate, seen, part, expressions), None
        case Qualify():
            return alive, {f"{node.alias}.{c}": v for c, v in seen.items()}
        case Project():
            own = [i for i in node.items if i.scalar.columns <= seen.keys()]
            return alive, {i.name: expressions.compute(i.scalar, [seen], part)[0] for i in own} or None
        case Union():
            return alive, {new: seen[old] for new, old in zip(node.columns, part.columns, strict=False) if old in seen}
        case Distinct() | Lifetime():
            return alive, seen
    return alive, None


def _holds(predicate: Any, seen: Row, part: Node, expressions: Expressions) -> bool:
    own = [c for c in conjuncts(predicate) if c.columns <= seen.keys()]
    return all(expressions.holds(c, [seen], part)[0] for c in own)
