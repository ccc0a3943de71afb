"""Columns of a stream that is not there yet, as a user writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import pyarrow as pa

from panewise.api.tables import TableInput
from panewise.core.errors import SchemaError
from panewise.core.schema import SourceSchema
from panewise.core.tables import once_each
from panewise.files.types import TIMESTAMP

Columns: TypeAlias = pa.Schema | Mapping[str, Any] | str

TYPES = {
    **dict.fromkeys(("timestamp", "datetime", "timestamptz"), TIMESTAMP), "date": pa.date32(),
    **dict.fromkeys(("string", "text", "varchar", "str"), pa.string()),
    **dict.fromkeys(("bigint", "long", "int64", "int", "integer"), pa.int64()), "int32": pa.int32(),
    **dict.fromkeys(("double", "float64", "float"), pa.float64()), "real": pa.float32(), "float32": pa.float32(),
    **dict.fromkeys(("boolean", "bool"), pa.bool_()),
}


def parse_columns(columns: Columns) -> pa.Schema:
    """An Arrow schema from one, from types by name, or from text.

    >>> parse_columns("ts timestamp, auction bigint, price double").names
    ['ts', 'auction', 'price']
    """
    found = _parsed(columns)
    once_each(found.names, "columns")
    return found


def declared(columns: Columns | TableInput, time: str | None = None) -> SourceSchema:
    """What a query knows of a stream or table of which no rows are there yet."""
    if isinstance(columns, TableInput):
        table = columns.timed(time)
        return table.schema(SourceSchema.of(parse_columns(table.value), time=table.time))
    return SourceSchema.of(parse_columns(columns), time=time)


def _parsed(columns: Columns) -> pa.Schema:
    if isinstance(columns, pa.Schema):
        return columns
    if isinstance(columns, Mapping):
        return pa.schema([(name, t if isinstance(t, pa.DataType) else _type(t, name)) for name, t in columns.items()])
    if not isinstance(columns, str):
        raise SchemaError(f"columns are an Arrow schema, types by name or text such as 'ts timestamp, price double', "
                          f"not {columns!r}")
    pairs = [part.split() for part in columns.split(",")]
    if wrong := [" ".join(pair) for pair in pairs if len(pair) != 2]:
        raise SchemaError(f"columns are written 'ts timestamp, price double', not {wrong[0]!r}")
    return pa.schema([(name, _type(text, name)) for name, text in pairs])


def _type(text: Any, name: str) -> pa.DataType:
    try:
        return TYPES[str(text).lower()]
    except KeyError:
        raise SchemaError(f"column {name!r}: no type {text!r}; there are {', '.join(TYPES)}, "
                          "or give an Arrow schema") from None
