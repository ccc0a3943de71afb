"""A stream stored in files, as an engine wants it: Arrow batches and punctuation in arrival order."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from panewise.core.errors import SourceError
from panewise.core.schema import SourceSchema
from panewise.files import ndjson
from panewise.files.formats import Format, expand, format_of
from panewise.files.types import normal_schema, normalise
from panewise.progress.punctuation import Punctuation

BATCH_ROWS = 64 * 1024
Item: TypeAlias = pa.RecordBatch | Punctuation


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

    @classmethod
    def open(cls, path: str | Path, *, time: str | None = None) -> FileStream:
        """Look at the files; bad paths, formats and schemas are refused here, before anything runs."""
        files = expand(Path(path))
        kind = format_of(files[0])
        stored = _schema(files, kind)
        arrow = normal_schema(stored)
        return cls(tuple(files), kind, SourceSchema.of(arrow, time=time), arrow, stored, Path(path))

    def count_rows(self) -> int:
        """How many data rows there are, without parsing them where the format allows it."""
        if self.format is Format.PARQUET:
            return sum(int(pq.read_metadata(f).num_rows) for f in self.files)
        if self.format is Format.NDJSON:
            parts = (part for f in self.files for part in ndjson.segments(f))
            return sum(ndjson.row_count(part) for part in parts if isinstance(part, ndjson.Lines))
        return sum(table.num_rows for f in self.files for table in self._tables(f, BATCH_ROWS))

    def only(self, path: Path) -> FileStream:
        """One of the files as a stream of its own, with the columns of all."""
        return replace(self, files=(path,), path=path)

    @property
    def has_punctuation(self) -> bool:
        """Whether any file carries punctuation lines (only NDJSON can)."""
        if self.format is not Format.NDJSON:
            return False
        return any(isinstance(part, ndjson.Promise) for f in self.files for part in ndjson.segments(f))

    def items(self, *, batch_rows: int = BATCH_ROWS, attribute: str | None = None) -> Iterator[Item]:
        """Batches and punctuation in arrival order; bounds are on ``attribute`` (default: the time column)."""
        attribute = attribute or self.schema.time
        for path in self.files:
            if self.format is Format.NDJSON:
                yield from self._ndjson(path, batch_rows, attribute)
            else:
                for table in self._tables(path, batch_rows):
                    yield from normalise(table, self.arrow).to_batches(max_chunksize=batch_rows)

    def table(self) -> pa.Table:
        """All rows at once, punctuation left out."""
        batches = [item for item in self.items() if isinstance(item, pa.RecordBatch)]
        return pa.Table.from_batches(batches, schema=self.arrow)

    def _ndjson(self, path: Path, batch_rows: int, attribute: str | None) -> Iterator[Item]:
        for parts in ndjson.grouped(ndjson.segments(path)):
            lines = [part for part in parts if isinstance(part, ndjson.Lines)]
            rows = ndjson.parse_lines(lines, path, self.arrow).combine_chunks() if lines else None
            at = 0
            for part in parts:
                if isinstance(part, ndjson.Promise):
                    yield read_promise(part, path, self.schema, attribute)
                elif rows is not None:
                    length = ndjson.row_count(part)
                    yield from rows.slice(at, length).to_batches(max_chunksize=batch_rows)
                    at += length

    def parse_csv(self, text: bytes, path: Path) -> pa.Table:
        """Rows from a header and some lines of a CSV file."""
        read = pcsv.ReadOptions(block_size=max(len(text) + 1, 1 << 16))
        try:
            table = pcsv.read_csv(io.BytesIO(text), read_options=read, convert_options=self._csv_types)
        except pa.ArrowInvalid as error:
            raise SourceError(f"{path}: cannot be read as CSV: {error}") from error
        _same_columns(path, self.arrow, table.schema)
        return normalise(table, self.arrow)

    @property
    def _csv_types(self) -> pcsv.ConvertOptions:
        return pcsv.ConvertOptions(column_types=self.stored, strings_can_be_null=True)

    def _tables(self, path: Path, batch_rows: int) -> Iterator[pa.Table]:
        try:
            if self.format is Format.PARQUET:
                with pq.ParquetFile(path) as file:
                    _same_columns(path, self.arrow, file.schema_arrow)
                    for batch in file.iter_batches(batch_size=batch_rows):
                        yield pa.Table.from_batches([batch])
            else:
                with pcsv.open_csv(path, convert_options=self._csv_types) as reader:
                    _same_columns(path, self.arrow, reader.schema)
                    for batch in reader:
                        yield pa.Table.from_batches([batch])
        except (OSError, pa.ArrowInvalid) as error:
            if isinstance(error, SourceError):
                raise
            raise SourceError(f"{path}: cannot be read as {self.format.value}: {error}") from error


def read_promise(part: ndjson.Promise, path: ndjson.Place, schema: SourceSchema, attribute: str | None) -> Punctuation:
    """A punctuation line as punctuation, checked against the stream's columns."""
    where = f"{path}:{part.line}"
    for name in part.patterns:
        if not schema.has(name):
            raise SourceError(f"{where}: the punctuation names {name!r}, which is no column of the stream")
    if attribute is None:
        raise SourceError(f"{where}: nothing orders the stream, so a punctuation has no meaning; name its time column")
    try:
        return Punctuation.from_json(part.patterns, attribute, schema.ordinal_kind(attribute), schema.columns)
    except ValueError as error:
        raise SourceError(f"{where}: {error}") from error


def _schema(files: list[Path], kind: Format) -> pa.Schema:
    first = files[0]
    try:
        if kind is Format.PARQUET:
            return pq.read_schema(first)
        if kind is Format.NDJSON:
            return ndjson.infer_schema(files)
        found = []
        for path in files:
            with pcsv.open_csv(path, read_options=pcsv.ReadOptions(block_size=16 << 20)) as reader:
                found.append(reader.schema)
        return pa.unify_schemas(found, promote_options="permissive")
    except (OSError, pa.ArrowInvalid, pa.ArrowTypeError) as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(f"{first}: cannot be read as {kind.value}: {error}") from error


def _same_columns(path: Path, expected: pa.Schema, found: pa.Schema) -> None:
    missing = [n for n in expected.names if n not in found.names]
    if missing:
        raise SourceError(f"{path}: has no column {missing[0]!r}, which the first file of the stream has")


