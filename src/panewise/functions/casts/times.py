"""Dates and timestamps among each other, to text, and to and from numbers of seconds."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.functions.binding.frame import Here
from panewise.functions.calendar import DAY, date_texts, time_texts
from panewise.functions.casts.decimals import fitted
from panewise.functions.casts.outcome import INVALID, OVERFLOW, by_value, missing, nulls_of
from panewise.functions.casts.table import cast
from panewise.functions.types import DATE, DOUBLE, STRING, TIMESTAMP, TIMESTAMP_NTZ, is_decimal, is_float, is_integer
from panewise.functions.zones import SECOND, Zone, zone_of

Array = np.ndarray[Any, Any]
_LONG = 1 << 63
_OF_SPARK = Context(prec=34, rounding=ROUND_HALF_EVEN)


def session_zone(here: Here) -> Zone:
    """The zone of the session."""
    found = zone_of(here.zone)
    if found is None:
        raise ValueError(f"no time zone {here.zone!r}")
    return found


def micros_of(values: pa.Array) -> Array:
    """Microseconds of a timestamp column; zero for null."""
    found: Array = values.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return found


def times_from(micros: Array, none: Array, of: pa.DataType) -> pa.Array:
    """A timestamp column of microseconds."""
    return pa.array(micros, pa.int64(), mask=none).cast(of)


@cast(DATE, STRING)
def date_to_text(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """2024-02-29."""
    del here, failing
    return date_texts(values)


@cast(TIMESTAMP_NTZ, STRING)
def clock_to_text(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """2024-02-29 12:34:56.5."""
    del here, failing
    return time_texts(values.cast(pa.int64()))


@cast(TIMESTAMP, STRING)
def instant_to_text(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """The clock reading in the zone of the session."""
    del failing
    return time_texts(pa.array(session_zone(here).to_local(micros_of(values)), pa.int64(), mask=nulls_of(values)))


@cast(TIMESTAMP, DATE)
@cast(TIMESTAMP_NTZ, DATE)
def time_to_date(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """The day; of an instant in the zone of the session."""
    del failing
    micros = micros_of(values)
    local = session_zone(here).to_local(micros) if values.type == TIMESTAMP else micros
    return pa.array((local // DAY).astype(np.int32), pa.int32(), mask=nulls_of(values)).cast(DATE)


@cast(DATE, TIMESTAMP)
@cast(DATE, TIMESTAMP_NTZ)
def date_to_time(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """Midnight; as an instant in the zone of the session."""
    days = values.cast(pa.int32()).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    none = missing(values, np.abs(days) > _LONG // DAY - 1, here, failing, "DATETIME_OVERFLOW")
    local = np.where(none, 0, days) * DAY
    return times_from(session_zone(here).to_instant(local) if here.type == TIMESTAMP else local, none, here.type)


@cast(TIMESTAMP, TIMESTAMP_NTZ)
def instant_to_clock(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """The clock reading in the zone of the session."""
    del failing
    return times_from(session_zone(here).to_local(micros_of(values)), nulls_of(values), here.type)


@cast(TIMESTAMP_NTZ, TIMESTAMP)
def clock_to_instant(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """The instant at which the clock in the zone of the session reads so."""
    del failing
    return times_from(session_zone(here).to_instant(micros_of(values)), nulls_of(values), here.type)


@cast(is_integer, TIMESTAMP)
def integer_to_time(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """Seconds since 1970; beyond the range the first or last instant there is."""
    del failing
    seconds = values.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    bound = (_LONG - 1) // SECOND
    micros = np.clip(seconds, -bound, bound) * SECOND
    micros = np.where(seconds > bound, _LONG - 1, np.where(seconds < -bound, -_LONG, micros))
    return times_from(micros, nulls_of(values), here.type)


@cast(is_float, TIMESTAMP)
def float_to_time(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """Seconds since 1970, cut to microseconds; NaN and infinities have no instant."""
    seconds = values.cast(DOUBLE).fill_null(0.0).to_numpy(zero_copy_only=False)
    finite = np.isfinite(seconds)
    missing(values, ~finite, here, failing, INVALID)
    with np.errstate(all="ignore"):
        micros = np.where(finite, seconds, 0.0) * float(SECOND)
    top, bottom = micros >= 2.0 ** 63, micros < -2.0 ** 63
    none = missing(values, ~finite | (micros > 2.0 ** 63) | bottom, here, failing, OVERFLOW)
    whole = np.where(top | bottom, 0.0, micros).astype(np.int64)
    return times_from(np.where(top, _LONG - 1, whole), none, here.type)


@cast(is_decimal, TIMESTAMP)
def decimal_to_time(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """Seconds since 1970, cut to microseconds; Spark computes with 34 digits and keeps the last 64 bits."""
    def one(value: Decimal) -> int:
        micros = int(_OF_SPARK.multiply(value, Decimal(SECOND)))
        return (micros + _LONG) % (1 << 64) - _LONG

    return by_value(values, one, here, failing, pa.int64()).cast(here.type)


@cast(TIMESTAMP, is_integer)
def time_to_integer(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """Whole seconds since 1970."""
    seconds = micros_of(values) // SECOND
    low, high = -(1 << here.type.bit_width - 1), (1 << here.type.bit_width - 1) - 1
    none = missing(values, (seconds < low) | (seconds > high), here, failing, OVERFLOW)
    return pa.array(np.where(none, 0, seconds).astype(here.type.to_pandas_dtype()), here.type, mask=none)


@cast(TIMESTAMP, is_float)
def time_to_float(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """Seconds since 1970 with their fraction."""
    del failing
    seconds = micros_of(values) / float(SECOND)
    return pa.array(seconds.astype(here.type.to_pandas_dtype()), here.type, mask=nulls_of(values))


@cast(TIMESTAMP, is_decimal)
def time_to_decimal(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """Seconds since 1970 with their fraction, exact."""
    micros = micros_of(values)
    digits = micros if len(micros) == 0 or (micros.max() < 10 ** 18 and micros.min() > -10 ** 18) else \
        micros.astype(object)
    return fitted(digits, 6, nulls_of(values), values, here, failing)
