"""format_string and printf: Java's ``Formatter`` on one row's values."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from typing import Any

import pyarrow as pa

from panewise.core.sizes import bytes_of_text
from panewise.functions.binding.binder_services import Binding
from panewise.functions.binding.bound import Bound, Constant
from panewise.functions.binding.by_value import PatternRefusal, ValueFailure, computed
from panewise.functions.binding.frame import Datum, Here
from panewise.functions.binding.registry import operator
from panewise.functions.numbers.java_floats import double_text, single_text
from panewise.functions.types import BOOLEAN, FLOAT, STRING, is_decimal, is_float, is_integer, is_nested, type_name

_SPEC = re.compile(r"%(?:(\d+)\$)?([-#+ 0,(<]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])")
_BAD = "ILLEGAL_FORMAT"
_WIDE = Context(prec=800, rounding=ROUND_HALF_UP)
_KNOWN = frozenset("sSdxXofeEgGcCbBn%")
_OTHER = frozenset("hHaAtT")
"""Conversions that Java has and that are not computed here."""


@lru_cache(maxsize=256)
def _specs(form: str) -> tuple[str | tuple[str, ...], ...]:
    parts: list[str | tuple[str, ...]] = []
    at = 0
    while at < len(form):
        if form[at] != "%":
            end = form.find("%", at)
            end = len(form) if end < 0 else end
            parts.append(form[at:end])
            at = end
            continue
        found = _SPEC.match(form, at)
        if found is None or found[5] not in _KNOWN | _OTHER:
            raise ValueFailure(_BAD, f"{form[:60]!r} is no format: {form[at:at + 4]!r}")
        if found[5] in _OTHER or "<" in found[2] or "#" in found[2]:
            raise PatternRefusal(f"the format {form[:60]!r} has {found[0]!r}, which is not supported")
        parts.append(tuple(group or "" for group in found.groups()))
        at = found.end()
    return tuple(parts)


@operator("format_string", "printf")
def format_string(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """Values in the places of a format such as ``%5.2f of %s``."""
    if not arguments or any(is_nested(a.type) for a in arguments):
        given = ", ".join(type_name(a.type) for a in arguments)
        raise binder.error(f"format_string takes a format and plain values, not {given}", tree)
    form = binder.cast(arguments[0], STRING)
    if isinstance(form, Constant) and form.value.is_valid:
        try:
            _specs(form.value.as_py())
        except PatternRefusal as problem:
            raise binder.error(problem.message, tree) from problem
        except ValueFailure:
            pass
    types = [a.type for a in arguments[1:]]

    def run(*data: Datum, here: Here) -> Datum:
        return computed(lambda form, *values: None if form is None else _formatted(form, values, types),
                        [data[0], *(_internal(d) for d in data[1:])], here, nulls=True,
                        size=("format_string", _size))

    return binder.made(STRING, tree, [form, *arguments[1:]], run)


def _size(form: str | None, *values: Any) -> int:
    """What widths and digits ask for, and texts in each of their places."""
    size, following = bytes_of_text(form or ""), 0
    for number, _, width, places, conversion in _SPEC.findall(form or ""):
        value = None
        if conversion not in "n%":
            at, following = (int(number) - 1, following) if number else (following, following + 1)
            value = values[at] if 0 <= at < len(values) else None
        size += max(int(width or 0), bytes_of_text(value) if isinstance(value, str) else
                    int(places or 0) if conversion in "feEgG" else 0)
    return size


def _internal(datum: Datum) -> Datum:
    """Times as the numbers Spark keeps them as."""
    of = datum.type
    if not (pa.types.is_date32(of) or pa.types.is_timestamp(of) or pa.types.is_duration(of)):
        return datum
    column = pa.repeat(datum, 1) if isinstance(datum, pa.Scalar) else datum
    plain = column.view(pa.int32() if pa.types.is_date32(of) else pa.int64())
    return plain[0] if isinstance(datum, pa.Scalar) else plain


def _formatted(form: str, values: Sequence[Any], types: Sequence[pa.DataType]) -> str:
    out, following = [], 0
    for spec in _specs(form):
        if isinstance(spec, str):
            out.append(spec)
            continue
        number, flags, width, places, conversion = spec
        if conversion in "n%":
            out.append(_wide("\n" if conversion == "n" else "%", flags, width))
            continue
        if number:
            at = int(number) - 1
        else:
            at, following = following, following + 1
        if not 0 <= at < len(values):
            raise ValueFailure(_BAD, f"{form[:60]!r} has more places than there are values")
        text = _one(values[at], types[at], flags, width, places, conversion.lower())
        out.append(_wide(text.upper() if conversion.isupper() else text, flags, width))
    return "".join(out)


def _wide(text: str, flags: str, width: str) -> str:
    missing = int(width or 0) - len(text) - sum(ord(sign) > 0xFFFF for sign in text)
    return text if missing <= 0 else text + " " * missing if "-" in flags else " " * missing + text


def _one(value: Any, of: pa.DataType, flags: str, width: str, places: str, conversion: str) -> str:
    if conversion == "b":
        text = "false" if value is None else str(value).lower() if of == BOOLEAN else "true"
        return text[:int(places)] if places else text
    if value is None:
        return "null"[:int(places)] if places else "null"
    if conversion == "s":
        text = _plain(value, of)
        return _cut(text, int(places)) if places else text
    if conversion in "dxo" and _is_number(value, of) and not places:
        return _whole(value, of, flags, width, conversion)
    if conversion == "c" and _is_number(value, of) and of.bit_width <= 32 and not places:
        if not 0 <= value <= 0x10FFFF:
            raise ValueFailure(_BAD, f"{value} is no character")
        return "?" if 0xD800 <= value < 0xE000 else chr(value)
    if conversion in "feg" and is_float(of):
        return _fraction(float(value), flags, width, int(places) if places else 6, conversion)
    raise ValueFailure(_BAD, f"%{conversion} does not take {type_name(of)}")


def _cut(text: str, units: int) -> str:
    """So many units of UTF-16; half a character is a question mark."""
    return text.encode("utf-16-le")[:2 * units].decode("utf-16-le", "replace").replace("\ufffd", "?") \
        if any(ord(sign) > 0xFFFF for sign in text) else text[:units]


def _is_number(value: Any, of: pa.DataType) -> bool:
    return isinstance(value, int) and of != BOOLEAN and not is_decimal(of) and not is_float(of)


def _plain(value: Any, of: pa.DataType) -> str:
    if is_float(of):
        return single_text(value) if of == FLOAT else double_text(value)
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:f}" if is_decimal(of) else str(value)


def _whole(value: int, of: pa.DataType, flags: str, width: str, conversion: str) -> str:
    if conversion == "d":
        return _signed(f"{abs(value):,}" if "," in flags else str(abs(value)), value < 0, flags, width)
    bits = of.bit_width if is_integer(of) else 64
    text = format(value & ((1 << bits) - 1), conversion)
    return text.zfill(int(width or 0)) if "0" in flags else text


def _signed(digits: str, negative: bool, flags: str, width: str) -> str:
    before = "(" if negative and "(" in flags else "-" if negative else "+" if "+" in flags else \
        " " if " " in flags else ""
    behind = ")" if before == "(" else ""
    if "0" in flags:
        digits = digits.zfill(int(width or 0) - len(before) - len(behind))
    return before + digits + behind


def _fraction(value: float, flags: str, width: str, places: int, conversion: str) -> str:
    negative = math.copysign(1, value) < 0 and not math.isnan(value)
    if not math.isfinite(value):
        plain = flags.replace("0", "")
        return "NaN" if math.isnan(value) else _signed("Infinity", negative, plain, "")
    exact = abs(Decimal(double_text(value)))
    if conversion == "g":
        places = places or 1
        rounded = exact and exact.quantize(Decimal(1).scaleb(exact.adjusted() - places + 1), context=_WIDE)
        if not exact or Decimal("0.0001") <= rounded < Decimal(10) ** places:
            conversion, places = "f", places - 1 - (rounded.adjusted() if exact else 0)
        else:
            conversion, places = "e", places - 1
        exact = rounded
    if conversion == "e":
        return _signed(_scientific(exact, places), negative, flags, width)
    digits = f"{exact.quantize(Decimal(1).scaleb(-places), context=_WIDE):{',' if ',' in flags else ''}f}"
    return _signed(digits, negative, flags, width)


def _scientific(value: Decimal, places: int) -> str:
    if not value:
        return f"{Decimal(0).quantize(Decimal(1).scaleb(-places)):f}e+00"
    rounded = value.quantize(Decimal(1).scaleb(value.adjusted() - places), context=_WIDE)
    power = rounded.adjusted()
    digits = rounded.scaleb(-power).quantize(Decimal(1).scaleb(-places), context=_WIDE)
    return f"{digits:f}e{'-' if power < 0 else '+'}{abs(power):02d}"
