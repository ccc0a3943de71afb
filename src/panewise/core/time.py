"""Durations and timestamps: parsed here and nowhere else.

Inside panewise a timestamp is an integer count of microseconds since the Unix epoch in UTC, a date is a count of
days, a row position is 1-based. Text at the borders is ISO-8601 in UTC (or with an explicit offset).
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from enum import Enum
from fractions import Fraction
from typing import TypeAlias
from zoneinfo import ZoneInfo

from panewise.core.errors import PanewiseWarning, QuantityError, shortened

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
MOST_DIGITS = 40
"""More than any amount of 64 bits needs, in whatever unit and with however many decimals."""


TIME_OF_DAY = re.compile(r"\s*\d{1,2}:\d{2}(:\d{2}(\.\d{1,6})?)?\s*")
AmountGiven: TypeAlias = str | int | timedelta
"""An amount as a program gives it: text with a unit, a number of ticks, or a timedelta."""


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
            if abs(value) >= 2**63:
                raise QuantityError("more ticks than 64-bit arithmetic can hold: use less than 2**60")
            return cls(value, Domain.TICKS)
        match = re.fullmatch(r"\s*(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*([A-Za-zµ]*)\s*", value)
        if match is None:
            raise QuantityError(f"cannot read the quantity {shortened(value)!r}: write a number and a unit, such as "
                                "'10 minutes'")
        return cls.of(match[1], match[2])

    @classmethod
    def of(cls, number: str, unit: str) -> Quantity:
        """Combine a number and a unit as written.

        >>> Quantity.of("1.5", "s").amount, Quantity.of("1e3", "rows").amount
        (1500000, 1000)
        """
        unit, exact = unit.lower(), _exact(number)
        if unit in TIME_UNITS:
            micros = exact * TIME_UNITS[unit]
            if micros.denominator != 1:
                raise QuantityError(f"{number} {unit} is finer than one microsecond")
            return cls(micros.numerator, Domain.TIME)
        if exact.denominator != 1:
            raise QuantityError(f"{number} {unit or 'ticks'} must be a whole number")
        if unit in ROW_UNITS:
            return cls(exact.numerator, Domain.ROWS)
        if unit in MONTH_UNITS:
            return cls(exact.numerator, Domain.MONTHS)
        if unit in TICK_UNITS or not unit:
            return cls(exact.numerator, Domain.TICKS)
        known = ", ".join(["rows", "ticks", "ms", "seconds", "minutes", "hours", "days", "months"])
        raise QuantityError(f"unknown unit {unit!r}: use one of {known}")

    def __str__(self) -> str:
        if self.domain is Domain.TIME:
            return format_duration(self.amount)
        return f"{self.amount} {self.domain.value}"


def _exact(number: str) -> Fraction:
    """A number as written, also ``1e3``; one of more digits than any amount has is not computed with."""
    try:
        found = Decimal(number)
    except InvalidOperation as error:
        raise QuantityError(f"{shortened(number)!r} is no number: write one such as 10 or 1.5") from error
    if not found.is_finite() or len(number) > MOST_DIGITS or abs(found.adjusted()) > MOST_DIGITS:
        raise QuantityError(f"{shortened(number)} is no amount that 64-bit arithmetic can hold: use less than 2**60")
    return Fraction(found)


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

    Text and datetimes without an offset are UTC. A bare time of day is no instant: only its day makes it one.

    >>> parse_timestamp("2026-01-01T00:01:00Z"), parse_timestamp("1970-01-02")
    (1767225660000000, 86400000000)
    """
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        text = value.strip()
        if TIME_OF_DAY.fullmatch(text):
            raise QuantityError(f"{text!r} is a time of day, which no day was given for: write the whole time, such as "
                                f"'2026-01-01T{text.zfill(5)}Z'")
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


@dataclass(frozen=True)
class Day:
    """The day on which bare times of day are, as a run declares it.

    >>> Day.parse("2026-01-01").at("07:00", "UTC"), Day.parse(date(2026, 3, 29)).at("2:30", "Europe/Berlin")
    (1767250800000000, 1774746000000000)
    """

    day: date

    def __str__(self) -> str:
        return self.day.isoformat()

    @classmethod
    def parse(cls, given: str | date) -> Day:
        """From a date, or ISO text of one."""
        if isinstance(given, datetime) or not isinstance(given, str | date):
            raise QuantityError(f"day={given!r} is no day: give a date, such as '2026-01-01'")
        try:
            return cls(date.fromisoformat(given.strip()) if isinstance(given, str) else given)
        except ValueError as error:
            raise QuantityError(f"day={shortened(str(given))!r} is no day: write it as '2026-01-01'") from error

    def at(self, text: str, zone: str) -> int:
        """A time of this day by the clocks of a zone; one that they skip is the first instant after."""
        hour, _, rest = text.strip().partition(":")
        try:
            local = datetime.fromisoformat(f"{self}T{hour.zfill(2)}:{rest}")
        except ValueError as error:
            raise QuantityError(f"{text!r} is no time of day: write one such as '07:00:00'") from error
        return local_instant(local, zone)


def local_instant(local: datetime, zone: str) -> int:
    """The first instant at which the clocks of the zone show this wall time, or a later one if they skip it."""
    clocks = ZoneInfo(zone)
    at = local.replace(tzinfo=clocks)
    instant = parse_timestamp(at)
    try:
        skipped = at.astimezone(UTC).astimezone(clocks).replace(tzinfo=None) != local
    except OverflowError as error:
        raise QuantityError(f"{local} in {zone} is an instant before the year 1 or after 9999 in UTC") from error
    if not skipped:
        return instant
    # Fold 1 reads a skipped time with the new offset and so lies before the change, fold 0 lies at or after it.
    later = at.replace(fold=1)
    after, low, high = later.utcoffset(), parse_timestamp(later), instant
    while low < high:
        middle = (low + high) // 2
        if (EPOCH + timedelta(microseconds=middle)).astimezone(clocks).utcoffset() == after:
            high = middle
        else:
            low = middle + 1
    return low


_FOUR_CENTURIES = 146_097 * DAY
_BEFORE_2000 = -10_957 * DAY
"""From 2000 on every four centuries are alike."""


def format_timestamp(micros: int) -> str:
    """ISO-8601 in UTC, as short as it is exact.

    >>> format_timestamp(1767225660000000), format_timestamp(1500)
    ('2026-01-01T00:01:00Z', '1970-01-01T00:00:00.001500Z')
    """
    try:
        return (EPOCH + timedelta(microseconds=micros)).replace(tzinfo=None).isoformat() + "Z"
    except OverflowError:
        return format_any_year(micros)


def format_any_year(micros: int) -> str:
    """The same of years that no ``datetime`` has: 400 years are whole days, so that all but the year is the same.

    >>> format_any_year(-62_167_219_200_000_000), format_any_year(2**62)
    ('0000-01-01T00:00:00Z', '148108-07-06T14:00:27.387904Z')
    """
    cycles, rest = divmod(micros + _BEFORE_2000, _FOUR_CENTURIES)
    text = format_timestamp(rest - _BEFORE_2000)
    year = int(text[:4]) + 400 * cycles
    return f"{'-' if year < 0 else ''}{abs(year):04d}{text[4:]}"
