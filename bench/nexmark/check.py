"""Whether two results are the same bag of rows; times as microseconds, numbers of floating point to 1e-9 unless told
otherwise: other systems round their averages as they like.

    python bench/nexmark/check.py FOUND.parquet EXPECTED.parquet
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

TOLERANCE = 1e-9
SHOWN = 5


def differences(found: pa.Table, expected: pa.Table, tolerance: float = TOLERANCE) -> str:
    """What differs, as text; empty if nothing does."""
    found, expected = plain(found), plain(expected)
    if set(found.column_names) != set(expected.column_names):
        return f"columns {', '.join(found.column_names)} instead of {', '.join(expected.column_names)}"
    found = found.select(expected.column_names)
    if not found.num_rows and not expected.num_rows:  # nothing tells the types of no values
        return ""
    if found.num_rows == expected.num_rows and _equal(_sorted(found), _sorted(expected), tolerance):
        return ""
    surplus, missing = _without(found, expected), _without(expected, found)
    head = (f"{found.num_rows:,} rows instead of {expected.num_rows:,}: {len(surplus):,} of them not expected, "
            f"{len(missing):,} missing")
    lines = [f"  {sign} {row}" for sign, rows in (("+", surplus), ("-", missing)) for row in rows[:SHOWN]]
    return "\n".join([head, *lines])


def plain(table: pa.Table) -> pa.Table:
    """Structs as columns, times as microseconds, all whole numbers of one type."""
    while any(pa.types.is_struct(column.type) for column in table.itercolumns()):
        table = table.flatten()
    return pa.table({name: _plain_column(column)
                     for name, column in zip(table.column_names, table.itercolumns(), strict=True)})


def _plain_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_timestamp(kind):
        return column.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return column.cast(pa.int64())
    return column.cast(pa.string()) if pa.types.is_large_string(kind) else column


def _sorted(table: pa.Table) -> pa.Table:
    """By everything, floating point last, because its last bits may differ."""
    names = sorted(table.column_names, key=lambda name: pa.types.is_floating(table[name].type))
    return table.take(pc.sort_indices(table, [(name, "ascending") for name in names]))


def _equal(found: pa.Table, expected: pa.Table, tolerance: float) -> bool:
    for one, other in zip(found.itercolumns(), expected.itercolumns(), strict=True):
        if not pa.types.is_floating(other.type):
            if one.combine_chunks() != other.combine_chunks():
                return False
        elif not np.allclose(one.to_numpy(), other.to_numpy(), rtol=tolerance, atol=0, equal_nan=True):
            return False
    return True


def _without(rows: pa.Table, others: pa.Table) -> list[str]:
    """The rows that have no partner among the others, as text; slow, for the report of a failure."""
    def texts(table: pa.Table) -> list[str]:
        return [", ".join(f"{k}={v:.9g}" if isinstance(v, float) else f"{k}={v}" for k, v in row.items())
                for row in table.to_pylist()]

    return list((Counter(texts(rows)) - Counter(texts(others))).elements())


def main() -> None:
    found, expected = (pq.read_table(Path(path)) for path in sys.argv[1:3])
    text = differences(found, expected)
    print(text or f"equal: {expected.num_rows:,} rows")
    raise SystemExit(1 if text else 0)


if __name__ == "__main__":
    main()
