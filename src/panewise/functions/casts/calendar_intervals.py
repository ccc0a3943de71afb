"""Calendar intervals (months, days and time, each for itself) from text and to text."""

from __future__ import annotations

import re

import pyarrow as pa

from panewise.functions.binding.frame import Here
from panewise.functions.casts.outcome import by_value
from panewise.functions.casts.table import cast
from panewise.functions.casts.text_to_numbers import AROUND
from panewise.functions.types import INTERVAL, STRING

MONTHS = {"year": 12, "month": 1}
DAYS = {"week": 7, "day": 1}
MICROS = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000, "millisecond": 1000, "microsecond": 1}
_TERM = re.compile(r"([+-]?)\s*(\d+)(?:\.(\d{0,9}))?\s+([a-z]+?)s?(?=\s|$)\s*", re.ASCII)


def units_in(text: str) -> tuple[int, int, int, list[str]] | None:
    """Months, days and microseconds of a text such as ``1 year -2 days``, and its units; None if it is none.

    >>> units_in("interval 1 week 1.5 seconds")
    (0, 7, 1500000, ['week', 'second'])
    """
    rest = text.strip(AROUND).lower()
    rest = re.sub(r"^interval\s+", "", rest)
    totals, units = [0, 0, 0], []
    at = 0
    while at < len(rest):
        found = _TERM.match(rest, at)
        if found is None:
            return None
        sign, whole, fraction, unit = found.groups()
        if fraction is not None and unit != "second":
            return None
        place, sizes = next(((i, known) for i, known in enumerate((MONTHS, DAYS, MICROS)) if unit in known), (0, None))
        if sizes is None:
            return None
        amount = int(whole) * sizes[unit] + int((fraction or "").ljust(6, "0")[:6])
        totals[place] += -amount if sign == "-" else amount
        units.append(unit)
        at = found.end()
    if not units or any(not -(1 << bits) <= total < 1 << bits for total, bits in zip(totals, (31, 31, 63),
                                                                                      strict=True)):
        return None
    return totals[0], totals[1], totals[2], units


@cast(STRING, INTERVAL)
def text_to_interval(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """Units with their amounts; text that has none is null, also where a cast fails otherwise."""
    def one(text: str) -> pa.MonthDayNano | None:
        found = units_in(text)
        if found is None or not -(1 << 63) <= found[2] * 1000 < 1 << 63:
            return None
        return pa.MonthDayNano([found[0], found[1], found[2] * 1000])

    return by_value(values, one, here, failing)


@cast(INTERVAL, STRING)
def interval_to_text(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """``1 years 2 months 3 days 4 hours``: what is zero is left out."""
    del failing
    return pa.array([None if value is None else _text(value.months, value.days, value.nanoseconds // 1000)
                     for value in values.to_pylist()], here.type)


def _text(months: int, days: int, micros: int) -> str:
    parts = []
    for amount, unit, size in ((months, "years", 12), (months, "months", 1)):
        whole = int(abs(amount) // size) % (12 if unit == "months" else 1 << 40)
        parts += [f"{-whole if amount < 0 else whole} {unit}"] if whole else []
    parts += [f"{days} days"] if days else []
    sign, rest = ("-" if micros < 0 else ""), abs(micros)
    for unit, size in (("hours", MICROS["hour"]), ("minutes", MICROS["minute"])):
        amount, rest = divmod(rest, size)
        parts += [f"{sign}{amount} {unit}"] if amount else []
    if rest:
        seconds, fraction = divmod(rest, 1_000_000)
        parts.append(f"{sign}{seconds}" + (f".{fraction:06d}".rstrip("0") if fraction else "") + " seconds")
    return " ".join(parts) or "0 seconds"
