"""Intervals to and from text, to and from numbers, and to fewer fields.

Every cast knows the fields (`Span`) of the interval type it reads or makes; inside arrays and structs, whose types do
not have them, all fields are meant.
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache

import numpy as np
import pyarrow as pa

from panewise.functions.binding.frame import Here
from panewise.functions.binding.spans import WIDEST, Span
from panewise.functions.casts.decimals import fitted
from panewise.functions.casts.outcome import OVERFLOW, NoValue, by_value, missing, nulls_of
from panewise.functions.casts.table import cast
from panewise.functions.casts.text_to_numbers import AROUND
from panewise.functions.numbers.unscaled import SMALL
from panewise.functions.times.calendar import numbers_of, times_from
from panewise.functions.types import INTERVAL_DAYS, INTERVAL_MONTHS, STRING, is_decimal, is_integer

UNREADABLE = "INVALID_INTERVAL_FORMAT.UNMATCHED_FORMAT_STRING"
_WIDE = Context(prec=60)
_DIGITS = {"DAY": 9, "HOUR": 10, "MINUTE": 12, "SECOND": 13}
"""How many digits the first field of a day-time interval may have."""


def _limits(span: Span) -> tuple[int, int]:
    bits = 31 if span.is_months else 63
    return -(1 << bits), (1 << bits) - 1


# -- to fewer fields -----------------------------------------------------------------------------------------------


def narrowed(values: pa.Array, *, here: Here, failing: bool, span: Span) -> pa.Array:
    """Whole units of the last field; the rest is cut off."""
    del failing
    numbers = numbers_of(values)
    kept = numbers if span.last == "SECOND" else numbers - np.fmod(numbers, span.unit)  # fractions belong to seconds
    return times_from(kept, values, here.type)


# -- to text -------------------------------------------------------------------------------------------------------


@cast(INTERVAL_DAYS, STRING)
@cast(INTERVAL_MONTHS, STRING)
def interval_to_text(values: pa.Array, *, here: Here, failing: bool, from_span: Span | None = None) -> pa.Array:
    """INTERVAL '1 02:03:04.5' DAY TO SECOND, INTERVAL '1-2' YEAR TO MONTH."""
    span = from_span or WIDEST[values.type]
    write = _months_text if span.is_months else _days_text
    return by_value(pa.array(numbers_of(values), mask=nulls_of(values)), lambda number: write(number, span), here,
                    failing)


def _months_text(months: int, span: Span) -> str:
    sign, rest = "-" if months < 0 else "", abs(months)
    inside = {"YEAR": f"{rest // 12}", "MONTH": f"{rest}"}[span.last] if span.first == span.last else \
        f"{rest // 12}-{rest % 12}"
    return f"INTERVAL '{sign}{inside}' {span}"


def _days_text(micros: int, span: Span) -> str:
    """The first field holds whatever is longer; all but days have two digits at least."""
    sign, rest = "-" if micros < 0 else "", abs(micros)
    text = ""
    for name, size in span.fields:
        amount, rest = divmod(rest, size)
        between = "" if name == span.first else " " if text and name == "HOUR" else ":"
        text += between + (str(amount) if name == "DAY" else f"{amount:02d}")
    if span.last == "SECOND" and rest:
        text += f".{rest:06d}".rstrip("0")
    return f"INTERVAL '{sign}{text}' {span}"


# -- from text -----------------------------------------------------------------------------------------------------


@cast(STRING, INTERVAL_DAYS)
@cast(STRING, INTERVAL_MONTHS)
def text_to_interval(values: pa.Array, *, here: Here, failing: bool, span: Span | None = None) -> pa.Array:
    """The fields of the type, bare (``1 02:03:04``) or as a literal (``INTERVAL '1-2' YEAR TO MONTH``)."""
    fields = span or WIDEST[here.type]
    storage = pa.int32() if fields.is_months else pa.int64()
    numbers = by_value(values, lambda text: _read(text, fields), here, failing, storage)
    return times_from(numbers.fill_null(0).to_numpy(zero_copy_only=False), numbers, here.type)


def _read(text: str, span: Span) -> int:
    found = _form(span).fullmatch(text.strip(AROUND))
    condition = UNREADABLE if span.is_months else UNREADABLE + "_WITH_NOTICE"
    if found is None:
        raise NoValue(condition)
    parts = {name.rstrip("_"): value for name, value in found.groupdict().items() if value is not None}
    total = 0
    for name, size in span.fields:
        amount = int(parts[name])
        if name != span.first and amount >= (12 if name == "MONTH" else 24 if name == "HOUR" else 60):
            raise NoValue(condition)
        total += amount * size
    total += int(parts.get("fraction", "").ljust(6, "0")[:6])
    total = -total if (parts.get("outer") == "-") != (parts.get("sign") == "-") else total
    low, high = _limits(span)
    if not low <= total <= high:
        raise NoValue(condition)
    return total


@lru_cache(maxsize=32)
def _form(span: Span) -> re.Pattern[str]:
    """Both ways to write it; the names of the second carry an underscore."""
    def body(mark: str) -> str:
        text = rf"(?P<sign{mark}>[+|-])?"
        for name, _ in span.fields:
            between = "" if name == span.first else "-" if name == "MONTH" else " " if name == "HOUR" and \
                span.first == "DAY" else ":"
            most = "+" if span.is_months else f"{{1,{_DIGITS[name]}}}" if name == span.first else "{1,2}"
            text += rf"{between}(?P<{name}{mark}>\d{most})"
        return text + (rf"(?:\.(?P<fraction{mark}>\d{{1,9}}))?" if span.last == "SECOND" else "")

    unit = str(span).replace(" ", r"\s+")
    return re.compile(rf"{body('')}|(?i:INTERVAL)\s+(?P<outer>[+|-])?'{body('_')}'\s+(?i:{unit})", re.ASCII)


# -- numbers -------------------------------------------------------------------------------------------------------


@cast(INTERVAL_DAYS, is_integer)
@cast(INTERVAL_MONTHS, is_integer)
def interval_to_integer(values: pa.Array, *, here: Here, failing: bool, from_span: Span | None = None) -> pa.Array:
    """Whole units of the last field."""
    span = from_span or WIDEST[values.type]
    numbers = numbers_of(values)
    numbers = (numbers - np.fmod(numbers, span.unit)) // span.unit
    low, high = -(1 << here.type.bit_width - 1), (1 << here.type.bit_width - 1) - 1
    none = missing(values, (numbers < low) | (numbers > high), here, failing, OVERFLOW)
    return pa.array(np.where(none, 0, numbers).astype(here.type.to_pandas_dtype()), here.type, mask=none)


@cast(INTERVAL_DAYS, is_decimal)
@cast(INTERVAL_MONTHS, is_decimal)
def interval_to_decimal(values: pa.Array, *, here: Here, failing: bool, from_span: Span | None = None) -> pa.Array:
    """Units of the last field, seconds with their fraction."""
    span = from_span or WIDEST[values.type]
    seconds = span.last == "SECOND"
    numbers = numbers_of(values)
    digits = numbers if seconds else (numbers - np.fmod(numbers, span.unit)) // span.unit
    wide = ((digits >= SMALL) | (digits <= -SMALL)).any()
    return fitted(digits.astype(object) if wide else digits, 6 if seconds else 0, nulls_of(values),
                  pa.array(digits), here, failing)


@cast(is_integer, INTERVAL_DAYS)
@cast(is_decimal, INTERVAL_DAYS)
@cast(is_integer, INTERVAL_MONTHS)
@cast(is_decimal, INTERVAL_MONTHS)
def number_to_interval(values: pa.Array, *, here: Here, failing: bool, span: Span | None = None) -> pa.Array:
    """So many units of the last field, to the nearest microsecond or month."""
    fields = span or WIDEST[here.type]
    low, high = _limits(fields)

    def one(value: int | Decimal) -> int:
        number = int(_WIDE.multiply(Decimal(value), Decimal(fields.unit)).to_integral_value(ROUND_HALF_UP))
        if not low <= number <= high:
            raise NoValue(OVERFLOW)
        return number

    numbers = by_value(values, one, here, failing, pa.int32() if fields.is_months else pa.int64())
    return times_from(numbers.fill_null(0).to_numpy(zero_copy_only=False), numbers, here.type)
