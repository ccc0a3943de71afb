"""Rows of CSV: by Arrow's reader, and where that fails, the rows that can be read and those that cannot."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from panewise.core.bad_rows import BadRow, BadRows
from panewise.core.errors import BadRowError, SourceError, shortened
from panewise.files.types import time_type

INFER_BYTES = 16 << 20
NULLS = ("", "NULL", "null", "NaN", "nan", "N/A", "n/a", "#N/A", "NA", "-NaN", "-nan", "#NA")


def infer(path: Path, *, times: Collection[str] = (), tolerant: bool = False) -> pa.Schema:
    """The columns of a file by its beginning; rows with too few or too many fields are errors unless ``tolerant``.

    Columns of ``times`` are what most of their values are: a few that are no times do not make text of them.
    """
    bad: list[BadRow] = []
    text = _Text.of(path, INFER_BYTES)
    with pcsv.open_csv(path, read_options=text.options(block_size=INFER_BYTES),
                       parse_options=_noting(path, bad, text)) as reader:
        if bad and not tolerant:
            raise BadRowError(str(bad[0]))
        try:
            names = [text.name(name) for name in reader.schema.names]
        except UnicodeDecodeError:
            raise SourceError(f"{path}: the names of its columns are no UTF-8 text: write the file in UTF-8") from None
        # values that are no UTF-8 are found when the rows are read
        found = pa.schema([(name, pa.string() if pa.types.is_binary(f.type) else f.type)
                           for name, f in zip(names, reader.schema, strict=True)])
    for i, f in enumerate(found):
        if f.name in times and pa.types.is_string(f.type):
            found = found.set(i, f.with_type(time_type(_beginning(path, f.name)) or f.type))
    return found


def _beginning(path: Path, name: str) -> pa.Array:
    """The first fields of a column as they stand."""
    text = _Text.of(path, INFER_BYTES)
    options = pcsv.ConvertOptions(column_types=text.raw([name]), strings_can_be_null=True)
    with pcsv.open_csv(path, read_options=text.options(block_size=INFER_BYTES),
                       parse_options=_noting(path, [], text), convert_options=options) as reader:
        for batch in reader:
            values = text.rows(batch).column(name).drop_null()
            return pa.array([_text(value) for value in values.to_pylist()], pa.string())
    return pa.array([], pa.string())


@dataclass(frozen=True)
class _Text:
    """How Arrow reads a file. A report of a row with too few or too many fields must be UTF-8, or it ends the reading:
    a file that is not is read as Latin-1, in which every byte is a letter, and what comes out becomes bytes again."""

    latin: bool

    @classmethod
    def of(cls, path: Path, size: int | None = None) -> _Text:
        """What the first ``size`` bytes say, or all."""
        decoder, left = getincrementaldecoder("utf-8")(), size
        with path.open("rb") as file:
            while piece := file.read(1 << 20 if left is None else min(1 << 20, left)):
                left = None if left is None else left - len(piece)
                try:
                    decoder.decode(piece)
                except UnicodeDecodeError:
                    return cls(latin=True)
        return cls(latin=False)

    def options(self, **more: Any) -> pcsv.ReadOptions:
        """For a reader."""
        return pcsv.ReadOptions(use_threads=False, encoding="latin1" if self.latin else "utf8", **more)

    def name(self, read: str) -> str:
        """The name of a column, from what Arrow read."""
        return read.encode("latin1").decode().removeprefix("\ufeff") if self.latin else read

    def raw(self, names: Collection[str]) -> dict[str, pa.DataType]:
        """Columns as they stand, by the names that Arrow reads."""
        read = [name.encode().decode("latin1") for name in (*names, *(f"\ufeff{n}" for n in names))]
        return dict.fromkeys(read if self.latin else names, pa.binary())

    def rows(self, batch: pa.RecordBatch) -> pa.Table:
        """Rows as they stand in the file, from what Arrow read."""
        table = pa.Table.from_batches([batch])
        if not self.latin:
            return table
        columns = [pa.array([value and value.decode().encode("latin1") for value in column.to_pylist()], pa.binary())
                   if pa.types.is_binary(column.type) else column for column in table.columns]
        return pa.table(columns, names=[self.name(name) for name in table.column_names])

    def line(self, read: str) -> str:
        """A row as text, from what Arrow read."""
        return _text(read.encode("latin1")) if self.latin else read


def tables(path: Path, stored: pa.Schema) -> Iterator[pa.Table | BadRows]:
    """The rows in the types of the schema; bad ones between them."""
    done = 0
    try:
        with pcsv.open_csv(path, convert_options=pcsv.ConvertOptions(column_types=stored, strings_can_be_null=True)
                           ) as reader:
            same_columns(path, stored, reader.schema)
            for batch in reader:
                whole, swallowed = without_open_quote(pa.Table.from_batches([batch]), path, done)
                yield whole
                done += batch.num_rows
                if swallowed is not None:
                    yield BadRows([swallowed])
    except pa.ArrowInvalid:
        yield from _one_by_one(path, stored, done)


def without_open_quote(table: pa.Table, path: Path, done: int, text: bytes | None = None
                       ) -> tuple[pa.Table, BadRow | None]:
    """Rows without a last one whose quote nothing closes: Arrow takes the rest of the file for its value.

    A value of the last column with an end of line in it was quoted, and if its quote was closed the file ends with it.
    ``done`` rows came before; ``text`` is the end of the file where that is at hand.
    """
    last = table.column(table.num_columns - 1)
    if not len(last) or not (pa.types.is_string(last.type) or pa.types.is_binary(last.type)):
        return table, None
    value = last[-1].as_py() or ""
    value = _text(value) if isinstance(value, bytes) else value
    if "\n" not in value or (_end_of(path) if text is None else text).rstrip(b"\r\n").endswith(b'"'):
        return table, None
    place = done + table.num_rows
    return table.slice(0, table.num_rows - 1), BadRow(f"{path}, row {place}", "a quote is opened that nothing closes",
                                                      table.column_names[-1], shortened(value, 200))


def _end_of(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 4096))
        return file.read()


def same_columns(path: Path, expected: pa.Schema, found: pa.Schema) -> None:
    """All files of a stream have the columns of the first."""
    missing = [n for n in expected.names if n not in found.names]
    if missing:
        raise SourceError(f"{path}: has no column {missing[0]!r}, which the first file of the stream has")


def _noting(path: Path, bad: list[BadRow], text: _Text, numbers: list[int] | None = None) -> pcsv.ParseOptions:
    def note(row: Any) -> str:  # its number counts the names of the columns as a row
        reason = f"{row.actual_columns} fields where {row.expected_columns} are expected"
        bad.append(BadRow(f"{path}, row {row.number - 1}", reason, row=text.line(row.text)))
        if numbers is not None:
            numbers.append(row.number - 1)
        return "skip"

    return pcsv.ParseOptions(invalid_row_handler=note)


def _one_by_one(path: Path, stored: pa.Schema, done: int) -> Iterator[pa.Table | BadRows]:
    """All fields as they stand, then column by column in its type; ``done`` rows were given out before."""
    misfits: list[BadRow] = []
    numbers: list[int] = []  # of all misfits: rows are counted with them
    text = _Text.of(path)
    raw = pcsv.ConvertOptions(column_types=text.raw(stored.names), strings_can_be_null=False)
    try:
        with pcsv.open_csv(path, read_options=text.options(), parse_options=_noting(path, misfits, text, numbers),
                           convert_options=raw) as reader:
            at = 0
            for batch in reader:
                if misfits:
                    yield BadRows(misfits)
                    misfits.clear()
                rows = text.rows(batch)
                same_columns(path, stored, rows.schema)
                whole, swallowed = without_open_quote(rows, path, at + len(numbers))
                table = whole.select(stored.names)
                skip = min(max(done - at, 0), table.num_rows)
                yield from _typed(table.slice(skip), stored, path, at + skip, numbers)
                if swallowed is not None and done < at + batch.num_rows:
                    yield BadRows([swallowed])
                at += batch.num_rows
            if misfits:
                yield BadRows(misfits)
    except pa.ArrowInvalid as error:
        raise SourceError(f"{path}: cannot be read as csv: {error}") from error


def _typed(table: pa.Table, stored: pa.Schema, path: Path, before: int, misfits: list[int]
           ) -> Iterator[pa.Table | BadRows]:
    """Rows in their types, and those that have none; ``before`` rows and the ``misfits`` are not among them."""
    columns: list[pa.ChunkedArray] = []
    wrong: dict[int, pa.Field] = {}
    for f in stored:
        column, places = _cast(table.column(f.name), f.type)
        columns.append(column)
        for place in places:
            wrong.setdefault(place, f)
    good = pa.table(columns, schema=stored)
    at = 0
    for place in sorted(wrong):
        if place > at:
            yield good.slice(at, place - at)
        f, row = wrong[place], table.slice(place, 1).to_pylist()[0]
        texts = {name: _text(value) for name, value in row.items()}
        reason = f"{f.name!r} is {texts[f.name]!r}, expected {f.type}"
        number = before + place + 1
        for misfit in misfits:  # in order
            number += misfit <= number
        yield BadRows([BadRow(f"{path}, row {number}", reason, f.name, ",".join(texts.values()))])
        at = place + 1
    if at < good.num_rows:
        yield good.slice(at)


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> tuple[pa.ChunkedArray, list[int]]:
    """The values in a type, and the places of those that are none of it."""
    absent = pc.is_in(column, pa.array([n.encode() for n in NULLS], pa.binary()))
    column = pc.if_else(absent, pa.scalar(None, pa.binary()), column)
    try:
        return column.cast(pa.string()).cast(kind), []
    except pa.ArrowException:
        pass
    places, values = [], []
    for place, value in enumerate(column):
        try:
            values.append(value.cast(pa.string()).cast(kind).as_py())
        except (pa.ArrowException, ValueError):
            places.append(place)
            values.append(None)
    return pa.chunked_array([pa.array(values, kind)]), places


def _text(value: bytes | None) -> str:
    return "" if value is None else value.decode(errors="backslashreplace")
