"""Groups and aggregates over plain rows, by the scalar form of every function."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from panewise.aggregates.registry import resolve
from panewise.engines.oracle.tuples import Tup, frozen, one_zero
from panewise.plan.nodes import AggregateCall, NamedScalar

if TYPE_CHECKING:
    from panewise.engines.oracle.definition import Definition


def groups(d: Definition, keys: Sequence[NamedScalar], rows: Sequence[Tup]) -> list[tuple[dict[str, Any], list[Tup]]]:
    """The key columns and the rows of every non-empty group, in the order the groups were first seen."""
    columns = [d.expressions.compute(key.scalar, [t.values for t in rows]) for key in keys]
    found: dict[Hashable, tuple[dict[str, Any], list[Tup]]] = {}
    for i, row in enumerate(rows):
        key = one_zero({k.name: column[i] for k, column in zip(keys, columns, strict=True)})
        found.setdefault(frozen(key), (key, []))[1].append(row)
    return list(found.values())


def aggregates(d: Definition, calls: Sequence[AggregateCall], rows: Sequence[Tup],
               numbers: Mapping[Hashable, int] | None = None) -> dict[str, Any]:
    """Every aggregate over the rows in the order given, one ``add`` per row.

    ``numbers`` are the positions of rows, by their key, where a window counts them.
    """
    return {call.name: _aggregate(d, call, rows, numbers or {}) for call in calls}


def _aggregate(d: Definition, call: AggregateCall, rows: Sequence[Tup], numbers: Mapping[Hashable, int]) -> Any:
    function = resolve(call.function, call.parameters)
    values = [t.values for t in rows]
    columns = [d.expressions.compute(argument, values) for argument in call.arguments]
    state, seen = function.init(), set[Hashable]()
    for position in range(len(rows)):
        arguments = [column[position] for column in columns]
        if call.distinct:
            if frozen(arguments) in seen:
                continue
            seen.add(frozen(arguments))
        if function.needs_order:
            arguments.append(position + 1)
        if function.numbered:
            arguments.append(numbers[rows[position].key])
        state = function.add(state, *arguments)
    return function.finish(state)
