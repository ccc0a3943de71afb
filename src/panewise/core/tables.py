"""Rows that other libraries hold, as Arrow tables: pandas, Polars, anything that speaks Arrow's C interface."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from panewise.core.errors import QuantityError, SchemaError
from panewise.core.time import DAY, format_any_year


def as_table(value: Any, name: str = "stream") -> pa.Table | None:
    """A table of what a program has; None for what is no table: rows, paths, anything else.

    >>> import pandas as pd
    >>> as_table(pd.DataFrame({"k": ["a"]})).to_pylist(), as_table([{"k": "a"}])
    ([{'k': 'a'}], None)
    """
    if isinstance(value, pa.Table | pa.RecordBatch):
        once_each(value.schema.names, f"stream {name!r}")
        return value if isinstance(value, pa.Table) else pa.Table.from_batches([value])
    try:
        if type(value).__module__.split(".", 1)[0] == "pandas" and hasattr(value, "columns"):
            return pa.Table.from_pandas(value, preserve_index=False)
        if hasattr(value, "__arrow_c_stream__"):
            return as_table(plain_text(pa.table(value)), name)
        if hasattr(value, "__arrow_c_array__"):
            return as_table(plain_text(pa.Table.from_batches([pa.record_batch(value)])), name)
    except SchemaError:
        raise
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise SchemaError(f"stream {name!r}: a {type(value).__name__} cannot be read as columns: {error}") from error
    return None


def once_each(names: Iterable[str], where: str) -> None:
    """Refuse columns of which two have one name: nobody could say which of them is meant.

    >>> once_each(["ts", "v", "v"], "stream 's'")
    Traceback (most recent call last):
    panewise.core.errors.SchemaError: stream 's': the column 'v' is there 2 times: give each a name of its own
    """
    name, times = max(Counter(names).items(), key=lambda found: found[1], default=("", 0))
    if times > 1:
        raise SchemaError(f"{where}: the column {name!r} is there {times} times: give each a name of its own")


def python_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Rows as Python has them; a time that Python has no ``datetime`` for is an error with a way out."""
    try:
        return table.to_pylist()  # type: ignore[no-any-return]
    except (OverflowError, ValueError) as error:
        raise QuantityError("a result has a time outside the years 1 to 9999, which no Python datetime can hold: take "
                            "the results with to_arrow(), or write them to a file") from error


def shown_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Rows to write or show: times that Python has no ``datetime`` for are text.

    >>> beyond = pa.array([-62_167_219_200_000_000], pa.timestamp("us", tz="UTC"))
    >>> shown_rows(pa.table({"window": pa.StructArray.from_arrays([beyond], ["start"])}))
    [{'window': {'start': '0000-01-01T00:00:00Z'}}]
    """
    try:
        return table.to_pylist()  # type: ignore[no-any-return]
    except (OverflowError, ValueError):
        columns = [_times_as_text(column.combine_chunks()) for column in table.columns]
        return pa.table(columns, names=table.column_names).to_pylist()  # type: ignore[no-any-return]


def _times_as_text(column: pa.Array) -> pa.Array:
    column = pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_timestamp(column.type):
        micros = column.cast(pa.timestamp("us", tz=column.type.tz)).cast(pa.int64()).to_pylist()
        return pa.array([None if value is None else format_any_year(value) for value in micros], pa.string())
    if pa.types.is_date(column.type):
        days = column.cast(pa.date32()).cast(pa.int32()).to_pylist()
        return pa.array([None if day is None else format_any_year(day * DAY)[:-10] for day in days], pa.string())
    if pa.types.is_struct(column.type):
        fields = [_times_as_text(field) for field in column.flatten()]
        return pa.StructArray.from_arrays(fields, [f.name for f in column.type], mask=column.is_null())
    return column


def plain_text(table: pa.Table) -> pa.Table:
    """Text as text, whatever layout another library keeps it in."""
    fields = [f.with_type(pa.string()) if pa.types.is_large_string(f.type) or pa.types.is_string_view(f.type) else f
              for f in table.schema]
    return table if fields == list(table.schema) else table.cast(pa.schema(fields))
