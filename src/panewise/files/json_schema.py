"""The columns of NDJSON, from the rows themselves."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.bad_rows import MAX_LINE
from panewise.core.errors import BadRowError, SourceError
from panewise.files.json_rows import first_bad, unfinished_hint
from panewise.files.ndjson import BadLine, Lines, Place, grouped, read_objects, segments
from panewise.files.types import DAY, ISO_TIME, TIMESTAMP, time_type

INFER_BYTES = 64 << 20
DATE = re.compile(DAY)


def infer_schema(files: list[Path], *, times: Collection[str] = (), tolerant: bool = False,
                 max_line: int = MAX_LINE) -> pa.Schema:
    """Column types from the data itself: integers widen to doubles, ISO-8601 text becomes timestamps.

    Columns of ``times`` are what most of their values are: a few that are no times do not make text of them.

    A bad row is an error, unless ``tolerant``: then the rows before it say what the columns are.
    """
    found: list[pa.Schema] = []
    budget = INFER_BYTES
    for path in files:
        for parts in grouped(segments(path, max_line=max_line)):
            lines = [part for part in parts if isinstance(part, Lines)]
            bad = next((part for part in parts if isinstance(part, BadLine)), None)
            if bad is not None and not tolerant:
                raise BadRowError(f"{bad.bad_row(path)}{unfinished_hint(path, bad.text)}")
            if lines:
                found.append(_raw_table(lines, path, times=times, tolerant=tolerant).schema)
                budget -= sum(len(part.text) for part in lines)
        if budget < 0:
            break
    if not found:
        raise SourceError(f"{files[0]}: there is no data row to learn the columns from")
    try:
        return pa.unify_schemas(found, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        if tolerant:
            return found[0]
        raise SourceError(f"{files[0]}: a column has values of different types: {error}") from error


def infer_lines(lines: list[Lines], path: Place, *, times: Collection[str] = (), tolerant: bool = False) -> pa.Schema:
    """Column types from some lines of a stream whose rest is not there yet."""
    return _raw_table(lines, path, times=times, tolerant=tolerant).schema


def _raw_table(lines: list[Lines], path: Place, *, times: Collection[str], tolerant: bool = False) -> pa.Table:
    """The types of some lines, as an otherwise empty table; Arrow takes some text for times, the rest is found here."""
    try:
        table = read_objects(lines, None)
    except pa.ArrowException as error:
        if not tolerant:
            raise BadRowError(str(first_bad(lines, path, None, error))) from error
        table = _longest_good_beginning(lines)
    sample: dict[str, Any] = {}
    for i, column in enumerate(table.schema):
        text = pa.types.is_string(column.type)
        if (text and _all_iso(table.column(i))) or pa.types.is_timestamp(column.type):
            sample = sample or json.loads(lines[0].text.split(b"\n", 1)[0])
            kind = pa.date32() if DATE.fullmatch(str(sample.get(column.name))) else TIMESTAMP
            table = table.set_column(i, column.name, pa.nulls(table.num_rows, kind))
        elif text and column.name in times and (kind := time_type(table.column(i))) is not None \
                and not pa.types.is_integer(kind):
            table = table.set_column(i, column.name, pa.nulls(table.num_rows, kind))
    return table


def _longest_good_beginning(lines: list[Lines]) -> pa.Table:
    """Rows up to the first that does not fit those before it, roughly: as far as doubling gets."""
    table, size = None, 1
    units = [unit for part in lines for unit in part.units]
    for begin in range(len(units)):  # the first row that can be read at all begins
        with suppress(pa.ArrowException):
            table = read_objects([Lines(units[begin], 1)], None)
            break
    if table is None:
        return pa.table({})
    while size < len(units) - begin:
        size *= 2
        with suppress(pa.ArrowException):
            table = read_objects([Lines(b"".join(units[begin:begin + size]), 1)], None)
            continue
        break
    return table


def _all_iso(values: pa.ChunkedArray) -> bool:
    matches = pc.match_substring_regex(values, ISO_TIME)
    return values.null_count < len(values) and bool(pc.all(matches).as_py())
