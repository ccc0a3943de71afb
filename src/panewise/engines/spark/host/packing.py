"""Rows on their way through a shuffle: whole numbers in as few bytes as their range needs.

A message is copied half a dozen times between Python, the JVM, disk and back, and compressed on the way. Keys,
positions and times of one micro-batch lie near each other, so most of their eight bytes say nothing.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from panewise.core.columns import as_column
from panewise.kernels.contract.state_file import table_bytes, table_from_bytes

LOWEST = b"low:"
"""Before the name of a column in the metadata that holds its type and its smallest value."""
WIDE = {pa.int64(): np.int64, pa.int32(): np.int32}


def packed(table: pa.Table) -> bytes:
    """A table as bytes, its columns of integers narrowed where they can be."""
    columns, lows = [], dict(table.schema.metadata or {})
    for field, column in zip(table.schema, table.columns, strict=True):
        flat = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        if field.type in WIDE and flat.null_count == 0 and len(flat):
            values = flat.to_numpy()
            low, high = int(values.min()), int(values.max())
            narrow = np.min_scalar_type(high - low)
            if narrow.itemsize < values.itemsize:
                lows[LOWEST + field.name.encode()] = f"{field.type}:{low}".encode()
                flat = pa.array((values - low).astype(narrow))
        columns.append(flat)
    return table_bytes(pa.table(columns, names=table.column_names).replace_schema_metadata(lows))


def unpacked(data: bytes) -> pa.Table:
    """Back.

    >>> unpacked(packed(pa.table({"n": [1_000_000, 1_000_200], "x": [0.5, 1.5]}))).to_pylist()
    [{'n': 1000000, 'x': 0.5}, {'n': 1000200, 'x': 1.5}]
    """
    table = table_from_bytes(data)
    metadata = dict(table.schema.metadata or {})
    lows = {key.removeprefix(LOWEST).decode(): low.decode() for key, low in metadata.items() if key.startswith(LOWEST)}
    if not lows:
        return table
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name not in lows:
            columns.append(column)
            continue
        kind, _, low = lows[name].partition(":")
        wide = pa.type_for_alias(kind)
        values = column.combine_chunks().to_numpy().astype(WIDE[wide])
        columns.append(as_column(np.add(values, int(low), out=values), wide))
    kept = {key: value for key, value in metadata.items() if not key.startswith(LOWEST)}
    return pa.table(columns, names=table.column_names).replace_schema_metadata(kept)
