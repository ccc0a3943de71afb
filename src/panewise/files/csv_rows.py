"""Rows of CSV: by Arrow's reader, and where that fails, the rows that can be read and those that cannot."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from panewise.core.bad_rows import BadRow, BadRows
from panewise.core.errors import BadRowError, SourceError
from panewise.files.types import time_type

INFER_BYTES = 16 << 20
NULLS = ("", "NULL", "null", "NaN", "nan", "N/A", "n/a", "#N/A", "NA", "-NaN", "-nan", "#NA")


def infer(path: Path, *, times: Collection[str] = (), tolerant: bool = False) -> pa.Schema:
    """The columns of a file by its beginning; rows with too few or too many fields are errors unless ``tolerant``.

    Columns of ``times`` are what most of their values are: a few that are no times do not make text of them.
    """
    bad: list[BadRow] = []
    with pcsv.open_csv(path, read_options=pcsv.ReadOptions(block_size=INFER_BYTES, use_threads=False),
                       parse_options=_noting(path, bad)) as reader:
        if bad and not tolerant:
            raise BadRowError(str(bad[0]))
        try:
            _ = reader.schema.names
        except UnicodeDecodeError:
            raise SourceError(f"{path}: the names of its columns are no UTF-8 text: write the file in UTF-8") from None
        # values that are no UTF-8 are found when the rows are read
        found = pa.schema([f.with_type(pa.string()) if pa.types.is_binary(f.type) else f for f in reader.schema])
    for i, f in enumerate(found):
        if f.name in times and pa.types.is_string(f.type):
            found = found.set(i, f.with_type(time_type(_beginning(path, f.name)) or f.type))
    return found


def _beginning(path: Path, name: str) -> pa.Array:
    """The first fields of a column as they stand."""
    options = pcsv.ConvertOptions(include_columns=[name], column_types={name: pa.binary()}, strings_can_be_null=True)
    with pcsv.open_csv(path, read_options=pcsv.ReadOptions(block_size=INFER_BYTES, use_threads=False),
                       parse_options=_noting(path, []), convert_options=options) as reader:
        for batch in reader:
            return pa.array([_text(value) for value in batch.column(0).drop_null().to_pylist()], pa.string())
    return pa.array([], pa.string())


def tables(path: Path, stored: pa.Schema) -> Iterator[pa.Table | BadRows]:
    """The rows in the types of the schema; bad ones between them."""
    done = 0
    try:
        with pcsv.open_csv(path, convert_options=pcsv.ConvertOptions(column_types=stored, strings_can_be_null=True)
                           ) as reader:
            same_columns(path, stored, reader.schema)
            for batch in reader:
                yield pa.Table.from_batches([batch])
                done += batch.num_rows
    except pa.ArrowInvalid:
        yield from _one_by_one(path, stored, done)


def same_columns(path: Path, expected: pa.Schema, found: pa.Schema) -> None:
    """All files of a stream have the columns of the first."""
    missing = [n for n in expected.names if n not in found.names]
    if missing:
        raise SourceError(f"{path}: has no column {missing[0]!r}, which the first file of the stream has")


def _noting(path: Path, bad: list[BadRow]) -> pcsv.ParseOptions:
    def note(row: Any) -> str:
        where = "" if row.number is None else f", row {row.number}"
        bad.append(BadRow(f"{path}{where}", f"{row.actual_columns} fields where {row.expected_columns} are expected",
                          row=row.text))
        return "skip"

    return pcsv.ParseOptions(invalid_row_handler=note)


def _one_by_one(path: Path, stored: pa.Schema, done: int) -> Iterator[pa.Table | BadRows]:
    """All fields as they stand, then column by column in its type; ``done`` rows were given out before."""
    misfits: list[BadRow] = []
    raw = pcsv.ConvertOptions(column_types={n: pa.binary() for n in stored.names}, strings_can_be_null=False)
    try:
        with pcsv.open_csv(path, read_options=pcsv.ReadOptions(use_threads=False), parse_options=_noting(path, misfits),
                           convert_options=raw) as reader:
            same_columns(path, stored, reader.schema)
            at = 0
            for batch in reader:
                if misfits:
                    yield BadRows(misfits)
                    misfits.clear()
                table = pa.Table.from_batches([batch]).select(stored.names)
                skip = min(max(done - at, 0), table.num_rows)
                yield from _typed(table.slice(skip), stored, path, at + skip)
                at += table.num_rows
            if misfits:
                yield BadRows(misfits)
    except pa.ArrowInvalid as error:
        raise SourceError(f"{path}: cannot be read as csv: {error}") from error


def _typed(table: pa.Table, stored: pa.Schema, path: Path, before: int) -> Iterator[pa.Table | BadRows]:
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
        yield BadRows([BadRow(f"{path}, row {before + place + 1}", reason, f.name, ",".join(texts.values()))])
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
