"""NDJSON with punctuation in line: a line whose only key is ``punctuation`` is a promise, every other line is a row.

Data lines between two punctuations are parsed together by Arrow; only punctuation lines meet Python's JSON parser.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from panewise.core.errors import SourceError
from panewise.files.types import TIMESTAMP

Place: TypeAlias = Path | str
"""Where text came from, for messages."""
Extra: TypeAlias = Literal["error", "ignore"]

MARK = b'"punctuation"'
BLOCK = 4 << 20
INFER_BYTES = 64 << 20
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
ISO_TIME = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$"


@dataclass(frozen=True)
class Lines:
    """Consecutive data lines of one file; ``first`` is the 1-based number of the first line."""

    text: bytes
    first: int


@dataclass(frozen=True)
class Promise:
    """A punctuation line as it stands: attribute to bound or constant."""

    patterns: dict[str, Any]
    line: int


def segments(path: Path, *, start_line: int = 1, growing: bool = False) -> Iterator[Lines | Promise]:
    """The file as runs of data lines and single punctuation lines, in order.

    Of a ``growing`` file a last line without its end is left out.
    """
    number = 1
    try:
        with path.open("rb") as file:
            for block in blocks(file, growing=growing):
                for part in split(block, number, path):
                    if isinstance(part, Promise):
                        if part.line >= start_line:
                            yield part
                    else:
                        kept = _from_line(part, start_line)
                        if kept.text.strip():
                            yield kept
                number += block.count(b"\n")
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror or error}") from error


def blocks(file: BinaryIO, *, growing: bool = False) -> Iterator[bytes]:
    """What is left of a text file in blocks of whole lines."""
    rest = b""
    while chunk := file.read(BLOCK):
        cut = chunk.rfind(b"\n") + 1
        if cut:
            yield rest + chunk[:cut]
            rest = chunk[cut:]
        else:
            rest += chunk
    if rest.strip() and not growing:
        yield rest + b"\n"


def _from_line(lines: Lines, start_line: int) -> Lines:
    skip = start_line - lines.first
    if skip <= 0:
        return lines
    at = 0
    for _ in range(skip):
        at = lines.text.find(b"\n", at) + 1
        if at == 0:
            return Lines(b"", start_line)
    return Lines(lines.text[at:], start_line)


def split(block: bytes, number: int, path: Place) -> Iterator[Lines | Promise]:
    """Whole lines as runs of data lines and single punctuation lines; ``number`` is that of the first line."""
    done, search = 0, 0
    counted, line = 0, number  # lines are counted once, from one punctuation to the next
    while (hit := block.find(MARK, search)) >= 0:
        start = block.rfind(b"\n", 0, hit) + 1
        end = block.find(b"\n", hit) + 1
        before = block.count(b"\n", counted, start)
        promise = _promise(block[start:end], line + before, path)
        search = end
        if promise is None:
            continue
        if start > done:
            yield Lines(block[done:start], line)
        yield promise
        done = counted = end
        line = promise.line + 1
    if done < len(block):
        yield Lines(block[done:], line)


def _promise(text: bytes, line: int, path: Place) -> Promise | None:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise SourceError(f"{path}:{line}: not JSON: {error}") from error
    if not isinstance(value, dict) or set(value) != {"punctuation"}:
        return None  # a row with a column or a text of that name
    patterns = value["punctuation"]
    if not isinstance(patterns, dict):
        raise SourceError(
            f"{path}:{line}: a punctuation is an object of bounds and constants, "
            'such as {"ts": "2026-01-01T00:01:00Z"}'
        )
    return Promise(patterns, line)


def infer_schema(files: list[Path]) -> pa.Schema:
    """Column types from the data itself: integers widen to doubles, ISO-8601 text becomes timestamps."""
    found: list[pa.Schema] = []
    budget = INFER_BYTES
    for path in files:
        for parts in grouped(segments(path)):
            lines = [part for part in parts if isinstance(part, Lines)]
            if lines:
                found.append(_raw_table(lines, path).schema)
                budget -= sum(len(part.text) for part in lines)
        if budget < 0:
            break
    if not found:
        raise SourceError(f"{files[0]}: there is no data row to learn the columns from")
    try:
        return pa.unify_schemas(found, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise SourceError(f"{files[0]}: a column has values of different types: {error}") from error


def grouped(parts: Iterator[Lines | Promise]) -> Iterator[list[Lines | Promise]]:
    """Parts in groups worth parsing at once: where punctuation is dense, runs of data lines are short."""
    group: list[Lines | Promise] = []
    size = 0
    for part in parts:
        group.append(part)
        size += len(part.text) if isinstance(part, Lines) else 0
        if size >= BLOCK:
            yield group
            group, size = [], 0
    if group:
        yield group


def infer_lines(lines: list[Lines], path: Place) -> pa.Schema:
    """Column types from some lines of a stream whose rest is not there yet."""
    return _raw_table(lines, path).schema


def _raw_table(lines: list[Lines], path: Place) -> pa.Table:
    """The types of some lines, as an otherwise empty table; Arrow takes some text for times, the rest is found here."""
    table = _parse(lines, path, None)
    sample = json.loads(lines[0].text.lstrip().split(b"\n", 1)[0])
    for i, column in enumerate(table.schema):
        text = pa.types.is_string(column.type)
        if (text and _all_iso(table.column(i))) or pa.types.is_timestamp(column.type):
            kind = pa.date32() if DATE.fullmatch(str(sample.get(column.name))) else TIMESTAMP
            table = table.set_column(i, column.name, pa.nulls(table.num_rows, kind))
    return table


def _all_iso(values: pa.ChunkedArray) -> bool:
    matches = pc.match_substring_regex(values, ISO_TIME)
    return values.null_count < len(values) and bool(pc.all(matches).as_py())


def parse_lines(lines: Lines | list[Lines], path: Place, schema: pa.Schema, *, extra: Extra = "error") -> pa.Table:
    """Data lines as rows of the schema; a line that does not fit is named. ``extra`` is what columns beyond it are."""
    lines = lines if isinstance(lines, list) else [lines]
    # Arrow reads dates from numbers only, so they come as text first
    as_read = pa.schema([f.with_type(pa.string()) if pa.types.is_date(f.type) else f for f in schema])
    table = _parse(lines, path, as_read, extra).select(schema.names)
    if as_read == schema:
        return table
    try:
        return table.cast(schema)
    except pa.ArrowInvalid as error:
        place = f"{path}: lines {lines[0].first} and following"
        raise SourceError(f"{place}: {error}; dates are written 2026-01-31") from error


def row_count(lines: Lines) -> int:
    """How many rows the lines hold; blank lines are none."""
    return sum(1 for line in lines.text.split(b"\n") if line.strip()) if has_blank(lines.text) \
        else lines.text.count(b"\n")


def has_blank(text: bytes) -> bool:
    """Whether some line may be blank, so that lines are not rows."""
    return b"\n\n" in text or b"\n " in text or b"\r" in text or text[:1].isspace()


def _parse(lines: list[Lines], path: Place, schema: pa.Schema | None, extra: Extra = "error") -> pa.Table:
    options = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="infer" if schema is None else extra)
    text = lines[0].text if len(lines) == 1 else b"".join(part.text for part in lines)
    read = pj.ReadOptions(use_threads=False, block_size=max(len(text) + 1, 1 << 16))
    try:
        return pj.read_json(io.BytesIO(text), read_options=read, parse_options=options)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise _place(lines, path, options, error) from error


def _place(lines: list[Lines], path: Place, options: pj.ParseOptions, error: Exception) -> SourceError:
    """Find the line by trying them one by one; only ever done once, on the way out."""
    numbered = ((part.first + i, text) for part in lines for i, text in enumerate(part.text.splitlines()))
    for number, text in numbered:
        if not text.strip():
            continue
        where = f"{path}:{number}"
        try:
            row = json.loads(text)
        except ValueError as problem:
            return SourceError(f"{where}: not JSON: {problem}{_unfinished(path, text)}")
        if not isinstance(row, dict):
            return SourceError(f"{where}: a row must be a JSON object, this is {text.decode(errors='replace')[:60]}")
        try:
            pj.read_json(io.BytesIO(text + b"\n"), parse_options=options)
        except pa.ArrowInvalid as problem:
            return SourceError(f"{where}: the row does not fit the columns seen before: {problem}")
    return SourceError(f"{path}: lines {lines[0].first} and following: {error}")


def _unfinished(path: Place, line: bytes) -> str:
    """A hint for the last line of a file that somebody may still be writing."""
    try:
        with open(path, "rb") as file:
            file.seek(-len(line), io.SEEK_END)
            cut_short = file.read() == line  # no end of line behind it
    except (OSError, ValueError):
        return ""
    return "; the file ends within this line: if it is still being written, --follow waits for the rest" \
        if cut_short else ""
