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
from panewise.engines.oracle.scalar.types import NULL
from panewise.engines.oracle.tuples import Tup, joined, renamed
from panewise.plan.nodes import BandJoin, Explode, Filter, Node, PerRow, Project, Qualify, TumblingJoin, Union
from panewise.planner.facts.derived_times import Chosen, Moved
from panewise.planner.facts.derived_times import below as computed_from

if TYPE_CHECKING:
    from panewise.engines.oracle.definition import Definition


def each_row(d: Definition, node: PerRow, rows: Sequence[Tup]) -> list[Tup]:
    """Selection, projection (duplicates kept), elements and renaming: the same on streams and on relations."""
    match node:
        case Filter():
            return d.passing(rows, node.predicate, node.input)
        case Project():
            columns = [d.expressions.compute(item.scalar, rows, node.input) for item in node.items]
            return [t.with_values(dict(zip(node.columns, row, strict=True)))
                    for t, row in zip(rows, zip(*columns, strict=True), strict=True)]
        case Explode():
            found = d.expressions.compute(node.collection, rows, node.input)
            return [_element(node, t, index, made) for t, collection in zip(rows, found, strict=True)
                    for index, made in enumerate(elements(node, collection))]
    return [t.with_values(shown(node, t.values)) for t in rows]


def shown(node: Node, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a row under the names that a node gives its columns."""
    return {name: value for column, value in values.items() for name in node.shown_as(column)}


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


def bag_union(d: Definition, node: Union, parts: Sequence[Sequence[Tup]]) -> list[Tup]:
    """All rows of all parts, columns by position under the first part's names, in the types the parts meet in."""
    names = node.columns or next((tuple(rows[0].values) for rows in parts if rows), ())
    return [replace(t, values=renamed(t.values, names), key=(i, t.key)) for i, rows in enumerate(parts)
            for t in in_types(d, node, node.parts[i], rows)]


def in_types(d: Definition, node: Node, part: Node, rows: Sequence[Tup]) -> Sequence[Tup]:
    """Rows of a part with the values that CAST makes of them."""
    kinds = d.expressions.types.of(part)
    casts = {name: Scalar.parse(f"CAST({Scalar.column(name).sql} AS {wanted})")
             for (name, kind), wanted in zip(kinds.items(), d.expressions.types.of(node).values(), strict=False)
             if kind not in (wanted, NULL)}
    if not casts:
        return rows
    made = {name: d.expressions.compute(cast, rows, part) for name, cast in casts.items()}
    return [t.with_values({**t.values, **{name: column[place] for name, column in made.items()}})
            for place, t in enumerate(rows)]


def below(node: Node, guard: Guard) -> list[tuple[Node, Guard]]:
    """The inputs whose rows a node passes on, each with the name that the guard's column has there, or what it is
    computed from.

    Other computed columns have no bounds; one that the node makes, or that nothing shows, leaves the time of the row.
    """
    match node:
        case Union():
            place = node.columns.index(guard) if isinstance(guard, str) and guard in node.columns else None
            return [(part, guard if place is None else part.columns[place]) for part in node.parts]
        case Project() | Qualify() if isinstance(guard, Chosen):
            guard = guard.under(lambda name: column_below(node, name))
        case Project() if isinstance(guard, str) and guard != TIME:
            found = computed_from(node, guard)
            guard = TIME if found is None else found.column if isinstance(found, Moved) else found
        case Explode() if guard in node.names:
            guard = TIME
        case Qualify() if isinstance(guard, str):
            guard = guard.removeprefix(f"{node.alias}.")
    return [(node.inputs[0], guard)]


def column_below(node: Node, column: str) -> str:
    """A column in the names of the node's input, as it is; one that is computed has no name there."""
    found = node.comes_from(column)
    return found[0][1] if found else TIME


def moved_by(node: Node, guard: Guard) -> int:
    """How much later a guard is than that of the node's input."""
    found = computed_from(node, guard) if isinstance(node, Project) and isinstance(guard, str) else None
    return found.by if isinstance(found, Moved) else 0


def pairs(d: Definition, left: Sequence[Tup], right: Sequence[Tup], predicate: Scalar | None,
          *over: Node) -> list[Tup]:
    """Every pair of rows of two nodes for which the predicate holds."""
    return d.passing([joined(one, other) for one, other in product(left, right)], predicate, *over)


def in_band(node: BandJoin | TumblingJoin, left: int, right: int) -> bool:
    """The declared predicate on two times (Li 2.8; ranges as in erratum E8)."""
    if isinstance(node, TumblingJoin):
        return node.bucket(left) == node.bucket(right)
    low, high = left - node.right_range, left + node.left_range
    above = low <= right if node.bounds in {"both", "left"} else low < right
    below = right <= high if node.bounds in {"both", "right"} else right < high
    return above and below


def kept_left(node: BandJoin | TumblingJoin, bound: int) -> int:
    """The smallest left time that meets a right row at this time or at a later one."""
    if isinstance(node, TumblingJoin):
        return node.bucket(bound)
    return bound - node.left_range + (node.bounds not in {"both", "right"})


def kept_right(node: BandJoin | TumblingJoin, bound: int) -> int:
    """The smallest right time that meets a left row at this time or at a later one."""
    if isinstance(node, TumblingJoin):
        return node.bucket(bound)
    return bound - node.right_range + (node.bounds not in {"both", "left"})
