"""Rows of NDJSON under given columns: parsed together; where that fails, the rows that fit and those that do not."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from datetime import date
from itertools import chain
from typing import Any

import pyarrow as pa

from panewise.core.bad_rows import BadRow, BadRows
from panewise.core.errors import BadRowError
from panewise.core.names import unknown_name
from panewise.files.ndjson import Extra, Lines, Place, read_objects

SURROGATE = re.compile("[\ud800-\udfff]")


def parse_lines(lines: Lines | list[Lines], path: Place, schema: pa.Schema, *, extra: Extra = "error") -> pa.Table:
    """Rows of the schema; the first that does not fit is an error. ``extra`` is what columns beyond it are."""
    lines = lines if isinstance(lines, list) else [lines]
    table, bad = parse_rows(lines, path, schema, extra=extra)
    if bad:
        raise BadRowError(str(bad[min(bad)]))
    return table


def good_and_bad(lines: Lines, path: Place, schema: pa.Schema, *, extra: Extra = "error") -> Iterator[
        pa.Table | BadRows]:
    """Rows that fit and rows that do not, in the order of the text."""
    table, bad = parse_rows([lines], path, schema, extra=extra)
    yield from in_order(table, bad, 0, lines.size)


def in_order(table: pa.Table, bad: dict[int, BadRow], start: int, stop: int) -> Iterator[pa.Table | BadRows]:
    """The objects from one place to another: ``table`` are the good ones of all, ``bad`` the others by place."""
    before = sum(1 for place in bad if place < start) if bad else 0
    at, taken = start, start - before
    while at < stop:
        end = at
        if at in bad:
            while end in bad and end < stop:
                end += 1
            yield BadRows(bad[place] for place in range(at, end))
        else:
            end = min((place for place in bad if at < place < stop), default=stop) if bad else stop
            yield table.slice(taken, end - at)
            taken += end - at
        at = end


def parse_rows(lines: list[Lines], path: Place, schema: pa.Schema, *,
               extra: Extra = "error") -> tuple[pa.Table, dict[int, BadRow]]:
    """The rows that fit the schema, and what is wrong with the others, by their place among all."""
    # Arrow reads dates from numbers only, so they come as text first
    as_read = pa.schema([f.with_type(pa.string()) if pa.types.is_date(f.type) else f for f in schema])
    try:
        table = read_objects(lines, as_read, extra).select(schema.names)
        return (table if as_read == schema else table.cast(schema)), {}
    except pa.ArrowException:
        pass
    whole = Lines(b"".join(part.text for part in lines), 1)
    numbers = [part.line(i) for part in lines for i in range(part.size)]
    bad: dict[int, BadRow] = {}
    good = list(_halves(whole.units, 0, as_read, schema, extra, bad, path, numbers))
    return (pa.concat_tables(good) if good else schema.empty_table()), bad


def _halves(units: list[bytes], start: int, as_read: pa.Schema, schema: pa.Schema, extra: Extra, bad: dict[int, BadRow],
            path: Place, numbers: list[int]) -> Iterator[pa.Table]:
    """The rows of each half, down to the single rows that do not fit: few bad ones cost few looks."""
    if not units:
        return
    try:
        yield read_objects([Lines(b"".join(units), 1)], as_read, extra).select(schema.names).cast(schema)
    except pa.ArrowException as error:
        if len(units) == 1:
            bad[start] = _described(units[0], f"{path}:{numbers[start]}", schema, extra, error, path)
            return
        half = len(units) // 2
        yield from _halves(units[:half], start, as_read, schema, extra, bad, path, numbers)
        yield from _halves(units[half:], start + half, as_read, schema, extra, bad, path, numbers)


def first_bad(lines: list[Lines], path: Place, schema: pa.Schema | None, error: Exception) -> BadRow:
    """The first row that does not fit the ones before it; only ever looked for once, on the way out."""
    units = [unit for part in lines for unit in part.units]
    numbers = [part.line(i) for part in lines for i in range(part.size)]
    good, wrong = 0, len(units)  # so many read well together, so many do not
    while wrong - good > 1:
        middle = (good + wrong) // 2
        try:
            read_objects([Lines(b"".join(units[:middle]), 1)], schema)
            good = middle
        except pa.ArrowException as problem:
            wrong, error = middle, problem
    place = f"{path}:{numbers[wrong - 1]}"
    known = schema
    if known is None:
        known = read_objects([Lines(b"".join(units[:good]), 1)], None).schema if good else pa.schema([])
    return _described(units[wrong - 1], place, known, "ignore" if schema is None else "error", error, path)


def _described(unit: bytes, place: str, schema: pa.Schema, extra: Extra, error: Exception, path: Place) -> BadRow:
    """What is wrong with one row, and with which column."""
    text = unit.rstrip(b"\n").decode(errors="backslashreplace")
    try:
        row = json.loads(unit, parse_int=_number)
    except RecursionError:
        return BadRow(place, "objects are nested too deep", row=text)
    except ValueError as wrong:
        return BadRow(place, f"not JSON: {wrong}{unfinished_hint(path, unit.rstrip(bytes([10])))}", row=text)
    if not isinstance(row, dict):
        return BadRow(place, f"a row must be a JSON object, this is {text[:60]}", row=text)
    names = _names(unit)
    if twice := next((name for name in names if names.count(name) > 1), None):
        return BadRow(place, f"the row has the column {twice!r} twice", twice, text)
    for name, value in row.items():
        if half := next(_halves_of_pairs([name, value]), None):  # the whole row cannot be read, whatever is asked of it
            sound = next(_halves_of_pairs(name), None) is None
            return BadRow(place, f"{name!r} has {half!r}, half of a surrogate pair, which is no text",
                          name if sound else None, text)
    for name in row:
        if extra == "error" and name not in schema.names:
            problem = unknown_name("column", name, schema.names)
            return BadRow(place, f"the row does not fit the columns seen before: {problem}", name, text)
        if name in schema.names and not _fits(unit, schema.field(name)):
            return BadRow(place, f"the row does not fit the columns seen before: {name!r} is "
                          f"{json.dumps(row[name])[:60]}, expected {schema.field(name).type}", name, text)
    said = str(error).split("\n", 1)[0].removeprefix("JSON parse error: ")
    return BadRow(place, f"the row does not fit the columns seen before: {said}", row=text)


def _halves_of_pairs(value: Any) -> Iterator[str]:
    """Code points that are no characters of their own, in any text of a value."""
    if isinstance(value, str):
        yield from SURROGATE.findall(value)
    elif isinstance(value, list):
        yield from chain.from_iterable(map(_halves_of_pairs, value))
    elif isinstance(value, dict):
        yield from _halves_of_pairs([*value, *value.values()])


def _names(unit: bytes) -> list[str]:
    """The columns as they are written, also those that are written twice."""
    found: list[list[str]] = []

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found.append([name for name, _ in pairs])
        return dict(pairs)

    json.loads(unit, object_pairs_hook=note, parse_int=_number)
    return found[-1]  # the outermost object ends last


def _fits(unit: bytes, field: pa.Field) -> bool:
    dated = pa.types.is_date(field.type)
    one = pa.schema([field.with_type(pa.string()) if dated else field])
    try:
        values = read_objects([Lines(unit, 1)], one, "ignore").column(0)
    except pa.ArrowException:
        return False
    text: Any = values[0].as_py() if dated else None
    try:
        return text is None or date.fromisoformat(text) is not None
    except ValueError:
        return False


def _number(text: str) -> int | str:
    return int(text) if len(text) < 100 else text  # Python reads no number of thousands of digits


def unfinished_hint(path: Place, line: bytes) -> str:
    """A hint for the last line of a file that may still be written to."""
    try:
        with open(path, "rb") as file:
            file.seek(-len(line), io.SEEK_END)
            cut_short = file.read() == line  # no end of line behind it
    except (OSError, ValueError):
        return ""
    return "; the file ends within this line: if it is still being written, --follow waits for the rest" \
        if cut_short else ""
