"""Decimal numbers: which digits results have, and arithmetic that keeps to them."""

from __future__ import annotations

from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Context
from decimal import Decimal as Number

from panewise.engines.oracle.scalar.typed import Failure
from panewise.engines.oracle.scalar.types import BYTE, INT, LONG, MAX_PRECISION, SHORT, Decimal, Type

WIDE = Context(prec=200, Emax=999_999, Emin=-999_999)
"""Enough digits for every sum and product of two decimals."""
FIRST_STEP = Context(prec=MAX_PRECISION + 1, rounding=ROUND_DOWN, Emax=999_999, Emin=-999_999)
"""Spark multiplies and divides into one digit more than any type has, cut off, and rounds that."""
SHORT_DIGITS = Context(prec=34, rounding=ROUND_HALF_EVEN, Emax=999_999, Emin=-999_999)
"""Scala's own arithmetic, which Spark uses for signs and timestamps."""
_MIN_SCALE = 6
_INTEGRAL = {BYTE: Decimal(3, 0), SHORT: Decimal(5, 0), INT: Decimal(10, 0), LONG: Decimal(20, 0)}


def as_decimal(kind: Type) -> Decimal:
    """A decimal that holds every value of an exact type."""
    return kind if isinstance(kind, Decimal) else _INTEGRAL[kind]


def literal_type(value: int) -> Decimal:
    """The decimal that holds one integer."""
    return Decimal(max(1, len(str(abs(value)))), 0)


def wider(left: Decimal, right: Decimal) -> Decimal:
    """A decimal that holds both; where it would be too long the fraction gives way."""
    scale = max(left.scale, right.scale)
    precision = max(left.precision - left.scale, right.precision - right.scale) + scale
    over = max(0, precision - MAX_PRECISION)
    return Decimal(precision - over, max(0, scale - over))


def result_type(operator: str, left: Decimal, right: Decimal) -> Decimal:
    """The type of an arithmetic operation: of at most 38 digits the fraction gives way, but not below six.

    >>> str(result_type("*", Decimal(30, 15), Decimal(29, 15))), str(result_type("+", Decimal(4, 1), Decimal(5, 4)))
    ('decimal(38,8)', 'decimal(8,4)')
    """
    p1, s1, p2, s2 = left.precision, left.scale, right.precision, right.scale
    match operator:
        case "+" | "-":
            whole, scale = max(p1 - s1, p2 - s2) + 1, max(s1, s2)
        case "*":
            whole, scale = p1 + p2 + 1 - s1 - s2, s1 + s2
        case "/":
            whole, scale = p1 - s1 + s2, max(_MIN_SCALE, s1 + p2 + 1)
        case _:
            whole, scale = min(p1 - s1, p2 - s2), max(s1, s2)
    if whole + scale <= MAX_PRECISION:
        return Decimal(whole + scale, scale)
    return Decimal(MAX_PRECISION, max(MAX_PRECISION - whole, min(scale, _MIN_SCALE)))


def fitted(value: Number, kind: Decimal, *, suggestion: bool = True) -> Number:
    """The value rounded half up to the type's fraction; refused where it has too many digits.

    The condition says whether Spark suggests another mode.
    """
    if value.is_zero():
        return Number(0).scaleb(-kind.scale)
    if value.adjusted() <= MAX_PRECISION + 1:
        rounded = value.quantize(Number(1).scaleb(-kind.scale), ROUND_HALF_UP, WIDE)
        if len(rounded.as_tuple().digits) <= kind.precision or rounded.is_zero():
            return rounded
    raise Failure(f"NUMERIC_VALUE_OUT_OF_RANGE.{'WITH' if suggestion else 'WITHOUT'}_SUGGESTION",
                  f"{value} does not fit {kind}")


def opposite(value: Number, kind: Decimal) -> Number:
    """The negative number, of which Spark keeps 34 digits."""
    return fitted(SHORT_DIGITS.minus(value), kind, suggestion=False)
