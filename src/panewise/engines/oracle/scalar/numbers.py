"""Functions of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP
from decimal import Decimal as Number
from functools import partial
from typing import Any

from panewise.core.errors import UnsupportedError
from panewise.engines.oracle.scalar import arithmetic
from panewise.engines.oracle.scalar import types as T
from panewise.engines.oracle.scalar.casts import cast
from panewise.engines.oracle.scalar.coercion import argument
from panewise.engines.oracle.scalar.decimals import WIDE, as_decimal, fitted, opposite
from panewise.engines.oracle.scalar.float_text import double_text
from panewise.engines.oracle.scalar.signatures import attempted, function, simple
from panewise.engines.oracle.scalar.typed import MismatchError, Typed, constant, strict


def _numeric(item: Typed, sql: str) -> Typed:
    if item.type in (T.STRING, T.NULL):
        return cast(item, T.DOUBLE)
    if T.is_interval(item.type):
        raise UnsupportedError(f"the oracle does not compute {sql}: it is an interval")
    if not T.is_numeric(item.type):
        raise MismatchError(f"{sql}: {item.sql} is {item.type}, expected a number; cast it")
    return item


@function("abs", least=1, most=1)
def _absolute(arguments: list[Typed], sql: str) -> Typed:
    item = _numeric(arguments[0], sql)
    kind = item.type

    def run(value: Any) -> Any:
        if isinstance(kind, T.Decimal):
            return opposite(value, kind) if value < 0 else value
        return arithmetic.held(abs(value), kind, f"abs({value})") if kind in T.INTEGRAL else abs(value)

    return strict(kind, run, [item], sql)


def _bounded(precision: int, scale: int) -> T.Decimal:
    return T.Decimal(min(precision, T.MAX_PRECISION), min(scale, T.MAX_PRECISION))


def _towards(whole: Callable[[float], int], mode: str, arguments: list[Typed], sql: str) -> Typed:
    item = _numeric(arguments[0], sql)
    kind = item.type
    if len(arguments) > 1:
        exact = {T.FLOAT: T.Decimal(14, 7), T.DOUBLE: T.Decimal(30, 15)}.get(kind) or as_decimal(kind)
        return _to_places(cast(item, exact), arguments[1], mode, sql)
    if isinstance(kind, T.Decimal):
        result = kind if kind.scale == 0 else _bounded(kind.precision - kind.scale + 1, 0)
        return strict(result, lambda value: fitted(value.quantize(Number(1), mode, WIDE), result), [item], sql)

    def run(value: float) -> int:
        if math.isnan(value):
            return 0  # as in Java
        return arithmetic.held(2**64 if math.isinf(value) else whole(value), T.LONG, str(value))

    return cast(item, T.LONG) if kind in T.INTEGRAL else strict(T.LONG, run, [item], sql)


function("ceil", "ceiling", least=1, most=2)(partial(_towards, math.ceil, ROUND_CEILING))
function("floor", least=1, most=2)(partial(_towards, math.floor, ROUND_FLOOR))


@function("round", least=1, most=2)
def _rounded(arguments: list[Typed], sql: str) -> Typed:
    places = arguments[1] if len(arguments) > 1 else constant(T.INT, 0)
    return _to_places(_numeric(arguments[0], sql), places, ROUND_HALF_UP, sql)


def _to_places(item: Typed, wanted: Typed, mode: str, sql: str) -> Typed:
    places = argument(wanted, T.INT, sql)
    if not places.constant:
        raise MismatchError(f"{sql}: the number of places must be a constant", "DATATYPE_MISMATCH.NON_FOLDABLE_INPUT")
    if places.value is None:
        return constant(item.type, None, sql)
    kind, run = _rounder(item.type, places.value, mode)
    return strict(kind, run, [item], sql)


def _rounder(kind: T.Type, scale: int, mode: str) -> tuple[T.Type, Callable[[Any], Any]]:
    """The type of a rounded number, and how it is rounded."""

    def exactly(value: Number) -> Number:
        if scale < -400:
            return Number(0)
        return value.quantize(Number(1).scaleb(-scale), mode, WIDE) if scale < 100 else value

    if isinstance(kind, T.Decimal):
        whole, behind = kind.precision - kind.scale + 1, min(kind.scale, scale)
        result = _bounded(max(whole, -scale + 1), 0) if scale < 0 else _bounded(whole + behind, behind)
        return result, lambda value: fitted(exactly(value), result, suggestion=False)
    if kind in T.INTEGRAL:
        return kind, lambda value: arithmetic.held(int(exactly(Number(value))) if scale < 0 else value, kind,
                                                   f"round({value}, {scale})")

    def floating(value: float) -> float:
        if not math.isfinite(value):
            return value
        exact = Number(double_text(value))
        shorter = scale <= -int(exact.as_tuple().exponent)
        found = float(exactly(exact) if shorter else exact) or 0.0
        return T.single(found) if kind == T.FLOAT else found

    return kind, floating


# -- floating point --------------------------------------------------------------------------------------------------


def _exponential(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


simple("sqrt", [T.DOUBLE], T.DOUBLE, lambda x: math.sqrt(x) if x >= 0 else math.nan)
simple("exp", [T.DOUBLE], T.DOUBLE, _exponential)
for _logarithm, _compute in (("ln", math.log), ("log10", math.log10)):
    simple(_logarithm, [T.DOUBLE], T.DOUBLE, lambda x, compute=_compute: None if x <= 0 else compute(x))


# -- division and trying ---------------------------------------------------------------------------------------------


function("mod", least=2, most=2)(lambda items, sql: arithmetic.arithmetic("%", items[0], items[1], sql))
for _name, _operator in (("try_add", "+"), ("try_subtract", "-"), ("try_multiply", "*"), ("try_divide", "/")):
    function(_name, least=2, most=2)(partial(attempted, partial(arithmetic.arithmetic, _operator)))

function("negative", least=1, most=1)(lambda items, sql: arithmetic.negated(items[0], sql))
function("positive", least=1, most=1)(lambda items, sql: _numeric(items[0], sql))
for _name in ("shiftleft", "shiftright", "shiftrightunsigned"):
    @function(_name, least=2, most=2)
    def _shift(arguments: list[Typed], sql: str, name: str = _name) -> Typed:
        return arithmetic.shifted(name, arguments[0], arguments[1], sql)
