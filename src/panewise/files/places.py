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


class RowPlaces:
    """File and line of a row (NDJSON), or file and row, by its number among the rows of the stream, good and bad.

    Its files are read once, as far as rows are asked for in their order. ``attribute`` is the one whose bounds
    punctuation gave when the rows were counted.
    """

    def __init__(self, stream: FileStream, attribute: str | None = None) -> None:
        self.stream, self.attribute = stream, attribute or stream.schema.time
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._runs, self._before, self._size = self._from_the_first(), 0, 0

    def _from_the_first(self) -> Runs:
        of = self.stream
        for path in of.files:
            if of.format is Format.NDJSON:
                yield from _lines(path, of.schema, self.attribute, of.max_line)
            else:
                yield _rows(of.only(path)), partial(_row, path)

    def __call__(self, number: int) -> str:
        """The place of the row of this number."""
        if number <= self._before:
            self._begin_anew()
        while number > self._before + self._size:
            self._before += self._size
            self._size = 0
            found = next(self._runs, None)
            if found is None:
                self._begin_anew()
                raise _gone(number)
            self._size, self._place = found
        return self._place(number - self._before - 1)


def row_place(stream: FileStream, number: int, *, attribute: str | None = None) -> str:
    """The place of one row of a stream."""
    return RowPlaces(stream, attribute)(number)


def line_place(paths: Iterable[Path], number: int, schema: SourceSchema, attribute: str | None, max_line: int) -> str:
    """File and line of a row of NDJSON."""
    return _at((run for path in paths for run in _lines(path, schema, attribute, max_line)), number)


def _at(runs: Runs, number: int) -> str:
    left = number - 1
    for size, place in runs:
        if left < size:
            return place(left)
        left -= size
    raise _gone(number)


def _gone(number: int) -> SourceError:
    return SourceError(f"row {number} of the stream is not there any more: its files have become shorter")


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
