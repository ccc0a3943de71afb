"""Constant patterns that Arrow's matcher (RE2) answers as Java's does: only whether they match, and only plain ones.

Whether there is a match is the same question for a backtracking matcher and for RE2, as long as every piece of the
pattern means the same set of texts. Everything else goes to Python's ``re``, value by value.
"""

from __future__ import annotations

import re
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

_DOT = r"[^\n\r\x{85}\x{2028}\x{2029}]"
_PIECE = re.compile(
    r"(?P<plain>[^\\.^$*+?{}()\[\]|]|\\[.*+?()\[\]{}|^$\\/-]|\\[dDwW]|[*+?]\??|\{\d{1,3}(?:,\d{0,3})?\}\??|\((?:\?:)?|\)|\|"
    r"|\[\^?(?:[^\\\[\]&^]|\\[.*+?()\[\]{}|^$\\/-]|\\[dDwW])+\])|(?P<dot>\.)|(?P<space>\\s)")


@lru_cache(maxsize=256)
def linear(pattern: str) -> tuple[str, bool] | None:
    r"""The pattern for RE2, and whether it ends with $; None where it has to be matched by Python.

    >>> linear("^a.c$")
    ('^(?:a[^\\n\\r\\x{85}\\x{2028}\\x{2029}]c)', True)
    """
    at, end = int(pattern.startswith("^")), len(pattern) - int(pattern.endswith("$") and not pattern.endswith("\\$"))
    if "\0" in pattern or (end < len(pattern) and "|" in pattern) or (at and "|" in pattern):
        return None
    parts = []
    while at < end:
        found = _PIECE.match(pattern, at, end)
        if found is None:
            return None
        parts.append(_DOT if found["dot"] else r"[ \t\n\x0B\f\r]" if found["space"] else found[0])
        at = found.end()
    return f"{'^' if pattern.startswith('^') else ''}(?:{''.join(parts)})", end < len(pattern)


def matched(text: pa.Array, pattern: str) -> tuple[pa.Array, pa.Array | None] | None:
    """Where a pattern matches somewhere, and which rows are not decided; None where none is."""
    found = linear(pattern)
    if found is None:
        return None
    translated, ends = found
    if ends:
        translated += r"(?:[\n\r\x{85}\x{2028}\x{2029}])?\z"
    try:
        answer = pc.match_substring_regex(text, translated)
    except pa.ArrowInvalid:
        return None
    open_rows = pc.match_substring(text, "\r\n") if ends else None  # $ stands before both of them, or behind
    return answer, open_rows


@lru_cache(maxsize=256)
def like_text(pattern: str) -> str | None:
    r"""A LIKE pattern for RE2; None where an escape is wrong.

    >>> like_text("a_%.")
    '^(?s:a..*\\.)\\z'
    """
    out, at = [], 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == "\\":
            if pattern[at + 1:at + 2] not in ("%", "_", "\\"):
                return None
            at += 1
            sign = pattern[at]
            out.append(_literal(sign))
        else:
            out.append({"%": ".*", "_": "."}.get(sign) or _literal(sign))
        at += 1
    return f"^(?s:{''.join(out)})\\z"


def _literal(sign: str) -> str:
    return "\\" + sign if sign in "\\.+*?()|[]{}^$" else sign
