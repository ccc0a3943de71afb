"""A stream stored in files, as an engine wants it: Arrow batches and punctuation in arrival order."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from panewise.core.bad_rows import MAX_LINE, BadRow, BadRows
from panewise.core.errors import BadRowError, SourceError
from panewise.core.names import did_you_mean
from panewise.core.schema import DEFAULT_TIME_NAMES, SourceSchema
from panewise.core.tables import once_each
from panewise.files import csv_rows, ndjson
from panewise.files.formats import Format, expand, format_of
from panewise.files.json_rows import in_order, parse_rows
from panewise.files.json_schema import infer_schema
from panewise.files.types import normal_schema, normalise
from panewise.progress.punctuation import Punctuation

BATCH_ROWS = 64 * 1024
Item: TypeAlias = pa.RecordBatch | Punctuation | BadRows


@dataclass(frozen=True)
class FileStream:
    """One stream in files; opening it looks at the schema, reading it is lazy and repeatable."""

    files: tuple[Path, ...]
    format: Format
    schema: SourceSchema
    arrow: pa.Schema
    """The columns as they leave: times in microseconds UTC."""
    stored: pa.Schema
    """The columns as the files have them."""
    path: Path
    """As it was given: a file or a directory."""
    max_line: int = MAX_LINE
    """The longest object of NDJSON, in bytes."""

    @classmethod
    def open(cls, path: str | Path, *, time: str | None = None, tolerant: bool = False,
             max_line: int = MAX_LINE) -> FileStream:
        """Look at the files; bad paths, formats and schemas are refused here, before anything runs.

        A bad row among those that say what the columns are is refused, too, unless ``tolerant``.
        """
        files = expand(Path(path))
        kind = format_of(files[0])
        times = DEFAULT_TIME_NAMES if time is None else (time,)
        stored = _schema(files, kind, times=times, tolerant=tolerant, max_line=max_line)
        once_each(stored.names, str(path))
        arrow = normal_schema(stored)
        return cls(tuple(files), kind, SourceSchema.of(arrow, time=time), arrow, stored, Path(path), max_line)

    def count_rows(self) -> int:
        """How many data rows there are, without parsing them where the format allows it."""
        if self.format is Format.PARQUET:
            return sum(int(pq.read_metadata(f).num_rows) for f in self.files)
        if self.format is Format.NDJSON:
            parts = (part for f in self.files for part in ndjson.segments(f, max_line=self.max_line))
            return sum(part.size for part in parts if isinstance(part, ndjson.Lines))
        tables = (table for f in self.files for table in self._tables(f, BATCH_ROWS))
        return sum(table.num_rows for table in tables if isinstance(table, pa.Table))

    def only(self, path: Path) -> FileStream:
        """One of the files as a stream of its own, with the columns of all."""
        return replace(self, files=(path,), path=path)

    @property
    def has_punctuation(self) -> bool:
        """Whether any file carries punctuation lines (only NDJSON can)."""
        if self.format is not Format.NDJSON:
            return False
        return any(isinstance(part, ndjson.Promise) for f in self.files
                   for part in ndjson.segments(f, max_line=self.max_line))

    def items(self, *, batch_rows: int = BATCH_ROWS, attribute: str | None = None) -> Iterator[Item]:
        """Batches, punctuation and bad rows in arrival order; bounds are on ``attribute`` (or the time)."""
        attribute = attribute or self.schema.time
        for path in self.files:
            if self.format is Format.NDJSON:
                yield from self._ndjson(path, batch_rows, attribute)
            else:
                for table in self._tables(path, batch_rows):
                    if isinstance(table, BadRows):
                        yield table
                    else:
                        yield from normalise(table, self.arrow).to_batches(max_chunksize=batch_rows)

    def table(self) -> pa.Table:
        """All rows at once, punctuation left out; a bad row is an error."""
        batches = [item for item in strictly(self.items()) if isinstance(item, pa.RecordBatch)]
        return pa.Table.from_batches(batches, schema=self.arrow)

    def _ndjson(self, path: Path, batch_rows: int, attribute: str | None) -> Iterator[Item]:
        for parts in ndjson.grouped(ndjson.segments(path, max_line=self.max_line)):
            lines = [part for part in parts if isinstance(part, ndjson.Lines)]
            rows, bad = parse_rows(lines, path, self.arrow) if lines else (self.arrow.empty_table(), {})
            rows = rows.combine_chunks()
            at = 0
            for part in parts:
                if isinstance(part, ndjson.Promise):
                    yield promised(part, path, self.schema, attribute)
                elif isinstance(part, ndjson.BadLine):
                    yield BadRows([part.bad_row(path)])
                else:
                    for some in in_order(rows, bad, at, at + part.size):
                        yield from [some] if isinstance(some, BadRows) else some.to_batches(max_chunksize=batch_rows)
                    at += part.size

    def parse_csv(self, text: bytes, path: Path) -> pa.Table:
        """Rows from a header and some lines of a CSV file."""
        read = pcsv.ReadOptions(block_size=max(len(text) + 1, 1 << 16))
        types = pcsv.ConvertOptions(column_types=self.stored, strings_can_be_null=True)
        try:
            table = pcsv.read_csv(io.BytesIO(text), read_options=read, convert_options=types)
        except pa.ArrowInvalid as error:
            self.only(path).table()  # names the first bad row, where that is what is wrong
            raise SourceError(f"{path}: cannot be read as CSV: {error}") from error
        csv_rows.same_columns(path, self.arrow, table.schema)
        swallowed = csv_rows.without_open_quote(table, path, 0, text)[1]
        if swallowed is not None:
            raise BadRowError(f"{path}: {swallowed.reason}: {swallowed.row}")
        return normalise(table, self.arrow)

    def _tables(self, path: Path, batch_rows: int) -> Iterator[pa.Table | BadRows]:
        try:
            if self.format is Format.PARQUET:
                with pq.ParquetFile(path) as file:
                    csv_rows.same_columns(path, self.arrow, file.schema_arrow)
                    for batch in file.iter_batches(batch_size=batch_rows):
                        yield pa.Table.from_batches([batch])
            else:
                yield from csv_rows.tables(path, self.stored)
        except (OSError, pa.ArrowInvalid) as error:
            if isinstance(error, SourceError):
                raise
            raise SourceError(f"{path}: cannot be read as {self.format.value}: {error}") from error


def strictly(items: Iterable[Item]) -> Iterator[pa.RecordBatch | Punctuation]:
    """Items of a stream whose reader has no policy for bad rows: the first is an error."""
    for item in items:
        if isinstance(item, BadRows):
            raise BadRowError(str(next(iter(item))))
        yield item


def promised(part: ndjson.Promise, path: ndjson.Place, schema: SourceSchema,
             attribute: str | None) -> Punctuation | BadRows:
    """A punctuation line as punctuation; one that does not fit the stream is a bad row."""
    unknown = next((name for name in part.patterns if not schema.has(name)), None)
    try:
        if unknown is None and attribute is not None:
            return Punctuation.from_json(part.patterns, attribute, schema.ordinal_kind(attribute), schema.columns)
        problem = "nothing orders the stream, so a punctuation has no meaning; name its time column" \
            if unknown is None else f"the punctuation names {unknown!r}, which is no column of the stream" \
                                    f"{did_you_mean(unknown, schema.columns)}"
    except ValueError as error:
        problem = str(error)
    return BadRows([BadRow(f"{path}:{part.line}", problem, row=part.text.decode(errors="replace"))])


def _schema(files: list[Path], kind: Format, *, times: Collection[str], tolerant: bool, max_line: int) -> pa.Schema:
    first = files[0]
    try:
        if kind is Format.PARQUET:
            return pq.read_schema(first)
        if kind is Format.NDJSON:
            return infer_schema(files, times=times, tolerant=tolerant, max_line=max_line)
        return pa.unify_schemas([csv_rows.infer(path, times=times, tolerant=tolerant) for path in files],
                                promote_options="permissive")
    except (OSError, pa.ArrowInvalid, pa.ArrowTypeError) as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(f"{first}: cannot be read as {kind.value}: {error}") from error
