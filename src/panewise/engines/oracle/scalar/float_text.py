"""Floating point numbers as text, digit for digit as Java 17 writes them.

Java before 19 does not always find the shortest text (2.0E-3 is right, but 2^-44 gets one digit more than it needs),
so the digits are developed by its own algorithm: Steele and White's, with a symmetric stopping test, and rounded
integers for whole numbers below 2^62.
"""

from __future__ import annotations

import math
import struct

_SHIFT = 52
_LONG_BITS = 64
_LONG_5 = 27  # the powers of five that Java holds in a long


def double_text(value: float) -> str:
    """The text of a double.

    >>> double_text(100.0), double_text(1e7), double_text(0.001), double_text(2e-44), double_text(-0.0)
    ('100.0', '1.0E7', '0.001', '2.0E-44', '-0.0')
    """
    bits = struct.unpack(">q", struct.pack(">d", value))[0]
    return _text(value, (bits >> _SHIFT) & 0x7FF, bits & ((1 << _SHIFT) - 1), 1023, _SHIFT)


def single_text(value: float) -> str:
    """The text of a number of single precision.

    >>> single_text(0.10000000149011612), single_text(16777216.0)
    ('0.1', '1.6777216E7')
    """
    bits = struct.unpack(">i", struct.pack(">f", value))[0]
    return _text(value, (bits >> 23) & 0xFF, bits & ((1 << 23) - 1), 127, 23)


def _text(value: float, exponent: int, fraction: int, bias: int, width: int) -> str:
    if math.isnan(value):
        return "NaN"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if math.isinf(value):
        return f"{sign}Infinity"
    if value == 0:
        return f"{sign}0.0"
    if exponent == 0:
        significant = fraction.bit_length()
        shift = width + 1 - significant
        fraction, exponent = fraction << shift, 1 - shift
    else:
        significant = width + 1
        fraction |= 1 << width
    digits, point = _digits(exponent - bias, fraction << (_SHIFT - width), significant)
    return sign + _laid_out(digits, point)


def _digits(exponent: int, fraction: int, significant: int) -> tuple[str, int]:
    """The digits and where the point stands before them: 0.d1d2d3… × 10^point."""
    tail = (fraction & -fraction).bit_length() - 1
    fraction_bits = _SHIFT + 1 - tail
    tiny = max(0, fraction_bits - exponent - 1)
    if -21 <= exponent <= 62 and tiny == 0:
        whole = fraction << (exponent - _SHIFT) if exponent >= _SHIFT else fraction >> (_SHIFT - exponent)
        return _whole_digits(whole, _insignificant(exponent - significant - 1) if exponent > significant else 0)
    return _developed(exponent, fraction >> tail, fraction, fraction_bits, tiny, significant)


def _insignificant(power: int) -> int:
    """Decimal digits that 2^power leaves open."""
    return int(power * math.log10(2)) if 1 < power < _LONG_BITS else 0


def _whole_digits(value: int, dropped: int) -> tuple[str, int]:
    if dropped:
        unit = 10**dropped
        value, rest = divmod(value, unit)
        value += rest >= unit // 2
    text = str(value)
    return text.rstrip("0"), len(text) + dropped


def _developed(exponent: int, odd: int, fraction: int, fraction_bits: int, tiny: int,
               significant: int) -> tuple[str, int]:
    place = _estimated_place(fraction, exponent)
    b5, s5 = max(0, -place), max(0, place)
    b2, s2 = b5 + tiny + exponent, s5 + tiny
    m5, m2 = b5, b2 - significant
    b2 -= fraction_bits - 1
    shared = min(b2, s2)
    b2, s2, m2 = b2 - shared, s2 - shared, m2 - shared
    if fraction_bits == 1:
        m2 -= 1
    if m2 < 0:
        b2, s2, m2 = b2 - m2, s2 - m2, 0
    bits = max(fraction_bits + b2 + _five_bits(b5), s2 + 1 + _five_bits(s5 + 1))
    width = 32 if bits < 32 else 64 if bits < 64 else 0
    return _iterated(odd * 5**b5 << b2, 5**s5 << s2, 5**m5 << m2, place, width)


def _iterated(b: int, s: int, m: int, place: int, width: int) -> tuple[str, int]:
    """One digit after the other until the rest is less than half the distance to a neighbour.

    Numbers that seem to fit are held in 32 or 64 bits, in which the distance may run over; Java then stops at once.
    """
    tens = 10 * s
    q, b = divmod(b, s)
    b, m = 10 * b, _wrapped(10 * m, width)
    low, high = _stops(b, m, tens, width)
    digits: list[int] = []
    if q == 0 and not high:
        place -= 1
    else:
        digits.append(q)
    if place < -3 or place >= 8:
        low = high = False  # the form with an exponent has at least one digit behind the point
    while not low and not high:
        q, b = divmod(b, s)
        b, m = 10 * b, _wrapped(10 * m, width)
        low, high = _stops(b, m, tens, width) if m > 0 else (True, True)
        digits.append(q)
    if high and (not low or 2 * b > tens or (2 * b == tens and digits[-1] % 2)):
        return _rounded_up(digits, place + 1)
    return "".join(map(str, digits)), place + 1


def _stops(b: int, m: int, tens: int, width: int) -> tuple[bool, bool]:
    return b < m, (_wrapped(b + m, width) > tens if width else b + m >= tens)


def _wrapped(value: int, width: int) -> int:
    """A number as it is in so many bits; without a width as it is."""
    if not width:
        return value
    half = 1 << (width - 1)
    return (value + half) % (2 * half) - half


def _rounded_up(digits: list[int], point: int) -> tuple[str, int]:
    at = len(digits) - 1
    while at > 0 and digits[at] == 9:
        digits[at] = 0
        at -= 1
    if digits[at] == 9:
        return "1" + "0" * (len(digits) - 1), point + 1
    digits[at] += 1
    return "".join(map(str, digits)), point


def _estimated_place(fraction: int, exponent: int) -> int:
    mantissa = 1 + (fraction & ((1 << _SHIFT) - 1)) / (1 << _SHIFT)
    return math.floor((mantissa - 1.5) * 0.289529654 + 0.176091259 + exponent * 0.301029995663981)


def _five_bits(power: int) -> int:
    return (5**power).bit_length() if power <= _LONG_5 else power * 3


def _laid_out(digits: str, point: int) -> str:
    if 0 < point < 8:
        whole, rest = digits[:point].ljust(point, "0"), digits[point:]
        return f"{whole}.{rest or '0'}"
    if -3 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    return f"{digits[0]}.{digits[1:] or '0'}E{point - 1}"
