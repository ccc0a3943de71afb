"""Calendar windows: days, weeks, months, quarters and years of a time zone, across daylight-saving changes.

A day of a time zone may have 23 or 25 hours and a month 28 to 31 days, so boundaries are looked up, not divided. The
*units* between them are numbered; in that number a calendar window is an ordinary sliding window.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import ClassVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from panewise.core.arrays import of_each
from panewise.core.errors import BeyondCalendarError, WindowSpecError
from panewise.core.intervals import Interval
from panewise.core.ordinals import OrdinalKind, Ordinals
from panewise.core.time import DAY, local_instant, parse_timestamp
from panewise.windows.base import UNBOUNDED, Clock, Rows, WindowSpec, whole

UNITS = {"day": (1, 0), "week": (7, 0), "month": (0, 1), "quarter": (0, 3), "year": (0, 12)}
"""Days and months of each unit."""

# One year inside what datetime can hold, so that neighbouring boundaries always exist.
EARLIEST, LATEST = (parse_timestamp(f"{year}-01-01") for year in ("0002", "9998"))
MOST_YEARS = 9999


@dataclass(frozen=True)
class CalendarWindow(WindowSpec):
    """Windows of ``range`` calendar units, one every ``slide`` units (default: they touch), in a time zone.

    ``origin`` is the local wall time at which unit 0 begins: midnight of 1970-01-01, for weeks Monday 1969-12-29. A
    day that begins at six is ``origin=datetime(1970, 1, 1, 6)``, a fiscal year from April
    ``origin=datetime(1970, 4, 1)``. A boundary that daylight saving skips is the first instant after the skip; one
    that occurs twice is the first of the two. On date columns (``ordinal=OrdinalKind.DATE``) there is no time zone.

    >>> berlin = CalendarWindow("day", timezone="Europe/Berlin")
    >>> spring = berlin.extent(int(berlin.wids(Rows.of([parse_timestamp("2026-03-29T12:00Z")]))[0][0]))
    >>> (spring.end - spring.start) // 3_600_000_000  # the clocks went forward
    23
    """

    unit: str
    range: int = 1
    slide: int | None = None
    timezone: str = "UTC"
    origin: datetime | None = None
    ordinal: OrdinalKind = OrdinalKind.TIMESTAMP

    kind: ClassVar[str] = "calendar"
    shows_range: ClassVar[bool] = True
    clock: ClassVar[Clock | None] = Clock.TIME

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise WindowSpecError(f"no calendar unit {self.unit!r}: use one of {', '.join(UNITS)}")
        whole("RANGE", self.range, least=1)
        whole("SLIDE", self.step, least=1)
        days, months = UNITS[self.unit]
        longest = max(self.range, self.step)
        if days * longest > MOST_YEARS * 366 or months * longest > MOST_YEARS * 12:
            raise WindowSpecError(f"a calendar window of {longest} {self.unit} is longer than the calendar, which ends "
                                  f"with the year {MOST_YEARS}")
        try:
            ZoneInfo(self.timezone)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise WindowSpecError(f"no time zone {self.timezone!r}: write one such as 'Europe/Berlin'") from error
        if self.start_of_units.tzinfo is not None:
            raise WindowSpecError(f"the origin {self.origin} has an offset: give local wall time of {self.timezone}")
        if UNITS[self.unit][1] and self.start_of_units.day > 28:
            raise WindowSpecError(
                f"the origin {self.origin:%Y-%m-%d} is a day that not every month has: use one up to the 28th"
            )
        if self.ordinal is OrdinalKind.DATE:
            if self.timezone != "UTC":
                raise WindowSpecError(f"dates have no time zone: leave out {self.timezone!r}, or use timestamps")
            if self.start_of_units.time() != datetime.min.time():
                raise WindowSpecError(f"on dates a unit begins with a date, not at {self.origin:%H:%M}")
        elif self.ordinal is not OrdinalKind.TIMESTAMP:
            raise WindowSpecError(f"a calendar needs timestamps or dates, not {self.ordinal.value}")

    @property
    def step(self) -> int:
        """SLIDE in units."""
        return self.range if self.slide is None else self.slide

    @property
    def start_of_units(self) -> datetime:
        """The local wall time at which unit 0 begins."""
        if self.origin is not None:
            return self.origin
        return datetime(1969, 12, 29) if self.unit == "week" else datetime(1970, 1, 1)

    def boundary(self, unit: int) -> int:
        """The ordinal at which a unit begins."""
        days, months = UNITS[self.unit]
        micros = _boundary(self.start_of_units, days * unit, months * unit, self.timezone)
        return micros // DAY if self.ordinal is OrdinalKind.DATE else micros

    def units(self, values: Ordinals) -> Ordinals:
        """The number of the unit each value is in: a guess in UTC, put right by a search among nearby boundaries."""
        if not len(values):
            return values
        scale = DAY if self.ordinal is OrdinalKind.DATE else 1
        smallest, largest = int(values.min()), int(values.max())
        if smallest < EARLIEST // scale or largest > LATEST // scale:
            wrong = smallest if smallest < EARLIEST // scale else largest
            raise BeyondCalendarError(f"{wrong} is outside the years 2 to 9997 that a calendar window can place")
        # No zone is a whole day from UTC, so the unit is the guess or one beside it. Only those boundaries are
        # looked up: what it costs depends on the units that have rows, not on how far apart they are.
        guess = np.unique(self._guess(values * scale))
        numbers = np.unique(np.concatenate([guess - 1, guess, guess + 1]))
        boundaries = np.fromiter((self.boundary(n) for n in numbers.tolist()), np.int64, len(numbers))
        return numbers[np.searchsorted(boundaries, values, side="right") - 1]

    def _guess(self, micros: Ordinals) -> Ordinals:
        """The unit if the time zone were UTC."""
        origin = self.start_of_units
        days, months = UNITS[self.unit]
        if days:
            return (micros - parse_timestamp(origin)) // (days * DAY)
        month = micros.astype("datetime64[us]").astype("datetime64[M]")
        into_month = micros - month.astype("datetime64[us]").astype(np.int64)
        begins_at = parse_timestamp(origin) - parse_timestamp(datetime(origin.year, origin.month, 1))
        number = month.astype(np.int64) - (origin.year - 1970) * 12 - (origin.month - 1) - (into_month < begins_at)
        return np.asarray(number // months)

    def extent(self, wid: int, rows: Rows | None = None) -> Interval:
        """Window w ends where unit (w+1)·slide begins and reaches ``range`` units back."""
        end = (wid + 1) * self.step
        return Interval(self.boundary(end - self.range), self.boundary(end))

    def wids(self, rows: Rows) -> tuple[Ordinals, Ordinals]:
        """Equation 5.3 with floors (erratum E1), in units."""
        unit = self.units(rows.values)
        return unit // self.step, (unit + self.range) // self.step

    def closed_below(self, bound: int) -> int:
        """Window w is complete when its end is at or below the bound."""
        scale = DAY if self.ordinal is OrdinalKind.DATE else 1
        if not EARLIEST // scale <= bound <= LATEST // scale:  # the ends of time close nothing, or everything
            return UNBOUNDED if bound > 0 else -UNBOUNDED
        return int(self.units(np.array([bound], np.int64))[0]) // self.step

    def lifetime(self, values: Ordinals) -> tuple[Ordinals, Ordinals]:
        """From the close of the first window with the row to the close of the first without."""
        unit = self.units(values)
        return self._closes(unit // self.step), self._closes((unit + self.range) // self.step)

    def _closes(self, wids: Ordinals) -> Ordinals:
        """The last instant of each window."""
        return of_each(lambda wid: self.boundary((wid + 1) * self.step) - 1, wids)

    def describe(self) -> str:
        """RANGE, SLIDE if they overlap or leave gaps, and where the units are."""
        slide = f", slide {self.step}" if self.step != self.range else ""
        origin = f", origin {self.origin.isoformat()}" if self.origin is not None else ""
        return f"range {self.range} {self.unit}{'s' if self.range > 1 else ''}{slide}, {self.timezone}{origin}"


@lru_cache(maxsize=65_536)
def _boundary(origin: datetime, days: int, months: int, timezone: str) -> int:
    month = origin.year * 12 + origin.month - 1 + months
    try:
        local = origin.replace(year=month // 12, month=month % 12 + 1) + timedelta(days=days)
        return local_instant(local, timezone)
    except (ValueError, OverflowError) as error:
        raise BeyondCalendarError("a calendar window begins or ends outside the years 1 to 9999: use a shorter RANGE, "
                                  "or leave out rows so far away") from error
