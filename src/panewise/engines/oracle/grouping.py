"""Groups and aggregates over plain rows: floats are added by the oracle itself, all else by scalar forms."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from panewise.aggregates.registry import resolve
from panewise.engines.oracle.float_sums import defined
from panewise.engines.oracle.tuples import Tup, frozen, one_zero
from panewise.plan.nodes import AggregateCall, GroupAggregate, Node, WindowAggregate

if TYPE_CHECKING:
    from panewise.engines.oracle.definition import Definition

Grouping: TypeAlias = WindowAggregate | GroupAggregate


def groups(d: Definition, node: Grouping, rows: Sequence[Tup]) -> list[tuple[dict[str, Any], list[Tup]]]:
    """The key columns and the rows of every non-empty group, in the order the groups were first seen."""
    keys = node.keys
    columns = [d.expressions.compute(key.scalar, rows, node.input) for key in keys]
    found: dict[Hashable, tuple[dict[str, Any], list[Tup]]] = {}
    for i, row in enumerate(rows):
        key = one_zero({k.name: column[i] for k, column in zip(keys, columns, strict=True)})
        found.setdefault(frozen(key), (key, []))[1].append(row)
    return list(found.values())


def aggregates(d: Definition, node: Grouping, rows: Sequence[Tup],
               numbers: Mapping[Hashable, int] | None = None) -> dict[str, Any]:
    """Every aggregate over the rows in the order given, one ``add`` per row.

    ``numbers`` are the positions of rows, by their key, where a window counts them.
    """
    return {call.name: _aggregate(d, node.input, call, rows, numbers or {}) for call in node.aggregates}


def _aggregate(d: Definition, below: Node, call: AggregateCall, rows: Sequence[Tup],
               numbers: Mapping[Hashable, int]) -> Any:
    function = resolve(call.function, call.parameters)
    columns = [d.expressions.compute(argument, rows, below) for argument in call.arguments]
    seen, counted = set[Hashable](), list[tuple[int, list[Any]]]()
    for position in range(len(rows)):
        arguments = [column[position] for column in columns]
        if call.distinct:
            if frozen(arguments) in seen:
                continue
            seen.add(frozen(arguments))
        counted.append((position, arguments))
    define = defined(function.name)
    if define is not None and any(isinstance(arguments[0], float) for _, arguments in counted):
        return define([arguments[0] for _, arguments in counted])
    state = function.init()
    for position, arguments in counted:
        if function.needs_order:
            arguments.append(position + 1)
        if function.numbered:
            arguments.append(numbers[rows[position].key])
        state = function.add(state, *arguments)
    return function.finish(state)
