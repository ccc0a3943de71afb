"""Parts of dates, times and intervals: year, month, day, hour, …"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.functions.binding.binder_services import Binding
from panewise.functions.binding.bound import Bound, Constant
from panewise.functions.binding.frame import Here
from panewise.functions.binding.registry import function, special
from panewise.functions.times.calendar import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    civil,
    day_of_year,
    iso_week,
    numbers_of,
    part_of_date,
)
from panewise.functions.times.clocks import ANY_TIMESTAMP, readings
from panewise.functions.types import (
    DATE,
    INT,
    INTERVAL_DAYS,
    INTERVAL_MONTHS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VOID,
    type_name,
)

Array = np.ndarray[Any, Any]
SECONDS = pa.decimal128(8, 6)
OF_DAY: dict[str, Callable[[Array], Array]] = {
    "year": lambda days: part_of_date(days, 0),
    "quarter": lambda days: (part_of_date(days, 1) - 1) // 3 + 1,
    "month": lambda days: part_of_date(days, 1),
    "day": lambda days: part_of_date(days, 2),
    "dayofweek": lambda days: (days + 4) % 7 + 1,
    "weekday": lambda days: (days + 3) % 7,
    "dayofweek_iso": lambda days: (days + 3) % 7 + 1,
    "dayofyear": day_of_year,
    "weekofyear": lambda days: iso_week(days)[1],
    "yearofweek": lambda days: iso_week(days)[0],
}
OF_CLOCK: dict[str, Callable[[Array], Array]] = {
    "hour": lambda local: local // HOUR % 24,
    "minute": lambda local: local // MINUTE % 60,
    "second": lambda local: local // SECOND % 60,
}
FIELDS = {
    **dict.fromkeys(("year", "y", "years", "yr", "yrs"), "year"), "yearofweek": "yearofweek",
    **dict.fromkeys(("quarter", "qtr"), "quarter"), **dict.fromkeys(("month", "mon", "mons", "months"), "month"),
    **dict.fromkeys(("week", "w", "weeks"), "weekofyear"), **dict.fromkeys(("day", "d", "days"), "day"),
    **dict.fromkeys(("dayofweek", "dow"), "dayofweek"),
    **dict.fromkeys(("dayofweek_iso", "dow_iso"), "dayofweek_iso"), "doy": "dayofyear",
    **dict.fromkeys(("hour", "h", "hours", "hr", "hrs"), "hour"),
    **dict.fromkeys(("minute", "m", "min", "mins", "minutes"), "minute"),
    **dict.fromkeys(("second", "s", "sec", "seconds", "secs"), "seconds"),
}
"""What EXTRACT and date_part can be asked for."""


def _missing(values: pa.Array) -> Array | None:
    return values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None


def _of_day(part: str) -> Callable[[pa.Array], pa.Array]:
    def run(dates: pa.Array) -> pa.Array:
        return pa.array(OF_DAY[part](numbers_of(dates)).astype(np.int32), mask=_missing(dates))
    return run


def _of_clock(part: str) -> Callable[..., pa.Array]:
    def run(values: pa.Array, here: Here) -> pa.Array:
        return pa.array(OF_CLOCK[part](readings(values, here.zone)).astype(np.int32), mask=_missing(values))
    return run


for _name in ("year", "quarter", "month", "dayofweek", "weekday", "dayofyear", "weekofyear"):
    function(_name, takes=[DATE], gives=INT, arrays=True)(_of_day(_name))
function("day", "dayofmonth", takes=[DATE], gives=INT, arrays=True)(_of_day("day"))
for _name in OF_CLOCK:
    function(_name, takes=[ANY_TIMESTAMP], gives=INT, arrays=True)(_of_clock(_name))


def _seconds(values: pa.Array, here: Here) -> pa.Array:
    """Seconds with their fraction."""
    micros = readings(values, here.zone) % MINUTE
    return _as_decimal(micros, values)


def _as_decimal(micros: Array, like: pa.Array) -> pa.Array:
    """Microseconds as seconds with six digits behind the point: the same number, read otherwise."""
    words = np.empty((len(micros), 2), np.int64)
    words[:, 0], words[:, 1] = micros, micros >> 63
    mask = _missing(like)
    valid = None if mask is None else pa.array(~mask).buffers()[1]
    return pa.Array.from_buffers(SECONDS, len(micros), [valid, pa.py_buffer(words.tobytes())])


@special("date_part", "datepart", "extract")
def date_part(binder: Binding, tree: Any, arguments: Sequence[Any]) -> Bound:
    """The part that a constant names."""
    if len(arguments) != 2:
        raise binder.error("date_part takes the name of a part and a value", tree)
    named, value = (binder.bind(a) for a in arguments)
    if not isinstance(named, Constant) or named.type not in (STRING, VOID):
        raise binder.error("the part must be a constant text", tree)
    if not named.value.is_valid:
        return Constant(VOID, tree, pa.scalar(None))
    part = FIELDS.get(named.value.as_py().lower())
    if value.type in (INTERVAL_DAYS, INTERVAL_MONTHS):
        return _of_interval(binder, part, named.value.as_py(), value, tree)
    if part is None:
        raise binder.error(f"{named.value.as_py()[:40]!r} is no part of a time", tree, f"use {', '.join(FIELDS)}")
    if value.type in (STRING, VOID):
        value = binder.cast(value, TIMESTAMP)
    if value.type not in (DATE, TIMESTAMP, TIMESTAMP_NTZ):
        raise binder.error(f"{type_name(value.type)} has no parts of a time", tree)
    if part in OF_DAY:
        return binder.made(INT, tree, [binder.cast(value, DATE)], _of_day(part), needs_here=False, needs_arrays=True)
    if value.type == DATE:
        value = binder.cast(value, TIMESTAMP)
    if part == "seconds":
        return binder.made(SECONDS, tree, [value], _seconds, needs_arrays=True)
    return binder.made(INT, tree, [value], _of_clock(part), needs_arrays=True)


def _of_interval(binder: Binding, part: str | None, written: str, value: Bound, tree: Any) -> Bound:
    parts: dict[str, tuple[pa.DataType, Callable[[Array], Array]]] = {
        "year": (INT, lambda n: _towards_zero(n, 12)), "month": (TINYINT, lambda n: n - _towards_zero(n, 12) * 12),
    } if value.type == INTERVAL_MONTHS else {
        "day": (INT, lambda n: _towards_zero(n, DAY)),
        "hour": (TINYINT, lambda n: _towards_zero(n, HOUR) - _towards_zero(n, DAY) * 24),
        "minute": (TINYINT, lambda n: _towards_zero(n, MINUTE) - _towards_zero(n, HOUR) * 60),
        "seconds": (SECONDS, lambda n: n - _towards_zero(n, MINUTE) * MINUTE),
    }
    if part not in parts:
        raise binder.error(f"{written[:40]!r} is no part of {type_name(value.type)}", tree)
    of, compute = parts[part]

    def run(values: pa.Array) -> pa.Array:
        found = compute(numbers_of(values))
        return _as_decimal(found, values) if of == SECONDS else \
            pa.array(found.astype(of.to_pandas_dtype()), mask=_missing(values))

    return binder.made(of, tree, [value], run, needs_here=False, needs_arrays=True)


def _towards_zero(numbers: Array, by: int) -> Array:
    whole = numbers // by
    return np.asarray(whole + ((numbers < 0) & (whole * by != numbers)))


_DAYS = np.array(["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"])
_MONTHS = np.array(["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"])


@function("dayname", takes=[DATE], gives=STRING, arrays=True)
def dayname(dates: pa.Array) -> pa.Array:
    """Mon, Tue, …"""
    return pa.array(_DAYS[numbers_of(dates) % 7], STRING, mask=_missing(dates))


@function("monthname", takes=[DATE], gives=STRING, arrays=True)
def monthname(dates: pa.Array) -> pa.Array:
    """Jan, Feb, …"""
    return pa.array(_MONTHS[civil(numbers_of(dates))[1] - 1], STRING, mask=_missing(dates))


@function("unix_date", takes=[DATE], gives=INT, arrays=True)
def unix_date(dates: pa.Array) -> pa.Array:
    """Days since 1970."""
    return dates.view(INT)


@function("date_from_unix_date", takes=[INT], gives=DATE, arrays=True)
def date_from_unix_date(days: pa.Array) -> pa.Array:
    """The date so many days after 1970 began."""
    return days.view(DATE)


