"""Dates moved by days and months, and the distances between them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.functions.binding.binder_services import Binding
from panewise.functions.binding.bound import Bound
from panewise.functions.binding.frame import Here
from panewise.functions.binding.registry import function, operator
from panewise.functions.times.calendar import DAY, SECOND, civil, month_length, numbers_of, plus_months, times_from
from panewise.functions.times.clocks import back, readings
from panewise.functions.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    VOID,
    type_name,
)

Array = np.ndarray[Any, Any]
WEEKDAYS = {name: number for number, names in enumerate((
    ("MO", "MON", "MONDAY"), ("TU", "TUE", "TUESDAY"), ("WE", "WED", "WEDNESDAY"), ("TH", "THU", "THURSDAY"),
    ("FR", "FRI", "FRIDAY"), ("SA", "SAT", "SATURDAY"), ("SU", "SUN", "SUNDAY"))) for name in names}


def both(one: pa.Array, other: pa.Array) -> pa.Array:
    """Null where one of two columns is."""
    return pc.if_else(pc.and_(one.is_valid(), other.is_valid()), True, pa.scalar(None, BOOLEAN))


def _moved(sign: int) -> Any:
    def bind(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
        if len(arguments) != 2:
            raise binder.error("it takes a date and a number of days", tree)
        date, days = arguments
        if days.type in (STRING, VOID):
            days = binder.cast(days, INT)
        if days.type not in (TINYINT, SMALLINT, INT):
            raise binder.error(f"a number of days is an int, not {type_name(days.type)}", tree, "cast it")

        def run(dates: pa.Array, by: pa.Array, here: Here) -> pa.Array:
            found = numbers_of(dates) + sign * by.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
            return times_from(found, both(dates, by), DATE)

        return binder.made(DATE, tree, [binder.cast(date, DATE), days], run, needs_arrays=True,
                           strict=True)
    return bind


operator("_date_add")(_moved(1))
operator("_date_sub")(_moved(-1))
operator("date_sub")(_moved(-1))


@function("add_months", takes=[DATE, INT], gives=DATE, arrays=True)
def add_months(dates: pa.Array, months: pa.Array, here: Here) -> pa.Array:
    """Moved by months; a day that the month does not have becomes its last."""
    found = plus_months(numbers_of(dates), months.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64))
    known = both(dates, months)
    outside = (np.abs(found) >= 1 << 31) & known.is_valid().to_numpy(zero_copy_only=False)
    here.fail_where(pa.array(outside), "ARITHMETIC_OVERFLOW", "{} months behind {} there is no date", months, dates)
    return times_from(found, known, DATE)


@function("last_day", takes=[DATE], gives=DATE, arrays=True)
def last_day(dates: pa.Array) -> pa.Array:
    """The last day of the month."""
    days = numbers_of(dates)
    year, month, day = civil(days)
    return times_from(days + month_length(year, month) - day, dates, DATE)


@function("next_day", takes=[DATE, STRING], gives=DATE, arrays=True)
def next_day(dates: pa.Array, names: pa.Array, here: Here) -> pa.Array:
    """The first day of that name behind a date."""
    encoded = names.dictionary_encode()
    numbers = [WEEKDAYS.get(name.upper(), -1) for name in encoded.dictionary.to_pylist()]
    wanted = np.array([*numbers, 0])[encoded.indices.fill_null(len(numbers)).to_numpy(zero_copy_only=False)]
    known = both(dates, names)
    wrong = (wanted < 0) & known.is_valid().to_numpy(zero_copy_only=False)
    here.fail_where(pa.array(wrong), "ILLEGAL_DAY_OF_WEEK", "{} is no day of the week", names)
    days = numbers_of(dates)
    return times_from(days + 1 + (wanted - 1 - (days + 3)) % 7, known, DATE)


@function("_days_between", takes=[DATE, DATE], gives=INT, arrays=True)
def days_between(end: pa.Array, start: pa.Array) -> pa.Array:
    """Days from the second to the first."""
    found = (numbers_of(end) - numbers_of(start)).astype(np.int32)
    return pa.array(found, mask=both(end, start).is_null().to_numpy(zero_copy_only=False))


@function("months_between", takes=[TIMESTAMP, TIMESTAMP, BOOLEAN], gives=DOUBLE, optional=1, arrays=True)
def months_between(one: pa.Array, other: pa.Array, rounded: pa.Array | None = None, *, here: Here) -> pa.Array:
    """Months with a fraction of 31 days; whole where both are the same or the last day of their month."""
    first, second = readings(one, here.zone), readings(other, here.zone)
    days1, days2 = first // DAY, second // DAY
    year1, month1, day1 = civil(days1)
    year2, month2, day2 = civil(days2)
    months = (year1 * 12 + month1) - (year2 * 12 + month2)
    ends = (day1 == month_length(year1, month1)) & (day2 == month_length(year2, month2))
    passed1, passed2 = (numbers_of(v) - back(days * DAY, TIMESTAMP, here.zone)
                        for v, days in ((one, days1), (other, days2)))  # since midnight, as time goes
    seconds = (day1 - day2) * 86_400 + passed1 // SECOND - passed2 // SECOND
    exact = months + seconds / (31 * 86_400)
    cut = np.where((day1 == day2) | ends, months.astype(np.float64), exact)
    off = np.ones(here.rows, np.bool_) if rounded is None else rounded.fill_null(True).to_numpy(zero_copy_only=False)
    with np.errstate(all="ignore"):
        scaled = np.floor(np.abs(cut) * 1e8 + 0.5) / 1e8 * np.sign(cut)
    known = both(one, other) if rounded is None else pc.and_(both(one, other), rounded.is_valid())
    missing = known.is_null() if rounded is None else pc.or_(both(one, other).is_null(), rounded.is_null())
    return pa.array(np.where(off, scaled, cut), DOUBLE, mask=missing.to_numpy(zero_copy_only=False))


