"""dateadd, datediff, timestampadd and timestampdiff: with a unit, or in days."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.functions.binding.binder_services import Binding
from panewise.functions.binding.bound import Bound
from panewise.functions.binding.frame import Here
from panewise.functions.binding.registry import special
from panewise.functions.times.calendar import DAY, civil, numbers_of, plus_months, times_from
from panewise.functions.times.clocks import on_the_clock, readings
from panewise.functions.times.interval_literals import MONTHS, UNITS
from panewise.functions.times.moving import both
from panewise.functions.types import BIGINT, TIMESTAMP, TIMESTAMP_NTZ

Array = np.ndarray[Any, Any]


def _unit(binder: Binding, tree: Any) -> str:
    name = str(tree.name).lower()
    if name in ("dayofyear",):
        name = "day"
    if name not in UNITS and name not in MONTHS:
        raise binder.error(f"{name[:40]!r} is no unit of time", tree, f"use {', '.join([*MONTHS, *UNITS])}")
    return name


@special("date_add", "dateadd", "timestampadd")
def date_add(binder: Binding, tree: Any, arguments: Sequence[Any]) -> Bound:
    """A date and days, or a unit, an amount and a timestamp."""
    if len(arguments) == 2:
        return binder.call("_date_add", [binder.bind(a) for a in arguments], tree)
    if len(arguments) != 3:
        raise binder.error("it takes a date and days, or a unit, an amount and a timestamp", tree)
    unit = _unit(binder, arguments[0])
    amount, value = binder.cast(binder.bind(arguments[1]), BIGINT), binder.bind(arguments[2])
    if value.type not in (TIMESTAMP, TIMESTAMP_NTZ):
        value = binder.cast(value, TIMESTAMP)

    def run(by: pa.Array, values: pa.Array, here: Here) -> pa.Array:
        known = both(values, by)
        numbers = by.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        local = readings(values, here.zone)
        if unit in MONTHS:
            days = plus_months(local // DAY, numbers * MONTHS[unit])
            _within(days * float(DAY), known, here)
            moved = on_the_clock(values, days * DAY + local % DAY, here.zone)
        elif unit in ("day", "week"):
            _within(local + numbers * float(UNITS[unit]), known, here)
            moved = on_the_clock(values, local + numbers * UNITS[unit], here.zone)
        else:
            _within(local + numbers * float(UNITS[unit]), known, here)
            moved = numbers_of(values) + numbers * UNITS[unit]
        return times_from(moved, known, values.type)

    return binder.made(value.type, tree, [amount, value], run, needs_arrays=True)


@special("date_diff", "datediff", "timestampdiff")
def date_diff(binder: Binding, tree: Any, arguments: Sequence[Any]) -> Bound:
    """Days between two dates, or whole units between two timestamps."""
    if len(arguments) == 2:
        return binder.call("_days_between", [binder.bind(a) for a in arguments], tree)
    if len(arguments) != 3:
        raise binder.error("it takes two dates, or a unit and two timestamps", tree)
    unit = _unit(binder, arguments[0])
    pair = [binder.bind(a) for a in arguments[1:]]
    pair = [binder.cast(p, TIMESTAMP) for p in pair]

    def run(start: pa.Array, end: pa.Array, here: Here) -> pa.Array:
        first, last = readings(start, here.zone), readings(end, here.zone)
        if unit in MONTHS:
            found = _quotient(_months(first, last), MONTHS[unit])
        else:
            found = _quotient(last - first, UNITS[unit])
        return pa.array(found, BIGINT, mask=both(start, end).is_null().to_numpy(zero_copy_only=False))

    return binder.made(BIGINT, tree, pair, run, needs_arrays=True)


def _quotient(numbers: Array, by: int) -> Array:
    whole = numbers // by
    return np.asarray(whole + ((numbers < 0) & (whole * by != numbers)))


def _months(first: Array, last: Array) -> Array:
    """Whole months from one clock reading to another."""
    begin, end = first // DAY, last // DAY
    short = np.where(end > begin, -(last % DAY < first % DAY).astype(np.int64),
                     np.where(end < begin, (last % DAY > first % DAY).astype(np.int64), 0))
    year1, month1, day1 = civil(begin)
    year2, month2, day2 = civil(end + short)
    return _quotient((year2 * 12 + month2) * 32 + day2 - (year1 * 12 + month1) * 32 - day1, 32)


def _within(micros: Array, known: pa.Array, here: Here) -> None:
    """Fail where a timestamp would lie beyond its range."""
    outside = (np.abs(micros) >= 2.0 ** 63) & known.is_valid().to_numpy(zero_copy_only=False)
    here.fail_where(pa.array(outside), "DATETIME_OVERFLOW", "the timestamp would lie beyond its range")


