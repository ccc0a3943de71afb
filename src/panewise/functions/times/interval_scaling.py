"""Intervals multiplied and divided by numbers, divided by each other, negated; and made of numbers."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.functions.binding.binder_services import Binding
from panewise.functions.binding.bound import Bound
from panewise.functions.binding.by_value import ValueFailure, computed, value_function
from panewise.functions.binding.frame import Datum, Here
from panewise.functions.binding.registry import function, operator
from panewise.functions.binding.tried import tried
from panewise.functions.times.calendar import DAY, HOUR, MINUTE, SECOND, numbers_of, times_from
from panewise.functions.times.intervals import TOO_LONG, fail_beyond, is_interval
from panewise.functions.times.moving import both
from panewise.functions.types import (
    BIGINT,
    DOUBLE,
    INT,
    INTERVAL,
    INTERVAL_DAYS,
    INTERVAL_MONTHS,
    STRING,
    VOID,
    is_decimal,
    is_integer,
    is_number,
    type_name,
)

Array = np.ndarray[Any, Any]
ZERO = "INTERVAL_DIVIDED_BY_ZERO"
ALONE = TOO_LONG + ".WITHOUT_SUGGESTION"


def _bits(of: pa.DataType) -> int:
    return 31 if of == INTERVAL_MONTHS else 63


def _number(binder: Binding, arguments: list[Bound], sign: str, tree: Any) -> Bound:
    """The number beside an interval; text and floats are doubles."""
    number = arguments[1]
    if not (is_number(number.type) or number.type in (STRING, VOID)):
        raise binder.error(f"{sign} does not take {type_name(arguments[0].type)} and {type_name(number.type)}", tree)
    return number if is_integer(number.type) or is_decimal(number.type) else binder.cast(number, DOUBLE)


@operator("_times")
def times(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """An interval so many times, rounded to the nearest month or microsecond."""
    pair = arguments if is_interval(arguments[0].type) else arguments[::-1]
    number = _number(binder, pair, "*", tree)
    return binder.made(pair[0].type, tree, [pair[0], number], _multiplied, needs_arrays=True, strict=True)


@operator("_try_times")
def try_times(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """The product, or null where there is none."""
    return tried(times(binder, arguments, tree))


@operator("_divided")
def divided(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """A part of an interval, rounded to the nearest month or microsecond."""
    if not is_interval(arguments[0].type):
        raise binder.error(f"/ does not take {' and '.join(type_name(a.type) for a in arguments)}", tree)
    number = _number(binder, arguments, "/", tree)
    return binder.made(arguments[0].type, tree, [arguments[0], number], _quotient, needs_arrays=True, strict=True)


@operator("_try_divided")
def try_divided(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """The part, or null where there is none."""
    return tried(divided(binder, arguments, tree))


def _multiplied(values: pa.Array, by: pa.Array, here: Here) -> pa.Array:
    known = both(values, by)
    numbers = numbers_of(values)
    if by.type == DOUBLE:
        with np.errstate(all="ignore"):
            return _rounded(numbers * by.fill_null(0.0).to_numpy(zero_copy_only=False), known, here)
    if is_integer(by.type):
        try:
            exact = pc.multiply_checked(pa.array(numbers), by.fill_null(0).cast(BIGINT)).to_numpy()
        except pa.ArrowInvalid:  # some row overflows; found below
            return _one_by_one(numbers, by, known, here, lambda n, b: n * b)
        if here.type == INTERVAL_MONTHS:
            fail_beyond((exact < -(1 << 31)) | (exact >= 1 << 31), known, here, ALONE)
        return times_from(exact, known, here.type)
    return _one_by_one(numbers, by, known, here, lambda n, b: _nearest(n * Fraction(b)))


def _quotient(values: pa.Array, by: pa.Array, here: Here) -> pa.Array:
    known = both(values, by)
    here.fail_where(pc.and_(pc.equal(by, pa.scalar(0, by.type)), known.is_valid()), ZERO,
                    "an interval is divided by zero")
    numbers = numbers_of(values)
    if by.type == DOUBLE:
        with np.errstate(all="ignore"):
            return _rounded(numbers / by.fill_null(1.0).to_numpy(zero_copy_only=False), known, here)
    return _one_by_one(numbers, by, known, here, lambda n, b: _nearest(Fraction(n) / Fraction(b)))


def _rounded(numbers: Array, known: pa.Array, here: Here) -> pa.Array:
    """Doubles as whole numbers, halves away from zero."""
    limit = 2.0 ** _bits(here.type)
    with np.errstate(invalid="ignore"):
        whole = np.trunc(numbers)
        whole += np.where(np.abs(numbers - whole) >= 0.5, np.sign(numbers), 0.0)
        fail_beyond(~((whole >= -limit) & (whole < limit)), known, here, ALONE)
        safe = np.where(known.is_valid().to_numpy(zero_copy_only=False), whole, 0.0)
    return times_from(safe.astype(np.int64), known, here.type)


def _nearest(number: Fraction) -> int:
    whole = abs(number.numerator) * 2 // number.denominator
    found = (whole + 1) // 2
    return -found if number < 0 else found


def _one_by_one(numbers: Array, by: pa.Array, known: pa.Array, here: Here,
                compute: Callable[[int, Any], int]) -> pa.Array:
    """Exact numbers of any size: for decimals, for divisions, and to find the row that overflows."""
    bits = _bits(here.type)
    found = np.zeros(len(numbers), np.int64)
    for row, (number, other, there) in enumerate(zip(numbers.tolist(), by.to_pylist(), known.is_valid().to_pylist(),
                                                     strict=True)):
        if there:
            exact = compute(number, other)
            if not -(1 << bits) <= exact < 1 << bits:
                here.fail(row, ALONE, "the interval is too long")
            found[row] = exact
    return times_from(found, known, here.type)


@operator("_div")
def div(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """How often one interval fits into another."""
    one, other = arguments
    if not is_interval(one.type) or one.type != other.type:
        raise binder.error(f"div does not take {type_name(one.type)} and {type_name(other.type)}", tree)

    def run(left: pa.Array, right: pa.Array, here: Here) -> pa.Array:
        known = both(left, right)
        a, b = numbers_of(left), numbers_of(right)
        fail_beyond(b == 0, known, here, "DIVIDE_BY_ZERO")
        fail_beyond((a == -(1 << 63)) & (b == -1), known, here, "ARITHMETIC_OVERFLOW")
        safe = np.where((b == 0) | (b == -1), 1, b)
        found = np.where(b == -1, -a, (a - np.fmod(a, safe)) // safe)
        return pa.array(found, BIGINT, mask=known.is_null().to_numpy(zero_copy_only=False))

    return binder.made(BIGINT, tree, [one, other], run, needs_arrays=True, order=(1, 0))


def _turned(name: str, changed: Callable[[Array], Array], condition: str) -> None:
    @operator(name)
    def bind(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
        (value,) = arguments
        if not is_interval(value.type):
            raise binder.error(f"it does not take {type_name(value.type)}", tree)

        def run(values: pa.Array, here: Here) -> pa.Array:
            numbers = numbers_of(values)
            fail_beyond(numbers == -(1 << _bits(here.type)), values, here, condition)
            with np.errstate(over="ignore"):
                return times_from(changed(numbers), values, here.type)

        return binder.made(value.type, tree, [value], run, needs_arrays=True, span=value.span)


_turned("_minus_interval", np.negative, ALONE)
_turned("_abs_interval", np.abs, "ARITHMETIC_OVERFLOW")


@function("make_dt_interval", takes=[INT, INT, INT, pa.decimal128(18, 6)], gives=INTERVAL_DAYS, optional=4,
          by_value=True)
def make_dt_interval(*parts: Datum, here: Here) -> Datum:
    """An interval of days, hours, minutes and seconds."""
    def plain(days: int = 0, hours: int = 0, minutes: int = 0, seconds: Decimal = Decimal(0)) -> int:
        found = days * DAY + hours * HOUR + minutes * MINUTE + int(
            (seconds * SECOND).to_integral_value(ROUND_HALF_UP))
        if not -(1 << 63) <= found < 1 << 63:
            raise ValueFailure(ALONE, "the interval is too long")
        return found

    inner = Here(here.frame, BIGINT, here.zone, here.expression)
    return computed(plain, parts, inner).view(INTERVAL_DAYS) if parts else pa.array([0], BIGINT).view(INTERVAL_DAYS)


@function("make_ym_interval", takes=[INT, INT], gives=INTERVAL_MONTHS, optional=2, by_value=True)
def make_ym_interval(*parts: Datum, here: Here) -> Datum:
    """An interval of years and months."""
    def plain(years: int = 0, months: int = 0) -> int:
        found = years * 12 + months
        if not -(1 << 31) <= found < 1 << 31:
            raise ValueFailure(ALONE, "the interval is too long")
        return found

    inner = Here(here.frame, INT, here.zone, here.expression)
    found = computed(plain, parts, inner) if parts else pa.array([0], INT)
    return pa.ExtensionArray.from_storage(INTERVAL_MONTHS, found)


def _calendar_interval(name: str, failing: bool) -> None:
    @value_function(name, takes=[INT, INT, INT, INT, INT, INT, pa.decimal128(18, 6)], gives=INTERVAL, optional=7)
    def plain(years: int = 0, months: int = 0, weeks: int = 0, days: int = 0, hours: int = 0, minutes: int = 0,
              seconds: Decimal = Decimal(0)) -> pa.MonthDayNano | None:
        """Years to seconds: months, days and time are kept apart."""
        parts = (years * 12 + months, weeks * 7 + days,
                 hours * HOUR + minutes * MINUTE + int((seconds * SECOND).to_integral_value(ROUND_HALF_UP)))
        if any(not -(1 << bits) <= part < 1 << bits for part, bits in zip(parts, (31, 31, 63), strict=True)) or \
                not -(1 << 63) <= parts[2] * 1000 < 1 << 63:  # Arrow counts nanoseconds
            if failing:
                raise ValueFailure("ARITHMETIC_OVERFLOW", "the interval is too long")
            return None
        return pa.MonthDayNano([parts[0], parts[1], parts[2] * 1000])


_calendar_interval("make_interval", failing=True)
_calendar_interval("try_make_interval", failing=False)
