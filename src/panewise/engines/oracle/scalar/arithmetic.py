"""Arithmetic: which type two operands meet in, and what does not fit is an error."""

from __future__ import annotations

import math
import operator as op
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal as Number
from functools import partial
from typing import Any

from panewise.core.errors import UnsupportedError
from panewise.engines.oracle.scalar import calendars, decimals
from panewise.engines.oracle.scalar import types as T
from panewise.engines.oracle.scalar.casts import cast
from panewise.engines.oracle.scalar.coercion import argument, beside_decimal, tightest
from panewise.engines.oracle.scalar.session import zone
from panewise.engines.oracle.scalar.typed import Failure, MismatchError, Row, Typed, strict

_EXACT: dict[str, Callable[[Any, Any], Any]] = {"+": op.add, "-": op.sub, "*": op.mul}


def arithmetic(operator: str, left: Typed, right: Typed, sql: str) -> Typed:
    """``+ - * / % div`` of two expressions."""
    timed = with_times(operator, left, right, sql)
    if timed is not None:
        return timed
    left, right = promoted(left, right, sql)
    if left.type in T.INTEGRAL and operator in ("/", "div"):
        kind: T.Type = T.DOUBLE if operator == "/" else T.LONG
        left, right = cast(left, kind), cast(right, kind)
    elif operator == "div" and left.type in (T.FLOAT, T.DOUBLE):
        raise MismatchError(f"{sql}: div takes whole numbers, decimals and intervals, not {left.type}",
                            "DATATYPE_MISMATCH.BINARY_OP_WRONG_TYPE")
    elif operator == "/" and left.type == T.FLOAT:
        left, right = cast(left, T.DOUBLE), cast(right, T.DOUBLE)
    if isinstance(left.type, T.Decimal):
        return _of_decimals(operator, left, right, sql)
    if operator in _EXACT:
        return strict(left.type, _checked(operator, left.type), [left, right], sql)
    divide = {"/": _quotient, "div": _whole}.get(operator) or remainder_of(left.type)
    return divided(left.type, divide, left, right, sql, _by_zero(operator))


def promoted(left: Typed, right: Typed, sql: str) -> tuple[Typed, Typed]:
    """Both operands in one numeric type; of two decimals each keeps its own."""
    if left.type == T.NULL and right.type == T.NULL:
        left = right = cast(left, T.DOUBLE)
    if left.type == T.STRING and right.type == T.STRING:
        raise MismatchError(f"{sql}: two texts are no operands of arithmetic; cast them",
                            "DATATYPE_MISMATCH.BINARY_OP_WRONG_TYPE")
    if T.STRING in (left.type, right.type):
        other = right.type if left.type == T.STRING else left.type
        kind = T.LONG if other in T.INTEGRAL else T.DOUBLE
        if other != T.STRING and not T.is_numeric(other) and other != T.NULL:
            raise _mismatch(sql, left, right)
        left, right = (cast(item, kind) if item.type == T.STRING or kind == T.DOUBLE else item
                       for item in (left, right))
    left, right = beside_decimal(left, right), beside_decimal(right, left)
    if isinstance(left.type, T.Decimal) and isinstance(right.type, T.Decimal):
        return left, right
    if isinstance(left.type, T.Decimal) or isinstance(right.type, T.Decimal):
        kind = right.type if left.type == T.NULL else left.type if right.type == T.NULL else T.DOUBLE
        if {left.type, right.type} & {T.FLOAT, T.DOUBLE, T.NULL}:
            return cast(left, kind), cast(right, kind)
        raise _mismatch(sql, left, right)
    found = tightest(left.type, right.type)
    if found is None or not T.is_numeric(found):
        raise _mismatch(sql, left, right)
    return cast(left, found), cast(right, found)


def _mismatch(sql: str, left: Typed, right: Typed) -> MismatchError:
    return MismatchError(f"{sql}: {left.type} and {right.type} are no operands of arithmetic; cast them",
                         "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES")


def held(value: int, kind: T.Type, shown: str, condition: str = "ARITHMETIC_OVERFLOW") -> int:
    """A result, refused where its type does not hold it."""
    if not T.in_range(value, kind):
        raise Failure(condition, f"{shown} does not fit {kind}")
    return value


def _checked(operator: str, kind: T.Type) -> Callable[[Any, Any], Any]:
    compute = _EXACT[operator]
    if kind in (T.FLOAT, T.DOUBLE):
        return lambda a, b: (T.single if kind == T.FLOAT else float)(compute(a, b))
    condition = "BINARY_ARITHMETIC_OVERFLOW" if kind in (T.BYTE, T.SHORT) else "ARITHMETIC_OVERFLOW"
    return lambda a, b: held(compute(a, b), kind, f"{a} {operator} {b}", condition)


# -- division --------------------------------------------------------------------------------------------------------


def divided(kind: T.Type, function: Callable[[Any, Any], Any], left: Typed, right: Typed, sql: str,
            by_zero: str = "DIVIDE_BY_ZERO") -> Typed:
    """Division: the divisor is looked at first, and zero is an error unless the dividend is null."""

    def run(row: Row) -> T.Value:
        b = right.run(row)
        if b is None:
            return None
        a = left.run(row)
        if a is None:
            return None
        if b == 0:
            raise Failure(by_zero, f"{a} by {b}")
        return function(a, b)

    return Typed(kind, run, sql, constant=left.constant and right.constant)


def truncated(a: int, b: int) -> int:
    """The quotient, cut towards zero."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _quotient(a: float, b: float) -> float:
    try:
        return a / b
    except OverflowError:
        return math.copysign(math.inf, a) * math.copysign(1, b)


def _whole(a: int, b: int) -> int:
    return held(truncated(a, b), T.LONG, f"{a} div {b}")


def remainder_of(kind: T.Type) -> Callable[[Any, Any], Any]:
    """What truncated division leaves; it has the sign of the dividend."""
    if kind in (T.FLOAT, T.DOUBLE):
        return lambda a, b: math.nan if math.isinf(a) or math.isnan(a) or math.isnan(b) else math.fmod(a, b)
    return lambda a, b: a - b * truncated(a, b)


def _of_decimals(operator: str, left: Typed, right: Typed, sql: str) -> Typed:
    if operator == "div":
        return divided(T.LONG, lambda a, b: T.low_bits(int(decimals.WIDE.divide_int(a, b)), 64), left, right, sql)
    kind = decimals.result_type(operator, decimals.as_decimal(left.type), decimals.as_decimal(right.type))
    compute: Callable[[Number, Number], Number] = {
        "+": decimals.WIDE.add, "-": decimals.WIDE.subtract, "*": decimals.FIRST_STEP.multiply,
        "/": decimals.FIRST_STEP.divide, "%": decimals.WIDE.remainder}[operator]

    def run(a: Number, b: Number) -> Number:
        return decimals.fitted(compute(a, b), kind)

    if operator in _EXACT:
        return strict(kind, run, [left, right], sql)
    return divided(kind, run, left, right, sql, _by_zero(operator))


def _by_zero(operator: str) -> str:
    return "REMAINDER_BY_ZERO" if operator == "%" else "DIVIDE_BY_ZERO"


# -- one operand -----------------------------------------------------------------------------------------------------


def negated(item: Typed, sql: str) -> Typed:
    """Unary minus."""
    if item.type in (T.STRING, T.NULL):
        item = cast(item, T.DOUBLE)
    kind = item.type
    run: Callable[[Any], Any] = op.neg
    if isinstance(kind, T.Decimal):
        run = partial(decimals.opposite, kind=kind)
    elif kind in T.INTEGRAL:
        run = lambda value: held(-value, kind, f"-({value})")  # noqa: E731
    elif T.is_interval(kind):
        width, condition = T.INT if kind == T.MONTHS else T.LONG, "INTERVAL_ARITHMETIC_OVERFLOW.WITHOUT_SUGGESTION"
        run = lambda value: held(-value, width, f"-({value})", condition)  # noqa: E731
    elif kind not in (T.FLOAT, T.DOUBLE):
        raise MismatchError(f"{sql}: {kind} has no opposite")
    return replace(strict(kind, run, [item], sql), literal=item.literal)


def inverted(item: Typed, sql: str) -> Typed:
    """``~`` of an integer."""
    if item.type not in T.INTEGRAL:
        raise MismatchError(f"{sql}: ~ takes whole numbers, not {item.type}")
    return strict(item.type, op.invert, [item], sql)


def bitwise(operator: str, left: Typed, right: Typed, sql: str) -> Typed:
    """``& | ^`` of two integers of one type."""
    found = tightest(left.type, right.type)
    if found not in T.INTEGRAL:
        raise MismatchError(f"{sql}: {operator} takes whole numbers, not {left.type} and {right.type}",
                            "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES")
    compute = {"&": op.and_, "|": op.or_, "^": op.xor}[operator]
    return strict(found, compute, [cast(left, found), cast(right, found)], sql)


def shifted(name: str, item: Typed, by: Typed, sql: str) -> Typed:
    """Shifts of int and bigint; the distance counts modulo the width, as in Java."""
    item = item if item.type == T.LONG else cast(item, T.INT)
    bits = T.BITS[item.type]
    shift: Callable[[int, int], int] = {
        "shiftleft": op.lshift, "shiftright": op.rshift, "shiftrightunsigned": lambda n, d: n % (1 << bits) >> d}[name]
    return strict(item.type, lambda value, distance: T.low_bits(shift(value, distance % bits), bits),
                  [item, argument(by, T.INT, sql)], sql)


# -- times and intervals ---------------------------------------------------------------------------------------------


def with_times(operator: str, left: Typed, right: Typed, sql: str) -> Typed | None:
    """Sums and differences of dates, timestamps and intervals; None where neither side is one."""
    times = (T.DATE, T.TIMESTAMP, T.NTZ)
    if operator == "+" and T.is_interval(left.type) and not T.is_interval(right.type):
        left, right = right, left
    if operator == "+" and right.type == T.DATE and left.type in T.INTEGRAL:
        left, right = right, left
    if T.is_interval(left.type) or T.is_interval(right.type):
        if operator not in "+-" or not T.is_interval(right.type):
            raise UnsupportedError(f"the oracle neither multiplies nor divides intervals: {sql}")
        return _moved(operator, left, right, sql)
    if left.type not in times and right.type not in times:
        return None
    if operator == "-" and right.type in times and left.type in (*times, T.STRING, T.NULL):
        return _between(left, right, sql)
    if operator in "+-" and left.type == T.DATE and right.type in (T.BYTE, T.SHORT, T.INT):
        sign = 1 if operator == "+" else -1
        return strict(T.DATE, lambda days, n: T.low_bits(days + sign * n, 32), [left, right], sql)
    raise _mismatch(sql, left, right)


def _between(left: Typed, right: Typed, sql: str) -> Typed:
    """What lies between two times, by the wall clock."""
    if left.type in (T.DATE, T.STRING, T.NULL) and right.type == T.DATE:
        days = T.DayTime(start=0, end=0)
        return strict(days, lambda a, b: _instant((a - b) * calendars.DAY), [cast(left, T.DATE), right], sql)
    walls = [item if item.type == T.NTZ else cast(cast(item, T.TIMESTAMP), T.NTZ) for item in (left, right)]
    return strict(T.DayTime(), lambda a, b: _instant(a - b), walls, sql)


def _moved(operator: str, left: Typed, right: Typed, sql: str) -> Typed:
    if T.is_interval(left.type):
        return _summed(operator, left, right, sql)
    if operator == "-":
        right = negated(right, sql)
    if left.type == T.STRING:
        left = cast(left, T.TIMESTAMP)
    if left.type == T.DATE and isinstance(right.type, T.DayTime):
        if right.type.end == 0:
            return strict(T.DATE, lambda day, n: T.low_bits(day + truncated(n, calendars.DAY), 32), [left, right], sql)
        left = cast(left, T.TIMESTAMP)
    if left.type == T.DATE:
        return strict(T.DATE, lambda days, n: held(calendars.plus_months(days, n), T.INT, sql), [left, right], sql)
    if left.type not in (T.TIMESTAMP, T.NTZ):
        raise _mismatch(sql, left, right)
    local = left.type == T.NTZ
    move = _plus_months if right.type == T.MONTHS else _plus_micros
    return strict(left.type, lambda at, n: _instant(move(at, n, local)), [left, right], sql)


def _summed(operator: str, left: Typed, right: Typed, sql: str) -> Typed:
    if isinstance(left.type, T.DayTime) is not isinstance(right.type, T.DayTime):
        raise _mismatch(sql, left, right)
    kind, sign = tightest(left.type, right.type) or left.type, 1 if operator == "+" else -1
    width = T.LONG if isinstance(kind, T.DayTime) else T.INT
    return strict(kind, lambda a, b: held(a + sign * b, width, sql, "INTERVAL_ARITHMETIC_OVERFLOW.WITH_SUGGESTION"),
                  [cast(left, kind), cast(right, kind)], sql)


def _instant(value: int) -> int:
    return held(value, T.LONG, str(value), "DATETIME_OVERFLOW")


def _plus_months(at: int, months: int, local: bool) -> int:
    wall = at if local else calendars.to_local(at, zone())
    days, rest = divmod(wall, calendars.DAY)
    wall = calendars.plus_months(days, months) * calendars.DAY + rest
    return wall if local else calendars.to_instant(_instant(wall), zone(), at)


def _plus_micros(at: int, micros: int, local: bool) -> int:
    """Whole days are days of the wall clock, whatever its changes; the rest is elapsed time."""
    days = truncated(micros, calendars.DAY)
    if local or days == 0:
        return at + micros
    wall = _instant(calendars.to_local(at, zone()) + days * calendars.DAY)
    return calendars.to_instant(wall, zone(), at) + micros - days * calendars.DAY
