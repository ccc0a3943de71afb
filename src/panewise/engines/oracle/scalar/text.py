"""Functions of text; positions count characters from 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from panewise.core.errors import UnsupportedError
from panewise.engines.oracle.scalar import matching
from panewise.engines.oracle.scalar.casts import cast
from panewise.engines.oracle.scalar.coercion import argument, unified
from panewise.engines.oracle.scalar.signatures import function, simple
from panewise.engines.oracle.scalar.typed import MismatchError, Row, Typed, constant, eager, strict
from panewise.engines.oracle.scalar.types import (
    BINARY,
    BOOLEAN,
    INT,
    NULL,
    STRING,
    Array,
    Value,
    array_of,
    is_atomic,
)

_INT_MAX, _INT_MIN = 2**31 - 1, -(2**31)


def _text_or_bytes(item: Typed, sql: str) -> Typed:
    return item if item.type == BINARY else argument(item, STRING, sql)


simple("upper ucase", [STRING], STRING, str.upper)
simple("lower lcase", [STRING], STRING, str.lower)


@function("length", "len", "char_length", "character_length", least=1, most=1)
def _length(arguments: list[Typed], sql: str) -> Typed:
    return strict(INT, len, [_text_or_bytes(arguments[0], sql)], sql)


@function("octet_length", least=1, most=1)
def _octets(arguments: list[Typed], sql: str) -> Typed:
    item = _text_or_bytes(arguments[0], sql)
    return strict(INT, lambda value: len(value if isinstance(value, bytes) else value.encode()), [item], sql)


def sliced(value: Any, position: int, length: int = _INT_MAX) -> Any:
    """A part of a text or of bytes: from 1, from the end if negative; 0 counts as 1.

    >>> sliced("abc", 0, 2), sliced("abc", -2, 1), sliced("abc", -5, 3)
    ('ab', 'b', 'a')
    """
    start = position - 1 if position > 0 else len(value) + position if position < 0 else 0
    end = min(start + length, _INT_MAX)
    return value[:0] if end <= start or end <= 0 else value[max(start, 0):end]


@function("substring", "substr", least=2, most=3)
def substring(arguments: list[Typed], sql: str) -> Typed:
    """A part of a text."""
    first = _text_or_bytes(arguments[0], sql)
    rest = [argument(item, INT, sql) for item in arguments[1:]]
    return strict(first.type, sliced, [first, *rest], sql)


@function("left", least=2, most=2)
def _left(arguments: list[Typed], sql: str) -> Typed:
    first, length = _text_or_bytes(arguments[0], sql), argument(arguments[1], INT, sql)
    return strict(first.type, lambda value, n: sliced(value, 1, n), [first, length], sql)


@function("right", least=2, most=2)
def _right(arguments: list[Typed], sql: str) -> Typed:
    first, length = argument(arguments[0], STRING, sql), argument(arguments[1], INT, sql)
    return strict(STRING, lambda value, n: "" if n <= 0 else sliced(value, -n), [first, length], sql)


def trim(side: str, item: Typed, chars: Typed | None, sql: str) -> Typed:
    """Characters taken from the ends; blanks if none are named."""
    if BINARY in (item.type, chars and chars.type):
        raise UnsupportedError(f"the oracle trims text only, no bytes: {sql}")
    strip: Callable[..., str] = {"BOTH": str.strip, "LEADING": str.lstrip, "TRAILING": str.rstrip}[side]
    given = [argument(item, STRING, sql), argument(chars or constant(STRING, " "), STRING, sql)]
    return strict(STRING, lambda value, cut: strip(value, cut) if cut else value, given, sql)


for _name, _side in (("trim", "BOTH"), ("ltrim", "LEADING"), ("rtrim", "TRAILING")):
    @function(_name, least=1, most=2)
    def _trim(arguments: list[Typed], sql: str, side: str = _side) -> Typed:
        return trim(side, arguments[-1], arguments[0] if len(arguments) > 1 else None, sql)


@function("btrim", least=1, most=2)
def _btrim(arguments: list[Typed], sql: str) -> Typed:
    return trim("BOTH", arguments[0], arguments[1] if len(arguments) > 1 else None, sql)


simple("replace", [STRING, STRING, STRING], STRING,
       lambda value, old, new="": value.replace(old, new) if old else value, optional=1)
simple("instr", [STRING, STRING], INT, lambda value, part: value.find(part) + 1)
simple("split", [STRING, STRING, INT], array_of(STRING),
       lambda value, pattern, limit=-1: matching.split(value, pattern, limit), optional=1)
simple("repeat", [STRING, INT], STRING, lambda value, times: value * max(0, times))
simple("ascii", [STRING], INT, lambda value: ord(value[0]) if value else 0)
simple("space", [INT], STRING, lambda times: " " * max(0, times))
simple("regexp_like rlike regexp", [STRING, STRING], BOOLEAN,
       lambda value, pattern: matching.java_pattern(pattern).search(value) is not None)


@function("locate", "position", least=2, most=3)
def _locate(arguments: list[Typed], sql: str) -> Typed:
    part, value = (argument(item, STRING, sql) for item in arguments[:2])
    start = argument(arguments[2], INT, sql) if len(arguments) > 2 else constant(INT, 1)

    def run(row: Row) -> int | None:
        begin = start.run(row)
        if begin is None:
            return 0
        wanted = part.run(row)
        whole = None if wanted is None else value.run(row)
        if wanted is None or whole is None:
            return None
        if begin < 1:
            return 0
        return 1 if not wanted else int(whole.find(wanted, begin - 1)) + 1

    return Typed(INT, run, sql)


def _padded(left: bool) -> Callable[..., str]:
    def run(value: str, length: int, pad: str = " ") -> str:
        missing = length - len(value)
        if missing <= 0 or not pad:
            return value[:max(0, length)]
        filler = (pad * (missing // len(pad) + 1))[:missing]
        return filler + value if left else value + filler

    return run


for _name, _is_left in (("lpad", True), ("rpad", False)):
    @function(_name, least=2, most=3)
    def _pad(arguments: list[Typed], sql: str, left: bool = _is_left) -> Typed:
        if arguments[0].type == BINARY:
            raise UnsupportedError(f"the oracle pads text only, no bytes: {sql}")
        kinds = (STRING, INT, STRING)
        given = [argument(item, kind, sql) for item, kind in zip(arguments, kinds, strict=False)]
        return strict(STRING, _padded(left), given, sql)


@function("reverse", least=1, most=1)
def _reverse(arguments: list[Typed], sql: str) -> Typed:
    item = arguments[0] if isinstance(arguments[0].type, Array) else argument(arguments[0], STRING, sql)
    return strict(item.type, lambda value: value[::-1], [item], sql)


@function("concat")
def concatenated(arguments: list[Typed], sql: str) -> Typed:
    """Texts, bytes or arrays one behind the other."""
    if not arguments:
        return constant(STRING, "", sql)
    if any(isinstance(item.type, Array) for item in arguments):
        kind, items = unified(arguments, sql)
        return strict(kind, lambda *parts: [value for part in parts for value in part], items, sql)
    if all(item.type == BINARY for item in arguments):
        return strict(BINARY, lambda *parts: b"".join(parts), arguments, sql)
    texts = [argument(item, STRING, sql) for item in arguments]
    return strict(STRING, lambda *parts: "".join(parts), texts, sql)


@function("concat_ws", least=1)
def _joined(arguments: list[Typed], sql: str) -> Typed:
    items = [argument(item, array_of(STRING) if isinstance(item.type, Array) else STRING, sql) for item in arguments]

    def run(separator: str | None, *parts: Value) -> str | None:
        if separator is None:
            return None
        flat = [value for part in parts for value in (part if isinstance(part, list) else [part])]
        return separator.join(value for value in flat if value is not None)

    return eager(STRING, run, items, sql)


for _name, _test in (("contains", lambda a, b: b in a), ("startswith", lambda a, b: a.startswith(b)),
                     ("endswith", lambda a, b: a.endswith(b))):
    @function(_name, least=2, most=2)
    def _holds(arguments: list[Typed], sql: str, test: Callable[[Any, Any], bool] = _test) -> Typed:
        if all(item.type == BINARY for item in arguments):
            return strict(BOOLEAN, test, arguments, sql)
        return strict(BOOLEAN, test, [argument(item, STRING, sql) for item in arguments], sql)


def like(item: Typed, pattern: Typed, escape: str, sql: str, *, folded: bool = False) -> Typed:
    """LIKE and ILIKE."""
    for one in (item, pattern):
        if one.type not in (STRING, NULL) and not is_atomic(one.type):
            raise MismatchError(f"{sql}: LIKE takes text, not {one.type}")

    def run(value: str, wanted: str) -> bool:
        if folded:
            value, wanted = value.lower(), wanted.lower()
        return matching.like_pattern(wanted, escape).fullmatch(value) is not None

    return strict(BOOLEAN, run, [cast(item, STRING), cast(pattern, STRING)], sql)
