"""The proleptic Gregorian calendar on whole columns: days since 1970 to year, month and day, and back.

The arithmetic works on periods of 400 years that begin in March, so that a leap day is the last day of its year.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Array = np.ndarray[Any, Any]
SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3_600 * SECOND, 86_400 * SECOND
_ERA = 146_097


def civil(days: Array) -> tuple[Array, Array, Array]:
    """Year, month and day of days since 1970.

    >>> [int(part[0]) for part in civil(np.array([-1]))]
    [1969, 12, 31]
    """
    shifted = days.astype(np.int64) + 719_468
    era = shifted // _ERA
    of_era = shifted - era * _ERA
    year_of_era = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * of_year + 2) // 153
    day = of_year - (153 * shifted_month + 2) // 5 + 1
    month = np.where(shifted_month < 10, shifted_month + 3, shifted_month - 9)
    return year_of_era + era * 400 + (month <= 2), month, day


_KERNELS = (pc.year, pc.month, pc.day)
"""One each: Arrow's ``year_month_day`` brings the process down on some columns."""


def part_of_date(days: Array, part: int) -> Array:
    """Year (0), month (1) or day (2) by Arrow's kernels, within the years that they count.

    >>> [int(part_of_date(np.array([19_782]), part)[0]) for part in range(3)]
    [2024, 2, 29]
    """
    if not len(days) or days.min() < -10_000_000 or days.max() > 10_000_000:
        return civil(days)[part]
    dates = pa.array(days.astype(np.int32)).view(pa.date32())
    return np.asarray(_KERNELS[part](dates).to_numpy(zero_copy_only=False))


def days_of(year: Array, month: Array, day: Array) -> Array:
    """Days since 1970 of year, month (1 to 12) and day.

    >>> int(days_of(np.array([2000]), np.array([2]), np.array([29]))[0])
    11016
    """
    shifted = year - (month <= 2)
    era = shifted // 400
    year_of_era = shifted - era * 400
    of_year = (153 * (month + np.where(month > 2, -3, 9)) + 2) // 5 + day - 1
    return np.asarray(era * _ERA + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + of_year - 719_468)


def month_length(year: Array, month: Array) -> Array:
    """How many days a month has."""
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    lengths = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
    return np.asarray(lengths[month - 1] + (leap & (month == 2)))


def plus_months(days: Array, months: Array) -> Array:
    """Days moved by months; a day that the month does not have becomes its last."""
    year, month, day = civil(days)
    total = year * 12 + month - 1 + months
    year, month = total // 12, total % 12 + 1
    return days_of(year, month, np.minimum(day, month_length(year, month)))


def day_of_year(days: Array) -> Array:
    """1 to 366."""
    year, _, _ = civil(days)
    return np.asarray(days - days_of(year, np.ones_like(year), np.ones_like(year)) + 1)


def iso_week(days: Array) -> tuple[Array, Array]:
    """The year and the number of the ISO week: the week of the year's first Thursday is its first."""
    thursday = days - (days + 3) % 7 + 3
    year, _, _ = civil(thursday)
    return year, (day_of_year(thursday) - 1) // 7 + 1


def numbers_of(values: pa.Array) -> Array:
    """Dates as days, times and intervals as microseconds, months as numbers; 0 for null."""
    storage = values.storage if isinstance(values, pa.ExtensionArray) else values
    plain = storage.view(pa.int32()) if storage.type.bit_width == 32 else storage.view(pa.int64())
    found: Array = plain.fill_null(0).to_numpy(zero_copy_only=False)
    return found.astype(np.int64)


def times_from(numbers: Array, like: pa.Array | None, of: pa.DataType) -> pa.Array:
    """Numbers as values of a type of time, null where another column is."""
    mask = None if like is None or not like.null_count else like.is_null().to_numpy(zero_copy_only=False)
    narrow = isinstance(of, pa.ExtensionType) or of.bit_width == 32
    plain = pa.array(numbers.astype(np.int32 if narrow else np.int64), mask=mask)
    if isinstance(of, pa.ExtensionType):
        return pa.ExtensionArray.from_storage(of, plain)
    return plain.view(of)
