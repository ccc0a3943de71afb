"""Numbers in other bases, factorials and buckets."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.functions.binding.by_value import ValueFailure, value_function
from panewise.functions.binding.frame import as_numpy
from panewise.functions.binding.registry import function
from panewise.functions.casts.outcome import nulls_of
from panewise.functions.types import BIGINT, BINARY, DOUBLE, INT, INTERVAL_DAYS, INTERVAL_MONTHS, STRING

_WORD = (1 << 64) - 1
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@value_function("bin", takes=[BIGINT], gives=STRING)
def binary_digits(value: int) -> str:
    """The bits of a BIGINT, without zeros in front."""
    return f"{value & _WORD:b}"


@value_function("hex", takes=[BIGINT], gives=STRING)
def hexadecimal(value: int) -> str:
    """The bits of a BIGINT, four at a time."""
    return f"{value & _WORD:X}"


@value_function("hex", takes=[BINARY], gives=STRING)
def hexadecimal_of_bytes(value: bytes) -> str:
    """Every byte."""
    return value.hex().upper()


@value_function("hex", takes=[STRING], gives=STRING)
def hexadecimal_of_text(value: str) -> str:
    """Every byte in UTF-8."""
    return value.encode("utf-8", "surrogateescape").hex().upper()


@value_function("unhex", takes=[STRING], gives=BINARY)
def from_hexadecimal(text: str) -> bytes | None:
    """The bytes; a digit alone in front is half of one. Null for other characters."""
    if not re.fullmatch(r"[0-9a-fA-F]*", text):
        return None
    return bytes.fromhex(text.zfill(len(text) + len(text) % 2))


@value_function("factorial", takes=[INT], gives=BIGINT)
def factorial(value: int) -> int | None:
    """Of 0 to 20; others do not fit and are null."""
    return math.factorial(value) if 0 <= value <= 20 else None


@value_function("conv", takes=[STRING, INT, INT], gives=STRING)
def convert(text: str, given: int, to: int) -> str | None:
    """Digits of one base in another, within 64 bits; a negative target base writes a sign."""
    if not (2 <= given <= 36 and 2 <= abs(to) <= 36):
        return None
    text = text.strip(" ")
    if not text:
        return None
    negative = text.startswith("-")
    value = 0
    for letter in text[1:] if negative else text:
        digit = _DIGITS.find(letter.upper()) if letter.isascii() else -1
        if not 0 <= digit < given:
            break
        value = value * given + digit
        if value > _WORD:
            raise ValueFailure("ARITHMETIC_OVERFLOW", f"{text!r} in base {given} has more than 64 bits")
    if negative and to > 0:
        value = (-value) & _WORD if value < 1 << 63 else _WORD
    if to < 0 and value >> 63:
        value, negative = (-value) & _WORD, True
    elif to < 0 and not negative:
        negative = False
    digits = _in_base(value, abs(to))
    return "-" + digits if negative and to < 0 else digits


def _in_base(value: int, base: int) -> str:
    found = ""
    while value:
        value, digit = divmod(value, base)
        found = _DIGITS[digit] + found
    return found or "0"


def _bucket(values: pa.Array, low: pa.Array, high: pa.Array, count: pa.Array) -> pa.Array:
    """Which of so many equal parts between two bounds; 0 before the first, one more behind the last."""
    v, a, b = (_doubles(one) for one in (values, low, high))
    n = as_numpy(count, 0)
    wrong = (n <= 0) | (n == (1 << 63) - 1) | np.isnan(v) | (a == b) | ~np.isfinite(a) | ~np.isfinite(b)
    null = nulls_of(values) | nulls_of(low) | nulls_of(high) | nulls_of(count) | wrong
    with np.errstate(all="ignore"):
        down, up = np.minimum(a, b), np.maximum(a, b)
        parts = np.where(null, 1, n)
        place = np.where(a < b, parts * (v - down) / (up - down), parts * (up - v) / (up - down))
        inside = np.where(np.isfinite(place), place, 0).astype(np.int64) + 1
    before = np.where(a < b, v < down, v > up)
    behind = np.where(a < b, v >= up, v <= down)
    found = np.where(before, 0, np.where(behind, parts + 1, inside))
    return pa.array(found, BIGINT, mask=null)


def _doubles(values: pa.Array) -> Any:
    if values.type == INTERVAL_MONTHS:
        values = values.storage
    elif values.type == INTERVAL_DAYS:
        values = values.cast(pa.int64())
    return as_numpy(values, 0).astype(np.float64)


for _of in (DOUBLE, INTERVAL_DAYS, INTERVAL_MONTHS):
    function("width_bucket", takes=[_of, _of, _of, BIGINT], gives=BIGINT, arrays=True)(_bucket)

