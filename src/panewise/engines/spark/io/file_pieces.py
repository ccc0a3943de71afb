"""A stream in files, piece by piece from any place: what exact offsets need.

A place is a file and how many objects (NDJSON) or rows (Parquet, CSV) of it are done. Going to a place costs what it
must: nothing for whole files and Parquet row groups, counting lines for text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from panewise.core.bad_rows import BadRow, BadRows
from panewise.core.errors import BadRowError, SourceError
from panewise.files import ndjson
from panewise.files.formats import Format
from panewise.files.json_rows import parse_lines, parse_rows
from panewise.files.reader import BATCH_ROWS, FileStream, promised
from panewise.files.types import normalise
from panewise.progress.punctuation import Punctuation


@dataclass(frozen=True)
class Piece:
    """Consecutive lines or rows of one file; ``at`` counts those before it, ``size`` its own."""

    stream: FileStream
    path: Path
    at: int
    size: int
    content: pa.Table | ndjson.Lines
    tolerant: bool = False
    """Whether bad rows are told beside the others; otherwise the first is an error."""
    bad: tuple[BadRow, ...] = ()
    """Rows that could not even be split off from their neighbours, in place of any content."""

    def read(self) -> tuple[pa.Table, dict[int, BadRow]]:
        """The rows, and what is wrong with those that are none, by place; NDJSON is parsed only here."""
        if self.bad:
            return self.stream.arrow.empty_table(), dict(enumerate(self.bad))
        if isinstance(self.content, ndjson.Lines):
            if self.tolerant:
                return parse_rows([self.content], self.path, self.stream.arrow)
            return parse_lines(self.content, self.path, self.stream.arrow), {}
        return self.content, {}

    def place(self, number: int) -> str:
        """Where one of the lines or rows stands."""
        if isinstance(self.content, ndjson.Lines):
            return f"{self.path}:{self.content.line(number)}"
        return f"{self.path}, row {self.at + number + 1}"

    def head(self, size: int) -> Piece:
        """The first lines or rows."""
        if size >= self.size:
            return self
        content = self.content.part(0, size) if isinstance(self.content, ndjson.Lines) else self.content.slice(0, size)
        return replace(self, size=size, content=content, bad=self.bad[:size])


@dataclass(frozen=True)
class Promise:
    """A punctuation in a file."""

    at: int
    punctuation: Punctuation


def pieces(stream: FileStream, path: Path, start: int, attribute: str, *,
           columns: list[str] | None = None, growing: bool = False,
           tolerant: bool = False) -> Iterator[Piece | Promise]:
    """What a file holds after its first ``start`` lines or rows, in order.

    ``columns`` are all that is needed of the rows, where the format can leave others out; none means only their number.
    Of a ``growing`` NDJSON file a last line without its end is left out: the rest of it is still to come.
    """
    if stream.format is Format.NDJSON:
        for part in ndjson.segments(path, start=start, growing=growing, max_line=stream.max_line):
            if isinstance(part, ndjson.Lines):
                yield Piece(stream, path, part.at, part.size, part, tolerant)
                continue
            found = promised(part, path, stream.schema, attribute) if isinstance(part, ndjson.Promise) else \
                BadRows([part.bad_row(path)])
            if isinstance(found, Punctuation):
                yield Promise(part.at, found)
            elif tolerant:
                yield Piece(stream, path, part.at, 1, stream.arrow.empty_table(), bad=found.rows)
            else:
                raise BadRowError(str(found.rows[0]))
    elif stream.format is Format.PARQUET:
        yield from _parquet(stream, path, start, columns)
    elif tolerant:
        yield from _tolerant_csv(stream, path, start)
    else:
        yield from _csv(stream, path, start, columns)


def _parquet(stream: FileStream, path: Path, start: int, columns: list[str] | None) -> Iterator[Piece]:
    schema = stream.arrow if columns is None else pa.schema([stream.arrow.field(c) for c in columns])
    try:
        with pq.ParquetFile(path) as file:
            missing = [n for n in stream.arrow.names if n not in file.schema_arrow.names]
            if missing:
                raise SourceError(f"{path}: has no column {missing[0]!r}, which the first file of the stream has")
            done = 0
            for number in range(file.num_row_groups):
                size = file.metadata.row_group(number).num_rows
                if done + size <= start:
                    done += size
                    continue
                batches = file.iter_batches(row_groups=[number], columns=schema.names) if schema.names \
                    else _nulls(size).to_batches(max_chunksize=BATCH_ROWS)
                for batch in batches:
                    table = pa.Table.from_batches([batch])
                    yield from _after(stream, path, start, done, normalise(table, schema) if schema.names else table)
                    done += batch.num_rows
    except (OSError, pa.ArrowInvalid) as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(f"{path}: cannot be read as Parquet: {error}") from error


def _csv(stream: FileStream, path: Path, start: int, columns: list[str] | None) -> Iterator[Piece]:
    """Blocks of lines are counted; only those that are needed are parsed."""
    try:
        with path.open("rb") as file:
            header = next((line for line in file if line.strip()), b"")
            done = 0
            for block in ndjson.blocks(file):
                size = _plain_lines(block)
                if size is not None and (done + size <= start or columns == []):
                    table = _nulls(size)
                else:
                    table = stream.parse_csv(header + block, path)
                yield from _after(stream, path, start, done, table)
                done += table.num_rows
    except OSError as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(f"{path}: cannot be read: {error.strerror or error}") from error


def _tolerant_csv(stream: FileStream, path: Path, start: int) -> Iterator[Piece]:
    """All of the file is parsed to find out which rows are bad, those before ``start``, too."""
    done = 0
    for item in stream.only(path).items():
        if isinstance(item, BadRows):
            skip = max(0, start - done)
            if rest := item.rows[skip:]:
                yield Piece(stream, path, done + skip, len(rest), stream.arrow.empty_table(), bad=rest)
            done += len(item)
        elif isinstance(item, pa.RecordBatch):
            yield from _after(stream, path, start, done, pa.Table.from_batches([item]))
            done += item.num_rows


def _plain_lines(block: bytes) -> int | None:
    """How many rows a block of CSV holds, where its lines say so: none is empty, and no quote can hide an end."""
    if b'"' in block or b"\r" in block or block[:1] == b"\n" or b"\n\n" in block:
        return None
    return block.count(b"\n")


def _nulls(rows: int) -> pa.Table:
    """Rows of which only the number matters."""
    return pa.table({"": pa.nulls(rows)})


def _after(stream: FileStream, path: Path, start: int, done: int, table: pa.Table) -> Iterator[Piece]:
    skip = max(0, start - done)
    if skip < table.num_rows:
        yield Piece(stream, path, done + skip, table.num_rows - skip, table.slice(skip))
