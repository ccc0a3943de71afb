"""What a window aggregate of a plan asks of a kernel: column types are followed up the plan from the sources."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from panewise.aggregates.registry import resolve
from panewise.core.errors import PanewiseError, PlanError, SchemaError
from panewise.core.scalar import Scalar
from panewise.functions import type_of
from panewise.functions.unions import EXCEPT_ALL, UNION, united
from panewise.kernels.catalog import Request
from panewise.kernels.contract.partials import BoundAggregate, bind
from panewise.plan import nodes as n

HIDDEN = "<partition>."
"""Before the name of a PARTITION BY column that the result does not show."""


def request_of(node: n.WindowAggregate) -> Request | None:
    """The request of one aggregate; None where the columns or their types are not known."""
    try:
        schema = schema_of(node.input)
        return None if schema is None else bound_request(node, schema)
    except PanewiseError:  # what is wrong with the query is said when it is run
        return None


def bound_aggregates(node: n.GroupAggregate) -> list[BoundAggregate] | None:
    """The aggregates over a relation with the types they take; None where these are not known."""
    try:
        schema = schema_of(node.input)
        return None if schema is None else bound_calls(node.aggregates, schema)
    except PanewiseError:
        return None


def bound_calls(calls: Sequence[n.AggregateCall], schema: pa.Schema) -> list[BoundAggregate]:
    """Aggregates of rows with these columns; what a function refuses is refused here, not at the first row."""
    named = [(call.name, resolve(call.function, call.parameters, call.distinct)) for call in calls]
    return bind(named, [[type_of(argument, schema) for argument in call.arguments] for call in calls])


def hidden_keys(node: n.WindowAggregate) -> dict[str, str]:
    """The PARTITION BY columns that the result does not show, and what the kernel calls them."""
    shown = {key.scalar.column_name for key in node.keys}
    return {column: f"{HIDDEN}{column}" for column in node.window.partition if column not in shown}


def bound_request(node: n.WindowAggregate, schema: pa.Schema) -> Request:
    """The request of an aggregate whose input has these columns."""
    hidden = hidden_keys(node)
    names = {key.scalar.column_name: key.name for key in reversed(node.keys)} | hidden
    scalars = [*(key.scalar for key in node.keys), *map(Scalar.column, hidden)]
    keys = pa.schema([(name, type_of(scalar, schema)) for name, scalar in
                      zip([*(key.name for key in node.keys), *hidden.values()], scalars, strict=True)])
    return Request(node.window.spec.plain, keys, tuple(bound_calls(node.aggregates, schema)),
                   tuple(names[column] for column in node.window.partition))


def _results(node: n.WindowAggregate, below: pa.Schema) -> pa.Schema:
    """The columns of a window aggregate: keys, window, aggregates, the times that are asked for."""
    request, instant = bound_request(node, below), node.window.ordinal.arrow
    window = pa.struct([("start", instant), ("end", instant)]) if node.window.has_time_range else pa.int64()
    return pa.schema([*(request.keys.field(key.name) for key in node.keys), pa.field(node.window_column, window),
                      *(pa.field(bound.name, bound.result_field.type) for bound in request.aggregates),
                      *(pa.field(name, instant) for name in node.times)])


def operator_of(node: n.Union | n.BagDifference) -> str:
    """What a set operation is called."""
    return UNION if isinstance(node, n.Union) else EXCEPT_ALL


def schema_of(node: n.Node) -> pa.Schema | None:
    """The columns a node puts out, with types; None when a source has not told its own."""
    if isinstance(node, n.Named):
        columns = {name: node.schema.columns.get(name) for name in node.columns}
        return pa.schema(list(columns.items())) if columns and None not in columns.values() else None
    below_all = isinstance(node, n.Union | n.BagDifference | n.Computed)
    found = [schema_of(below) for below in (node.inputs if below_all else node.passes)]
    below = [schema for schema in found if schema is not None]
    if len(below) < len(found):
        return None
    fields = [field for schema in below for field in schema]
    match node:
        case n.WindowAggregate():
            return _results(node, below[0])
        case n.GroupAggregate():
            bound = bound_aggregates(node)
            keys = [(key.name, type_of(key.scalar, below[0])) for key in node.keys]
            return None if bound is None else pa.schema([*keys, *((b.name, b.result_field.type) for b in bound)])
        case n.Window() if node.clause.numbered:
            return pa.schema([*fields, pa.field(n.POSITION_COLUMN, pa.int64())])
        case n.Project():
            return pa.schema([(item.name, type_of(item.scalar, below[0])) for item in node.items])
        case n.Explode():
            made = node.generator.fields(type_of(node.collection, below[0]))
            if len(made) != len(node.names):
                return None  # refused when the query meets its inputs
            return pa.schema([*fields, *(pa.field(name, f.type) for name, f in zip(node.names, made, strict=True))])
        case n.Qualify():
            return pa.schema([(f"{node.alias}.{f.name}", f.type) for f in fields])
        case n.Union() | n.BagDifference():
            try:
                return united(below, operator_of(node))
            except (PlanError, SchemaError):
                return None
    return pa.schema(fields)
