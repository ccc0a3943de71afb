"""Exact numbers into a type, rounded once."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa

from panewise.functions.casts.outcome import OUT_OF_RANGE, NoValue
from panewise.functions.types import DOUBLE


def nearest(text: str, of: pa.DataType) -> float:
    """The nearest float of decimal digits, rounded once."""
    try:
        return float(pa.scalar(text.lstrip("+")).cast(of).as_py())
    except pa.ArrowInvalid:  # beyond the range: infinite, or too small to be seen
        return _edge(float(text), of)


def _edge(value: float, of: pa.DataType) -> float:
    with np.errstate(all="ignore"):
        return value if of == DOUBLE else float(np.float32(value))


def decimal_fitted(number: Decimal, of: pa.DataType) -> Decimal:
    """A number rounded to a decimal type; one that does not fit has no value."""
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    whole = int("".join(map(str, digits)))
    places = exponent + of.scale
    if places >= 0:
        whole *= 10 ** places if whole else 1
    elif -places > len(digits) + 1:
        whole = 0
    else:
        unit = 10 ** -places
        whole, left = divmod(whole, unit)
        whole += 2 * left >= unit
    if whole >= 10 ** of.precision:
        raise NoValue(OUT_OF_RANGE)
    return Decimal((sign, tuple(map(int, str(whole))), -of.scale))
