"""Dates, timestamps and intervals added and subtracted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.functions.binding.binder_services import Binding
from panewise.functions.binding.bound import Bound
from panewise.functions.binding.frame import Here
from panewise.functions.binding.registry import operator
from panewise.functions.binding.spans import DAY as DAY_SPAN
from panewise.functions.binding.spans import joined, span_of
from panewise.functions.binding.tried import tried
from panewise.functions.times.calendar import DAY, numbers_of, plus_months, times_from
from panewise.functions.times.clocks import on_the_clock, readings
from panewise.functions.times.moving import both
from panewise.functions.types import (
    DATE,
    INTERVAL_DAYS,
    INTERVAL_MONTHS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    is_integer,
    type_name,
)

Array = np.ndarray[Any, Any]
TIMES = (DATE, TIMESTAMP, TIMESTAMP_NTZ)
TOO_LONG = "INTERVAL_ARITHMETIC_OVERFLOW"
BEYOND = "DATETIME_OVERFLOW"


def is_interval(of: pa.DataType) -> bool:
    """Whether this is a day-time or a year-month interval."""
    return of in (INTERVAL_DAYS, INTERVAL_MONTHS)


@operator("_plus")
def plus(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """A date or timestamp and an interval or days, in any order; two intervals."""
    one, other = arguments
    if is_interval(one.type) and not is_interval(other.type):
        one, other = other, one
    if is_integer(one.type) and other.type == DATE:
        one, other = other, one
    return _added(binder, one, other, tree, 1)


@operator("_minus")
def minus(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """Times and intervals subtracted."""
    one, other = arguments
    if one.type == STRING and other.type in TIMES:
        one = binder.cast(one, other.type)
    if other.type == STRING and one.type in TIMES:
        other = binder.cast(other, one.type)
    if one.type not in TIMES or other.type not in TIMES:
        return _added(binder, one, other, tree, -1)
    if one.type == DATE:
        one = binder.cast(one, other.type)
    elif other.type != one.type:  # the second is read as the first is
        other = binder.cast(other, one.type)
    return binder.made(INTERVAL_DAYS, tree, [one, other], _between, needs_arrays=True,
                       span=DAY_SPAN if one.type == DATE else None)


def _between(one: pa.Array, other: pa.Array, here: Here) -> pa.Array:
    """The time from one to the other; instants are compared as clock readings of the session's zone."""
    if one.type == DATE:
        return times_from((numbers_of(one) - numbers_of(other)) * DAY, both(one, other), INTERVAL_DAYS)
    known = both(one, other)
    found = summed(readings(one, here.zone), readings(other, here.zone), -1, known, here, BEYOND)
    return times_from(found, known, INTERVAL_DAYS)


def _added(binder: Binding, one: Bound, other: Bound, tree: Any, sign: int) -> Bound:
    if one.type == DATE and (is_integer(other.type) or other.type in (STRING, VOID)):
        return binder.call("_date_add" if sign > 0 else "_date_sub", [one, other], tree)
    if VOID in (one.type, other.type):  # null beside an interval is one, too
        known = other.type if one.type == VOID else one.type
        one, other = (binder.cast(a, known) if a.type == VOID else a for a in (one, other))
    if is_interval(one.type) and other.type == one.type:
        return binder.made(one.type, tree, [one, other], lambda a, b, here: _sum(a, b, sign, here), needs_arrays=True,
                           strict=True, span=joined([one, other]))
    if one.type == STRING and is_interval(other.type):
        one = binder.cast(one, TIMESTAMP)
    if one.type in TIMES and is_interval(other.type):
        if one.type == DATE and other.type == INTERVAL_DAYS and span_of(other) != DAY_SPAN:
            one = binder.cast(one, TIMESTAMP)  # a date and days are a date, a date and hours are not
        run = _plus_months if other.type == INTERVAL_MONTHS else _plus_time
        return binder.made(one.type, tree, [one, other], lambda a, b, here: run(a, b, sign, here), needs_arrays=True,
                           strict=True)
    raise binder.error(f"{'+' if sign > 0 else '-'} does not take {type_name(one.type)} and {type_name(other.type)}",
                       tree)


@operator("_try_plus")
def try_plus(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """The sum, or null where there is none."""
    return tried(plus(binder, arguments, tree))


@operator("_try_minus")
def try_minus(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """The difference, or null where there is none."""
    return tried(minus(binder, arguments, tree))


def summed(one: Array, other: Array, sign: int, known: pa.Array, here: Here, condition: str) -> Array:
    """The sum or difference of 64-bit numbers; a row that has none fails."""
    with np.errstate(over="ignore"):
        found = one + other if sign > 0 else one - other
    moved = other if sign > 0 else ~other  # the sign of what is added
    wrong = ((one ^ found) & (moved ^ found)) < 0
    fail_beyond(wrong, known, here, condition)
    return np.asarray(found)


def fail_beyond(wrong: Array, known: pa.Array, here: Here, condition: str) -> None:
    """Fail on the first row that is wrong and not null."""
    if wrong.any():
        here.fail_where(pc.and_(pa.array(wrong), known.is_valid()), condition, "the result is out of range")


def _sum(one: pa.Array, other: pa.Array, sign: int, here: Here) -> pa.Array:
    known = both(one, other)
    condition = TOO_LONG + ".WITH_SUGGESTION"
    found = summed(numbers_of(one), numbers_of(other), sign, known, here, condition)
    if here.type == INTERVAL_MONTHS:
        fail_beyond(_beyond_int(found), known, here, condition)
    return times_from(found, known, here.type)


def _beyond_int(numbers: Array) -> Array:
    return np.asarray((numbers < -(1 << 31)) | (numbers >= 1 << 31))


def _amounts(interval: pa.Array, sign: int, known: pa.Array, here: Here) -> Array:
    """What is added: a subtracted interval is negated first, and the smallest one cannot be."""
    numbers = numbers_of(interval)
    if sign > 0:
        return numbers
    least = -(1 << (31 if interval.type == INTERVAL_MONTHS else 63))
    fail_beyond(numbers == least, known, here, TOO_LONG + ".WITHOUT_SUGGESTION")
    with np.errstate(over="ignore"):
        return np.asarray(-numbers)


def _plus_months(values: pa.Array, months: pa.Array, sign: int, here: Here) -> pa.Array:
    known = both(values, months)
    by = _amounts(months, sign, known, here)
    if values.type == DATE:
        days = plus_months(numbers_of(values), by)
        fail_beyond(_beyond_int(days), known, here, "ARITHMETIC_OVERFLOW")
        return times_from(days, known, DATE)
    local = readings(values, here.zone)
    days = plus_months(local // DAY, by)
    fail_beyond(np.abs(days) > 106_751_990, known, here, BEYOND)
    return times_from(on_the_clock(values, days * DAY + local % DAY, here.zone), known, values.type)


def _plus_time(values: pa.Array, by: pa.Array, sign: int, here: Here) -> pa.Array:
    """Days are days on the clock of the session's zone; the rest is elapsed time."""
    known = both(values, by)
    amount = _amounts(by, sign, known, here)
    days = (amount - np.fmod(amount, DAY)) // DAY
    if values.type == DATE:
        moved = numbers_of(values) + days
        fail_beyond(_beyond_int(moved), known, here, "ARITHMETIC_OVERFLOW")
        return times_from(moved, known, DATE)
    local = summed(readings(values, here.zone), days * DAY, 1, known, here, BEYOND)
    found = summed(on_the_clock(values, local, here.zone), amount - days * DAY, 1, known, here, BEYOND)
    return times_from(found, known, values.type)
