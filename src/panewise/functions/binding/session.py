"""The time zone in which expressions read clocks; it belongs to a run, not to a value or an operator.

A query puts it in force for each of its calls; operators and kernels compute without knowing it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token

UTC = "UTC"
_zone: ContextVar[str] = ContextVar("panewise_zone", default=UTC)


def zone() -> str:
    """The zone in force."""
    return _zone.get()


def enter_zone(name: str) -> Token[str]:
    """Put a zone in force until ``leave_zone``."""
    return _zone.set(name)


def leave_zone(token: Token[str]) -> None:
    """The zone that was in force before."""
    _zone.reset(token)


@contextmanager
def time_zone(name: str) -> Iterator[None]:
    """Compute in a time zone.

    >>> import pyarrow as pa
    >>> from panewise.core.scalar import Scalar
    >>> from panewise.functions import evaluate
    >>> from panewise.functions.binding.session import time_zone
    >>> table = pa.table({"t": pa.array([0], pa.timestamp("us", tz="UTC"))})
    >>> with time_zone("Europe/Berlin"):
    ...     evaluate([Scalar.parse("hour(t)")], table)[0].to_pylist()
    [1]
    """
    token = enter_zone(name)
    try:
        yield
    finally:
        leave_zone(token)
