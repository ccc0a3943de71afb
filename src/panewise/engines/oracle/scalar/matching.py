"""LIKE, and regular expressions as far as Python's mean what Java's mean."""

from __future__ import annotations

import re
from functools import lru_cache

from panewise.core.errors import UnsupportedError
from panewise.engines.oracle.scalar.typed import Failure

_LINE_END = "\n\r\u0085\u2028\u2029"
_ESCAPES = set("dDsSwWtnrf\\.[](){}^$*+?|-/\"'#&~@!%,:;<>=_` ")


@lru_cache(maxsize=512)
def like_pattern(pattern: str, escape: str = "\\") -> re.Pattern[str]:
    """A LIKE pattern; the escape character may only stand before ``_``, ``%`` or itself."""
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == escape:
            if at + 1 == len(pattern):
                raise Failure("INVALID_FORMAT.ESC_AT_THE_END", f"the pattern {pattern!r} ends with its escape")
            at += 1
            if pattern[at] not in ("_", "%", escape):
                raise Failure("INVALID_FORMAT.ESC_IN_THE_MIDDLE", f"{pattern!r} escapes {pattern[at]!r}")
            parts.append(re.escape(pattern[at]))
        else:
            parts.append({"_": ".", "%": ".*"}.get(char, re.escape(char)))
        at += 1
    return re.compile("".join(parts), re.DOTALL)


@lru_cache(maxsize=512)
def java_pattern(pattern: str) -> re.Pattern[str]:
    """A Java pattern in Python's syntax; what the two read differently is refused by name.

    >>> bool(java_pattern("a.b$").search("xa\\u2028b")), bool(java_pattern("a.b$").search("axb\\n"))
    (False, True)
    """
    parts: list[str] = []
    at, in_class = 0, False
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            if at + 1 == len(pattern):
                raise Failure("INVALID_PARAMETER_VALUE.PATTERN", f"the pattern {pattern!r} ends with a backslash")
            if pattern[at + 1] not in _ESCAPES:
                raise _refused(pattern, pattern[at:at + 2])
            parts.append(_space(pattern[at + 1], in_class))
            at += 2
            continue
        if in_class:
            if char == "[" or pattern.startswith("&&", at):
                raise _refused(pattern, char)
            in_class = char != "]"
            parts.append(char)
        elif char == "[":
            in_class = True
            parts.append(char)
            if pattern[at + 1:at + 2] == "^":
                parts.append("^")
                at += 1
            if pattern[at + 1:at + 2] == "]":
                raise _refused(pattern, "[]")
        elif char == ".":
            parts.append(f"[^{_LINE_END}]")
        elif char == "$":
            parts.append(f"(?=(?:\r\n|[{_LINE_END}])?\\Z)")
        elif pattern.startswith("(?", at) and not pattern.startswith("(?:", at):
            raise _refused(pattern, pattern[at:at + 3])
        else:
            parts.append(char)
        at += 1
    try:
        return re.compile("".join(parts), re.ASCII)
    except re.error as error:
        raise Failure("INVALID_PARAMETER_VALUE.PATTERN", f"{pattern!r} is no regular expression: {error}") from error


def _space(letter: str, in_class: bool) -> str:
    if letter == "s" and not in_class:
        return "[ \t\n\x0b\f\r]"
    return f"\\{letter}"


def _refused(pattern: str, part: str) -> UnsupportedError:
    return UnsupportedError(f"the oracle does not match the regular expression {pattern!r}: {part!r} means something "
                            "else in Python than in Java, or nothing")


def split(text: str, pattern: str, limit: int) -> list[str]:
    """A text cut at a pattern; trailing empty pieces stay."""
    if text and not pattern:
        count = len(text) if limit <= 0 or limit > len(text) else limit
        return [*text[:count - 1], text[count - 1:]] if 0 < limit < len(text) else list(text)
    pieces: list[str] = []
    at = 0
    for found in java_pattern(pattern).finditer(text):
        if limit > 0 and len(pieces) == limit - 1:
            break
        if found.end() == 0:
            continue  # an empty match at the beginning leaves no empty piece there
        if found.start() == found.end() == len(text):
            continue
        pieces.append(text[at:found.start()])
        at = found.end()
    pieces.append(text[at:])
    return pieces
