"""Results to one file: nothing that was there before is touched until the new file is complete.

Rows go to a sibling file that takes the final name when everything is written. When a run fails half way, what it had
already written stays beside the target as ``NAME.partial.SUFFIX``, and the error says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import date, datetime, timedelta
from decimal import Decimal
from math import isfinite, isnan
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from panewise.core.errors import PanewiseError, SourceError
from panewise.core.time import format_timestamp, parse_timestamp
from panewise.files.formats import Format, format_of


def jsonable(value: Any) -> Any:
    """A result value as JSON has it: times as ISO-8601 UTC, durations in seconds, decimals as text.

    >>> jsonable({"start": datetime(2026, 1, 1), "n": Decimal("1.50")})
    {'start': '2026-01-01T00:00:00Z', 'n': '1.50'}
    """
    if isinstance(value, dict):
        return {k: jsonable(v) for k, v in value.items()}
    if isinstance(value, list):
        return [jsonable(v) for v in value]
    if isinstance(value, datetime):
        return format_timestamp(parse_timestamp(value))
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, float) and not isfinite(value):
        return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"  # as Spark writes them
    return value


def to_ndjson(table: pa.Table) -> str:
    """Rows as NDJSON, the window first, then the group columns and the aggregates."""
    names = [n for n in ("window", "wid") if n in table.column_names]
    table = table.select(names + [n for n in table.column_names if n not in names])
    return "".join(json.dumps(jsonable(row), ensure_ascii=False) + "\n" for row in table.to_pylist())


def flatten_structs(table: pa.Table) -> pa.Table:
    """Structs as one column per field (``window_start``), because CSV has no nesting; lists become JSON text."""
    columns: dict[str, pa.ChunkedArray | pa.Array] = {}
    for name in table.column_names:
        column = table.column(name)
        if pa.types.is_struct(column.type):
            for i, f in enumerate(column.type):
                part = pa.compute.struct_field(column, i)
                columns[f"{name}_{f.name}"] = part.cast(pa.int64()) if pa.types.is_duration(f.type) else part
        elif pa.types.is_nested(column.type):
            texts = [None if v is None else json.dumps(jsonable(v)) for v in column.to_pylist()]
            columns[name] = pa.array(texts, pa.string())
        else:
            columns[name] = column
    return pa.table(columns)


class ResultFile(AbstractContextManager["ResultFile"]):
    """Writes tables one after the other to a single Parquet, CSV or NDJSON file."""

    def __init__(self, path: str | Path, schema: pa.Schema) -> None:
        self.path = Path(path)
        self.format = format_of(self.path)
        self.rows = 0
        self._schema = schema
        self._staged = self.path.with_name(f".{self.path.name}.writing")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._write, self._close = self._open()
        except OSError as error:
            raise SourceError(f"{self.path}: cannot be written: {error.strerror or error}") from error

    def write(self, table: pa.Table) -> None:
        """Append rows."""
        if table.num_rows:
            self._write(table)
            self.rows += table.num_rows

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._close()
        if error is None:
            self._staged.replace(self.path)
        elif self.rows:
            kept = self.path.with_name(f"{self.path.stem}.partial{self.path.suffix}")
            self._staged.replace(kept)
            if isinstance(error, PanewiseError):
                error.add_note(f"the {self.rows} result rows written before that are in {kept}")
        else:
            self._staged.unlink(missing_ok=True)

    def _open(self) -> tuple[Callable[[pa.Table], None], Callable[[], None]]:
        if self.format is Format.PARQUET:
            parquet = pq.ParquetWriter(self._staged, self._schema)
            return parquet.write_table, parquet.close
        if self.format is Format.CSV:
            flat = flatten_structs(self._schema.empty_table()).schema
            csv = pcsv.CSVWriter(self._staged, flat)
            return lambda table: csv.write(flatten_structs(table)), csv.close
        text = self._staged.open("w", encoding="utf-8")

        def append(table: pa.Table) -> None:
            text.write(to_ndjson(table))
            text.flush()

        return append, text.close
