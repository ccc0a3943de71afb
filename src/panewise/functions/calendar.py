"""Days and clock readings as numbers: the proleptic Gregorian calendar on whole columns, any year."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.functions.types import STRING

Array = np.ndarray[Any, Any]
DAY = 86_400_000_000
"""Microseconds of a day."""
_LENGTHS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
YEAR_0, YEAR_10000 = -719_528, 2_932_897
"""Days at which years begin that are no longer written with four digits, and the first that is."""


def days_of(year: Array, month: Array, day: Array) -> Array:
    """Days since 1970-01-01; months and days must be in range (``is_date``)."""
    year = np.asarray(year, np.int64) - (month <= 2)
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * (month + np.where(month > 2, -3, 9)) + 2) // 5 + day - 1
    return np.asarray(era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468)


def is_date(year: Array, month: Array, day: Array) -> Array:
    """Whether there is such a day."""
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    known = (month >= 1) & (month <= 12)
    length = _LENGTHS[np.where(known, month, 1) - 1] + (leap & (month == 2))
    return np.asarray(known & (day >= 1) & (day <= length))


def civil(days: Array) -> tuple[Array, Array, Array]:
    """Year, month and day of days since 1970-01-01."""
    moved = np.asarray(days, np.int64) + 719_468
    era = moved // 146_097
    of_era = moved - era * 146_097
    year_of_era = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * of_year + 2) // 153
    day = of_year - (153 * shifted + 2) // 5 + 1
    month = np.where(shifted < 10, shifted + 3, shifted - 9)
    return np.asarray(year_of_era + era * 400 + (month <= 2)), month, day


def date_texts(days: pa.Array) -> pa.Array:
    """DATE as text; years of more than four digits have a sign."""
    numbers = days.cast(pa.int32()).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    far = (numbers < YEAR_0) | (numbers >= YEAR_10000)
    if not far.any():
        return days.cast(STRING)
    near = pa.array(np.where(far, 0, numbers).astype(np.int32)).cast(pa.date32()).cast(STRING)
    texts = pc.if_else(days.is_null(), pa.scalar(None, STRING), near)
    return pc.replace_with_mask(texts, pa.array(far), pa.array(_far_dates(numbers[far]), STRING))


def time_texts(micros: pa.Array) -> pa.Array:
    """Clock readings (int64 microseconds) as text, the fraction without zeros at its end."""
    numbers = micros.fill_null(0).to_numpy(zero_copy_only=False)
    days = numbers // DAY
    far = (days < YEAR_0) | (days >= YEAR_10000)
    near = micros if not far.any() else pa.array(np.where(far, numbers - days * DAY, numbers),
                                                 mask=micros.is_null().to_numpy(zero_copy_only=False))
    texts = pc.ascii_rtrim(pc.ascii_rtrim(near.cast(pa.timestamp("us")).cast(STRING), "0"), ".")
    if not far.any():
        return texts
    clocks = texts.filter(pa.array(far)).to_pylist()
    odd = [f"{day}{clock[10:]}" for day, clock in zip(_far_dates(days[far]), clocks, strict=True)]
    return pc.replace_with_mask(texts, pa.array(far), pa.array(odd, STRING))


def _far_dates(days: Array) -> list[str]:
    parts = zip(*(part.tolist() for part in civil(days)), strict=True)
    return [f"{'-' if y < 0 else '+' if y > 9999 else ''}{abs(y):04d}-{m:02d}-{d:02d}" for y, m, d in parts]
