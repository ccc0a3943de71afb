"""round, bround, ceil and floor: to digits as they are written, halves away from zero or to even."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.functions.binding.binder_services import Binding
from panewise.functions.binding.bound import Bound, Constant
from panewise.functions.binding.frame import Datum, Here, as_numpy
from panewise.functions.binding.registry import operator
from panewise.functions.casts.exact import nearest
from panewise.functions.casts.outcome import nulls_of
from panewise.functions.numbers.java_floats import double_text
from panewise.functions.numbers.unscaled import Digits, decimals_from, digits_of, outside, scaled
from panewise.functions.types import (
    BIGINT,
    DOUBLE,
    INT,
    MAX_PRECISION,
    STRING,
    VOID,
    decimal_of,
    is_decimal,
    is_integer,
    is_number,
    type_name,
)

OUT_OF_RANGE = "NUMERIC_VALUE_OUT_OF_RANGE.WITHOUT_SUGGESTION"
_MODES = {"round": ROUND_HALF_UP, "bround": ROUND_HALF_EVEN}
_WIDE = Context(prec=800, Emin=-2000, Emax=2000)


def _declare(name: str) -> None:
    @operator(name)
    def bind(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
        value, places = _arguments(binder, arguments, tree, name)
        if places is None:
            return Constant(value.type, tree, pa.scalar(None, value.type))
        if is_decimal(value.type):
            return binder.made(_digits_kept(value.type, places), tree, [value], _decimals(places, name),
                               needs_arrays=True)
        run = _integers(places, name) if is_integer(value.type) else _floats(places, name)
        return binder.made(value.type, tree, [value], run, needs_arrays=True)


def _arguments(binder: Binding, arguments: list[Bound], tree: Any, name: str) -> tuple[Bound, int | None]:
    """The number, and to how many digits behind the point; None where that is null."""
    if not 1 <= len(arguments) <= 2:
        raise binder.error(f"{name} takes a number and perhaps a number of digits", tree)
    value = arguments[0]
    if value.type in (STRING, VOID):
        value = binder.cast(value, DOUBLE)
    if not is_number(value.type):
        raise binder.error(f"{name} does not take {type_name(value.type)}", tree, "cast it to a number")
    if len(arguments) == 1:
        return value, 0
    digits = binder.cast(arguments[1], INT)
    if not isinstance(digits, Constant):
        raise binder.error(f"the number of digits of {name} must be a constant", tree)
    return value, digits.value.as_py()


def _digits_kept(of: pa.DataType, places: int) -> pa.DataType:
    """The type of a rounded decimal: one digit more before the point, no more behind it than asked for."""
    integral = of.precision - of.scale + 1
    if places < 0:
        return pa.decimal128(min(max(integral, 1 - places), MAX_PRECISION), 0)
    scale = min(of.scale, places)
    return pa.decimal128(min(integral + scale, MAX_PRECISION), scale)


def _rounded(digits: Digits, places: int, name: str) -> Digits:
    """Digits without the last ``places`` of them."""
    if places <= 0:
        return digits
    if name == "round":
        return scaled(digits, -places)
    unit = 10 ** places
    if places > 18 and digits.dtype != object:
        digits = digits.astype(object)
    whole = digits // unit
    left = digits - whole * unit
    if name == "floor":
        return np.asarray(whole)
    if name == "ceil":
        return np.asarray(whole + (left > 0))
    return np.asarray(whole + ((2 * left > unit) | ((2 * left == unit) & (whole % 2 == 1)))) if places < 18 else \
        np.asarray(whole + ((2 * left.astype(object) > unit) | ((2 * left.astype(object) == unit) & (whole % 2 == 1))))


def _decimals(places: int, name: str) -> Callable[..., Datum]:
    def run(values: pa.Array, here: Here) -> pa.Array:
        scale = values.type.scale
        found = _rounded(digits_of(values), scale - places, name)
        found = scaled(found, max(-places, 0)) if places < 0 else found
        null = nulls_of(values)
        wrong = outside(found, here.type.precision) & ~null
        if wrong.any():
            here.fail(int(np.argmax(wrong)), OUT_OF_RANGE, f"{name}({{}}, {places}) does not fit "
                      + type_name(here.type), values)
        return decimals_from(found, null, here.type)

    return run


def _integers(places: int, name: str) -> Callable[..., Datum]:
    def run(values: pa.Array, here: Here) -> pa.Array:
        if places >= 0:
            return values
        if places < -19:
            return pa.array(np.zeros(len(values), here.type.to_pandas_dtype()), here.type, mask=nulls_of(values))
        numbers = as_numpy(values, 0).astype(object)
        found = _rounded(numbers, -places, name) * 10 ** -places
        bits = here.type.bit_width - 1
        null = nulls_of(values)
        wrong = ((found >= 1 << bits) | (found < -(1 << bits))).astype(np.bool_) & ~null
        if wrong.any():
            here.fail(int(np.argmax(wrong)), "ARITHMETIC_OVERFLOW", f"{name}({{}}, {places}) is out of the range of "
                      + type_name(here.type), values)
        return pa.array(found.astype(here.type.to_pandas_dtype()), here.type, mask=null)

    return run


def _floats(places: int, name: str) -> Callable[..., Datum]:
    """Rounds the digits that a float is written with. Only near a half do they have to be looked at."""
    def run(values: pa.Array, here: Here) -> pa.Array:
        numbers = as_numpy(values, 0)
        wide = numbers.astype(np.float64)
        null = nulls_of(values)
        if here.type != DOUBLE or not 0 <= places <= 15:
            found, near = wide, np.isfinite(wide)
        else:
            power = 10.0 ** places
            with np.errstate(all="ignore"):
                size = np.abs(wide) * power
                whole = np.floor(size)
                left = size - whole
                near = np.isfinite(wide) & ((np.abs(left - 0.5) < 1e-4) | (size >= 2.0 ** 36) | (size < 1e-4))
                found = np.copysign((whole + (left > 0.5)) / power, wide)
            found = np.where(np.isfinite(wide), found + 0.0, wide)
        near &= ~null & (wide != 0)
        found = np.where(wide == 0, 0.0, found)  # zero has no sign after rounding
        if near.any():
            known, places_of = np.unique(wide[near], return_inverse=True)
            found[near] = np.array([_one(float(value), places, name, here.type) for value in known])[places_of]
        return pa.array(found.astype(here.type.to_pandas_dtype()), here.type, mask=null)

    return run


def _one(value: float, places: int, name: str, of: pa.DataType) -> float:
    written = Decimal(double_text(value))  # Spark rounds a FLOAT as the double of equal value
    exponent = written.as_tuple().exponent
    assert isinstance(exponent, int)
    rounded = written if exponent >= -places else written.quantize(Decimal((0, (1,), -places)), _MODES[name], _WIDE)
    return nearest(f"{rounded:f}", of) if rounded else 0.0


for _name in _MODES:
    _declare(_name)


def _declare_whole(name: str, *names: str) -> None:
    @operator(name, *names)
    def bind(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
        value, places = _arguments(binder, arguments, tree, name)
        if len(arguments) == 1:
            if is_decimal(value.type):
                kept = _digits_kept(value.type, 0) if value.type.scale else value.type
                return binder.made(kept, tree, [value], _decimals(0, name), needs_arrays=True)
            if is_integer(value.type):
                return binder.cast(value, BIGINT)
            return binder.made(BIGINT, tree, [binder.cast(value, DOUBLE)], _whole(name), needs_arrays=True)
        value = binder.cast(value, decimal_of(value.type))
        if places is None:
            return Constant(value.type, tree, pa.scalar(None, value.type))
        return binder.made(_digits_kept(value.type, places), tree, [value], _decimals(places, name), needs_arrays=True)


def _whole(name: str) -> Callable[..., Datum]:
    def run(values: pa.Array, here: Here) -> pa.Array:
        numbers = (np.ceil if name == "ceil" else np.floor)(as_numpy(values, 0.0))
        null = nulls_of(values)
        with np.errstate(all="ignore"):
            wrong = ((numbers >= 2.0 ** 63) | (numbers < -2.0 ** 63)) & ~null
        if wrong.any():
            here.fail(int(np.argmax(wrong)), "ARITHMETIC_OVERFLOW", name + "({}) is out of the range of bigint", values)
        return pa.array(np.where(np.isnan(numbers), 0, numbers).astype(np.int64), BIGINT, mask=null)  # as Java casts

    return run


_declare_whole("ceil", "ceiling")
_declare_whole("floor")
