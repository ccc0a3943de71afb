"""Roots, powers, logarithms and angles: computed in more digits than DOUBLE has, so that the result is the nearest
double on every machine; Java's may be the one beside it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.functions.binding.frame import Datum, as_numpy, with_nulls
from panewise.functions.binding.registry import Kind, function
from panewise.functions.casts.outcome import nulls_of
from panewise.functions.types import (
    DOUBLE,
    INTERVAL_DAYS,
    INTERVAL_MONTHS,
    STRING,
    VOID,
    is_number,
)

Array = np.ndarray[Any, Any]
NOTE = "may differ from Java in the last place"


def _wide(compute: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """A function computed in long doubles and rounded once."""
    def run(numbers: Array) -> Array:
        return compute(numbers.astype(np.longdouble)).astype(np.float64)
    return run


def _declare(*names: str, compute: Callable[[Array], Array], note: str = NOTE,
             nothing: Callable[[Array], Array] | None = None) -> None:
    """A function of one double; null where ``nothing`` says that it has no value."""
    @function(*names, takes=[DOUBLE], gives=DOUBLE, arrays=True, note=note)
    def run(values: pa.Array) -> pa.Array:
        numbers = as_numpy(values, 1.0)
        with np.errstate(all="ignore"):
            found = compute(numbers)
            if nothing is None:
                return with_nulls(found, values, DOUBLE)
            return pa.array(found, DOUBLE, mask=nulls_of(values) | nothing(numbers))


_declare("sqrt", compute=np.sqrt, note="")
_declare("cbrt", compute=_wide(np.cbrt))
_declare("exp", compute=_wide(np.exp))
_declare("expm1", compute=_wide(np.expm1))
_declare("ln", compute=_wide(np.log), nothing=lambda x: x <= 0)
_declare("log10", compute=_wide(np.log10), nothing=lambda x: x <= 0)
_declare("log2", compute=lambda x: _wide(np.log)(x) / math.log(2), nothing=lambda x: x <= 0)
_declare("log1p", compute=_wide(np.log1p), nothing=lambda x: x <= -1)
_declare("sin", compute=_wide(np.sin))
_declare("cos", compute=_wide(np.cos))
_declare("tan", compute=_wide(np.tan))
_declare("cot", compute=_wide(lambda x: 1 / np.tan(x)))
_declare("sec", compute=_wide(lambda x: 1 / np.cos(x)))
_declare("csc", compute=_wide(lambda x: 1 / np.sin(x)))
_declare("asin", compute=_wide(np.arcsin))
_declare("acos", compute=_wide(np.arccos))
_declare("atan", compute=_wide(np.arctan))
_declare("sinh", compute=_wide(np.sinh))
_declare("cosh", compute=_wide(np.cosh))
_declare("tanh", compute=_wide(np.tanh))
_declare("asinh", compute=_wide(np.arcsinh))
_declare("acosh", compute=_wide(np.arccosh))
_declare("atanh", compute=_wide(np.arctanh))
_declare("degrees", compute=lambda x: x * 57.29577951308232, note="")
_declare("radians", compute=lambda x: x * 0.017453292519943295, note="")
_declare("rint", compute=np.rint, note="")


def _pair(*names: str, compute: Callable[[Array, Array], Array], note: str = NOTE,
          nothing: Callable[[Array, Array], Array] | None = None) -> None:
    @function(*names, takes=[DOUBLE, DOUBLE], gives=DOUBLE, arrays=True, note=note)
    def run(one: pa.Array, other: pa.Array) -> pa.Array:
        left, right = as_numpy(one, 1.0), as_numpy(other, 1.0)
        with np.errstate(all="ignore"):
            found = compute(left, right)
            null = nulls_of(one) | nulls_of(other)
            return pa.array(found, DOUBLE, mask=null if nothing is None else null | nothing(left, right))


def _powers(base: Array, exponent: Array) -> Array:
    """As Java: one to the power of NaN or of an infinity is NaN."""
    found = np.power(base.astype(np.longdouble), exponent.astype(np.longdouble)).astype(np.float64)
    return np.where((np.abs(base) == 1) & ~np.isfinite(exponent), np.nan, found)


_pair("pow", "power", compute=_powers)
_pair("hypot", compute=lambda x, y: np.hypot(x.astype(np.longdouble), y.astype(np.longdouble)).astype(np.float64))
_pair("atan2", compute=lambda y, x: np.arctan2((y + 0.0).astype(np.longdouble), (x + 0.0).astype(np.longdouble)).astype(
    np.float64))
_pair("log", compute=lambda b, x: _wide(np.log)(x) / _wide(np.log)(b), nothing=lambda b, x: (b <= 0) | (x <= 0))
_declare("log", compute=_wide(np.log), nothing=lambda x: x <= 0)

SIGNED = Kind("number or interval", lambda given: given in (DOUBLE, INTERVAL_DAYS, INTERVAL_MONTHS),
              lambda given: DOUBLE if is_number(given) or given in (STRING, VOID) else None)


@function("sign", "signum", takes=[SIGNED], gives=DOUBLE, arrays=True)
def sign(values: pa.Array) -> pa.Array:
    """-1, 0 or 1; zeros keep their sign, NaN stays."""
    if values.type == INTERVAL_MONTHS:
        values = values.storage
    elif values.type == INTERVAL_DAYS:
        values = values.cast(pa.int64())
    numbers = as_numpy(values, 0).astype(np.float64)
    return with_nulls(np.where(numbers == 0, numbers, np.sign(numbers)), values, DOUBLE)


@function("e", gives=DOUBLE)
def euler() -> Datum:
    """Euler's number."""
    return pa.scalar(math.e, DOUBLE)


@function("pi", gives=DOUBLE)
def pi() -> Datum:
    """Pi."""
    return pa.scalar(math.pi, DOUBLE)
