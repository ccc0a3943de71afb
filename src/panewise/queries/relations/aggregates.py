"""The aggregates of a plan node bound to the columns they take."""

from __future__ import annotations

import pyarrow as pa

from panewise.aggregates.registry import resolve
from panewise.functions import type_of
from panewise.kernels.partials import bind
from panewise.kernels.relations.group_aggregate import GroupedBy
from panewise.plan.nodes import GroupAggregate
from panewise.planner.closing import closers


def grouped_by(node: GroupAggregate, schema: pa.Schema) -> GroupedBy:
    """Keys and aggregates with their types; what a function refuses is refused here, not at the first row."""
    key_scalars = [key.scalar for key in node.keys]
    keys = pa.schema([pa.field(key.name, type_of(key.scalar, schema)) for key in node.keys])
    functions = [resolve(call.function, call.parameters, call.distinct) for call in node.aggregates]
    arguments = [list(call.arguments) for call in node.aggregates]
    inputs = [[type_of(scalar, schema) for scalar in scalars] for scalars in arguments]
    named = [(call.name, function) for call, function in zip(node.aggregates, functions, strict=True)]
    return GroupedBy(keys, key_scalars, bind(named, inputs), arguments, closers(node))
