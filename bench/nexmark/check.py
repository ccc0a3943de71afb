"""Whether two results are the same bag of rows; times as microseconds, numbers of floating point to 1e-9.

    python bench/nexmark/check.py FOUND.parquet EXPECTED.parquet
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

TOLERANCE = 1e-9
SHOWN = 5


def differences(found: pa.Table, expected: pa.Table) -> str:
    """What differs, as text; empty if nothing does."""
    found, expected = plain(found), plain(expected)
    if set(found.column_names) != set(expected.column_names):
        return f"columns {', '.join(found.column_names)} instead of {', '.join(expected.column_names)}"
    found = found.select(expected.column_names)
    if found.num_rows == expected.num_rows and _equal(_sorted(found), _sorted(expected)):
        return ""
    surplus, missing = _without(found, expected), _without(expected, found)
    head = f"{found.num_rows:,} rows instead of {expected.num_rows:,}: {len(surplus):,} too many, {len(missing):,} missing"
    lines = [f"  {sign} {row}" for sign, rows in (("+", surplus), ("-", missing)) for row in rows[:SHOWN]]
    return "\n".join([head, *lines])


def plain(table: pa.Table) -> pa.Table:
    """Structs as columns, times as microseconds, all whole numbers of one type."""
    while any(pa.types.is_struct(column.type) for column in table.itercolumns()):
        table = table.flatten()
    columns = {}
    for name, column in zip(table.column_names, table.itercolumns(), strict=True):
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
        elif pa.types.is_integer(column.type) or pa.types.is_decimal(column.type) or pa.types.is_null(column.type):
            column = column.cast(pa.int64())
        elif pa.types.is_large_string(column.type):
            column = column.cast(pa.string())
        columns[name] = column
    return pa.table(columns)


def _sorted(table: pa.Table) -> pa.Table:
    """By everything, floating point last and rounded, because its last bits may differ."""
    floating = [n for n in table.column_names if pa.types.is_floating(table[n].type)]
    keys = [n for n in table.column_names if n not in floating]
    rounded = table.select(keys)
    for name in floating:
        rounded = rounded.append_column(name, pc.round(table[name], 6))
    return table.take(pc.sort_indices(rounded, [(name, "ascending") for name in rounded.column_names]))


def _equal(found: pa.Table, expected: pa.Table) -> bool:
    for one, other in zip(found.itercolumns(), expected.itercolumns(), strict=True):
        if not pa.types.is_floating(other.type):
            if one.combine_chunks() != other.combine_chunks():
                return False
        elif not np.allclose(one.to_numpy(), other.to_numpy(), rtol=TOLERANCE, atol=0, equal_nan=True):
            return False
    return True


def _without(rows: pa.Table, others: pa.Table) -> list[str]:
    """The rows that have no partner among the others, as text; slow, for the report of a failure."""
    from collections import Counter

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
