"""Results to one file: nothing that was there before is touched until the new file is complete.

Rows go to a sibling file that takes the final name when everything is written. When a run fails half way, what it had
already written stays beside the target as ``NAME.partial.SUFFIX``, and the error says so.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from datetime import date, datetime, timedelta
from decimal import Decimal
from math import isfinite, isnan
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, TypeAlias, cast

import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from panewise.core.errors import PanewiseError, SourceError, telling
from panewise.core.tables import shown_rows
from panewise.core.time import format_timestamp, parse_timestamp
from panewise.files.formats import Format, format_of
from panewise.storage import disk


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
    return "".join(json.dumps(jsonable(row), ensure_ascii=False) + "\n" for row in shown_rows(table))


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


Encoder: TypeAlias = tuple[Callable[[pa.Table], object], Callable[[], object]]
"""A function that writes a table, and one that completes the file without closing it."""


def encoder(file_format: Format, schema: pa.Schema, file: BinaryIO) -> Encoder:
    """How tables become bytes of a format."""
    if file_format is Format.PARQUET:
        parquet = pq.ParquetWriter(file, schema)
        return parquet.write_table, parquet.close
    if file_format is Format.CSV:
        flat = flatten_structs(schema.empty_table()).schema
        csv = pcsv.CSVWriter(file, flat)
        return lambda table: csv.write(flatten_structs(table)), csv.close

    def append(table: pa.Table) -> None:
        file.write(to_ndjson(table).encode())
        file.flush()

    return append, file.flush


def table_as(file_format: Format, table: pa.Table) -> bytes:
    """One table as the bytes of a file.

    >>> table_as(Format.NDJSON, pa.table({"n": [1, 2]}))
    b'{"n": 1}\\n{"n": 2}\\n'
    """
    file = _Buffer()
    write, complete = encoder(file_format, table.schema, file)
    write(table)
    complete()
    return file.getvalue()


class _Buffer(io.BytesIO):
    """Arrow's writers close what they are given."""

    def close(self) -> None:
        """Not yet: its bytes are still to be taken."""


class ResultFile(AbstractContextManager["ResultFile"]):
    """Writes tables one after the other to a single Parquet, CSV or NDJSON file."""

    def __init__(self, path: str | Path, schema: pa.Schema) -> None:
        self.path = Path(path)
        self.format = format_of(self.path)
        self.rows = 0
        self._staged = self.path.with_name(f".{self.path.name}.writing")
        with self._plain():
            disk.make_directory(self.path.absolute().parent)
            self._file = _StagedFile(self._staged)
            self._write, self._complete = encoder(self.format, schema, cast("BinaryIO", self._file))

    def write(self, table: pa.Table) -> None:
        """Append rows."""
        if table.num_rows:
            with self._plain():
                self._write(table)
            self.rows += table.num_rows

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if error is None:
            try:
                with self._plain():
                    self._close()
                    disk.replace(self._staged, self.path)
                    disk.sync_directory(self.path.absolute().parent)
            except SourceError:
                self._discard()
                raise
            return
        try:
            self._close()
            kept = self.path.with_name(f"{self.path.stem}.partial{self.path.suffix}")
            if not self.rows:
                self._discard()
                return
            disk.replace(self._staged, kept)
        except OSError:  # the disk that the error is about, perhaps
            self._discard()
            return
        if isinstance(error, PanewiseError):
            error.add_note(f"the {self.rows} result rows written before that are in {kept}")

    def _close(self) -> None:
        try:
            self._complete()
            self._file.sync()
        finally:
            self._file.really_close()

    def _discard(self) -> None:
        with suppress(OSError):
            disk.remove(self._staged)

    def _plain(self) -> AbstractContextManager[None]:
        return telling(f"{self.path}: cannot be written")


class _StagedFile(disk.DurableFile):
    """Arrow's writers close what they are given, before it is forced to disk."""

    def close(self) -> None:
        """Later."""

    def really_close(self) -> None:
        """Now."""
        super().close()

    def __del__(self) -> None:
        self.really_close()
