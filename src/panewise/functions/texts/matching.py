"""LIKE and regular expressions."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.sizes import TOO_LARGE, bytes_of_text, too_large
from panewise.functions.binding.bound import Bound, Constant
from panewise.functions.binding.by_value import PatternRefusal, ValueFailure, computed, value_function
from panewise.functions.binding.frame import Datum, Here
from panewise.functions.binding.registry import function
from panewise.functions.texts.linear_patterns import like_text, matched
from panewise.functions.texts.patterns import java_pattern, java_replacement, like_pattern, refused
from panewise.functions.types import BOOLEAN, INT, STRING

_PLAIN = re.compile(r"[^%_\\]*")
_LIST = pa.list_(STRING)
_BASES = ("Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Mn")


def _like(name: str, fold: bool) -> None:
    @function(name, takes=[STRING, STRING, STRING], gives=BOOLEAN, optional=1)
    def run(text: Datum, pattern: Datum, escape: Datum | None = None, *, here: Here) -> Datum:
        if not fold and escape is None and isinstance(pattern, pa.Scalar) and pattern.is_valid:
            inner = pattern.as_py()
            if _PLAIN.fullmatch(inner.strip("%")):  # a piece with or without % around it
                return _plain_like(text, inner)
            linear = like_text(inner)
            if linear is not None and "\0" not in inner:
                return pc.match_substring_regex(text, linear)
        data = [text, pattern] if escape is None else [text, pattern, escape]
        return computed(lambda t, p, e="\\": like_pattern(p, e, fold).fullmatch(t) is not None, data, here)


def _plain_like(text: Datum, pattern: str) -> Datum:
    piece = pattern.strip("%")
    if "%" not in pattern:
        return pc.equal(text, piece)
    if not pattern.endswith("%"):
        return pc.ends_with(text, piece)
    return pc.match_substring(text, piece) if pattern.startswith("%") else pc.starts_with(text, piece)


_like("like", fold=False)
_like("ilike", fold=True)


def refusal(arguments: Sequence[Bound]) -> str | None:
    """Why a constant pattern cannot be matched as Java matches it; None where it can, or is wrong in Java, too."""
    pattern = arguments[1]
    if not isinstance(pattern, Constant) or not pattern.value.is_valid:
        return None
    try:
        java_pattern(pattern.value.as_py())
    except PatternRefusal as problem:
        return problem.message
    except ValueFailure:
        pass
    return None


NOTE = "patterns of Java that Python cannot match alike are refused"


def _compiled(pattern: str, text: str) -> re.Pattern[str]:
    """The pattern for one text: a combining mark belongs to the word of the letter before it."""
    marks = "\\b" in pattern.lower() and not text.isascii() and any(unicodedata.category(c) == "Mn" for c in text)
    if marks and any(unicodedata.category(c) == "Mn" and unicodedata.category(before) not in _BASES
                     for before, c in zip(" " + text, text, strict=False)):
        raise refused(pattern, "a boundary of words (and the text a combining mark without a letter)")
    return java_pattern(pattern, marks)


def _all(pattern: re.Pattern[str], text: str) -> tuple[list[re.Match[str]], str]:
    """Every match as Java finds them, and the text they were found in.

    After an empty match Java goes on one UTF-16 unit further, which may be in the middle of a character: such a
    character becomes the two surrogates it consists of.
    """
    found, at = [], 0
    while at <= len(text):
        match = pattern.search(text, at)
        if match is None:
            break
        found.append(match)
        at = match.end()
        if match.start() == at:
            if at < len(text) and ord(text[at]) > 0xFFFF:
                code = ord(text[at]) - 0x10000
                text = text[:at] + chr(0xD800 + (code >> 10)) + chr(0xDC00 + (code & 0x3FF)) + text[at + 1:]
            at += 1
    return found, text


def _mended(text: str) -> str:
    """Surrogates side by side as one character again, others as Java writes them in UTF-8."""
    if text.isascii() or not re.search("[\ud800-\udfff]", text):
        return text
    joined = re.sub("[\ud800-\udbff][\udc00-\udfff]",
                    lambda m: chr(0x10000 + ((ord(m[0][0]) - 0xD800) << 10) + ord(m[0][1]) - 0xDC00), text)
    return re.sub("[\ud800-\udfff]", "?", joined)


@function("rlike", "regexp", "regexp_like", takes=[STRING, STRING], gives=BOOLEAN, check=refusal, note=NOTE)
def rlike(text: Datum, pattern: Datum, here: Here) -> Datum:
    """Whether a regular expression matches somewhere."""
    quick = matched(text, pattern.as_py()) if isinstance(pattern, pa.Scalar) and pattern.is_valid and \
        isinstance(text, pa.Array) else None
    if quick is None:
        return _searched(text, pattern, here)
    answer, undecided = quick
    if undecided is None or not pc.any(undecided, min_count=0).as_py():
        return answer
    rows = pc.fill_null(undecided, False)
    there = Here(here.frame.select(rows), here.type, here.zone, here.expression)
    return pc.replace_with_mask(answer, rows, _searched(text.filter(rows), pattern, there))


def _searched(text: Datum, pattern: Datum, here: Here) -> pa.Array:
    return computed(lambda one, other: _compiled(other, one).search(one) is not None, [text, pattern], here)


def _group(found: re.Match[str] | None, pattern: re.Pattern[str], group: int) -> str:
    if not 0 <= group <= pattern.groups:
        raise ValueFailure("INVALID_PARAMETER_VALUE.REGEX_GROUP_INDEX",
                           f"there is no group {group}; the pattern has {pattern.groups}")
    return "" if found is None else found[group] or ""


@value_function("regexp_extract", takes=[STRING, STRING, INT], gives=STRING, optional=1, check=refusal, note=NOTE)
def regexp_extract(text: str, pattern: str, group: int = 1) -> str:
    """A group of the first match; empty if there is none."""
    compiled = _compiled(pattern, text)
    found = compiled.search(text)
    return "" if found is None else _group(found, compiled, group)


@value_function("regexp_extract_all", takes=[STRING, STRING, INT], gives=_LIST, optional=1, check=refusal, note=NOTE)
def regexp_extract_all(text: str, pattern: str, group: int = 1) -> list[str]:
    """A group of every match."""
    compiled = _compiled(pattern, text)
    return [_mended(_group(found, compiled, group)) for found in _all(compiled, text)[0]]


@value_function("regexp_replace", takes=[STRING, STRING, STRING, INT], gives=STRING, optional=1,
                constants=[3], check=refusal, note=NOTE)
def regexp_replace(text: str, pattern: str, by: str, position: int = 1) -> str:
    """Every match from a position on, replaced; $1 stands for a group."""
    if position < 1:
        raise ValueFailure("DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE", f"the position {position} is below one")
    if position > 1 and position > len(text):
        return text
    compiled = _compiled(pattern, text)
    found, rest = _all(compiled, text[position - 1:])
    if not found:
        return text
    parts = java_replacement(compiled, by)
    out, begin = [text[:position - 1]], 0
    made = bytes_of_text(text)
    for match in found:
        by = "".join([(match[part] or "") if isinstance(part, int) else part for part in parts])
        made += bytes_of_text(by) - bytes_of_text(match[0])
        problem = too_large("regexp_replace", made)
        if problem is not None:
            raise ValueFailure(TOO_LARGE, problem)
        out += [rest[begin:match.start()], by]
        begin = match.end()
    return _mended("".join([*out, rest[begin:]]))


@value_function("regexp_count", takes=[STRING, STRING], gives=INT, check=refusal, note=NOTE)
def regexp_count(text: str, pattern: str) -> int:
    """How many matches there are."""
    return len(_all(_compiled(pattern, text), text)[0])


@value_function("regexp_instr", takes=[STRING, STRING, INT], gives=INT, optional=1, check=refusal, note=NOTE)
def regexp_instr(text: str, pattern: str, _group_number: int = 0) -> int:
    """Where the first match begins; 0 if there is none."""
    found = _compiled(pattern, text).search(text)
    return 0 if found is None else found.start() + 1


@value_function("regexp_substr", takes=[STRING, STRING], gives=STRING, check=refusal, note=NOTE)
def regexp_substr(text: str, pattern: str) -> str | None:
    """The first match; null if there is none."""
    found = _compiled(pattern, text).search(text)
    return None if found is None or not found[0] else found[0]


@value_function("split", takes=[STRING, STRING, INT], gives=_LIST, optional=1, check=refusal, note=NOTE)
def split(text: str, pattern: str, limit: int = -1) -> list[str]:
    """The pieces between matches; at most ``limit`` of them where it is positive."""
    if not pattern:
        return _characters(text, limit)
    pieces: list[str] = []
    begin = 0
    matches, rest = _all(_compiled(pattern, text), text)
    for found in matches:
        if 0 < limit <= len(pieces) + 1:
            break
        if found.end() == 0:  # an empty match at the beginning makes no empty piece
            continue
        pieces.append(_mended(rest[begin:found.start()]))
        begin = found.end()
    return [*pieces, _mended(rest[begin:])]


def _characters(text: str, limit: int) -> list[str]:
    if not text:
        return [""]
    if 0 < limit < len(text):
        return [*text[:limit - 1], text[limit - 1:]]
    return list(text)
