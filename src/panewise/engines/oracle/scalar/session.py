"""The time zone in which an expression reads wall clocks; it belongs to a run, not to a value."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, tzinfo

from panewise.engines.oracle.scalar.calendars import zone_of

_ZONE: ContextVar[tzinfo] = ContextVar("oracle_time_zone", default=UTC)


def zone() -> tzinfo:
    """The time zone of the session."""
    return _ZONE.get()


@contextmanager
def time_zone(name: str) -> Iterator[None]:
    """Compute in a time zone.

    >>> from panewise.engines.oracle.scalar.casts import converter
    >>> from panewise.engines.oracle.scalar.types import STRING, TIMESTAMP
    >>> with time_zone("Europe/Berlin"):
    ...     converter(TIMESTAMP, STRING)(0)
    '1970-01-01 01:00:00'
    """
    token = _ZONE.set(zone_of(name))
    try:
        yield
    finally:
        _ZONE.reset(token)
