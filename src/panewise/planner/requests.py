"""What a window aggregate of a plan asks of a kernel: column types are followed up the plan from the sources."""

from __future__ import annotations

import pyarrow as pa

from panewise.aggregates.registry import resolve
from panewise.core.errors import PanewiseError
from panewise.core.scalar import Scalar
from panewise.functions import type_of
from panewise.functions.types import united
from panewise.kernels.catalog import Request
from panewise.kernels.partials import BoundAggregate, bind
from panewise.plan import nodes as n
from panewise.windows.predicate import PredicateWindow

HIDDEN = "<partition>."
"""Before the name of a PARTITION BY column that the result does not show."""


def request_of(node: n.WindowAggregate) -> Request | None:
    """The request of one aggregate; None where the columns or their types are not known."""
    try:
        schema = schema_of(node.input)
        return None if schema is None else bound_request(node, schema)
    except PanewiseError:  # what is wrong with the query is said by whoever runs it
        return None


def bound_aggregates(node: n.GroupAggregate) -> list[BoundAggregate] | None:
    """The aggregates over a relation with the types they take; None where these are not known."""
    try:
        schema = schema_of(node.input)
        if schema is None:
            return None
        calls = [(call.name, resolve(call.function, call.parameters, call.distinct)) for call in node.aggregates]
        return bind(calls, [[type_of(argument, schema) for argument in call.arguments] for call in node.aggregates])
    except PanewiseError:
        return None


def bound_request(node: n.WindowAggregate, schema: pa.Schema) -> Request:
    """The request of an aggregate whose input has these columns."""
    by_column = {key.scalar.column_name: key.name for key in reversed(node.keys)}
    partition = {column: by_column.get(column, f"{HIDDEN}{column}") for column in node.window.partition}
    hidden = [column for column, name in partition.items() if name.startswith(HIDDEN)]
    scalars = [*(key.scalar for key in node.keys), *map(Scalar.column, hidden)]
    names = [*(key.name for key in node.keys), *(partition[column] for column in hidden)]
    arguments = [scalar for call in node.aggregates for scalar in call.arguments]
    types = [type_of(scalar, schema) for scalar in (*scalars, *arguments)]
    keys = pa.schema(list(zip(names, types[: len(names)], strict=True)))
    inputs, at = [], len(names)
    for call in node.aggregates:
        inputs.append(types[at : at + len(call.arguments)])
        at += len(call.arguments)
    calls = [(call.name, resolve(call.function, call.parameters, call.distinct)) for call in node.aggregates]
    spec = node.window.spec
    while isinstance(spec, PredicateWindow):  # rows that fail it do not reach a kernel
        spec = spec.spec
    return Request(spec, keys, tuple(bind(calls, inputs)), tuple(partition.values()))


def schema_of(node: n.Node) -> pa.Schema | None:
    """The columns a node puts out, with types; None when a source has not told its own."""
    match node:
        case n.Source():
            return pa.schema(list(node.schema.columns.items())) if node.schema.columns else None
        case n.Filter() | n.Distinct() | n.Lifetime():
            return schema_of(node.input)
        case n.Window():
            below = schema_of(node.input)
            numbered = [pa.field(n.POSITION_COLUMN, pa.int64())] if node.clause.numbered else []
            return None if below is None else pa.schema([*below, *numbered])
        case n.SemiJoin() | n.AntiJoin() | n.BagDifference():
            return schema_of(node.left)
        case n.Join() | n.TimePairs():
            left, right = schema_of(node.left), schema_of(node.right)
            return None if left is None or right is None else pa.schema([*left, *right])
        case n.Project():
            below = schema_of(node.input)
            if below is None:
                return None
            return pa.schema([(item.name, type_of(item.scalar, below)) for item in node.items])
        case n.Explode():
            below = schema_of(node.input)
            if below is None:
                return None
            fields = node.generator.fields(type_of(node.collection, below))
            if len(fields) != len(node.names):
                return None  # refused when the query meets its inputs
            made = zip(node.names, fields, strict=True)
            return pa.schema([*below, *(pa.field(name, field.type) for name, field in made)])
        case n.Qualify():
            below = schema_of(node.input)
            return None if below is None else pa.schema([(f"{node.alias}.{f.name}", f.type) for f in below])
        case n.Union():
            parts = [schema_of(part) for part in node.parts]
            known = [part for part in parts if part is not None]
            if len(known) < len(parts):
                return None
            try:
                return united(known)
            except pa.ArrowException:
                return None
    return None
