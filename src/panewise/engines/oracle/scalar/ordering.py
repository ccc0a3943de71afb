"""Equality and order of values: NaN equals NaN and is the largest number, both zeros are one, null parts come first."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from panewise.engines.oracle.scalar.typed import MismatchError
from panewise.engines.oracle.scalar.types import DOUBLE, FLOAT, Array, Map, Opaque, Struct, Type, Value


def sort_key(kind: Type) -> Callable[[Value], Any]:
    """A key by which Python orders and compares values of a type as Spark does; the value itself is not null.

    >>> key = sort_key(DOUBLE)
    >>> sorted([math.nan, 1.0, math.inf], key=key), key(0.0) == key(-0.0)
    ([1.0, inf, nan], True)
    """
    match kind:
        case Array():
            item = nullable_key(kind.element)
            return lambda value: tuple(item(v) for v in value)
        case Struct():
            parts = [nullable_key(field) for _, field in kind.fields]
            return lambda value: tuple(part(v) for part, v in zip(parts, value, strict=True))
        case Map() | Opaque():
            raise MismatchError(f"values of {kind} cannot be compared", "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE")
    if kind in (FLOAT, DOUBLE):
        return lambda value: (1, 0.0) if math.isnan(value) else (0, value + 0.0)
    return lambda value: value


def nullable_key(kind: Type) -> Callable[[Value], Any]:
    """The same for values that may be null; null comes first."""
    key = sort_key(kind)
    return lambda value: (0,) if value is None else (1, key(value))
