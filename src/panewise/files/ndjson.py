"""NDJSON with punctuation in line: an object whose only key is ``punctuation`` is a promise, every other is a row.

Rows between two punctuations are parsed together by Arrow; only punctuation meets Python's JSON parser. How text
becomes one object a line is said in :mod:`panewise.files.json_units`, what becomes of rows that do not fit the columns
in :mod:`panewise.files.json_rows`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

import pyarrow as pa
import pyarrow.json as pj

from panewise.core.bad_rows import MAX_LINE
from panewise.core.errors import telling
from panewise.files.json_units import BadLine as BadLine  # noqa: PLC0414 (known by this module)
from panewise.files.json_units import Lines as Lines  # noqa: PLC0414
from panewise.files.json_units import Place as Place  # noqa: PLC0414
from panewise.files.json_units import UnitCutter

Extra: TypeAlias = Literal["error", "ignore"]

MARK = b'"punctuation"'
BLOCK = 4 << 20


@dataclass(frozen=True)
class Promise:
    """A punctuation line as it stands: attribute to bound or constant."""

    patterns: dict[str, Any]
    line: int
    at: int = 0
    text: bytes = b""


Part: TypeAlias = Lines | Promise | BadLine


class Parts:
    """Text that comes in pieces as runs of rows, single punctuations and what is neither, in order."""

    def __init__(self, max_line: int = MAX_LINE) -> None:
        self.cutter = UnitCutter(max_line)
        self.at = 0
        """How many objects have been given out."""

    def feed(self, piece: bytes) -> Iterator[Part]:
        """What is complete with this piece."""
        for unit in self.cutter.feed(piece):
            yield from self._parts(unit)

    def end(self, *, growing: bool = False) -> Iterator[Part]:
        """What the text ends with."""
        for unit in self.cutter.end(growing=growing):
            yield from self._parts(unit)

    def broken_off(self, why: str) -> list[Part]:
        """What is left of a text that may have broken off: a whole object counts, what was only begun is bad."""
        found = list(self.end())
        self.cutter.forget()
        if len(found) > 1 and isinstance(found[-1], BadLine) and isinstance(found[-2], BadLine) and not found[-1].text:
            self.at -= 1  # the array ends where the object in it does: that is one thing
            found.pop()
        return [BadLine(part.text, part.line, f"{why} in the middle of a line", part.at)
                if isinstance(part, BadLine) else part for part in found]

    def lost(self, why: str) -> BadLine:
        """Something is missing here; what it was is not known."""
        self.at += 1
        return BadLine(b"", self.cutter.line, why, self.at - 1)

    def _parts(self, unit: Lines | BadLine) -> Iterator[Part]:
        for part in split(unit, self.at) if isinstance(unit, Lines) else [replace(unit, at=self.at)]:
            yield part
            self.at += part.size if isinstance(part, Lines) else 1


def segments(path: Path, *, start: int = 0, growing: bool = False, max_line: int = MAX_LINE) -> Iterator[Part]:
    """The file as runs of rows and single punctuations, in order, after its first ``start`` objects.

    Of a ``growing`` file a last line without its end is left out.
    """
    parts = Parts(max_line)
    with telling(f"{path}: cannot be read"), path.open("rb") as file:
        while piece := file.read(BLOCK):
            yield from _after(parts.feed(piece), start)
        yield from _after(parts.end(growing=growing), start)


def _after(parts: Iterator[Part], start: int) -> Iterator[Part]:
    for part in parts:
        if not isinstance(part, Lines):
            if part.at >= start:
                yield part
        elif part.at + part.size > start:
            yield part.part(start - part.at, part.size)


def blocks(file: BinaryIO) -> Iterator[bytes]:
    """What is left of a text file in blocks of whole lines."""
    rest = b""
    while chunk := file.read(BLOCK):
        cut = chunk.rfind(b"\n") + 1
        if cut:
            yield rest + chunk[:cut]
            rest = chunk[cut:]
        else:
            rest += chunk
    if rest.strip():
        yield rest + b"\n"


def split(units: Lines, at: int = 0) -> Iterator[Part]:
    """Whole objects, one a line, as runs of rows and single punctuations; ``at`` counts the objects before them."""
    block = units.text
    done, search = 0, 0
    begun, counted = 0, 0  # objects are counted once, from one punctuation to the next
    while (hit := block.find(MARK, search)) >= 0:
        start = block.rfind(b"\n", 0, hit) + 1
        search = end = block.find(b"\n", hit) + 1
        text = block[start:end]
        value = _said(text)
        if value is _ROW:
            continue
        counted = begun + block.count(b"\n", done, start)
        if start > done:
            yield _lines(units, block[done:start], begun, counted, at)
        line = units.line(counted)
        if isinstance(value, dict):
            yield Promise(value, line, at + counted, text)
        else:
            yield BadLine(text, line, str(value), at + counted)
        done, begun = end, counted + 1
    if done < len(block):
        yield _lines(units, block[done:], begun, begun + block.count(b"\n", done), at)


def _lines(units: Lines, text: bytes, begun: int, stop: int, at: int) -> Lines:
    numbers = None if units.numbers is None else units.numbers[begun:stop]
    return Lines(text, units.line(begun), at + begun, numbers)


_ROW = object()


def _said(text: bytes) -> Any:
    """The patterns of a punctuation, why it is none that can be read, or that it is a row."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return _ROW  # or something that is found to be none when rows are parsed
    if not isinstance(value, dict) or set(value) != {"punctuation"}:
        return _ROW  # a row with a column or a text of that name
    patterns = value["punctuation"]
    if not isinstance(patterns, dict):
        return 'a punctuation is an object of bounds and constants, such as {"ts": "2026-01-01T00:01:00Z"}'
    return patterns


def grouped(parts: Iterator[Part]) -> Iterator[list[Part]]:
    """Parts in groups worth parsing at once: where punctuation is dense, runs of data lines are short."""
    group: list[Part] = []
    size = 0
    for part in parts:
        group.append(part)
        size += len(part.text) if isinstance(part, Lines) else 0
        if size >= BLOCK:
            yield group
            group, size = [], 0
    if group:
        yield group


def read_objects(lines: list[Lines], schema: pa.Schema | None, extra: Extra = "error") -> pa.Table:
    """Objects as Arrow reads them; every line is one."""
    options = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="infer" if schema is None else extra)
    text = lines[0].text if len(lines) == 1 else b"".join(part.text for part in lines)
    read = pj.ReadOptions(use_threads=False, block_size=max(len(text) + 1, 1 << 16))
    table = pj.read_json(io.BytesIO(text), read_options=read, parse_options=options)
    if table.num_rows != (expected := sum(part.size for part in lines)):
        if table.num_columns == 0:  # objects without any column
            return pa.table({"": pa.nulls(expected)}).select([])
        raise pa.ArrowInvalid(f"{expected} objects were read as {table.num_rows} rows")
    return table
