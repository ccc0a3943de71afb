"""The columns of a UNION: the type that the columns of its parts meet in, as Spark has it, and rows in that type.

Two types meet as in ``coalesce``: integers beside a decimal keep their digits before the point, text becomes what
stands beside it. Only structs with other names of their fields meet in a UNION alone, by position.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyarrow import types as t

from panewise.core.errors import SchemaError
from panewise.core.scalar import Scalar
from panewise.functions.binding.evaluation import evaluate
from panewise.functions.types import renamed, spark_type, type_name, wider


def united(schemas: Sequence[pa.Schema]) -> pa.Schema:
    """Names of the first part, types that all parts meet in; refused with the column where there is none.

    >>> united([pa.schema({"n": pa.int64()}), pa.schema({"m": pa.decimal128(38, 38)})])
    n: decimal128(38, 18)
    """
    return pa.schema([(name, _common(name, [schema.field(place).type for schema in schemas]))
                      for place, name in enumerate(schemas[0].names)])


def _common(column: str, types: Sequence[pa.DataType]) -> pa.DataType:
    found = types[0]
    for one in types[1:]:
        common = met(found, one)
        if common is None:
            raise SchemaError(f"the inputs of a UNION differ in their types: column {column!r} is "
                              f"{' and '.join(dict.fromkeys(map(type_name, types)))}; cast them to one")
        found = common
    return found


def met(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The type that two columns of a UNION meet in; None if there is none.

    >>> str(met(pa.struct([("x", pa.int32())]), pa.struct([("y", pa.int32())])))
    'struct<x: int32>'
    """
    if one == other:
        return one
    left, right = spark_type(one), spark_type(other)
    if left is None or right is None:
        return of_arrow(one, other)
    return wider(left, right) or (left if renamed(right, left) == left else None)


def of_arrow(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """What Arrow makes of two types, among them those that Spark has not."""
    try:
        alone = [pa.schema([("c", kind)]) for kind in (one, other)]
        return pa.unify_schemas(alone, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return None


def in_types(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows of a part, whose columns are those of the UNION in this order, as CAST makes them."""
    if table.schema.equals(schema):
        return table
    return pa.table([_in_type(table.column(place), wanted.type) for place, wanted in enumerate(schema)], schema=schema)


def _in_type(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray | pa.Array:
    given = column.type
    if given == wanted:
        return column
    if spark_type(given) != given or t.is_null(given):
        return column.cast(wanted)
    one = pa.table([column], names=["value"])
    return evaluate([Scalar.parse(f"CAST(value AS {_text(wanted)})")], one)[0]


def _text(kind: pa.DataType) -> str:
    """A type as CAST reads it: any name may be that of a field."""
    if t.is_struct(kind):
        return "struct<" + ",".join(f"`{f.name.replace('`', '``')}`:{_text(f.type)}" for f in kind) + ">"
    if t.is_list(kind):
        return f"array<{_text(kind.value_type)}>"
    if t.is_map(kind):
        return f"map<{_text(kind.key_type)},{_text(kind.item_type)}>"
    return type_name(kind)
