"""One set of column types at the border, whatever the file format said."""

from __future__ import annotations

import pyarrow as pa

TIMESTAMP = pa.timestamp("us", tz="UTC")


def normal_type(data_type: pa.DataType) -> pa.DataType:
    """Timestamps in microseconds UTC, plain strings instead of dictionaries and large strings.

    >>> normal_type(pa.timestamp("ns")), normal_type(pa.dictionary(pa.int8(), pa.string()))
    (TimestampType(timestamp[us, tz=UTC]), DataType(string))
    """
    if pa.types.is_timestamp(data_type):
        return TIMESTAMP
    if pa.types.is_dictionary(data_type):
        return normal_type(data_type.value_type)
    if pa.types.is_large_string(data_type) or pa.types.is_string_view(data_type):
        return pa.string()
    if pa.types.is_null(data_type):
        return pa.string()
    return data_type


def normal_schema(schema: pa.Schema) -> pa.Schema:
    """Every column normalised."""
    return pa.schema([pa.field(f.name, normal_type(f.type)) for f in schema])


def normalise(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A table in the normal types; times finer than a microsecond are cut."""
    columns = []
    for f in schema:
        column = table.column(f.name)
        if pa.types.is_timestamp(column.type) and column.type.tz is None:
            column = column.cast(pa.timestamp("us"), safe=False).cast(TIMESTAMP)
        columns.append(column if column.type == f.type else column.cast(f.type, safe=not pa.types.is_timestamp(f.type)))
    return pa.Table.from_arrays(columns, schema=schema)
