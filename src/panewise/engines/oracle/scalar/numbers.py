"""Functions of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP
from decimal import Decimal as Number
from typing import Any

from panewise.core.errors import UnsupportedError
from panewise.engines.oracle.scalar import arithmetic
from panewise.engines.oracle.scalar.casts import cast, in_range
from panewise.engines.oracle.scalar.coercion import argument, tightest
from panewise.engines.oracle.scalar.decimals import WIDE, fitted, opposite, result_type, type_of_integral
from panewise.engines.oracle.scalar.float_text import double_text
from panewise.engines.oracle.scalar.logic import extreme, first_known
from panewise.engines.oracle.scalar.signatures import attempted, function, simple
from panewise.engines.oracle.scalar.typed import MismatchError, Row, Typed, constant, strict
from panewise.engines.oracle.scalar.types import (
    BITS,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    INTEGRAL,
    LONG,
    MAX_PRECISION,
    NULL,
    STRING,
    DayTime,
    Decimal,
    Type,
    Value,
    decimal,
    is_numeric,
    single,
)


def _numeric(item: Typed, sql: str) -> Typed:
    if item.type in (STRING, NULL):
        return cast(item, DOUBLE)
    if arithmetic.is_interval(item.type):
        raise UnsupportedError(f"the oracle does not compute {sql}: it is an interval")
    if not is_numeric(item.type):
        raise MismatchError(f"{sql}: {item.sql} is {item.type}, expected a number; cast it")
    return item


@function("abs", least=1, most=1)
def _absolute(arguments: list[Typed], sql: str) -> Typed:
    item = _numeric(arguments[0], sql)

    def run(value: Any) -> Any:
        if isinstance(value, Number):
            return opposite(value, item.type) if value < 0 and isinstance(item.type, Decimal) else value
        if item.type in INTEGRAL and not in_range(-value, item.type):
            raise arithmetic.overflow(item.type, f"abs({value})")
        return abs(value)

    return strict(item.type, run, [item], sql)


def _bounded(precision: int, scale: int) -> Decimal:
    return decimal(min(precision, MAX_PRECISION), min(scale, MAX_PRECISION))


def _to_long(value: float) -> int:
    """A whole float as a bigint; Java's is 0 for NaN."""
    if math.isnan(value):
        return 0
    if not -(2.0**63) <= value < 2.0**63:
        raise arithmetic.overflow(LONG, str(value))
    return int(value)


def _towards(name: str, whole: Callable[[float], int], mode: str) -> None:
    @function(name, *(["ceiling"] if name == "ceil" else []), least=1, most=2)
    def build(arguments: list[Typed], sql: str) -> Typed:
        item = _numeric(arguments[0], sql)
        if len(arguments) > 1:
            return _to_places(cast(item, _as_decimal(item.type)), arguments[1], mode, sql)
        kind = item.type
        if isinstance(kind, Decimal):
            result = kind if kind.scale == 0 else _bounded(kind.precision - kind.scale + 1, 0)
            return strict(result, lambda value: fitted(value.quantize(Number(1), mode, WIDE), result), [item], sql)
        if kind in INTEGRAL:
            return cast(item, LONG)
        return strict(LONG, lambda value: _to_long(float(whole(value)) if math.isfinite(value) else value), [item], sql)


_towards("ceil", math.ceil, ROUND_CEILING)
_towards("floor", math.floor, ROUND_FLOOR)


def _rounding(name: str, mode: str) -> None:
    @function(name, least=1, most=2)
    def build(arguments: list[Typed], sql: str) -> Typed:
        places = arguments[1] if len(arguments) > 1 else constant(INT, 0)
        return _to_places(_numeric(arguments[0], sql), places, mode, sql)


def _to_places(item: Typed, wanted: Typed, mode: str, sql: str) -> Typed:
    places = argument(wanted, INT, sql)
    if not places.constant:
        raise MismatchError(f"{sql}: the number of places must be a constant", "DATATYPE_MISMATCH.NON_FOLDABLE_INPUT")
    scale = places.value
    if scale is None:
        return constant(item.type, None, sql)
    return strict(_rounded_type(item.type, scale), _rounder(item.type, scale, mode), [item], sql)


def _as_decimal(kind: Type) -> Decimal:
    """The decimal in which a number is rounded up or down to places."""
    if isinstance(kind, Decimal):
        return kind
    return {FLOAT: decimal(14, 7), DOUBLE: decimal(30, 15)}.get(kind) or type_of_integral(kind)


def _rounded_type(kind: Type, scale: int) -> Type:
    if not isinstance(kind, Decimal):
        return kind
    whole = kind.precision - kind.scale + 1
    if scale < 0:
        return _bounded(max(whole, -scale + 1), 0)
    return _bounded(whole + min(kind.scale, scale), min(kind.scale, scale))


def _rounder(kind: Type, scale: int, mode: str) -> Callable[[Any], Any]:
    def decimals_of(value: Number) -> Number:
        if scale < -400:
            return Number(0)
        return value.quantize(Number(1).scaleb(-scale), mode, WIDE) if scale < 100 else value

    if isinstance(kind, Decimal):
        result = _rounded_type(kind, scale)
        assert isinstance(result, Decimal)
        return lambda value: fitted(decimals_of(value), result, suggestion=False)
    if kind in INTEGRAL:
        def whole(value: int) -> int:
            found = int(decimals_of(Number(value))) if scale < 0 else value
            if not in_range(found, kind):
                raise arithmetic.overflow(kind, f"round({value}, {scale})")
            return found
        return whole

    def floating(value: float) -> float:
        if not math.isfinite(value):
            return value
        exact = Number(double_text(value))
        shorter = scale <= -int(exact.as_tuple().exponent)
        found = float(decimals_of(exact) if shorter else exact)
        found = found if found else 0.0
        return single(found) if kind == FLOAT else found

    return floating


_rounding("round", ROUND_HALF_UP)
_rounding("bround", ROUND_HALF_EVEN)


# -- floating point --------------------------------------------------------------------------------------------------


def _safe(compute: Callable[..., float], beyond: float = math.inf) -> Callable[..., float]:
    def run(*values: float) -> float:
        try:
            return compute(*values)
        except OverflowError:
            return beyond
        except ValueError:
            return math.nan

    return run


def _logarithm(compute: Callable[[float], float], pole: float = 0.0) -> Callable[[float], float | None]:
    def run(value: float) -> float | None:
        return None if value <= pole else compute(value)

    return run


def _power(base: float, exponent: float) -> float:
    if exponent == 0:
        return 1.0
    if math.isnan(base) or math.isnan(exponent) or (abs(base) == 1 and math.isinf(exponent)):
        return math.nan
    odd = math.isfinite(exponent) and exponent == math.floor(exponent) and exponent % 2 == 1
    negative = odd and math.copysign(1, base) < 0
    if base == 0 and exponent < 0:
        return -math.inf if negative else math.inf
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if negative else math.inf
    except ValueError:
        return math.nan


simple("sqrt", [DOUBLE], DOUBLE, lambda x: math.sqrt(x) if x >= 0 else math.nan)
simple("exp", [DOUBLE], DOUBLE, _safe(math.exp))
simple("expm1", [DOUBLE], DOUBLE, _safe(math.expm1))
simple("ln", [DOUBLE], DOUBLE, _logarithm(math.log))
simple("log10", [DOUBLE], DOUBLE, _logarithm(math.log10))
simple("log2", [DOUBLE], DOUBLE, _logarithm(lambda x: math.log(x) / math.log(2.0)))
simple("log1p", [DOUBLE], DOUBLE, _logarithm(math.log1p, -1.0))
simple("power pow", [DOUBLE, DOUBLE], DOUBLE, _power)
simple("sin", [DOUBLE], DOUBLE, _safe(math.sin))
simple("cos", [DOUBLE], DOUBLE, _safe(math.cos))
simple("tan", [DOUBLE], DOUBLE, _safe(math.tan))
simple("asin", [DOUBLE], DOUBLE, _safe(math.asin))
simple("acos", [DOUBLE], DOUBLE, _safe(math.acos))
simple("atan", [DOUBLE], DOUBLE, _safe(math.atan))
simple("atan2", [DOUBLE, DOUBLE], DOUBLE, lambda y, x: math.atan2(y + 0.0, x + 0.0))
simple("degrees", [DOUBLE], DOUBLE, lambda x: x * (180.0 / math.pi))
simple("radians", [DOUBLE], DOUBLE, lambda x: x * (math.pi / 180.0))
simple("pi", [], DOUBLE, lambda: math.pi)
simple("e", [], DOUBLE, lambda: math.e)


@function("log", least=1, most=2)
def _log(arguments: list[Typed], sql: str) -> Typed:
    given = [argument(item, DOUBLE, sql) for item in arguments]
    if len(given) == 1:
        return strict(DOUBLE, _logarithm(math.log), given, sql)

    def run(base: float, value: float) -> float | None:
        if base <= 0 or value <= 0:
            return None
        above, below = math.log(value), math.log(base)
        if below == 0:
            return math.nan if above == 0 or math.isnan(above) else math.copysign(math.inf, above)
        return math.nan if math.isinf(above) and math.isinf(below) else above / below

    return strict(DOUBLE, run, given, sql)


@function("sign", "signum", least=1, most=1)
def _sign(arguments: list[Typed], sql: str) -> Typed:
    item = arguments[0] if isinstance(arguments[0].type, DayTime) else argument(arguments[0], DOUBLE, sql)
    return strict(DOUBLE, lambda x: float((x > 0) - (x < 0)) if x and not math.isnan(x) else float(x), [item], sql)


@function("isnan", least=1, most=1)
def _is_nan(arguments: list[Typed], sql: str) -> Typed:
    item = arguments[0] if arguments[0].type == FLOAT else argument(arguments[0], DOUBLE, sql)

    def run(row: Row) -> bool:
        value = item.run(row)
        return value is not None and math.isnan(value)

    return Typed(BOOLEAN, run, sql, constant=item.constant)


@function("nanvl", least=2, most=2)
def _not_nan(arguments: list[Typed], sql: str) -> Typed:
    left, right = (item if item.type == FLOAT else argument(item, DOUBLE, sql) for item in arguments)
    kind = tightest(left.type, right.type) or DOUBLE
    left, right = cast(left, kind), cast(right, kind)

    def run(row: Row) -> Value:
        value = left.run(row)
        return right.run(row) if value is not None and math.isnan(value) else value

    return Typed(kind, run, sql, constant=left.constant and right.constant)


# -- division and trying ---------------------------------------------------------------------------------------------


@function("mod", least=2, most=2)
def _mod(arguments: list[Typed], sql: str) -> Typed:
    return arithmetic.arithmetic("%", arguments[0], arguments[1], sql)


@function("pmod", least=2, most=2)
def _positive_mod(arguments: list[Typed], sql: str) -> Typed:
    left, right = arithmetic.promoted(arguments[0], arguments[1], sql)
    kind: Type = left.type
    if isinstance(left.type, Decimal) and isinstance(right.type, Decimal):
        kind = result_type("%", left.type, right.type)
    remainder = WIDE.remainder if isinstance(kind, Decimal) else arithmetic.remainder_of(kind)
    plus: Callable[[Any, Any], Any] = WIDE.add if isinstance(kind, Decimal) else _plus(kind)

    def run(a: Any, b: Any) -> Any:
        found = remainder(a, b)
        if found < 0:
            found = remainder(plus(found, b), b)
        return fitted(found, kind) if isinstance(kind, Decimal) else found

    return arithmetic.divided(kind, run, left, right, sql, arithmetic.REMAINDER_BY_ZERO)


def _plus(kind: Type) -> Callable[[Any, Any], Any]:
    """Java's addition, which does not notice an overflow."""
    if kind in INTEGRAL:
        return lambda a, b: arithmetic.low_bits(a + b, max(32, BITS[kind]))
    return (lambda a, b: single(a + b)) if kind == FLOAT else lambda a, b: a + b


for _name, _operator in (("try_add", "+"), ("try_subtract", "-"), ("try_multiply", "*"), ("try_divide", "/"),
                         ("try_mod", "%")):
    @function(_name, least=2, most=2)
    def _try(arguments: list[Typed], sql: str, operator: str = _operator) -> Typed:
        return attempted(lambda a, b, text: arithmetic.arithmetic(operator, a, b, text), arguments, sql)


@function("negative", least=1, most=1)
def _negative(arguments: list[Typed], sql: str) -> Typed:
    return arithmetic.negated(arguments[0], sql)


@function("positive", least=1, most=1)
def _positive(arguments: list[Typed], sql: str) -> Typed:
    return _numeric(arguments[0], sql)


for _name in ("shiftleft", "shiftright", "shiftrightunsigned"):
    @function(_name, least=2, most=2)
    def _shift(arguments: list[Typed], sql: str, name: str = _name) -> Typed:
        return arithmetic.shifted(name, arguments[0], argument(arguments[1], INT, sql), sql)


for _name in ("greatest", "least"):
    @function(_name, least=2)
    def _extreme(arguments: list[Typed], sql: str, name: str = _name) -> Typed:
        return extreme(name, arguments, sql)


@function("coalesce", least=1)
def _coalesce(arguments: list[Typed], sql: str) -> Typed:
    return first_known(arguments, sql)


@function("nvl", "ifnull", least=2, most=2)
def _known(arguments: list[Typed], sql: str) -> Typed:
    return first_known(arguments, sql)

