"""JSON text as it comes, cut into *units*: one object a line, whatever stood between them.

Arrow parses what leaves here, so it has to be sound: a line is one whole object, in UTF-8, not nested too deep. Text
that is so already (the usual case) passes after a look at C speed; blank lines and spaces are taken out; several
objects on a line, objects over several lines, arrays of objects and lines that end in CR alone are cut by Python's JSON
scanner. What is no object is a unit of its own, with the reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from panewise.core.bad_rows import MAX_LINE, BadRow

OFTEN = 64 << 10
"""Unfinished units up to this many bytes are looked at whenever more has come."""
MAX_DEPTH = 500
"""How deep objects and arrays may be nested."""
JSON_BYTES = b'{}[],:"-0123456789tfn\xef'
"""What a piece of JSON can begin with, spaces aside: \xef begins a byte-order mark."""
_TWO_OBJECTS = re.compile(rb"\}[ \t]*\{")
_SPACE = re.compile(r"[ \t\r\n]*")
_LINE_END = re.compile(r"\r\n|\n|\r")
_END_OF_LINE = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"
_BOMS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


Place: TypeAlias = Path | str
"""Where text came from, for messages."""


@dataclass(frozen=True)
class Lines:
    """Consecutive objects of one source, one a line."""

    text: bytes
    first: int
    """The number of the line on which the first begins, from 1."""
    at: int = 0
    """How many objects of the source come before it, punctuation included."""
    numbers: Sequence[int] | None = None
    """The line of each, where they do not follow each other."""

    @cached_property
    def size(self) -> int:
        """How many objects there are."""
        return self.text.count(b"\n")

    @property
    def units(self) -> list[bytes]:
        """The objects one by one, each with its newline; a carriage return inside one is white space."""
        return [unit + b"\n" for unit in self.text.removesuffix(b"\n").split(b"\n")] if self.text else []

    def line(self, place: int) -> int:
        """The number of the line on which one of them begins."""
        return self.first + place if self.numbers is None else self.numbers[place]

    def part(self, start: int, stop: int) -> Lines:
        """Some of them."""
        stop = min(stop, self.size)
        if start <= 0 and stop >= self.size:
            return self
        begin = _offset(self.text, start)
        end = begin + _offset(self.text[begin:], stop - start)
        numbers = None if self.numbers is None else self.numbers[start:stop]
        first = self.first + start if not numbers else numbers[0]
        return Lines(self.text[begin:end], first, self.at + start, numbers)


@dataclass(frozen=True)
class BadLine:
    """Something that is neither a row nor a punctuation."""

    text: bytes
    line: int
    reason: str
    at: int = 0

    def bad_row(self, place: Place) -> BadRow:
        """As the policy for bad rows wants it."""
        return BadRow(f"{place}:{self.line}", self.reason, row=self.text.decode(errors="backslashreplace"))


class UnitCutter:
    """Cuts text that comes in pieces; what is not complete waits for the rest.

    >>> cutter = UnitCutter()
    >>> [unit.text for unit in cutter.feed(b'[{"a": 1}, {"a": 2}] {"a":') if isinstance(unit, Lines)]
    []
    >>> [unit.text for unit in [*cutter.feed(b'\\n 3}\\n'), *cutter.end()] if isinstance(unit, Lines)]
    [b'{"a": 1}\\n{"a": 2}\\n{"a":  3}\\n']
    """

    def __init__(self, max_line: int = MAX_LINE) -> None:
        self.max_line = max_line
        self._pieces: list[bytes] = []
        self._waiting = 0
        self._line = 1
        self._array: int | None = None
        """The line on which the array began that the text is in."""
        self._comma = False
        self._skipping = False
        """Whether what is left of a line that was bad or too long is being thrown away."""
        self._mark = b""
        """The first bytes, until it is known whether they are a byte-order mark."""
        self._began = False
        self._look_again = 0
        """An unfinished unit is looked at again when so much is there: a long one is not scanned for every piece."""

    def feed(self, piece: bytes) -> Iterator[Lines | BadLine]:
        """More text, cut anywhere."""
        if not self._began:
            piece, self._mark = self._mark + piece, b""
            if len(piece) < len(_BOM) and _BOM.startswith(piece):
                self._mark = piece
                return
            piece, self._began = piece.removeprefix(_BOM), True
        if self._skipping:
            end = _END_OF_LINE.search(piece)
            if end is None:
                return
            self._skipping, self._line, piece = False, self._line + 1, piece[end.end():]
        cut = piece.rfind(b"\n") + 1
        if not cut:
            cut = piece.rfind(b"\r", 0, -1) + 1  # the last one may belong to an end of line that is on its way
        if cut and self._waiting + cut >= self._look_again:
            text = b"".join([*self._pieces, piece[:cut]])
            self._pieces = [piece[cut:]] if cut < len(piece) else []
            self._waiting = len(piece) - cut
            yield from self._cut(text, final=False)
        elif piece:
            self._pieces.append(piece)
            self._waiting += len(piece)
        if self._waiting > self.max_line or (self._array is not None and self._waiting >= max(self._look_again, 1)):
            yield from self._without_an_end()

    def end(self, *, growing: bool = False) -> Iterator[Lines | BadLine]:
        """No more text; of a ``growing`` one an unfinished unit is left for later."""
        text, self._pieces, self._waiting = b"".join([self._mark, *self._pieces]), [], 0
        if text.strip() and not growing:
            yield from self._cut(text if self._array is not None else text + b"\n", final=True)
        if self._array is not None and not growing:
            yield BadLine(b"", self._line, f"the text ends within the array that began on line {self._array}")
            self._array = None

    @property
    def line(self) -> int:
        """The number of the line that comes next."""
        return self._line

    @property
    def skipping(self) -> bool:
        """Whether the text is within a line that was found bad or too long."""
        return self._skipping

    def forget(self) -> None:
        """Throw away what waits for its rest: the sender is gone."""
        self._pieces, self._waiting, self._look_again, self._mark = [], 0, 0, b""
        self._line += self._skipping
        self._array, self._skipping, self._began = None, False, False

    # -- cutting

    def _without_an_end(self) -> Iterator[Lines | BadLine]:
        """A long text without an end of line: whole objects in it are taken, a unit beyond the limit is thrown away."""
        text, self._pieces, self._waiting = b"".join(self._pieces), [], 0
        yield from self._scan(text, final=False)
        if self._waiting > self.max_line:
            begun = b"".join(self._pieces)
            self._pieces, self._waiting, self._skipping = [], 0, True
            yield BadLine(begun[:200], self._line, self._too_long())

    def _too_long(self) -> str:
        return f"the line is longer than the limit of {self.max_line:,} bytes; max_line= allows longer ones"

    def _cut(self, text: bytes, *, final: bool) -> Iterator[Lines | BadLine]:
        if b"\r" in text:
            text = text.replace(b"\r\n", b"\n")
        if self._array is None and is_plain(text, self.max_line):
            yield Lines(text, self._line)
            self._line += text.count(b"\n")
            return
        if self._array is None and b"\r" not in text:
            stripped = [line.strip(b" \t") for line in text.split(b"\n")[:-1]]
            numbers = [self._line + i for i, line in enumerate(stripped) if line]
            packed = b"".join(line + b"\n" for line in stripped if line)
            if not packed:
                self._line += len(stripped)
                return
            if is_plain(packed, self.max_line):
                yield Lines(packed, numbers[0], numbers=numbers)
                self._line += len(stripped)
                return
        yield from self._scan(text, final=final)

    def _scan(self, text: bytes, *, final: bool) -> Iterator[Lines | BadLine]:
        """One unit after the other, by Python's scanner; an unfinished one waits unless this is the end."""
        found: list[bytes] = []
        numbers: list[int] = []
        for line, unit in self._scanned(text.decode("utf-8", "surrogateescape"), final=final):
            if isinstance(unit, bytes):
                found.append(unit)
                numbers.append(line)
                continue
            if found:
                yield Lines(b"".join(found), numbers[0], numbers=numbers)
                found, numbers = [], []
            yield unit
        if found:
            yield Lines(b"".join(found), numbers[0], numbers=numbers)

    def _scanned(self, text: str, *, final: bool) -> Iterator[tuple[int, bytes | BadLine]]:
        """Each unit with the line on which it begins."""
        at = 0
        while True:
            at, self._look_again = self._past_space(text, at), 0
            if at == len(text):
                return
            found = self._one(text, at, final=final)
            if found is None:  # the rest of it is still to come
                begun = b"".join([_bytes(text[at:]), *self._pieces])
                self._pieces, self._waiting = [begun], len(begun)
                self._look_again = 2 * self._waiting if self._waiting > OFTEN else 0
                return
            end, unit = found
            if unit is not None:
                yield self._line, unit
            self._line += len(_LINE_END.findall(text, at, end))
            at = end

    def _past_space(self, text: str, at: int) -> int:
        space = _SPACE.match(text, at)
        assert space is not None
        self._line += len(_LINE_END.findall(space.group()))
        return space.end()

    def _one(self, text: str, at: int, *, final: bool) -> tuple[int, bytes | BadLine | None] | None:
        """Where the next unit ends and what it is; nothing for brackets and commas of an array; None: unfinished."""
        first = text[at]
        if self._array is None and first == "[":
            self._array, self._comma = self._line, False
            return at + 1, None
        if self._array is not None and first == "]":
            self._array = None
            return at + 1, None
        if self._array is not None and first == "," and self._comma:
            self._comma = False
            return at + 1, None
        if self._array is not None and self._comma:
            return self._to_line_end(text, at, f"expected ',' or ']' in the array that began on line {self._array}",
                                     final=final)
        try:
            value, end = _SCANNER.raw_decode(text, at)
        except RecursionError:
            return self._to_line_end(text, at, _too_deep(), final=final)
        except ValueError as error:
            place = getattr(error, "pos", len(text))
            problem = str(getattr(error, "msg", error))
            if not final and (place >= len(text.rstrip()) or problem.startswith("Unterminated string")):
                return None
            return self._to_line_end(text, at, f"not JSON: {problem}: column {place - text.rfind(chr(10), 0, at)}",
                                     final=final)
        if not final and end == len(text) and first not in "{[\"":
            return None  # a number may go on
        self._comma = True
        return end, self._judged(text[at:end], value)

    def _judged(self, text: str, value: Any) -> bytes | BadLine:
        raw = _bytes(text)
        if not isinstance(value, dict):
            return BadLine(raw, self._line, f"a row must be a JSON object, this is {text[:60]}")
        if len(raw) > self.max_line:
            return BadLine(raw[:200], self._line, self._too_long())
        if len(raw) > 2 * MAX_DEPTH and depth_of(text) > MAX_DEPTH:
            return BadLine(raw[:200], self._line, _too_deep())
        try:
            raw.decode("utf-8")
        except UnicodeDecodeError as error:
            return BadLine(raw, self._line, _not_utf8(error))
        return raw.translate(_ONE_LINE) + b"\n"

    def _to_line_end(self, text: str, at: int, reason: str, *, final: bool) -> tuple[int, BadLine]:
        """What cannot be read goes as far as its line; the next line is a new beginning, also within an array."""
        end = _LINE_END.search(text, at)
        stop = len(text) if end is None else end.start()
        self._comma, self._skipping = False, end is None and not final
        raw = _bytes(text[at:stop])
        for mark, name in _BOMS.items():
            if raw.startswith(mark):
                reason = f"the text is {name}, not UTF-8: convert it before"
        try:
            raw.decode("utf-8")
        except UnicodeDecodeError as error:
            reason = reason if "UTF-8" in reason else _not_utf8(error)
        return stop, BadLine(raw, self._line, reason)


def is_plain(text: bytes, max_line: int = MAX_LINE) -> bool:
    """Whether every line is one whole object by a quick look, and one that Arrow may be given.

    A line that begins with ``{`` and ends with ``}`` and whose neighbours do so is not cut through the middle of an
    object: behind a ``}`` within one stands ``,``, ``]`` or ``}``.
    """
    if not (text.startswith(b"{") and text.endswith(b"}\n")) or text.count(b"}\n{") != text.count(b"\n") - 1:
        return False
    if _TWO_OBJECTS.search(text) is not None:
        return False
    if not text.isascii():
        try:
            text.decode("utf-8")
        except UnicodeDecodeError:
            return False
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == 10)
    lengths = np.diff(ends, prepend=-1)
    if int(lengths.max()) <= 2 * MAX_DEPTH:
        return True
    if int(lengths.max()) > max_line:
        return False
    for i in np.flatnonzero(lengths > 2 * MAX_DEPTH).tolist():
        line = text[int(ends[i] - lengths[i]) + 1:int(ends[i])]
        if line.count(b"{") + line.count(b"[") > MAX_DEPTH and depth_of(line.decode("utf-8")) > MAX_DEPTH:
            return False
    return True


def depth_of(text: str) -> int:
    """How deep brackets are nested outside of strings."""
    deepest = depth = 0
    for token in _NESTING.findall(text):
        if token in "{[":
            depth += 1
            deepest = max(deepest, depth)
        elif token in "}]":
            depth -= 1
    return deepest


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _too_deep() -> str:
    return f"objects and arrays are nested more than {MAX_DEPTH} deep"


def _not_utf8(error: UnicodeDecodeError) -> str:
    return f"not UTF-8: byte 0x{error.object[error.start]:02x} at position {error.start + 1} of the row"


_NESTING = re.compile(r'[\[\]{}]|"(?:[^"\\]|\\.)*"')
_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")
_SCANNER = json.JSONDecoder(parse_int=lambda _: 0)  # numbers of any length; their value is Arrow's business


def _offset(text: bytes, lines: int) -> int:
    """Where so many lines end."""
    at = 0
    for _ in range(lines):
        at = text.index(b"\n", at) + 1
    return at
