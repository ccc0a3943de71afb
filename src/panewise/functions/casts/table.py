"""Which cast runs for a pair of types."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pyarrow as pa

Takes: TypeAlias = Callable[[pa.DataType], bool] | pa.DataType
Cast: TypeAlias = Callable[..., pa.Array]
"""``cast(values, *, here, failing)``: values in ``here.type``."""

_casts: list[tuple[Callable[[pa.DataType, pa.DataType], bool], Cast]] = []


def cast(given: Takes, to: Takes) -> Callable[[Cast], Cast]:
    """Declare a cast from one type, or all a predicate accepts, to another."""
    return cast_where(lambda one, other: _fits(given, one) and _fits(to, other))


def cast_where(holds: Callable[[pa.DataType, pa.DataType], bool]) -> Callable[[Cast], Cast]:
    """Declare a cast for the pairs of types a predicate accepts."""
    def declare(run: Cast) -> Cast:
        _casts.append((holds, run))
        return run
    return declare


def find(given: pa.DataType, to: pa.DataType) -> Cast | None:
    """The cast of a pair; None where Spark has none."""
    if given == to:
        return _unchanged
    return next((run for holds, run in _casts if holds(given, to)), None)


def _unchanged(values: pa.Array, **_: object) -> pa.Array:
    return values


def _fits(takes: Takes, of: pa.DataType) -> bool:
    return takes == of if isinstance(takes, pa.DataType) else takes(of)
