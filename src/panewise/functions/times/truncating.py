"""Dates and times cut to the beginning of a unit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.functions.binding.frame import Here
from panewise.functions.binding.registry import function
from panewise.functions.times.calendar import DAY, HOUR, MINUTE, SECOND, civil, days_of, numbers_of, times_from
from panewise.functions.times.clocks import back, readings
from panewise.functions.types import DATE, STRING, TIMESTAMP

Array = np.ndarray[Any, Any]
_DATES = {**dict.fromkeys(("YEAR", "YYYY", "YY"), "year"), "QUARTER": "quarter",
          **dict.fromkeys(("MONTH", "MM", "MON"), "month"), "WEEK": "week"}
_TIMES = {**_DATES, "DAY": "day", "DD": "day", "HOUR": "hour", "MINUTE": "minute", "SECOND": "second",
          "MILLISECOND": "millisecond", "MICROSECOND": "microsecond"}
_SIZES = {"hour": HOUR, "minute": MINUTE, "second": SECOND, "millisecond": 1000, "microsecond": 1}


def cut_days(days: Array, unit: str) -> Array:
    """The first day of the year, quarter, month or week."""
    if unit == "week":
        return np.asarray(days - (days + 3) % 7)
    year, month, _ = civil(days)
    first = {"year": np.ones_like(month), "quarter": (month - 1) // 3 * 3 + 1, "month": month}[unit]
    return days_of(year, first, np.ones_like(month))


def _by_unit(units: pa.Array, known: dict[str, str], rows: int, cut: Any) -> tuple[Array, pa.Array]:
    """What ``cut(unit, rows)`` gives for the rows of every unit; null where a unit is not known."""
    encoded = units.dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    found, there = np.zeros(rows, np.int64), np.zeros(rows, np.bool_)
    for code, name in enumerate(encoded.dictionary.to_pylist()):
        unit = known.get(name.upper())
        if unit is not None:
            chosen = codes == code
            found[chosen] = cut(unit, chosen)
            there |= chosen
    return found, pa.array(there)


@function("trunc", takes=[DATE, STRING], gives=DATE, arrays=True)
def trunc(dates: pa.Array, units: pa.Array, here: Here) -> pa.Array:
    """A date cut to year, quarter, month or week; null for other units."""
    days = numbers_of(dates)
    found, there = _by_unit(units, _DATES, here.rows, lambda unit, rows: cut_days(days[rows], unit))
    return times_from(found, pc.if_else(there, dates, pa.scalar(None, DATE)), DATE)


@function("date_trunc", takes=[STRING, TIMESTAMP], gives=TIMESTAMP, arrays=True)
def date_trunc(units: pa.Array, values: pa.Array, here: Here) -> pa.Array:
    """A timestamp cut to a unit, on the clock of the session's zone; null for other units."""
    local, instants = readings(values, here.zone), numbers_of(values)

    def cut(unit: str, rows: Array) -> Array:
        if unit in ("microsecond", "millisecond", "second"):  # offsets are whole seconds
            return np.asarray(instants[rows] // _SIZES[unit] * _SIZES[unit])
        if unit in _SIZES:
            offset = local[rows] - instants[rows]
            return np.asarray(local[rows] // _SIZES[unit] * _SIZES[unit] - offset)
        days = local[rows] // DAY
        return back((days if unit == "day" else cut_days(days, unit)) * DAY, TIMESTAMP, here.zone)

    found, there = _by_unit(units, _TIMES, here.rows, cut)
    return times_from(found, pc.if_else(there, values, pa.scalar(None, TIMESTAMP)), TIMESTAMP)
