"""Rows that a query can use, by definition: those with a time wherever a window or a join asks for it, and no jump.

A row goes up the plan on its own. A condition that looks at nothing but this row and does not hold ends its way, and a
row that ends so needs no time. One that comes to a window without a time is bad.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from panewise.core.errors import SchemaError
from panewise.core.join_kinds import JoinKind
from panewise.core.ordinals import LIMIT, OrdinalKind
from panewise.core.time import AmountGiven, Quantity
from panewise.engines.oracle.late import kind_of
from panewise.engines.oracle.operators import elements, shown
from panewise.engines.oracle.tuples import ordinal
from panewise.plan import nodes as n
from panewise.planner.facts.result_forms import CHANGE
from panewise.planner.rewrites.scalars import conjuncts
from panewise.progress.timeline import Timeline

if TYPE_CHECKING:
    from panewise.engines.oracle.expressions import Expressions

Row = dict[str, Any]


class Bad(NamedTuple):
    """A row that cannot be used."""

    stream: str
    problem: str
    row: Row
    number: int
    """Among the rows of its stream, from 1."""


def usable(plan: n.Node, timeline: Timeline, expressions: Expressions, max_jump: AmountGiven | None) -> tuple[
        Timeline, list[Bad]]:
    """The timeline without rows that have no time, a time too far ahead, or no sign; and the bad ones among these."""
    sources = {node.name: node for node in plan.walk() if isinstance(node, n.Named)}
    times = {name: _columns_asked(plan, node) for name, node in sources.items()}
    kept: Timeline = []
    bad: list[Bad] = []
    newest: dict[tuple[str, str], int] = {}
    seen: Counter[str] = Counter()
    for arrival in timeline:
        seen[arrival.stream] += arrival.is_row
        source = sources.get(arrival.stream)
        if not arrival.is_row or source is None:
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
        problem = problem or _neither(source, row)
        if problem:
            bad.append(Bad(source.name, problem, dict(row), seen[source.name]))
        else:
            kept.append(arrival)
    return kept, bad


def _neither(source: n.Named, row: Any) -> str:
    """Why a row of a table neither comes nor goes, or nothing; when it does must be known."""
    if not isinstance(source, n.Table) or CHANGE not in row or CHANGE in source.schema.columns:
        return ""
    if source.schema.time is None:
        raise SchemaError(f"table {source.name!r}: its rows have a column {CHANGE!r}, which says that they come and "
                          "go, and no time column that says when: name it, as in pw.table(..., time='at')")
    sign = row[CHANGE]
    return "" if sign in (1, -1) and not isinstance(sign, bool | float) else \
        f"{CHANGE!r} is {sign}, expected +1 (the row comes) or -1 (it goes)"


def _misplaced(source: n.Named, column: str, row: Any, newest: dict[tuple[str, str], int],
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


def _columns_asked(plan: n.Node, source: n.Named) -> list[str]:
    """The columns of a stream by which some window or join orders it; its time, if none does."""
    found = [column for node in reversed(list(plan.walk())) for below, asked in _ordered(node)
             for column in _in_stream(below, asked, source.name)]
    asked = list(dict.fromkeys(found)) or ([source.schema.time] if source.schema.time else [])
    return [column for column in asked if not source.schema.columns or column in source.schema.columns]


def _ordered(node: n.Node) -> list[tuple[n.Node, str]]:
    """The inputs that a node takes in order, each with the column that orders it."""
    match node:
        case n.Window() | n.WindowAggregate():
            return [(node.input, node.clause.attribute if isinstance(node, n.Window) else node.window.attribute)]
        case n.TimePairs():
            return [(node.left, node.left_time), (node.right, node.right_time)]
    return []


def _in_stream(node: n.Node, column: str, stream: str) -> Iterator[str]:
    """What a column is called in a stream below."""
    if isinstance(node, n.Named) and node.name == stream and column in node.columns:
        yield column
    for below, name in node.comes_from(column):
        yield from _in_stream(below, name, stream)


def _reaches(plan: n.Node, stream: str, row: Row, expressions: Expressions) -> bool:
    """Whether a row comes to a window of the plan."""
    return any(alive for alive, _ in _ways(plan, stream, row, expressions))


def _ways(node: n.Node, stream: str, row: Row, expressions: Expressions) -> Iterator[tuple[bool, Row | None]]:
    """For every place where a stream is read: whether the row is still there, and what it looks like, if it does."""
    if isinstance(node, n.Named):
        if node.name == stream:
            yield True, row
        return
    for part in node.inputs:
        for alive, seen in _ways(part, stream, row, expressions):
            if isinstance(node, n.Explode) and alive and seen is not None:
                yield from _of_elements(node, seen, expressions)
                continue
            yield _step(node, part, alive, seen, expressions) if alive and seen is not None else (alive, seen)


def _of_elements(node: n.Explode, seen: Row, expressions: Expressions) -> Iterator[tuple[bool, Row | None]]:
    """A row goes on as each of its elements, and not at all without one."""
    if not node.collection.columns <= seen.keys():
        yield True, None
        return
    made = elements(node, expressions.compute(node.collection, [seen], node.input)[0])
    yield from ((True, {**seen, **element}) for element in made)


def _step(node: n.Node, part: n.Node, alive: bool, seen: Row, expressions: Expressions) -> tuple[bool, Row | None]:
    match node:
        case n.Filter() | n.Join() | n.SemiJoin() | n.TableJoin():
            return _holds(node.predicate, seen, part, expressions), seen
        case n.BandJoin() | n.TumblingJoin() if node.kind is JoinKind.INNER:
            return _holds(node.predicate, seen, part, expressions), seen
        case n.Window():
            return _holds(node.clause.predicate, seen, part, expressions), seen
        case n.WindowAggregate():
            return _holds(node.window.predicate, seen, part, expressions), None
        case n.Project():
            own = [i for i in node.items if i.scalar.columns <= seen.keys()]
            return alive, {i.name: expressions.compute(i.scalar, [seen], part)[0] for i in own} or None
        case n.Union():
            return alive, {new: seen[old] for new, old in zip(node.columns, part.columns, strict=False) if old in seen}
        case n.Qualify() | n.Distinct() | n.Lifetime():
            return alive, shown(node, seen)
    return alive, None


def _holds(predicate: Any, seen: Row, part: n.Node, expressions: Expressions) -> bool:
    own = [c for c in conjuncts(predicate) if c.columns <= seen.keys()]
    return all(expressions.holds(c, [seen], part)[0] for c in own)
