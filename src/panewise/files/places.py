"""Where a row of a stream stands in its files, by its number: looked for only to be named in an error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from panewise.core.bad_rows import BadRows
from panewise.core.errors import SourceError
from panewise.core.schema import SourceSchema
from panewise.files import ndjson
from panewise.files.formats import Format
from panewise.files.reader import FileStream, promised

Runs: TypeAlias = Iterator[tuple[int, Callable[[int], str]]]
"""Rows that follow each other: how many, and where each of them stands."""


def row_place(stream: FileStream, number: int, *, attribute: str | None = None) -> str:
    """File and line of a row (NDJSON), or file and row, by its number among the rows of the stream, good and bad.

    ``attribute`` is the one whose bounds punctuation gave when the rows were counted.
    """
    if stream.format is Format.NDJSON:
        return line_place(stream.files, number, stream.schema, attribute or stream.schema.time, stream.max_line)
    return _at(((_rows(stream.only(path)), partial(_row, path)) for path in stream.files), number)


def line_place(paths: Iterable[Path], number: int, schema: SourceSchema, attribute: str | None, max_line: int) -> str:
    """File and line of a row of NDJSON."""
    return _at((run for path in paths for run in _lines(path, schema, attribute, max_line)), number)


def _at(runs: Runs, number: int) -> str:
    left = number - 1
    for size, place in runs:
        if left < size:
            return place(left)
        left -= size
    raise SourceError(f"row {number} of the stream is not there any more: its files have become shorter")


def _lines(path: Path, schema: SourceSchema, attribute: str | None, max_line: int) -> Runs:
    for part in ndjson.segments(path, max_line=max_line):
        if isinstance(part, ndjson.Lines):
            yield part.size, partial(_line, path, part)
        elif isinstance(part, ndjson.BadLine) or isinstance(promised(part, path, schema, attribute), BadRows):
            yield 1, partial(_row, path)  # never asked for: what is wrong with it names its line


def _rows(stream: FileStream) -> int:
    """How many rows there are, good and bad."""
    if stream.format is Format.PARQUET:
        return int(pq.read_metadata(stream.files[0]).num_rows)
    return sum(len(item) for item in stream.items() if isinstance(item, pa.RecordBatch | BadRows))


def _row(path: Path, at: int) -> str:
    return f"{path}, row {at + 1}"


def _line(path: Path, lines: ndjson.Lines, at: int) -> str:
    return f"{path}:{lines.line(at)}"
