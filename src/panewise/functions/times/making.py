"""Dates and timestamps from their parts."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.functions.binding.by_value import ValueFailure, computed
from panewise.functions.binding.frame import Datum, Here
from panewise.functions.binding.registry import function
from panewise.functions.times.calendar import DAY, HOUR, MINUTE, days_of, month_length
from panewise.functions.times.clocks import session_zone
from panewise.functions.types import BIGINT, DATE, INT, STRING, TIMESTAMP, TIMESTAMP_NTZ
from panewise.functions.zones import zone_of

SECONDS = pa.decimal128(16, 6)
OUT_OF_BOUNDS = "DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION"
YEARS = 999_999_999


def _day(year: int, month: int, day: int) -> int:
    if not 1 <= month <= 12 or abs(year) > YEARS or not 1 <= day <= 31 or \
            day > int(month_length(np.array([year]), np.array([month]))[0]):
        raise ValueFailure(OUT_OF_BOUNDS, f"there is no date {year}-{month}-{day}")
    return int(days_of(np.array([year]), np.array([month]), np.array([day]))[0])


@function("make_date", takes=[INT, INT, INT], gives=DATE, by_value=True)
def make_date(year: Datum, month: Datum, day: Datum, here: Here) -> Datum:
    """The date of a year, a month and a day."""
    inner = Here(here.frame, INT, here.zone, here.expression)
    return computed(_day, [year, month, day], inner).view(DATE)


def _reading(year: int, month: int, day: int, hour: int, minute: int, second: Decimal) -> int:
    micros = int(second * 1_000_000)
    if 60_000_000 < micros < 61_000_000:
        raise ValueFailure("INVALID_FRACTION_OF_SECOND", f"{second} seconds: only 60 itself may stand for a minute")
    days = _day(year, month, day)
    if not 0 <= hour <= 23 or not 0 <= minute <= 59:
        raise ValueFailure(OUT_OF_BOUNDS, f"there is no time {hour}:{minute}")
    if not 0 <= micros <= 60_000_000:  # 60 is the first second of the next minute
        raise ValueFailure(OUT_OF_BOUNDS, f"there is no second {second}")
    return days * DAY + hour * HOUR + minute * MINUTE + micros


def _declare(name: str, of: pa.DataType, failing: bool) -> None:
    def run(*parts: Datum, here: Here) -> Datum:
        def plain(*values: Any) -> int | None:
            try:
                local = _reading(*values[:6])
                if of == TIMESTAMP_NTZ:
                    return local
                zone = session_zone(here.zone) if len(values) == 6 else zone_of(values[6])
                if zone is None:
                    raise ValueFailure("INVALID_TIMEZONE", f"no time zone {values[6][:40]!r}")
                return int(zone.to_instant(np.array([local]))[0])
            except ValueFailure:
                if failing:
                    raise
                return None

        return computed(plain, parts, Here(here.frame, BIGINT, here.zone, here.expression)).view(of)

    takes = [INT, INT, INT, INT, INT, SECONDS]
    function(name, takes=takes, gives=of, by_value=True)(run)
    if of == TIMESTAMP:
        function(name, takes=[*takes, STRING], gives=of, by_value=True)(run)


for _prefix, _failing in (("", True), ("try_", False)):
    _declare(f"{_prefix}make_timestamp", TIMESTAMP, _failing)
    _declare(f"{_prefix}make_timestamp_ltz", TIMESTAMP, _failing)
    _declare(f"{_prefix}make_timestamp_ntz", TIMESTAMP_NTZ, _failing)
