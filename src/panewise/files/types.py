"""One set of column types at the border, whatever the file format said."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

DAY = r"\d{4}-\d{2}-\d{2}"
CLOCK, OFFSET = r"[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?", r"(Z|[+-]\d{2}:?\d{2})"
ISO_TIME = rf"^{DAY}({CLOCK}{OFFSET}?)?$"
TIMESTAMP = pa.timestamp("us", tz="UTC")
SIGNED = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.decimal128(20, 0),
          pa.float16(): pa.float32()}
"""Types that Spark does not have, and what it reads them as."""


def normal_type(data_type: pa.DataType) -> pa.DataType:
    """Timestamps in microseconds UTC, plain strings instead of dictionaries and large strings, signed numbers.

    >>> normal_type(pa.timestamp("ns")), normal_type(pa.dictionary(pa.int8(), pa.string())), normal_type(pa.uint32())
    (TimestampType(timestamp[us, tz=UTC]), DataType(string), DataType(int64))
    """
    if pa.types.is_timestamp(data_type):
        return TIMESTAMP
    if pa.types.is_dictionary(data_type):
        return normal_type(data_type.value_type)
    if pa.types.is_large_string(data_type) or pa.types.is_string_view(data_type) or pa.types.is_null(data_type):
        return pa.string()
    return SIGNED.get(data_type, data_type)


def time_type(texts: pa.Array | pa.ChunkedArray) -> pa.DataType | None:
    """What most of some texts are that should be times: integers, days or timestamps; None if they are neither.

    >>> time_type(pa.array(["1", "2", "x"])), time_type(pa.array(["2026-01-01T00:00:00Z", "?", "2026-01-01 08:00Z"]))
    (DataType(int64), TimestampType(timestamp[us, tz=UTC]))
    >>> time_type(pa.array(["2026-01-01"])), time_type(pa.array(["a", "b", "3"]))
    (DataType(date32[day]), None)
    """
    total = len(texts) - texts.null_count
    for pattern, kind in ((r"^[+-]?\d{1,19}$", pa.int64()), (rf"^{DAY}$", pa.date32()),
                          (rf"^{DAY}{CLOCK}{OFFSET}$", TIMESTAMP), (ISO_TIME, pa.timestamp("us"))):
        fitting = pc.sum(pc.match_substring_regex(texts, pattern)).as_py() or 0
        if 2 * fitting > total:
            return kind
    return None


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
