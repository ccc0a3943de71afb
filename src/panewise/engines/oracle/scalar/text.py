"""Functions of text; positions count characters from 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from panewise.core.errors import UnsupportedError
from panewise.core.sizes import TOO_LARGE, too_large
from panewise.engines.oracle.scalar import matching
from panewise.engines.oracle.scalar import types as T
from panewise.engines.oracle.scalar.casts import cast
from panewise.engines.oracle.scalar.coercion import argument, unified
from panewise.engines.oracle.scalar.signatures import function, simple
from panewise.engines.oracle.scalar.typed import Failure, MismatchError, Typed, constant, strict

_INT_MAX = 2**31 - 1


def _text_or_bytes(item: Typed, sql: str) -> Typed:
    return item if item.type == T.BINARY else argument(item, T.STRING, sql)


simple("upper ucase", [T.STRING], T.STRING, str.upper)
simple("lower lcase", [T.STRING], T.STRING, str.lower)


@function("length", "len", "char_length", "character_length", least=1, most=1)
def _length(arguments: list[Typed], sql: str) -> Typed:
    return strict(T.INT, len, [_text_or_bytes(arguments[0], sql)], sql)


def sliced(value: Any, position: int, length: int = _INT_MAX) -> Any:
    """A part of a text or of bytes: from 1, from the end if negative; 0 counts as 1.

    >>> sliced("abc", 0, 2), sliced("abc", -2, 1), sliced("abc", -5, 3)
    ('ab', 'b', 'a')
    """
    start = position - 1 if position > 0 else len(value) + position if position < 0 else 0
    end = min(start + length, _INT_MAX)
    return value[:0] if end <= start or end <= 0 else value[max(start, 0):end]


@function("substring", "substr", least=2, most=3)
def _substring(arguments: list[Typed], sql: str) -> Typed:
    first = _text_or_bytes(arguments[0], sql)
    rest = [argument(item, T.INT, sql) for item in arguments[1:]]
    return strict(first.type, sliced, [first, *rest], sql)


def trim(side: str, item: Typed, chars: Typed | None, sql: str) -> Typed:
    """Characters taken from the ends; blanks if none are named."""
    if T.BINARY in (item.type, chars and chars.type):
        raise UnsupportedError(f"the oracle trims text only, no bytes: {sql}")
    strip: Callable[..., str] = {"BOTH": str.strip, "LEADING": str.lstrip, "TRAILING": str.rstrip}[side]
    given = [argument(item, T.STRING, sql), argument(chars or constant(T.STRING, " "), T.STRING, sql)]
    return strict(T.STRING, lambda value, cut: strip(value, cut) if cut else value, given, sql)


for _name, _side in (("trim", "BOTH"), ("ltrim", "LEADING"), ("rtrim", "TRAILING")):
    @function(_name, least=1, most=2)
    def _trim(arguments: list[Typed], sql: str, side: str = _side) -> Typed:
        return trim(side, arguments[-1], arguments[0] if len(arguments) > 1 else None, sql)


def _made(name: str, size: int) -> None:
    """Refuse what would be too large, before it is made."""
    problem = too_large(name, size)
    if problem is not None:
        raise Failure(TOO_LARGE, problem)


def _replaced(value: str, old: str, new: str) -> str:
    times = value.count(old)
    _made("replace", _utf8(value) - times * _utf8(old) + times * _utf8(new))
    return value.replace(old, new)


def _repeated(value: str, times: int) -> str:
    _made("repeat", _utf8(value) * max(0, times))
    return value * max(0, times)


def _utf8(value: str | bytes) -> int:
    return len(value if isinstance(value, bytes) else value.encode(errors="surrogatepass"))


def _behind_one_another(*parts: Any) -> Any:
    _made("concat", sum(map(_utf8, parts)))
    return (b"" if isinstance(parts[0], bytes) else "").join(parts)


simple("replace", [T.STRING, T.STRING, T.STRING], T.STRING,
       lambda value, old, new="": _replaced(value, old, new) if old else value, optional=1)
simple("instr", [T.STRING, T.STRING], T.INT, lambda value, part: value.find(part) + 1)
simple("split", [T.STRING, T.STRING, T.INT], T.Array(T.STRING),
       lambda value, pattern, limit=-1: matching.split(value, pattern, limit), optional=1)
simple("repeat", [T.STRING, T.INT], T.STRING, _repeated)
simple("regexp_like rlike regexp", [T.STRING, T.STRING], T.BOOLEAN,
       lambda value, pattern: matching.java_pattern(pattern).search(value) is not None)


@function("concat")
def concatenated(arguments: list[Typed], sql: str) -> Typed:
    """Texts, bytes or arrays one behind the other."""
    if not arguments:
        return constant(T.STRING, "", sql)
    if any(isinstance(item.type, T.Array) for item in arguments):
        kind, items = unified(arguments, sql)
        return strict(kind, lambda *parts: [value for part in parts for value in part], items, sql)
    if all(item.type == T.BINARY for item in arguments):
        return strict(T.BINARY, _behind_one_another, arguments, sql)
    texts = [argument(item, T.STRING, sql) for item in arguments]
    return strict(T.STRING, _behind_one_another, texts, sql)


for _name, _test in (("contains", lambda a, b: b in a), ("startswith", lambda a, b: a.startswith(b)),
                     ("endswith", lambda a, b: a.endswith(b))):
    @function(_name, least=2, most=2)
    def _holds(arguments: list[Typed], sql: str, test: Callable[[Any, Any], bool] = _test) -> Typed:
        if all(item.type == T.BINARY for item in arguments):
            return strict(T.BOOLEAN, test, arguments, sql)
        return strict(T.BOOLEAN, test, [argument(item, T.STRING, sql) for item in arguments], sql)


def like(item: Typed, pattern: Typed, escape: str, sql: str, *, folded: bool = False) -> Typed:
    """LIKE and ILIKE."""
    for one in (item, pattern):
        if one.type not in (T.STRING, T.NULL) and not T.is_atomic(one.type):
            raise MismatchError(f"{sql}: LIKE takes text, not {one.type}")

    def run(value: str, wanted: str) -> bool:
        if folded:
            value, wanted = value.lower(), wanted.lower()
        return matching.like_pattern(wanted, escape).fullmatch(value) is not None

    return strict(T.BOOLEAN, run, [cast(item, T.STRING), cast(pattern, T.STRING)], sql)
