"""Datetime patterns as Spark reads them: letters, quoted text, optional sections."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from panewise.functions.binding.bound import Bound, Constant
from panewise.functions.binding.by_value import PatternRefusal, ValueFailure

UNWRITTEN, UNREAD = "z", "zOG"
"""Letters whose names and forms are not written, or not read, as Java does it."""
BAD_PATTERN = "INVALID_DATETIME_PATTERN.WITH_SUGGESTION"
LETTERS = "yuMLdDQqHhKkmsSaEFVzOXxZG"
MOST = {"y": 6, "u": 6, "M": 4, "L": 4, "d": 2, "D": 3, "Q": 4, "q": 4, "H": 2, "h": 2, "K": 2, "k": 2, "m": 2, "s": 2,
        "S": 9, "a": 1, "E": 4, "F": 1, "V": 2, "z": 4, "O": 4, "X": 5, "x": 5, "Z": 5, "G": 4}
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True)
class Field:
    """A letter, repeated."""

    letter: str
    count: int


@dataclass(frozen=True)
class Text:
    """Text as it stands."""

    text: str


@dataclass(frozen=True)
class Optional:
    """A section in brackets: written always, read where it is there."""

    parts: tuple[Part, ...]


Part = Field | Text | Optional


@lru_cache(maxsize=256)
def pattern_parts(pattern: str) -> tuple[Part, ...]:
    """The parts of a pattern; refused as Spark refuses it.

    >>> pattern_parts("yy'T'H")
    (Field(letter='y', count=2), Text(text='T'), Field(letter='H', count=1))
    """
    parts, at = _parts(pattern, 0, nested=False)
    if at != len(pattern):
        raise _bad(pattern)
    return parts


def _bad(pattern: str) -> ValueFailure:
    return ValueFailure(BAD_PATTERN, f"{pattern[:60]!r} is no datetime pattern")


def illegal(sign: str, pattern: str) -> ValueFailure:
    """A letter that Spark does not take."""
    return ValueFailure("INVALID_DATETIME_PATTERN.ILLEGAL_CHARACTER", f"{sign!r} is not taken: {pattern[:60]!r}")


def _parts(pattern: str, at: int, *, nested: bool) -> tuple[tuple[Part, ...], int]:
    parts: list[Part] = []
    while at < len(pattern):
        sign = pattern[at]
        if sign == "]":
            if not nested:
                raise _bad(pattern)
            return tuple(parts), at
        if sign == "[":
            inner, end = _parts(pattern, at + 1, nested=True)
            if end >= len(pattern):
                raise _bad(pattern)
            parts.append(Optional(inner))
            at = end + 1
        elif sign == "'":
            text, at = _quoted(pattern, at)
            parts.append(Text(text))
        elif sign.isascii() and sign.isalpha():
            end = at
            while end < len(pattern) and pattern[end] == sign:
                end += 1
            if sign in "AuYwW" or (sign == "M" and end - at > MOST[sign]):
                raise ValueFailure("INCONSISTENT_BEHAVIOR_CROSS_VERSION.DATETIME_PATTERN_RECOGNITION",
                                   f"{sign * (end - at)!r} had another meaning before Spark 3: {pattern[:60]!r}")
            if sign in "BnNp":
                raise illegal(sign, pattern)
            if sign not in LETTERS or end - at > MOST[sign] or (sign == "V" and end - at != 2):
                raise _bad(pattern)
            parts.append(Field(sign, end - at))
            at = end
        elif sign in "{}#":
            raise _bad(pattern)
        else:
            parts.append(Text(sign))
            at += 1
    if nested:
        return tuple(parts), at
    return tuple(parts), at


def letters_of(parts: tuple[Part, ...]) -> frozenset[str]:
    """The letters a pattern uses."""
    return frozenset().union(*(letters_of(part.parts) if isinstance(part, Optional) else
                               {part.letter} if isinstance(part, Field) else () for part in parts))


def refuse_letters(pattern: str, letters: str, verb: str) -> None:
    """Refuse a pattern that has a meaning in Spark and none here: names of zones are Java's, with its version."""
    found = sorted(letters_of(pattern_parts(pattern)) & set(letters))
    if found:
        raise PatternRefusal(f"the pattern {pattern[:60]!r} has {found[0]!r}, which is not {verb} here: use XXX for "
                             "the offset, VV for the zone")


def refusal(letters: str, verb: str, at: int = 1) -> Callable[[Sequence[Bound]], str | None]:
    """Why a constant pattern is refused; None where it is not, or is wrong in Spark, too."""
    def check(arguments: Sequence[Bound]) -> str | None:
        pattern = arguments[at] if len(arguments) > at else None
        if not isinstance(pattern, Constant) or not pattern.value.is_valid:
            return None
        try:
            refuse_letters(pattern.value.as_py(), letters, verb)
        except PatternRefusal as problem:
            return problem.message
        except ValueFailure:
            pass
        return None
    return check


def _quoted(pattern: str, at: int) -> tuple[str, int]:
    found = re.match(r"'((?:[^']|'')*)'", pattern[at:])
    if found is None:
        raise _bad(pattern)
    return ("'" if not found[1] else found[1].replace("''", "'")), at + found.end()
