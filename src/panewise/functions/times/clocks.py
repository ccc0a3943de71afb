"""Timestamps as clock readings: instants in the zone of the session, readings without a zone as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from panewise.functions.binding.registry import Kind
from panewise.functions.times.calendar import DAY, numbers_of
from panewise.functions.types import DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ, VOID
from panewise.functions.zones import Zone, zone_of

Array = np.ndarray[Any, Any]
ANY_TIMESTAMP = Kind("timestamp", lambda given: given in (TIMESTAMP, TIMESTAMP_NTZ),
                     lambda given: TIMESTAMP if given in (DATE, STRING, VOID) else None)


def session_zone(name: str) -> Zone:
    """The zone of the session, which was checked when it was declared."""
    found = zone_of(name)
    if found is None:
        raise ValueError(f"no time zone {name!r}")
    return found


def readings(values: pa.Array, zone: str) -> Array:
    """Clock readings in microseconds; 0 for null."""
    numbers = numbers_of(values)
    return session_zone(zone).to_local(numbers) if values.type == TIMESTAMP else numbers


def back(local: Array, of: pa.DataType, zone: str) -> Array:
    """Clock readings as numbers of a type."""
    return session_zone(zone).to_instant(local) if of == TIMESTAMP else local


def on_the_clock(values: pa.Array, local: Array, zone: str) -> Array:
    """Moved clock readings as numbers again; a reading that comes twice keeps the offset it came from."""
    if values.type != TIMESTAMP:
        return local
    instants = numbers_of(values)
    kept = local - (readings(values, zone) - instants)
    same = session_zone(zone).to_local(kept) == local
    return np.where(same, kept, session_zone(zone).to_instant(local))


def days_in(local: Array) -> Array:
    """The days of clock readings."""
    return np.asarray(local // DAY)
