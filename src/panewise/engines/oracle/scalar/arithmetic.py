"""Arithmetic: which type two operands meet in, and what does not fit is an error."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal as Number
from typing import Any

from panewise.core.errors import UnsupportedError
from panewise.engines.oracle.scalar import calendars, decimals
from panewise.engines.oracle.scalar.casts import cast, in_range
from panewise.engines.oracle.scalar.coercion import as_decimal, beside_decimal, tightest
from panewise.engines.oracle.scalar.session import zone
from panewise.engines.oracle.scalar.typed import Failure, MismatchError, Row, Typed, strict
from panewise.engines.oracle.scalar.types import (
    BITS,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGRAL,
    LONG,
    MONTHS,
    NTZ,
    NULL,
    SHORT,
    STRING,
    TIMESTAMP,
    DayTime,
    Decimal,
    Type,
    Value,
    is_numeric,
    single,
)

_EXACT: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b}


def arithmetic(operator: str, left: Typed, right: Typed, sql: str) -> Typed:
    """``+ - * / % div`` of two expressions."""
    timed = with_times(operator, left, right, sql)
    if timed is not None:
        return timed
    left, right = promoted(left, right, sql)
    if left.type in INTEGRAL and operator in ("/", "div"):
        kind: Type = DOUBLE if operator == "/" else LONG
        left, right = cast(left, kind), cast(right, kind)
    elif operator == "div" and left.type in (FLOAT, DOUBLE):
        raise MismatchError(f"{sql}: div takes whole numbers, decimals and intervals, not {left.type}",
                            "DATATYPE_MISMATCH.BINARY_OP_WRONG_TYPE")
    elif operator == "/" and left.type == FLOAT:
        left, right = cast(left, DOUBLE), cast(right, DOUBLE)
    if isinstance(left.type, Decimal):
        return _of_decimals(operator, left, right, sql)
    if operator in _EXACT:
        return strict(left.type, _checked(operator, left.type), [left, right], sql)
    return divided(left.type, _DIVISIONS[operator](left.type), left, right, sql, _by_zero(operator))


def promoted(left: Typed, right: Typed, sql: str) -> tuple[Typed, Typed]:
    """Both operands in one numeric type; of two decimals each keeps its own."""
    if left.type == NULL and right.type == NULL:
        left = right = cast(left, DOUBLE)
    if left.type == STRING and right.type == STRING:
        raise MismatchError(f"{sql}: two texts are no operands of arithmetic; cast them",
                            "DATATYPE_MISMATCH.BINARY_OP_WRONG_TYPE")
    if STRING in (left.type, right.type):
        other = right.type if left.type == STRING else left.type
        kind = LONG if other in INTEGRAL else DOUBLE
        if other != STRING and not is_numeric(other) and other != NULL:
            raise _mismatch(sql, left, right)
        left, right = (cast(item, kind) if item.type == STRING or kind == DOUBLE else item for item in (left, right))
    left, right = beside_decimal(left, right), beside_decimal(right, left)
    if isinstance(left.type, Decimal) and isinstance(right.type, Decimal):
        return left, right
    if isinstance(left.type, Decimal) or isinstance(right.type, Decimal):
        kind = right.type if left.type == NULL else left.type if right.type == NULL else DOUBLE
        if {left.type, right.type} & {FLOAT, DOUBLE, NULL}:
            return cast(left, kind), cast(right, kind)
        raise _mismatch(sql, left, right)
    found = tightest(left.type, right.type)
    if found is None or not is_numeric(found):
        raise _mismatch(sql, left, right)
    return cast(left, found), cast(right, found)


def _mismatch(sql: str, left: Typed, right: Typed) -> MismatchError:
    return MismatchError(f"{sql}: {left.type} and {right.type} are no operands of arithmetic; cast them",
                         "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES")


def overflow(kind: Type, shown: str, condition: str = "ARITHMETIC_OVERFLOW") -> Failure:
    """The error of a result that its type does not hold."""
    return Failure(condition, f"{shown} does not fit {kind}")


def _checked(operator: str, kind: Type) -> Callable[[Any, Any], Any]:
    compute = _EXACT[operator]
    short = "BINARY_ARITHMETIC_OVERFLOW" if kind in (BYTE, SHORT) else "ARITHMETIC_OVERFLOW"
    if kind == DOUBLE:
        return lambda a, b: _float(compute, a, b)
    if kind == FLOAT:
        return lambda a, b: single(_float(compute, a, b))

    def run(a: int, b: int) -> int:
        value = compute(a, b)
        if not in_range(value, kind):
            raise overflow(kind, f"{a} {operator} {b}", short)
        return int(value)

    return run


def _float(compute: Callable[[Any, Any], Any], a: float, b: float) -> float:
    return float(compute(a, b))


# -- division --------------------------------------------------------------------------------------------------------


def divided(kind: Type, function: Callable[[Any, Any], Any], left: Typed, right: Typed, sql: str,
            by_zero: str = "DIVIDE_BY_ZERO") -> Typed:
    """Division: the divisor is looked at first, and zero is an error unless the dividend is null."""

    def run(row: Row) -> Value:
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


REMAINDER_BY_ZERO = "REMAINDER_BY_ZERO"


def truncated(a: int, b: int) -> int:
    """The quotient, cut towards zero."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _quotient(kind: Type) -> Callable[[Any, Any], Any]:
    def divide(a: float, b: float) -> float:
        try:
            return a / b
        except OverflowError:
            return math.copysign(math.inf, a) * math.copysign(1, b)

    return divide


def _whole(kind: Type) -> Callable[[Any, Any], Any]:
    def divide(a: int, b: int) -> int:
        value = truncated(a, b)
        if not in_range(value, LONG):
            raise overflow(LONG, f"{a} div {b}")
        return value

    return divide


def remainder_of(kind: Type) -> Callable[[Any, Any], Any]:
    """What truncated division leaves; it has the sign of the dividend."""
    if kind in (FLOAT, DOUBLE):
        return lambda a, b: math.nan if math.isinf(a) or math.isnan(a) or math.isnan(b) else math.fmod(a, b)
    return lambda a, b: a - b * truncated(a, b)


_DIVISIONS = {"/": _quotient, "div": _whole, "%": remainder_of}


def _of_decimals(operator: str, left: Typed, right: Typed, sql: str) -> Typed:
    one, other = as_decimal(left.type), as_decimal(right.type)
    if operator == "div":
        return divided(LONG, _whole_decimals, left, right, sql)
    kind = decimals.result_type(operator, one, other)
    if operator in "+-*":
        steps: dict[str, Callable[[Number, Number], Number]] = {
            "+": decimals.WIDE.add, "-": decimals.WIDE.subtract, "*": decimals.multiply}
        compute = steps[operator]
        return strict(kind, lambda a, b: decimals.fitted(compute(a, b), kind), [left, right], sql)
    compute = decimals.divide if operator == "/" else decimals.remainder
    return divided(kind, lambda a, b: decimals.fitted(compute(a, b), kind), left, right, sql, _by_zero(operator))


def _by_zero(operator: str) -> str:
    return REMAINDER_BY_ZERO if operator == "%" else "DIVIDE_BY_ZERO"


def _whole_decimals(a: Number, b: Number) -> int:
    value = int(decimals.WIDE.divide_int(a, b))
    return low_bits(value, 64)


# -- one operand -----------------------------------------------------------------------------------------------------


def negated(item: Typed, sql: str) -> Typed:
    """Unary minus."""
    if item.type in (STRING, NULL):
        item = cast(item, DOUBLE)
    kind = item.type
    if isinstance(kind, Decimal):
        return Typed(kind, strict(kind, lambda value: decimals.opposite(value, kind), [item]).run, sql,
                     literal=item.literal, constant=item.constant)
    if kind in (FLOAT, DOUBLE):
        return strict(kind, lambda value: -value, [item], sql)
    if kind in INTEGRAL or kind == MONTHS or isinstance(kind, DayTime):
        return Typed(kind, strict(kind, lambda value: _opposite(value, kind), [item]).run, sql, item.literal,
                     item.constant)
    raise MismatchError(f"{sql}: {kind} has no opposite")


def _opposite(value: int, kind: Type) -> int:
    bits = BITS.get(kind, 32 if kind == MONTHS else 64)
    if value == -(1 << (bits - 1)):
        interval = "INTERVAL_ARITHMETIC_OVERFLOW.WITHOUT_SUGGESTION"
        raise overflow(kind, f"-({value})", interval if is_interval(kind) else "ARITHMETIC_OVERFLOW")
    return -value


def bitwise(operator: str, left: Typed, right: Typed, sql: str) -> Typed:
    """``& | ^`` of two integers of one type."""
    found = tightest(left.type, right.type)
    if found not in INTEGRAL:
        raise MismatchError(f"{sql}: {operator} takes whole numbers, not {left.type} and {right.type}",
                            "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES")
    compute = {"&": int.__and__, "|": int.__or__, "^": int.__xor__}[operator]
    return strict(found, compute, [cast(left, found), cast(right, found)], sql)


def shifted(name: str, item: Typed, by: Typed, sql: str) -> Typed:
    """Shifts of int and bigint; the distance counts modulo the width, as in Java."""
    item = cast(item, LONG) if item.type == LONG else cast(item, INT)
    bits = BITS[item.type]

    def run(value: int, distance: int) -> int:
        distance %= bits
        if name == "shiftleft":
            value <<= distance
        elif name == "shiftright":
            value >>= distance
        else:
            value = value % (1 << bits) >> distance
        return low_bits(value, bits)

    return strict(item.type, run, [item, cast(by, INT)], sql)


# -- times and intervals ---------------------------------------------------------------------------------------------


def with_times(operator: str, left: Typed, right: Typed, sql: str) -> Typed | None:
    """Sums and differences of dates, timestamps and intervals; None where neither side is one."""
    times = (DATE, TIMESTAMP, NTZ)
    if operator == "+" and is_interval(left.type) and not is_interval(right.type):
        left, right = right, left
    if operator == "+" and right.type == DATE and left.type in INTEGRAL:
        left, right = right, left
    if is_interval(left.type) or is_interval(right.type):
        if operator not in "+-" or not is_interval(right.type):
            raise UnsupportedError(f"the oracle neither multiplies nor divides intervals: {sql}")
        return _moved(operator, left, right, sql)
    if left.type not in times and right.type not in times:
        return None
    if operator == "-" and right.type in times and left.type in (*times, STRING, NULL):
        return _between(left, right, sql)
    if operator in "+-" and left.type == DATE and right.type in (BYTE, SHORT, INT):
        sign = 1 if operator == "+" else -1
        return strict(DATE, lambda days, n: low_bits(days + sign * n, 32), [left, right], sql)
    raise _mismatch(sql, left, right)


def is_interval(kind: Type) -> bool:
    """Whether values are intervals."""
    return kind == MONTHS or isinstance(kind, DayTime)


def low_bits(value: int, bits: int) -> int:
    """What Java's arithmetic leaves of a number that is too large."""
    return (value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def checked_int(value: int, shown: str) -> int:
    """A day number, which is an int."""
    if not in_range(value, INT):
        raise overflow(INT, shown)
    return value


def _checked_long(value: int, condition: str = "DATETIME_OVERFLOW") -> int:
    if not in_range(value, LONG):
        raise overflow(LONG, str(value), condition)
    return value


def _between(left: Typed, right: Typed, sql: str) -> Typed:
    """What lies between two times, by the wall clock."""
    if left.type in (DATE, STRING, NULL) and right.type == DATE:
        days = DayTime(start=0, end=0)
        return strict(days, lambda a, b: _checked_long((a - b) * calendars.DAY), [cast(left, DATE), right], sql)
    if left.type == NTZ and right.type == NTZ:
        return strict(DayTime(), lambda a, b: _checked_long(a - b), [left, right], sql)

    walls = [item if item.type == NTZ else cast(cast(item, TIMESTAMP), NTZ) for item in (left, right)]
    return strict(DayTime(), lambda a, b: _checked_long(a - b), walls, sql)


def _moved(operator: str, left: Typed, right: Typed, sql: str) -> Typed:
    if is_interval(left.type):
        return _summed(operator, left, right, sql)
    if operator == "-":
        right = negated(right, sql)
    if left.type == STRING:
        left = cast(left, TIMESTAMP)
    if left.type == DATE and isinstance(right.type, DayTime):
        if right.type.end == 0:
            return strict(DATE, lambda days, n: low_bits(days + truncated(n, calendars.DAY), 32), [left, right], sql)
        left = cast(left, TIMESTAMP)
    if left.type == DATE:
        return strict(DATE, lambda days, n: checked_int(calendars.plus_months(days, n), sql), [left, right], sql)
    if left.type not in (TIMESTAMP, NTZ):
        raise _mismatch(sql, left, right)
    local = left.type == NTZ
    move = _plus_months if right.type == MONTHS else _plus_micros
    return strict(left.type, lambda at, n: _checked_long(move(at, n, local)), [left, right], sql)


def _summed(operator: str, left: Typed, right: Typed, sql: str) -> Typed:
    if isinstance(left.type, DayTime) is not isinstance(right.type, DayTime):
        raise _mismatch(sql, left, right)
    kind, sign = tightest(left.type, right.type) or left.type, 1 if operator == "+" else -1
    width = LONG if isinstance(kind, DayTime) else INT

    def run(a: int, b: int) -> int:
        if not in_range(a + sign * b, width):
            raise overflow(kind, sql, "INTERVAL_ARITHMETIC_OVERFLOW.WITH_SUGGESTION")
        return a + sign * b

    return strict(kind, run, [cast(left, kind), cast(right, kind)], sql)


def _plus_months(at: int, months: int, local: bool) -> int:
    wall = at if local else calendars.to_local(at, zone())
    days, rest = divmod(wall, calendars.DAY)
    wall = calendars.plus_months(days, months) * calendars.DAY + rest
    return wall if local else calendars.to_instant(_checked_long(wall), zone(), at)


def _plus_micros(at: int, micros: int, local: bool) -> int:
    """Whole days are days of the wall clock, whatever its changes; the rest is elapsed time."""
    days = truncated(micros, calendars.DAY)
    if local or days == 0:
        return at + micros
    wall = _checked_long(calendars.to_local(at, zone()) + days * calendars.DAY)
    return calendars.to_instant(wall, zone(), at) + micros - days * calendars.DAY
