"""Days and instants as integers: the proleptic Gregorian calendar, time zones, and how both are read and written."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from panewise.core.errors import UnsupportedError
from panewise.engines.oracle.scalar.types import EPOCH

SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3_600 * SECOND, 86_400 * SECOND


def month_length(year: int, month: int) -> int:
    """The days of a month."""
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if month == 2 and leap else (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]


def day_number(year: int, month: int, day: int) -> int:
    """The days since 1970-01-01, in any year.

    >>> day_number(1970, 1, 1), day_number(2000, 3, 1), day_number(0, 1, 1)
    (0, 11017, -719528)
    """
    months = year * 12 + month - 3  # years that begin in March end with the leap day
    era_year, month_of = divmod(months, 12)
    return (era_year * 365 + era_year // 4 - era_year // 100 + era_year // 400 + (153 * month_of + 2) // 5 + day - 1
            - 719468)


def civil(days: int) -> tuple[int, int, int]:
    """Year, month and day of a day number.

    >>> civil(0), civil(11016), civil(-719528)
    ((1970, 1, 1), (2000, 2, 29), (0, 1, 1))
    """
    era, day_of_era = divmod(days + 719468, 146097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month + 2) // 5 + 1
    return year_of_era + era * 400 + (month >= 10), month + 3 if month < 10 else month - 9, day


def plus_months(days: int, months: int) -> int:
    """So many months later; a day that the month lacks becomes its last."""
    year, month, day = civil(days)
    year, month = divmod(year * 12 + month - 1 + months, 12)
    return day_number(year, month + 1, min(day, month_length(year, month + 1)))


# -- time zones ------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def zone_of(name: str) -> tzinfo:
    """A time zone by its name or offset.

    >>> zone_of("+02:30").utcoffset(None), zone_of("Z").utcoffset(None)
    (datetime.timedelta(seconds=9000), datetime.timedelta(0))
    """
    if name in ("Z", "UTC", "GMT", "UT"):
        return UTC
    if re.fullmatch(r"[A-Z]{3}(\d[A-Z]{3})?", name):
        raise UnsupportedError(f"the oracle does not know the time zone {name}; name a city")
    found = re.fullmatch(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{1,2}))?(?::?(\d{2}))?", name)
    if found:
        sign, hours, minutes, seconds = found.groups()
        amount = timedelta(hours=int(hours), minutes=int(minutes or 0), seconds=int(seconds or 0))
        if amount > timedelta(hours=18) or int(minutes or 0) > 59:
            raise ValueError(f"{name} is no time zone")
        return timezone(-amount if sign == "-" else amount)
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"{name} is no time zone") from error


def to_local(micros: int, zone: tzinfo) -> int:
    """The wall clock of a zone at an instant."""
    if zone is UTC:
        return micros
    moment = (_moment(micros)).replace(tzinfo=UTC)
    try:
        offset = moment.astimezone(zone).utcoffset()
    except OverflowError:
        offset = zone.utcoffset(_moment(micros))
    return micros + (offset or timedelta()) // timedelta(microseconds=1)


def to_instant(local: int, zone: tzinfo, near: int | None = None) -> int:
    """The instant of a wall clock time: the earlier of two, and moved on by the gap where the clock skips it.

    Of two instants the one with the offset of an instant ``near`` it is taken, where it is given.
    """
    if zone is UTC:
        return local
    moment = _moment(local)
    first, second = (int((zone.utcoffset(moment.replace(tzinfo=zone, fold=fold)) or timedelta())
                         // timedelta(microseconds=1)) for fold in (0, 1))
    if near is not None and first > second and to_local(near, zone) - near == second:
        return local - second
    return local - first


def _moment(micros: int) -> datetime:
    try:
        return EPOCH + timedelta(microseconds=micros)
    except OverflowError as error:
        raise UnsupportedError("the oracle knows time zones in the years 1 to 9999 only; this value lies outside: "
                               f"{micros} µs") from error


# -- text --------------------------------------------------------------------------------------------------------


def year_text(year: int) -> str:
    """At least four digits, with a sign where it needs one: ``+12345``, ``-0001``."""
    return f"{year:05d}" if year < 0 else f"{year:04d}" if year <= 9999 else f"+{year}"


def date_text(days: int) -> str:
    """``2020-02-29``."""
    year, month, day = civil(days)
    return f"{year_text(year)}-{month:02d}-{day:02d}"


def local_text(micros: int) -> str:
    """``2020-02-29 12:30:00.5``; the fraction only as long as it needs to be."""
    days, rest = divmod(micros, DAY)
    seconds, fraction = divmod(rest, SECOND)
    behind = f".{fraction:06d}".rstrip("0") if fraction else ""
    return f"{date_text(days)} {seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{behind}"


BLANKS = "".join(map(chr, range(33)))
_DATE = re.compile(r"([+-]?)(\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2}))?)?", re.ASCII)
_CLOCK = re.compile(r"T\d{1,2}(:|$)|\d{1,2}:", re.ASCII)
_TIME = re.compile(r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,9})\d*)?)?)?\s*(.*)", re.ASCII | re.DOTALL)


def trimmed(text: str) -> str:
    """Without white space and control characters at its ends.

    >>> trimmed("\\t 1\\x01 ")
    '1'
    """
    return text.strip(BLANKS + "\x7f")


def read_date(text: str) -> int | None:
    """The day of a text such as ``2020``, ``2020-2``, ``2020-02-29 anything``; None if it is none."""
    text = trimmed(text)
    found = _DATE.match(text)
    if not found:
        return None
    rest = text[found.end():]
    if rest and (found[4] is None or rest[0] not in " T"):
        return None
    return _valid_day(found)


def _valid_day(found: re.Match[str]) -> int | None:
    sign, year, month, day = found.groups()
    y, m, d = int(year) * (-1 if sign == "-" else 1), int(month or 1), int(day or 1)
    if not 1 <= m <= 12 or not 1 <= d <= month_length(y, m):
        return None
    found_day = day_number(y, m, d)
    return found_day if -(1 << 31) <= found_day < 1 << 31 else None


def read_stamp(text: str) -> tuple[int, str | None] | None:
    """The time of a text: the wall clock, and the zone if one is named; None if it is none."""
    text = trimmed(text)
    if _CLOCK.match(text):
        raise UnsupportedError(f"the oracle does not read {text!r} as a timestamp: it would be a time of today")
    found = _DATE.match(text)
    days = _valid_day(found) if found else None
    if found is None or days is None:
        return None
    rest = text[found.end():]
    if not rest:
        return days * DAY, None
    clock = _TIME.fullmatch(rest[1:])
    if found[4] is None or rest[0] not in " T" or clock is None:
        return None
    hours, minutes, seconds, fraction, zone = clock.groups()
    h, m, s = int(hours), int(minutes or 0), int(seconds or 0)
    if h > 23 or m > 59 or s > 59 or (seconds is None and zone):
        return None
    return days * DAY + h * HOUR + m * MINUTE + s * SECOND + int(f"{fraction or '':0<6}"[:6]), zone or None
