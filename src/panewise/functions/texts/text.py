"""Functions of text: case, length, pieces, padding. Positions count characters (code points) from one."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.sizes import LARGEST_MADE, bytes_of_text
from panewise.functions.binding.by_value import ValueFailure, computed, value_function
from panewise.functions.binding.frame import Datum, Here
from panewise.functions.binding.kinds import TEXT_OR_BINARY, same
from panewise.functions.binding.registry import Kind, function
from panewise.functions.binding.sizes import bytes_of, must_fit
from panewise.functions.types import BINARY, BOOLEAN, INT, STRING, is_nested

INT_MAX = (1 << 31) - 1
T = TypeVar("T", str, bytes)


def _ascii(text: Datum) -> bool:
    """Whether every character is one byte."""
    if isinstance(text, pa.Scalar):
        return not text.is_valid or text.as_py().isascii()
    return bool(pc.all(pc.string_is_ascii(text), min_count=0).as_py())


@function("upper", "ucase", takes=[STRING], gives=STRING)
def upper(text: Datum, here: Here) -> Datum:
    """Every letter in upper case; ß becomes SS."""
    return pc.ascii_upper(text) if _ascii(text) else computed(str.upper, [text], here)


@function("lower", "lcase", takes=[STRING], gives=STRING)
def lower(text: Datum, here: Here) -> Datum:
    """Every letter in lower case."""
    return pc.ascii_lower(text) if _ascii(text) else computed(str.lower, [text], here)


@value_function("initcap", takes=[STRING], gives=STRING)
def initcap(text: str) -> str:
    """The first letter of every word in upper case, the others in lower case; words are parted by spaces."""
    return " ".join(word[:1].title() + word.lower()[len(word[:1].lower()):] for word in text.split(" "))


@function("length", "len", "char_length", "character_length", takes=[TEXT_OR_BINARY], gives=INT)
def length(text: Datum) -> Datum:
    """How many characters, or bytes."""
    return pc.utf8_length(text) if text.type == STRING else pc.binary_length(text)


@function("octet_length", takes=[TEXT_OR_BINARY], gives=INT)
def octet_length(text: Datum) -> Datum:
    """How many bytes."""
    return pc.binary_length(text)


@function("bit_length", takes=[TEXT_OR_BINARY], gives=INT)
def bit_length(text: Datum) -> Datum:
    """How many bits."""
    return pc.multiply(pc.binary_length(text), pa.scalar(8, INT))


@function("substring", "substr", takes=[TEXT_OR_BINARY, INT, INT], gives=same, optional=1)
def substring(text: Datum, position: Datum, size: Datum | None = None, *, here: Here) -> Datum:
    """A piece from a position; zero means the first place, a negative one counts from the end."""
    if text.type == STRING and _at_least(position, 0) and (size is None or _at_least(size, 0)):
        start = max(position.as_py() - 1, 0)
        stop = None if size is None else start + size.as_py()
        return pc.utf8_slice_codeunits(text, start, stop if stop is None or stop < INT_MAX else None) \
            if stop is None or stop > start else pc.utf8_slice_codeunits(text, 0, 0)
    return computed(_piece, [text, position] if size is None else [text, position, size], here)


def _at_least(value: Datum, least: int) -> bool:
    return isinstance(value, pa.Scalar) and value.is_valid and value.as_py() >= least


def _piece(text: Any, position: int, size: int = INT_MAX) -> Any:
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    end = min(start + size, INT_MAX)
    return text[max(start, 0):max(end, 0)] if end > start else text[:0]


@function("left", takes=[TEXT_OR_BINARY, INT], gives=same)
def left(text: Datum, size: Datum, here: Here) -> Datum:
    """The first characters."""
    return substring(text, pa.scalar(1, INT), size, here=here)


NOT_BINARY = Kind("string", lambda given: given == STRING,
                  lambda given: None if is_nested(given) or given == BINARY else STRING)
"""Spark counts characters in bytes that need not be UTF-8, and may read beyond their end: that is not followed."""


@value_function("right", takes=[NOT_BINARY, INT], gives=STRING)
def right(text: str, size: int) -> str:
    """The last characters."""
    return "" if size <= 0 else text[-size:]


@value_function("substring_index", takes=[STRING, STRING, INT], gives=STRING)
def substring_index(text: str, delimiter: str, count: int) -> str:
    """What stands before the count-th delimiter, or behind it from the end."""
    if not delimiter or not count:
        return ""
    at = -1 if count > 0 else len(text)
    for _ in range(abs(count)):
        at = text.find(delimiter, at + 1) if count > 0 else text.rfind(delimiter, 0, at + len(delimiter) - 1)
        if at < 0:
            return text
    return text[:at] if count > 0 else text[at + len(delimiter):]


def _trimming(name: str, arrow: Any, plain: Any) -> None:
    """TRIM(characters FROM text) is trim(characters, text); only btrim takes the text first."""

    @function(name, takes=[STRING], gives=STRING)
    def spaces(text: Datum) -> Datum:
        return arrow(text, characters=" ")

    @function(name, takes=[STRING, STRING], gives=STRING)
    def characters(trimmed: Datum, text: Datum, here: Here) -> Datum:
        if name == "btrim":
            trimmed, text = text, trimmed
        if isinstance(trimmed, pa.Scalar) and trimmed.is_valid and trimmed.as_py():
            return arrow(text, characters=trimmed.as_py())
        return computed(lambda one, other: plain(one, other) if other else one, [text, trimmed], here)


_trimming("trim", pc.utf8_trim, str.strip)
_trimming("btrim", pc.utf8_trim, str.strip)
_trimming("ltrim", pc.utf8_ltrim, str.lstrip)
_trimming("rtrim", pc.utf8_rtrim, str.rstrip)


def _padding(text: T, size: int, pad: T, *, before: bool) -> T:
    if size <= 0:
        return text[:0]
    if len(text) >= size or not pad:
        return text[:size]
    missing = size - len(text)
    filled = (pad * (missing // len(pad) + 1))[:missing]
    return filled + text if before else text + filled


def _padded_size(text: str | bytes, size: int, pad: str | bytes = " ") -> int:
    missing = size - len(text)
    if missing <= 0 or not pad:
        return bytes_of_text(text)
    return bytes_of_text(text) + missing // len(pad) * bytes_of_text(pad) + bytes_of_text(pad[:missing % len(pad)])


@value_function("lpad", takes=[STRING, INT, STRING], gives=STRING, optional=1, size=_padded_size)
def lpad(text: str, size: int, pad: str = " ") -> str:
    """Filled up on the left, or cut."""
    return _padding(text, size, pad, before=True)


@value_function("rpad", takes=[STRING, INT, STRING], gives=STRING, optional=1, size=_padded_size)
def rpad(text: str, size: int, pad: str = " ") -> str:
    """Filled up on the right, or cut."""
    return _padding(text, size, pad, before=False)


@value_function("lpad", takes=[BINARY, INT, BINARY], gives=BINARY, optional=1, size=_padded_size)
def lpad_binary(text: bytes, size: int, pad: bytes = b"\0") -> bytes:
    """Filled up on the left, or cut."""
    return _padding(text, size, pad, before=True)


@value_function("rpad", takes=[BINARY, INT, BINARY], gives=BINARY, optional=1, size=_padded_size)
def rpad_binary(text: bytes, size: int, pad: bytes = b"\0") -> bytes:
    """Filled up on the right, or cut."""
    return _padding(text, size, pad, before=False)


@function("repeat", takes=[STRING, INT], gives=STRING)
def repeat(text: Datum, times: Datum, here: Here) -> Datum:
    """The text several times."""
    return _repeated("repeat", text, times, here)


def _repeated(name: str, text: Datum, times: Datum, here: Here) -> Datum:
    counts = pc.max_element_wise(times, pa.scalar(0, INT), skip_nulls=False)
    must_fit(name, bytes_of(text, here) * here.array(counts).fill_null(0).to_numpy(zero_copy_only=False), here)
    return pc.binary_repeat(text, counts)


@function("space", takes=[INT], gives=STRING)
def space(times: Datum, here: Here) -> Datum:
    """So many spaces."""
    return _repeated("space", pa.scalar(" "), times, here)


@function("reverse", takes=[STRING], gives=STRING)
def reverse(text: Datum) -> Datum:
    """The characters from last to first."""
    return pc.utf8_reverse(text)


@function("replace", takes=[STRING, STRING, STRING], gives=STRING, optional=1)
def replace(text: Datum, search: Datum, by: Datum | None = None, *, here: Here) -> Datum:
    """Every occurrence of a text replaced by another; an empty one occurs nowhere."""
    other = pa.scalar("") if by is None else by
    if isinstance(search, pa.Scalar) and isinstance(other, pa.Scalar) and search.is_valid and other.is_valid:
        if not search.as_py():
            return text
        more = bytes_of_text(other.as_py()) - bytes_of_text(search.as_py())
        if more > 0:
            found = here.array(pc.count_substring(text, search.as_py())).fill_null(0).to_numpy(zero_copy_only=False)
            must_fit("replace", bytes_of(text, here) + found.astype(np.int64) * more, here)
        return pc.replace_substring(text, search.as_py(), other.as_py())
    return computed(lambda t, s, b: t.replace(s, b) if s else t, [text, search, other], here,
                    size=("replace", _replaced_size))


def _replaced_size(text: str, search: str, by: str) -> int:
    found = text.count(search) if search else 0
    return bytes_of_text(text) + found * (bytes_of_text(by) - bytes_of_text(search))


@value_function("translate", takes=[STRING, STRING, STRING], gives=STRING)
def translate(text: str, letters: str, others: str) -> str:
    """Letters replaced by others at the same place; those without one are left out."""
    table: dict[int, str | None] = {}
    for i, letter in enumerate(letters):
        table.setdefault(ord(letter), others[i] if i < len(others) else None)
    return text.translate(table)


@value_function("overlay", takes=[BINARY, BINARY, INT, INT], gives=BINARY, optional=1)
@value_function("overlay", takes=[STRING, STRING, INT, INT], gives=STRING, optional=1)
def overlay(text: T, by: T, position: int, size: int = -1) -> T:
    """A piece of the text replaced by another text."""
    taken = len(by) if size < 0 else size
    before: T = _piece(text, 1, position - 1)
    behind: T = _piece(text, position + taken, len(text) + (1 << 32))
    return before + by + behind


@value_function("split_part", takes=[STRING, STRING, INT], gives=STRING)
def split_part(text: str, delimiter: str, number: int) -> str:
    """One of the parts between delimiters; negative numbers count from the end."""
    if number == 0:
        raise ValueFailure("INVALID_INDEX_OF_ZERO", "parts are counted from one")
    parts = text.split(delimiter) if delimiter else [text]
    at = number - 1 if number > 0 else len(parts) + number
    return parts[at] if 0 <= at < len(parts) else ""


@value_function("instr", takes=[STRING, STRING], gives=INT)
def instr(text: str, piece: str) -> int:
    """Where a piece first occurs; 0 if nowhere."""
    return text.find(piece) + 1


@value_function("locate", "position", takes=[STRING, STRING, INT], gives=INT, optional=1, nulls=True)
def locate(piece: str | None, text: str | None, start: int | None = 1) -> int | None:
    """Where a piece first occurs from a place on; 0 if nowhere, or from nowhere."""
    if start is None:
        return 0
    if piece is None or text is None:
        return None
    if start < 1:
        return 0
    return text.find(piece, start - 1) + 1 if piece else 1


@value_function("find_in_set", takes=[STRING, STRING], gives=INT)
def find_in_set(text: str, listed: str) -> int:
    """The place of a text in a list parted by commas; 0 if it is not there or has a comma."""
    parts = listed.split(",")
    return 0 if "," in text or text not in parts else parts.index(text) + 1


def _matching(name: str, arrow: Any, plain: Any) -> None:
    @function(name, takes=[TEXT_OR_BINARY, TEXT_OR_BINARY], gives=BOOLEAN)
    def run(text: Datum, piece: Datum, here: Here) -> Datum:
        if isinstance(piece, pa.Scalar) and piece.is_valid:
            return arrow(text, piece.as_py())
        return computed(plain, [text, piece], here)


_matching("contains", pc.match_substring, lambda text, piece: piece in text)
_matching("startswith", pc.starts_with, lambda text, piece: text.startswith(piece))
_matching("endswith", pc.ends_with, lambda text, piece: text.endswith(piece))


def concat(*texts: Datum, here: Here) -> Datum:
    """Texts behind one another; null if one is null."""
    if not texts:
        return pa.scalar("", STRING)
    parts = [t.cast(here.type) for t in texts]
    if sum(p.nbytes if isinstance(p, pa.Array) else p.as_buffer().size * here.rows for p in parts
           if not isinstance(p, pa.Scalar) or p.is_valid) > LARGEST_MADE:
        must_fit("concat", np.asarray(sum(bytes_of(p, here) for p in parts)), here)
    return pc.binary_join_element_wise(*parts, pa.scalar("" if here.type == STRING else b"", here.type))


@value_function("elt", takes=[INT, BINARY], gives=BINARY, variadic=True, nulls=True)
@value_function("elt", takes=[INT, STRING], gives=STRING, variadic=True, nulls=True)
def elt(number: int | None, *texts: T | None) -> T | None:
    """One of several texts, by its number."""
    if number is None:
        return None
    if not 1 <= number <= len(texts):
        raise ValueFailure("INVALID_ARRAY_INDEX", f"there is no text {number} of {len(texts)}")
    return texts[number - 1]


@value_function("ascii", takes=[STRING], gives=INT)
def ascii_(text: str) -> int:
    """The number of the first character."""
    return ord(text[0]) if text else 0


@value_function("chr", "char", takes=[pa.int64()], gives=STRING)
def chr_(number: int) -> str:
    """The character of a number below 256."""
    return "" if number < 0 else chr(number & 0xFF)


@value_function("soundex", takes=[STRING], gives=STRING)
def soundex(text: str) -> str:
    """A code of how an English word sounds."""
    codes = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "01230127022455012623017202", strict=True))
    if not text or not ("a" <= text[0] <= "z" or "A" <= text[0] <= "Z"):
        return text
    found = text[0].upper()
    last = codes[found]
    for letter in text[1:]:
        if not (letter.isascii() and letter.isalpha()):
            last = "0"
            continue
        code = codes[letter.upper()]
        if code == "7":
            continue
        if code not in ("0", last):
            found += code
            if len(found) == 4:
                break
        last = code
    return found.ljust(4, "0")


@value_function("levenshtein", takes=[STRING, STRING], gives=INT)
def levenshtein(one: str, other: str) -> int:
    """How many characters differ, at least."""
    return _distance(one, other)


@value_function("levenshtein", takes=[STRING, STRING, INT], gives=INT, nulls=True)
def near(one: str | None, other: str | None, most: int | None) -> int | None:
    """How many characters differ, at least; -1 beyond a limit, which is zero where it is null."""
    if one is None or other is None:
        return None
    found = _distance(one, other)
    return -1 if found > (most or 0) else found


def _distance(one: str, other: str) -> int:
    previous = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            row.append(min(previous[j] + 1, row[-1] + 1, previous[j - 1] + (a != b)))
        previous = row
    return previous[-1]


def _masked_size(text: str | None, *by: str | None) -> int:
    return len(text or "") * max([4, *[bytes_of_text(one) for one in by if one is not None]])


@value_function("mask", takes=[STRING, STRING, STRING, STRING, STRING], gives=STRING, optional=4, nulls=True,
                size=_masked_size)
def mask(text: str | None, upper_by: str | None = "X", lower_by: str | None = "x", digit_by: str | None = "n",
         other_by: str | None = None) -> str | None:
    """Letters and digits replaced; null keeps what it stands for."""
    if text is None:
        return None
    return "".join(letter if by is None else by for letter in text for by in [
        upper_by if letter.isupper() else lower_by if letter.islower() else digit_by if letter.isdecimal() else
        other_by])


@value_function("luhn_check", takes=[STRING], gives=BOOLEAN)
def luhn_check(text: str) -> bool:
    """Whether the last digit checks the others."""
    if not text or not (text.isascii() and text.isdigit()):
        return False
    digits = [int(d) for d in reversed(text)]
    doubled = [d if i % 2 == 0 else d * 2 - 9 * (d > 4) for i, d in enumerate(digits)]
    return sum(doubled) % 10 == 0


@value_function("quote", takes=[STRING], gives=STRING)
def quote(text: str) -> str:
    """The text in single quotes, with those inside escaped."""
    return "'" + text.replace("'", "\\'") + "'"
