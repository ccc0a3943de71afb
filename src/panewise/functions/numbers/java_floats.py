"""Floats as text, digit for digit as Java 17 writes them.

Java 17 does not always write the shortest digits that read back to the same value (5e-324 is 4.9E-324 and 2e23 is
1.9999999999999998E23, by its own algorithm ``FloatingDecimal.dtoa``), so that algorithm is written here again.
Between 0.001 and 10,000,000 it gives the shortest digits, which Arrow writes for a whole column; a power of two is the
exception there.
"""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.functions.types import DOUBLE, STRING

_FIVES = [5 ** i for i in range(27)]
_BITS_OF_FIVES = [0] + [(5 ** i).bit_length() for i in range(1, 27)]
_MANTISSA = 52


def float_texts(values: pa.Array) -> pa.Array:
    """A column of FLOAT or DOUBLE as text."""
    numbers = values.fill_null(0).to_numpy(zero_copy_only=False)
    size = np.abs(numbers)
    with np.errstate(invalid="ignore"):
        plain = ((size >= 1e-3) & (size < 1e7) & (np.frexp(size)[0] != 0.5)) | (size == 0)
    shortest = values.cast(STRING)
    whole = pc.invert(pc.match_substring(shortest, "."))
    texts = pc.if_else(whole, pc.binary_join_element_wise(shortest, "0", "."), shortest)
    if plain.all():
        return texts
    odd = pa.array(~plain)
    encoded = values.filter(odd).dictionary_encode()
    write = double_text if values.type == DOUBLE else single_text
    known = pa.array([write(value) for value in encoded.dictionary.to_pylist()], STRING)
    return pc.replace_with_mask(texts, odd, known.take(encoded.indices))


def double_text(value: float) -> str:
    """``Double.toString``.

    >>> [double_text(v) for v in (1.0, 1e7, 0.001, 1e-5, 5e-324, float("nan"), -0.0, 100.125)]
    ['1.0', '1.0E7', '0.001', '1.0E-5', '4.9E-324', 'NaN', '-0.0', '100.125']
    """
    (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    return _text(value, bits & (1 << _MANTISSA) - 1, bits >> _MANTISSA & 0x7FF, _MANTISSA, 1023)


def single_text(value: float) -> str:
    """``Float.toString`` of a FLOAT given as the double of equal value.

    >>> [single_text(v) for v in (0.10000000149011612, 1.401298464324817e-45, 16777216.0)]
    ['0.1', '1.4E-45', '1.6777216E7']
    """
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    return _text(value, bits & (1 << 23) - 1, bits >> 23 & 0xFF, 23, 127)


def _text(value: float, fraction: int, exponent: int, width: int, bias: int) -> str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    sign = "-" if math.copysign(1, value) < 0 else ""
    if exponent == 0:
        if not fraction:
            return sign + "0.0"
        significant = fraction.bit_length()
        shift = width + 1 - significant
        fraction, exponent = fraction << shift, 1 - shift
    else:
        fraction, significant = fraction | 1 << width, width + 1
    digits, point = _digits(exponent - bias, fraction << (_MANTISSA - width), significant)
    return sign + _placed(digits, point)


def _placed(digits: str, point: int) -> str:
    """Digits with the decimal point behind so many of them, in one of Java's two forms."""
    if 0 < point < 8:
        return f"{digits[:point].ljust(point, '0')}.{digits[point:] or '0'}"
    if -3 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    return f"{digits[0]}.{digits[1:] or '0'}E{point - 1}"


def _digits(exponent: int, fraction: int, significant: int) -> tuple[str, int]:
    """``dtoa``: the digits, and how many of them stand before the decimal point."""
    tail = (fraction & -fraction).bit_length() - 1
    bits = _MANTISSA + 1 - tail
    tiny = max(0, bits - exponent - 1)
    if tiny == 0 and -21 <= exponent <= 62 and bits < 64:
        return _whole(exponent, fraction, significant)
    power = _estimate(fraction, exponent)
    b5, s5 = max(0, -power), max(0, power)
    b2, s2 = b5 + tiny + exponent, s5 + tiny
    m2 = b2 - significant
    fraction >>= tail
    b2 -= bits - 1
    common = min(b2, s2)
    b2, s2, m2 = b2 - common, s2 - common, m2 - common
    if bits == 1:
        m2 -= 1
    if m2 < 0:
        b2, s2, m2 = b2 - m2, s2 - m2, 0
    value, unit, half = fraction * 5 ** b5 << b2, 5 ** s5 << s2, 5 ** b5 << m2
    value_bits = bits + b2 + _bits_of_five(b5)
    unit_bits = s2 + 1 + _bits_of_five(s5 + 1)
    word = 0 if value_bits >= 64 or unit_bits >= 64 else 32 if value_bits < 32 and unit_bits < 32 else 64
    return _generated(value, unit, half, power, word)


def _whole(exponent: int, fraction: int, significant: int) -> tuple[str, int]:
    """A number without a fraction; digits beyond its precision are rounded away."""
    extra = exponent - significant - 1
    dropped = int(extra * math.log10(2)) if exponent > significant and extra > 1 else 0
    number = fraction << exponent - _MANTISSA if exponent >= _MANTISSA else fraction >> _MANTISSA - exponent
    if dropped:
        unit = 10 ** dropped
        number, left = divmod(number, unit)
        number += left >= unit // 2
    digits = str(number)
    return digits.rstrip("0"), len(digits) + dropped


def _bits_of_five(power: int) -> int:
    return _BITS_OF_FIVES[power] if power < len(_BITS_OF_FIVES) else power * 3


def _estimate(fraction: int, exponent: int) -> int:
    """The decimal exponent, or one too many, as Java estimates it."""
    mantissa: float
    (mantissa,) = struct.unpack("<d", struct.pack("<Q", 1023 << 52 | fraction & (1 << 52) - 1))
    return math.floor((mantissa - 1.5) * 0.289529654 + 0.176091259 + exponent * 0.301029995663981)


def _wrapped(number: int, word: int) -> int:
    """A number as a Java int or long holds it; any number where ``word`` is 0."""
    if not word:
        return number
    number &= (1 << word) - 1
    return number - (1 << word) if number >> word - 1 else number


def _generated(value: int, unit: int, half: int, power: int, word: int) -> tuple[str, int]:
    """Digits until the rest is within half a unit in the last place."""
    tens = unit * 10
    digits: list[int] = []
    first = True
    while True:
        digit, value = value // unit, 10 * (value % unit)
        half = _wrapped(half * 10, word)
        if not first and word and half <= 0:
            low = high = True
        else:
            low = value < half
            high = _wrapped(value + half, word) > tens if word else value + half >= tens
        if first and digit == 0 and not high:
            power -= 1
        else:
            digits.append(digit)
        if first and (power < -3 or power >= 8):
            low = high = False
        first = False
        if low or high:
            break
    if high and (not low or 2 * value > tens or (2 * value == tens and digits[-1] & 1)):
        power += _rounded_up(digits)
    return "".join(map(str, digits)), power + 1


def _rounded_up(digits: list[Any]) -> int:
    """Add one to the last digit, in place; 1 if the number grew by a digit."""
    at = len(digits) - 1
    while at > 0 and digits[at] == 9:
        digits[at] = 0
        at -= 1
    if digits[at] == 9:
        digits[at] = 1
        return 1
    digits[at] += 1
    return 0
