"""The columns of a set operation: the type that the columns of its parts meet in, as Spark has it, and rows in it.

Two types meet as in ``coalesce``: integers beside a decimal keep their digits before the point, text becomes what
stands beside it. Structs with other names of their fields meet in a UNION alone, by position; maps of two types meet in
a UNION, but are not compared by EXCEPT ALL.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyarrow import types as t

from panewise.core.errors import PlanError, SchemaError
from panewise.core.scalar import Scalar
from panewise.functions.binding.evaluation import evaluate
from panewise.functions.types import renamed, spark_type, type_name, wider

UNION, EXCEPT_ALL = "UNION", "EXCEPT ALL"


def united(schemas: Sequence[pa.Schema], operator: str = UNION) -> pa.Schema:
    """Names of the first part, types that all parts meet in; refused with the column where there is none.

    >>> united([pa.schema({"n": pa.int64()}), pa.schema({"m": pa.decimal128(38, 38)})])
    n: decimal128(38, 18)
    """
    first = schemas[0].names
    other = next((schema for schema in schemas if len(schema) != len(first)), None)
    if other is not None:
        raise PlanError(f"{operator} needs inputs with as many columns: one has {len(other)} "
                        f"({', '.join(other.names)}), the first has {len(first)} ({', '.join(first)})")
    return pa.schema([(name, _common(name, [schema.field(place).type for schema in schemas], operator))
                      for place, name in enumerate(first)])


def _common(column: str, types: Sequence[pa.DataType], operator: str) -> pa.DataType:
    found = types[0]
    for one in types[1:]:
        common = met(found, one, operator)
        if common is None:
            raise SchemaError(f"the inputs of {operator} differ in their types: column {column!r} is "
                              f"{' and '.join(dict.fromkeys(map(type_name, types)))}; cast them to one")
        found = common
    return found


def met(one: pa.DataType, other: pa.DataType, operator: str = UNION) -> pa.DataType | None:
    """The type that two columns of a set operation meet in; None if there is none.

    >>> x, y = pa.struct([("x", pa.int32())]), pa.struct([("y", pa.int32())])
    >>> str(met(x, y)), met(x, y, "EXCEPT ALL")
    ('struct<x: int32>', None)
    """
    if one == other:
        return one
    left, right = spark_type(one), spark_type(other)
    if left is None or right is None:
        return of_arrow(one, other)
    if operator == EXCEPT_ALL:
        return None if _has_map(left) or _has_map(right) else wider(left, right)
    return wider(left, right) or (left if renamed(right, left) == left else None)


def _has_map(of: pa.DataType) -> bool:
    return t.is_map(of) or any(_has_map(of.field(place).type) for place in range(of.num_fields))


def of_arrow(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """What Arrow makes of two types, among them those that Spark has not."""
    try:
        alone = [pa.schema([("c", kind)]) for kind in (one, other)]
        return pa.unify_schemas(alone, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return None


def in_types(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows of a part, whose columns are those of the set operation in this order, as CAST makes them."""
    if table.schema.equals(schema):
        return table
    return pa.table([_in_type(table.column(place), table.schema.names[place], wanted.type)
                     for place, wanted in enumerate(schema)], schema=schema)


def _in_type(column: pa.ChunkedArray, name: str, wanted: pa.DataType) -> pa.ChunkedArray | pa.Array:
    given = column.type
    if given == wanted:
        return column
    if spark_type(given) != given or t.is_null(given):
        return column.cast(wanted)
    cast = Scalar.parse(f"CAST({Scalar.column(name)} AS {_text(wanted)})")
    return evaluate([cast], pa.table([column], names=[name]))[0]


def _text(kind: pa.DataType) -> str:
    """A type as CAST reads it: any name may be that of a field."""
    if t.is_struct(kind):
        return "struct<" + ",".join(f"`{f.name.replace('`', '``')}`:{_text(f.type)}" for f in kind) + ">"
    if t.is_list(kind):
        return f"array<{_text(kind.value_type)}>"
    if t.is_map(kind):
        return f"map<{_text(kind.key_type)},{_text(kind.item_type)}>"
    return type_name(kind)
