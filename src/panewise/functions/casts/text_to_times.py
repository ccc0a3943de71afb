"""Text to dates and timestamps, by the forms Spark reads: ``[+-]yyyy[-m[-d]]`` and ``… hh[:mm[:ss[.ffffff]]][zone]``.

The forms that programs write are read for whole columns; the others one distinct text at a time.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.functions.binding.frame import Here
from panewise.functions.calendar import DAY, days_of, is_date
from panewise.functions.casts.outcome import INVALID, NoValue, by_value, missing, patched
from panewise.functions.casts.table import cast
from panewise.functions.casts.text_to_numbers import AROUND
from panewise.functions.casts.times import session_zone, times_from
from panewise.functions.types import DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ
from panewise.functions.zones import SECOND, Zone, zone_of

Array = np.ndarray[Any, Any]
_LAST_DAY, _FIRST_DAY = (1 << 31) - 1, -(1 << 31)
_DATE = re.compile(r"([+-]?)([0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL)
_TIME = re.compile(
    r"([+-]?)([0-9]{4,6})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T]([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})"
    r"(?:\.([0-9]*)([^0-9].*)?|([^0-9.].*)?))?)?)?)?)?", re.DOTALL)


@cast(STRING, DATE)
def text_to_date(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """A day; a time behind it is not looked at."""
    quick = pc.match_substring_regex(values, r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")
    days, known = _days(pc.if_else(quick, values, "1970-01-01"))
    none = missing(values, ~known, here, failing, INVALID)
    found = pa.array(days.astype(np.int32), pa.int32(), mask=none).cast(DATE)
    slow = ~quick.fill_null(True).to_numpy(zero_copy_only=False)
    return patched(found, slow, values, here,
                   lambda some, there: by_value(some, date_from, there, failing, pa.int32()).cast(DATE))


def date_from(text: str) -> int:
    """One text as days since 1970."""
    parts = _DATE.fullmatch(text.strip(AROUND))
    if parts is None:
        raise NoValue
    return _day(parts[1], parts[2], parts[3], parts[4])


def _day(sign: str, year: str, month: str | None, day: str | None) -> int:
    y, m, d = (np.array([int(part)]) for part in (sign + year, month or 1, day or 1))
    if not is_date(y, m, d)[0]:
        raise NoValue
    days = int(days_of(y, m, d)[0])
    if not _FIRST_DAY <= days <= _LAST_DAY:
        raise NoValue
    return days


@cast(STRING, TIMESTAMP)
def text_to_instant(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """A clock reading in the zone it names, else in that of the session."""
    return _times(values, here, failing, session_zone(here))


@cast(STRING, TIMESTAMP_NTZ)
def text_to_clock(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """A clock reading; a zone behind it is not looked at."""
    return _times(values, here, failing, None)


def _times(values: pa.Array, here: Here, failing: bool, zone: Zone | None) -> pa.Array:
    quick = pc.match_substring_regex(
        values, r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z?$")
    texts = pc.if_else(quick, values, "1970-01-01 00:00:00")
    days, known = _days(texts)
    hour, minute, second = (_part(texts, at) for at in (11, 14, 17))
    behind = pc.ascii_rtrim(pc.utf8_slice_codeunits(texts, 20, 26), "Z")
    fraction = pc.ascii_rpad(behind, 6, "0").fill_null("0").cast(pa.int64()).to_numpy(zero_copy_only=False)
    known &= (hour < 24) & (minute < 60) & (second < 60)
    local = days * DAY + ((hour * 60 + minute) * 60 + second) * SECOND + fraction
    none = missing(values, ~known, here, failing, INVALID)
    local = np.where(none, 0, local)
    if zone is not None:
        utc = pc.ends_with(texts, "Z").fill_null(False).to_numpy(zero_copy_only=False)
        local = np.where(utc, local, zone.to_instant(local))
    slow = ~quick.fill_null(True).to_numpy(zero_copy_only=False)

    def one(text: str) -> int:
        return time_from(text, zone)

    return patched(times_from(local, none, here.type), slow, values, here,
                   lambda some, there: by_value(some, one, there, failing, pa.int64()).cast(here.type))


def time_from(text: str, zone: Zone | None) -> int:
    """One text as microseconds since 1970: an instant, or a clock reading where no zone is given.

    A time without a date would have the day of the run; it has no value here, because a query is to give the same
    answer on every day.
    """
    parts = _TIME.fullmatch(text.strip(AROUND))
    if parts is None:
        raise NoValue
    named = (parts[9] or parts[10] or "").strip()
    if parts[9] is not None or parts[10]:
        other = zone_of(named)
        if other is None:
            raise NoValue
        zone = None if zone is None else other
    hour, minute, second = (int(parts[i] or 0) for i in (5, 6, 7))
    if hour > 23 or minute > 59 or second > 59:
        raise NoValue
    micros = _day(parts[1], parts[2], parts[3], parts[4]) * DAY + ((hour * 60 + minute) * 60 + second) * SECOND \
        + int((parts[8] or "").ljust(6, "0")[:6])
    if zone is not None:
        # Far from int64's ends an offset cannot overflow; near them it is found one day nearer to zero.
        near = max(min(micros, (1 << 63) - 1 - DAY), -(1 << 63) + DAY)
        micros -= near - int(zone.to_instant(np.array([near], np.int64))[0])
    if not -(1 << 63) <= micros < 1 << 63:
        raise NoValue
    return micros


def _days(texts: pa.Array) -> tuple[Array, Array]:
    """Days of texts that begin with yyyy-mm-dd, and whether there is such a day."""
    year, month, day = _part(texts, 0, 4), _part(texts, 5), _part(texts, 8)
    known = is_date(year, month, day)
    return days_of(year, np.where(known, month, 1), np.where(known, day, 1)), known


def _part(texts: pa.Array, at: int, width: int = 2) -> Array:
    found: Array = pc.utf8_slice_codeunits(texts, at, at + width).cast(pa.int64()).fill_null(1).to_numpy(
        zero_copy_only=False)
    return found
