"""Durations and timestamps: parsed here and nowhere else.

Inside panewise a timestamp is an integer count of microseconds since the Unix epoch in UTC, a date is a count of
days, a row position is 1-based. Text at the borders is ISO-8601 in UTC (or with an explicit offset).
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import Enum

from panewise.core.errors import PanewiseWarning, QuantityError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND, MILLISECOND, SECOND = 1, 1_000, 1_000_000
MINUTE, HOUR, DAY, WEEK = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND, 7 * 86_400 * SECOND

TIME_UNITS: dict[str, int] = {
    **dict.fromkeys(("us", "µs", "microsecond", "microseconds"), MICROSECOND),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), MILLISECOND),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), SECOND),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), MINUTE),
    **dict.fromkeys(("h", "hour", "hours"), HOUR),
    **dict.fromkeys(("d", "day", "days"), DAY),
    **dict.fromkeys(("w", "week", "weeks"), WEEK),
}
ROW_UNITS = frozenset({"row", "rows", "tuple", "tuples"})
TICK_UNITS = frozenset({"tick", "ticks"})
MONTH_UNITS = frozenset({"month", "months"})


class Domain(Enum):
    """What the integers of a quantity or of a windowing attribute count."""

    TIME = "time"      # microseconds
    ROWS = "rows"      # arrival positions
    TICKS = "ticks"    # one step of the attribute's own domain, whatever it is
    MONTHS = "months"  # calendar months, only meaningful for calendar windows


@dataclass(frozen=True, slots=True)
class Quantity:
    """A positive amount in one domain.

    >>> Quantity.parse("10 minutes"), Quantity.parse("100 rows"), Quantity.parse(7)
    (Quantity(amount=600000000, domain=<Domain.TIME: 'time'>), Quantity(amount=100, domain=<Domain.ROWS: 'rows'>),
     Quantity(amount=7, domain=<Domain.TICKS: 'ticks'>))
    """

    amount: int
    domain: Domain

    @classmethod
    def parse(cls, value: str | int | timedelta | Quantity) -> Quantity:
        """Read ``"10 min"``, ``"5 rows"``, ``"3 ticks"``, a plain integer (ticks) or a timedelta."""
        if isinstance(value, Quantity):
            return value
        if isinstance(value, timedelta):
            return cls(value // timedelta(microseconds=1), Domain.TIME)
        if isinstance(value, int):
            return cls(value, Domain.TICKS)
        match = re.fullmatch(r"\s*(-?\d+(?:\.\d+)?)\s*([A-Za-zµ]*)\s*", value)
        if match is None:
            raise QuantityError(f"cannot read the quantity {value!r}: write a number and a unit, such as '10 minutes'")
        return cls.of(match[1], match[2])

    @classmethod
    def of(cls, number: str, unit: str) -> Quantity:
        """Combine a number and a unit as written.

        >>> Quantity.of("1.5", "s").amount
        1500000
        """
        unit = unit.lower()
        if unit in TIME_UNITS:
            whole, _, fraction = number.partition(".")
            scale = TIME_UNITS[unit]
            numerator = int(whole + fraction) * scale
            if numerator % 10 ** len(fraction):
                raise QuantityError(f"{number} {unit} is finer than one microsecond")
            return cls(numerator // 10 ** len(fraction), Domain.TIME)
        if "." in number:
            raise QuantityError(f"{number} {unit or 'ticks'} must be a whole number")
        if unit in ROW_UNITS:
            return cls(int(number), Domain.ROWS)
        if unit in MONTH_UNITS:
            return cls(int(number), Domain.MONTHS)
        if unit in TICK_UNITS or not unit:
            return cls(int(number), Domain.TICKS)
        known = ", ".join(["rows", "ticks", "ms", "seconds", "minutes", "hours", "days", "months"])
        raise QuantityError(f"unknown unit {unit!r}: use one of {known}")

    def __str__(self) -> str:
        if self.domain is Domain.TIME:
            return format_duration(self.amount)
        return f"{self.amount} {self.domain.value}"


def warn_bare_number(what: str, number: int) -> None:
    """Say that a number without a unit counts microseconds on a timestamp, where it makes less than a second."""
    if abs(number) < SECOND:
        warnings.warn(f"{what} {number} on a timestamp is {number} microseconds: write {number} seconds, or "
                      f"{number} us if that is meant", PanewiseWarning, stacklevel=3)


def parse_duration(value: str | int | timedelta) -> int:
    """A duration in microseconds; a plain integer already is one.

    >>> parse_duration("1.5 min"), parse_duration("250 ms"), parse_duration("7 µs")
    (90000000, 250000, 7)
    """
    if isinstance(value, int):
        return value
    quantity = Quantity.parse(value)
    if quantity.domain is not Domain.TIME:
        raise QuantityError(f"{value!r} is not a duration: write a time unit, such as '10 s'")
    return quantity.amount


def format_duration(micros: int) -> str:
    """The shortest exact text.

    >>> format_duration(90_000_000), format_duration(600_000_000), format_duration(1)
    ('90s', '10min', '1us')
    """
    for name, size in (("d", DAY), ("h", HOUR), ("min", MINUTE), ("s", SECOND), ("ms", MILLISECOND)):
        if micros and micros % size == 0:
            return f"{micros // size}{name}"
    return f"{micros}us"


def parse_timestamp(value: str | int | datetime | date) -> int:
    """Microseconds since the epoch from ISO-8601 text, a datetime, a date, or an integer that already counts them.

    Text and datetimes without an offset are UTC; a bare time of day is on the epoch's day.

    >>> parse_timestamp("2026-01-01T00:01:00Z"), parse_timestamp("07:00:00"), parse_timestamp("1970-01-02")
    (1767225660000000, 25200000000, 86400000000)
    """
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        text = value.strip()
        if re.fullmatch(r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?", text):
            text = f"1970-01-01T{text.zfill(5) if len(text) < 5 else text}"
        try:
            value = datetime.fromisoformat(text)
        except ValueError as error:
            raise QuantityError(
                f"{text!r} is not a time: write ISO-8601 such as '2026-01-01T00:01:00Z', or an integer"
            ) from error
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=UTC)
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    return (value - EPOCH) // timedelta(microseconds=1)


def format_timestamp(micros: int) -> str:
    """ISO-8601 in UTC, as short as it is exact.

    >>> format_timestamp(1767225660000000), format_timestamp(1500)
    ('2026-01-01T00:01:00Z', '1970-01-01T00:00:00.001500Z')
    """
    return (EPOCH + timedelta(microseconds=micros)).replace(tzinfo=None).isoformat() + "Z"
