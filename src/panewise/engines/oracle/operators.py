"""Operators that mean the same on streams and on relations: row by row, bag union, pairs of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

from panewise.core.ages import first_element
from panewise.core.generators import Generator
from panewise.core.scalar import Scalar
from panewise.engines.oracle.late import TIME, Guard
from panewise.engines.oracle.tuples import Tup, joined, renamed
from panewise.plan.nodes import BandJoin, Explode, Filter, Node, Project, Qualify, TumblingJoin, Union

if TYPE_CHECKING:
    from panewise.engines.oracle.definition import Definition


def each_row(d: Definition, node: Filter | Project | Explode | Qualify, rows: Sequence[Tup]) -> list[Tup]:
    """Selection, projection (duplicates kept), elements and renaming: the same on streams and on relations."""
    values = [t.values for t in rows]
    match node:
        case Filter():
            held = d.expressions.holds(node.predicate, values, node.input)
            return [t for t, kept in zip(rows, held, strict=True) if kept]
        case Project():
            columns = [d.expressions.compute(item.scalar, values, node.input) for item in node.items]
            names = [item.name for item in node.items]
            return [t.with_values(dict(zip(names, row, strict=True)))
                    for t, row in zip(rows, zip(*columns, strict=True), strict=True)]
        case Explode():
            found = d.expressions.compute(node.collection, values, node.input)
            return [_element(node, t, index, made) for t, collection in zip(rows, found, strict=True)
                    for index, made in enumerate(elements(node, collection))]
        case Qualify():
            return [t.with_values({f"{node.alias}.{c}": v for c, v in t.values.items()}) for t in rows]


def elements(node: Explode, collection: Any) -> list[dict[str, Any]]:
    """What a generator adds to a row: once for every element, or once null where it is ``outer`` and there is none."""
    every = list(collection.items() if isinstance(collection, Mapping) else collection or ())
    if not every:
        return [dict.fromkeys(node.names)] if node.outer else []
    shown = [(index,) if node.generator is Generator.POSEXPLODE else () for index in range(len(every))]
    width = len(node.names) - len(shown[0])
    parts = [_parts(node, element, width) for element in every]
    return [dict(zip(node.names, (*place, *part), strict=True)) for place, part in zip(shown, parts, strict=True)]


def _parts(node: Explode, element: Any, width: int) -> tuple[Any, ...]:
    """The fields of a struct, the key and the value of an entry, or the element itself."""
    if node.generator is Generator.INLINE:
        return (None,) * width if element is None else tuple(element.values())
    return tuple(element) if width == 2 else (element,)


def _element(node: Explode, row: Tup, index: int, made: dict[str, Any]) -> Tup:
    """As old as its row, and older than the elements behind it."""
    order = tuple(sorted((*row.order, first_element(node.number) + index), reverse=True))
    return replace(row, values={**row.values, **made}, key=(row.key, node.number, index), order=order)


def bag_union(node: Union, parts: Sequence[Sequence[Tup]]) -> list[Tup]:
    """All rows of all parts, columns by position under the first part's names."""
    names = node.columns or next((tuple(rows[0].values) for rows in parts if rows), ())
    return [replace(t, values=renamed(t.values, names), key=(i, t.key)) for i, rows in enumerate(parts) for t in rows]


def guard_below(node: Node, guard: Guard) -> Guard:
    """The same column in the names of the node's input; a computed column has no bounds."""
    if guard is None or guard == TIME:
        return guard
    match node:
        case Project():
            return next((i.scalar.column_name for i in node.items if i.name == guard), TIME)
        case Explode():
            return TIME if guard in node.names else guard
        case Qualify():
            return guard.removeprefix(f"{node.alias}.")
        case _:
            return guard


def guards_of_union(node: Union, guard: Guard) -> list[Guard]:
    """The same column in the names of each part, by position."""
    if guard is None or guard == TIME or guard not in node.columns:
        return [guard] * len(node.parts)
    return [part.columns[node.columns.index(guard)] for part in node.parts]


def pairs(d: Definition, left: Sequence[Tup], right: Sequence[Tup], predicate: Scalar | None,
          *over: Node) -> list[Tup]:
    """Every pair of rows of two nodes for which the predicate holds."""
    both = [joined(one, other) for one, other in product(left, right)]
    kept = d.expressions.holds(predicate, [t.values for t in both], *over)
    return [t for t, keep in zip(both, kept, strict=True) if keep]


def in_band(node: BandJoin | TumblingJoin, left: int, right: int) -> bool:
    """The declared predicate on two times (Li 2.8; ranges as in erratum E8)."""
    if isinstance(node, TumblingJoin):
        return left // node.range == right // node.range
    low, high = left - node.right_range, left + node.left_range
    above = low <= right if node.bounds in {"both", "left"} else low < right
    below = right <= high if node.bounds in {"both", "right"} else right < high
    return above and below


def kept_left(node: BandJoin | TumblingJoin, bound: int) -> int:
    """The smallest left time that meets a right row at this time or at a later one."""
    if isinstance(node, TumblingJoin):
        return bound // node.range * node.range
    return bound - node.left_range + (node.bounds not in {"both", "right"})


def kept_right(node: BandJoin | TumblingJoin, bound: int) -> int:
    """The smallest right time that meets a left row at this time or at a later one."""
    if isinstance(node, TumblingJoin):
        return bound // node.range * node.range
    return bound - node.right_range + (node.bounds not in {"both", "left"})
