"""Tables of partial aggregates: the form in which state is kept, merged, shipped and saved.

A row is one group of one window or pane: an integer id, the key columns, and the state columns of every aggregate.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from panewise.aggregates.base import Aggregate, Codes
from panewise.core.columns import flat
from panewise.core.errors import AggregateError
from panewise.core.ordinals import Ordinals
from panewise.kernels.groups.grouping import group_codes


@dataclass(frozen=True)
class BoundAggregate:
    """An aggregate function with the name of its result and the types of its arguments.

    State columns are named ``<name>.<state field>``.
    """

    name: str
    function: Aggregate
    inputs: tuple[pa.DataType, ...] = ()

    @cached_property
    def state_schema(self) -> list[pa.Field]:
        """The state columns of this aggregate in a partial table."""
        return [f.with_name(f"{self.name}.{f.name}") for f in self.function.state_fields(self.inputs)]

    @cached_property
    def result_field(self) -> pa.Field:
        """The result column."""
        return pa.field(self.name, self.function.result_type(self.inputs))


def bind(calls: Iterable[tuple[str, Aggregate]], types: Iterable[Sequence[pa.DataType]]) -> list[BoundAggregate]:
    """Aggregates with their argument types; a type that a function refuses is refused here, not at the first row."""
    bound = [BoundAggregate(name, function, tuple(inputs))
             for (name, function), inputs in zip(calls, types, strict=True)]
    for aggregate in bound:
        _check_order_free(aggregate.function, aggregate.inputs)
    return bound


def _check_order_free(function: Aggregate, inputs: Sequence[pa.DataType]) -> None:
    """Kernels add element by element in an order of their own, which sums of floats would show."""
    fields = function.state_fields(inputs)
    for field, operation in zip(fields, function.elementwise(inputs) or [], strict=False):
        if operation == "sum" and pa.types.is_floating(field.type):
            raise AggregateError(f"{function.name}: the state {field.name!r} is {field.type} and merged by 'sum', "
                                 "whose roundings depend on the order: let elementwise() return None, or keep the sum "
                                 "exactly, as the three columns of EXACT_SUM")


def partial_schema(keys: pa.Schema, aggregates: Sequence[BoundAggregate], *, id_name: str) -> pa.Schema:
    """The schema of a partial table."""
    states = [f for a in aggregates for f in a.state_schema]
    return pa.schema([pa.field(id_name, pa.int64()), *keys, *states])


def partial_table(ids: Ordinals, keys: pa.Table, arguments: Sequence[Sequence[pa.Array]],
                  aggregates: Sequence[BoundAggregate], *, id_name: str) -> pa.Table:
    """One row per distinct (id, keys), ascending by id, from raw rows in arrival order.

    ``arguments`` holds the argument columns of each aggregate, one entry per aggregate.
    """
    schema = partial_schema(keys.schema, aggregates, id_name=id_name)
    if len(ids) == 0:
        return schema.empty_table()
    codes, first = group_codes([ids, *keys.columns])
    states: list[pa.Array] = []
    for aggregate, columns in zip(aggregates, arguments, strict=True):
        states += aggregate.function.partials(list(columns), codes, len(first), aggregate.inputs)
    return _by_id(ids[first], keys.take(pa.array(first)).columns, states, schema)


def combine_partials(table: pa.Table, key_names: Sequence[str], aggregates: Sequence[BoundAggregate], *,
                     id_name: str) -> pa.Table:
    """Merge rows with equal (id, keys), ascending by id; of two equal rows the upper came first."""
    if table.num_rows == 0:
        return table
    ids = _numpy(table.column(id_name))
    codes, first = group_codes([ids, *(table.column(k) for k in key_names)])
    keys = [table.column(k) for k in key_names]
    if len(first) == table.num_rows:
        states = [flat(table.column(f.name)) for a in aggregates for f in a.state_schema]
        return _by_id(ids, keys, states, table.schema)
    states = []
    for aggregate in aggregates:
        columns = [flat(table.column(f.name)) for f in aggregate.state_schema]
        states += aggregate.function.combine(columns, codes, len(first), aggregate.inputs)
    at = pa.array(first)
    return _by_id(ids[first], [k.take(at) for k in keys], states, table.schema)


def settled(table: pa.Table, aggregates: Sequence[BoundAggregate]) -> pa.Table:
    """The same partials as small as they get, where every row of theirs has come."""
    for aggregate in aggregates:
        if aggregate.function.settles and table.num_rows:
            names = [f.name for f in aggregate.state_schema]
            columns = aggregate.function.settle([flat(table.column(n)) for n in names], aggregate.inputs)
            for name, column in zip(names, columns, strict=True):
                at = table.schema.get_field_index(name)
                table = table.set_column(at, table.schema.field(at), column)
    return table


def finish_partials(table: pa.Table, key_names: Sequence[str], aggregates: Sequence[BoundAggregate], *,
                    id_name: str) -> pa.Table:
    """The results: id, keys, and one column per aggregate in place of its states."""
    columns = {name: table.column(name) for name in (id_name, *key_names)}
    for aggregate in aggregates:
        states = [flat(table.column(f.name)) for f in aggregate.state_schema]
        columns[aggregate.name] = aggregate.function.finish_all(states, aggregate.inputs)
    return pa.table(columns)


def _by_id(ids: Ordinals, keys: Sequence[pa.Array], states: Sequence[pa.Array], schema: pa.Schema) -> pa.Table:
    """Put a partial table together, ascending by id, rows of one id in their order."""
    table = pa.table([pa.array(ids), *keys, *states], schema=schema)
    if np.all(ids[1:] >= ids[:-1]):
        return table
    order: Codes = np.argsort(ids, kind="stable")
    return table.take(pa.array(order))


def _numpy(column: pa.ChunkedArray) -> Ordinals:
    array: Ordinals = column.to_numpy()
    return array
