"""Decimal numbers: which digits results have, and arithmetic that keeps to them."""

from __future__ import annotations

from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Context
from decimal import Decimal as Number

from panewise.engines.oracle.scalar.typed import Failure
from panewise.engines.oracle.scalar.types import BYTE, INT, LONG, MAX_PRECISION, SHORT, Decimal, Type, decimal

WIDE = Context(prec=200, Emax=999_999, Emin=-999_999)
"""Enough digits for every sum and product of two decimals."""
_FIRST_STEP = Context(prec=MAX_PRECISION + 1, rounding=ROUND_DOWN, Emax=999_999, Emin=-999_999)
"""Spark multiplies into one digit more than any type has, cut off, and rounds that."""
SHORT_DIGITS = Context(prec=34, rounding=ROUND_HALF_EVEN, Emax=999_999, Emin=-999_999)
"""Scala's own arithmetic, which Spark uses for signs and timestamps."""
_MIN_SCALE = 6
_INTEGRAL = {BYTE: decimal(3, 0), SHORT: decimal(5, 0), INT: decimal(10, 0), LONG: decimal(20, 0)}


def type_of_integral(kind: Type) -> Decimal:
    """The decimal that holds every integer of a type."""
    return _INTEGRAL[kind]


def literal_type(value: int) -> Decimal:
    """The decimal that holds one integer."""
    return decimal(max(1, len(str(abs(value)))), 0)


def wider(left: Decimal, right: Decimal) -> Decimal:
    """A decimal that holds both; where it would be too long the fraction gives way."""
    scale = max(left.scale, right.scale)
    precision = max(left.precision - left.scale, right.precision - right.scale) + scale
    over = max(0, precision - MAX_PRECISION)
    return decimal(precision - over, max(0, scale - over))


def adjusted(precision: int, scale: int) -> Decimal:
    """At most 38 digits: the fraction gives way, but not below six digits.

    >>> str(adjusted(60, 30)), str(adjusted(20, 4))
    ('decimal(38,8)', 'decimal(20,4)')
    """
    if precision <= MAX_PRECISION:
        return decimal(precision, scale)
    whole = precision - scale
    return decimal(MAX_PRECISION, max(MAX_PRECISION - whole, min(scale, _MIN_SCALE)))


def result_type(operator: str, left: Decimal, right: Decimal) -> Decimal:
    """The type of an arithmetic operation."""
    p1, s1, p2, s2 = left.precision, left.scale, right.precision, right.scale
    match operator:
        case "+" | "-":
            scale = max(s1, s2)
            return adjusted(max(p1 - s1, p2 - s2) + scale + 1, scale)
        case "*":
            return adjusted(p1 + p2 + 1, s1 + s2)
        case "/":
            scale = max(_MIN_SCALE, s1 + p2 + 1)
            return adjusted(p1 - s1 + s2 + scale, scale)
        case "%":
            scale = max(s1, s2)
            return adjusted(min(p1 - s1, p2 - s2) + scale, scale)
    raise AssertionError(operator)


def fits(value: Number, kind: Decimal) -> Number | None:
    """The value rounded half up to the type's fraction; None where it has too many digits."""
    if value.is_zero():
        return Number(0).scaleb(-kind.scale)
    if value.adjusted() > MAX_PRECISION + 1:
        return None
    rounded = value.quantize(Number(1).scaleb(-kind.scale), ROUND_HALF_UP, WIDE)
    return rounded if len(rounded.as_tuple().digits) <= kind.precision or rounded.is_zero() else None


def fitted(value: Number, kind: Decimal, *, suggestion: bool = True) -> Number:
    """The same, refused where it does not fit; the condition says whether Spark suggests another mode."""
    found = fits(value, kind)
    if found is None:
        raise Failure(f"NUMERIC_VALUE_OUT_OF_RANGE.{'WITH' if suggestion else 'WITHOUT'}_SUGGESTION",
                      f"{value} does not fit {kind}")
    return found


def opposite(value: Number, kind: Decimal) -> Number:
    """The negative number, of which Spark keeps 34 digits."""
    return fitted(SHORT_DIGITS.minus(value), kind, suggestion=False)


def multiply(left: Number, right: Number) -> Number:
    """The product, cut to 39 digits."""
    return _FIRST_STEP.multiply(left, right)


def divide(left: Number, right: Number) -> Number:
    """The quotient, cut to 39 digits."""
    return _FIRST_STEP.divide(left, right)


def remainder(left: Number, right: Number) -> Number:
    """What truncated division leaves; it has the sign of the dividend."""
    return WIDE.remainder(left, right)
