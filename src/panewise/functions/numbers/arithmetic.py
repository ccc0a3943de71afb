"""+, -, *, /, div, % and their try_ forms: overflow and division by zero fail on the row, as ANSI asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from panewise.functions.binding.binder_services import Binding
from panewise.functions.binding.bound import Bound, Constant
from panewise.functions.binding.frame import Datum, Here, as_array, as_numpy, with_nulls
from panewise.functions.binding.registry import operator
from panewise.functions.binding.tried import tried
from panewise.functions.numbers import decimals
from panewise.functions.types import (
    BIGINT,
    DOUBLE,
    STRING,
    VOID,
    decimal_of,
    is_decimal,
    is_float,
    is_integer,
    is_number,
    type_name,
    wider,
)

OVERFLOW = "ARITHMETIC_OVERFLOW"
DIVIDE_BY_ZERO = "DIVIDE_BY_ZERO"
REMAINDER_BY_ZERO = "REMAINDER_BY_ZERO"
DIVISOR_FIRST = (1, 0)
"""Divisions read the divisor first."""

CHECKED = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}
PLAIN = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}
EXACT: dict[str, Callable[[int, int], int]] = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}


def numeric_pair(binder: Binding, arguments: list[Bound], tree: Any, sign: str) -> list[Bound]:
    """Two operands as numbers of one kind: both integers of one width, both doubles, or both decimals."""
    one, other = arguments
    if VOID in (one.type, other.type):  # null has the type of the number beside it
        known = next((a.type for a in arguments if is_number(a.type)), DOUBLE)
        one, other = (binder.cast(a, known) if a.type == VOID else a for a in arguments)
    common = wider(one.type, other.type)
    if common is None or not is_number(common):
        raise binder.error(f"{sign} does not take {type_name(one.type)} and {type_name(other.type)}", tree,
                           "cast them to numbers")
    if is_decimal(common):
        return [binder.cast(a, _decimal_type(a)) for a in (one, other)]
    return [binder.cast(one, common), binder.cast(other, common)]


def _decimal_type(value: Bound) -> pa.DataType:
    """An integer beside a decimal is a decimal, of as many digits as it has where it is written out."""
    if isinstance(value, Constant) and is_integer(value.type) and value.value.is_valid and _written(value.tree):
        return pa.decimal128(max(len(str(abs(value.value.as_py()))), 1), 0)
    return decimal_of(value.type) if is_number(value.type) else pa.decimal128(38, 18)


def _written(tree: Any) -> bool:
    """Whether a constant is a literal; 1L is read as a cast of 1."""
    while isinstance(tree, exp.Paren | exp.Neg | exp.Cast):
        tree = tree.this
    return isinstance(tree, exp.Literal) and not tree.is_string


def _declare(sign: str) -> None:
    @operator(sign)
    def bind(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
        if sign != "*" and not all(is_number(a.type) or a.type in (STRING, VOID) for a in arguments):
            return binder.call("_plus" if sign == "+" else "_minus", arguments, tree)  # dates, times, intervals
        if sign == "*" and any(pa.types.is_duration(a.type) or isinstance(a.type, pa.ExtensionType)
                               for a in arguments):
            return binder.call("_times", arguments, tree)
        return arithmetic(binder, arguments, tree, sign, failing=True)


def arithmetic(binder: Binding, arguments: list[Bound], tree: Any, sign: str, *, failing: bool) -> Bound:
    """Sum, difference or product of two numbers; what overflows fails or is null."""
    one, other = numeric_pair(binder, arguments, tree, sign)
    if is_decimal(one.type):
        return decimals.bind(binder, one, other, tree, sign, failing=failing)
    if is_float(one.type):
        return binder.made(one.type, tree, [one, other], PLAIN[sign], needs_here=False, strict=True)
    return binder.made(one.type, tree, [one, other], _integers(sign, failing), strict=True)


def _integers(sign: str, failing: bool) -> Callable[..., Datum]:
    def run(one: Datum, other: Datum, here: Here) -> Datum:
        try:
            return CHECKED[sign](one, other)
        except pa.ArrowInvalid:
            return _slowly(one, other, here)

    def _slowly(one: Datum, other: Datum, here: Here) -> Datum:
        """Some row overflows: find it with integers that do not."""
        bits = here.type.bit_width - 1
        pairs = zip(here.array(one).to_pylist(), here.array(other).to_pylist(), strict=True)
        found = [None if a is None or b is None else EXACT[sign](a, b) for a, b in pairs]
        wrong = [v is not None and not -(1 << bits) <= v < 1 << bits for v in found]
        if failing:
            condition = OVERFLOW if bits > 15 else "BINARY_ARITHMETIC_OVERFLOW"
            here.fail(wrong.index(True), condition, "{} " + sign + " {} is out of the range of "
                      + type_name(here.type), one, other)
        return pa.array([None if bad else v for v, bad in zip(found, wrong, strict=True)], here.type)

    return run


for _sign in ("+", "-", "*"):
    _declare(_sign)


@operator("/")
def divide(binder: Binding, arguments: list[Bound], tree: Any, failing: bool = True) -> Bound:
    """Integers are divided as doubles; decimals as decimals."""
    if not all(is_number(a.type) or a.type in (STRING, VOID) for a in arguments):
        return binder.call("_divided", arguments, tree)
    one, other = numeric_pair(binder, arguments, tree, "/")
    if is_decimal(one.type):
        return decimals.bind(binder, one, other, tree, "/", failing=failing)
    one, other = binder.cast(one, DOUBLE), binder.cast(other, DOUBLE)

    def run(left: Datum, right: Datum, here: Here) -> Datum:
        zero = pc.equal(right, 0.0)
        if failing:
            here.fail_where(pc.and_(zero, pc.is_valid(left)), DIVIDE_BY_ZERO, "{} is divided by zero", left)
        with np.errstate(all="ignore"):
            found = pc.divide(left, pc.if_else(zero, pa.scalar(1.0), right) if not failing else right)
        return found if failing else pc.if_else(zero, pa.scalar(None, DOUBLE), found)

    return binder.made(DOUBLE, tree, [one, other], run, order=DIVISOR_FIRST)


@operator("div")
def whole_divide(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """The whole part of a quotient, as BIGINT."""
    if not all(is_number(a.type) or a.type in (STRING, VOID) for a in arguments):
        return binder.call("_div", arguments, tree)
    one, other = numeric_pair(binder, arguments, tree, "div")
    if is_decimal(one.type):
        return decimals.bind(binder, one, other, tree, "div", failing=True)
    if not is_integer(one.type):
        raise binder.error(f"div does not take {type_name(one.type)}", tree, "cast the operands to bigint")
    one, other = binder.cast(one, BIGINT), binder.cast(other, BIGINT)

    def run(left: Datum, right: Datum, here: Here) -> Datum:
        here.fail_where(pc.and_(pc.equal(right, 0), pc.is_valid(left)), DIVIDE_BY_ZERO, "{} is divided by zero", left)
        here.fail_where(pc.and_(pc.equal(right, -1), pc.equal(left, -(1 << 63))), OVERFLOW,
                        "{} div -1 is out of the range of bigint", left)
        return pc.divide(left, _safe(left, right))

    return binder.made(BIGINT, tree, [one, other], run, order=DIVISOR_FIRST)


def _safe(left: Datum, right: Datum) -> Datum:
    """Divisors of rows whose dividend is null may be zero; Arrow would fail on them."""
    return pc.if_else(pc.is_valid(left), right, pa.scalar(1, right.type))


@operator("%", "mod")
def remainder(binder: Binding, arguments: list[Bound], tree: Any, failing: bool = True) -> Bound:
    """What a division leaves, with the sign of the dividend."""
    one, other = numeric_pair(binder, arguments, tree, "%")
    if is_decimal(one.type):
        return decimals.bind(binder, one, other, tree, "%", failing=failing)
    return binder.made(one.type, tree, [one, other], _remainders(failing), order=DIVISOR_FIRST)


def _remainders(failing: bool) -> Callable[..., Datum]:
    def run(left: Datum, right: Datum, here: Here) -> Datum:
        if isinstance(right, pa.Scalar) and right.is_valid and right.as_py() != 0 and isinstance(left, pa.Array):
            with np.errstate(all="ignore"):
                return with_nulls(np.fmod(as_numpy(left, 0), here.type.to_pandas_dtype()(right.as_py())), left,
                                  here.type)
        zero = pc.equal(right, pa.scalar(0, right.type))
        if failing:
            here.fail_where(pc.and_(zero, pc.is_valid(left)), REMAINDER_BY_ZERO, "the remainder of {} by zero", left)
        dividend, divisor = (as_array(d, here.rows) for d in (left, right))
        missing = pc.or_(pc.or_(dividend.is_null(), divisor.is_null()), pc.fill_null(as_array(zero, here.rows), False))
        mask = missing.to_numpy(zero_copy_only=False)
        a = dividend.fill_null(0).to_numpy(zero_copy_only=False)
        b = np.where(mask, 1, divisor.fill_null(1).to_numpy(zero_copy_only=False)).astype(a.dtype)
        with np.errstate(all="ignore"):
            found = np.fmod(a, b)
        return pa.array(found, here.type, mask=mask)

    return run


@operator("pmod")
def positive_remainder(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """What a division leaves, made positive by adding the divisor."""
    one, other = numeric_pair(binder, arguments, tree, "pmod")
    if is_decimal(one.type):
        return decimals.bind(binder, one, other, tree, "pmod", failing=True)
    rest = _remainders(failing=True)

    def run(left: Datum, right: Datum, here: Here) -> Datum:
        first = here.array(rest(left, right, here=here))
        divisor = here.array(right)
        negative = pc.less(first, pa.scalar(0, first.type))
        if not pc.any(negative, min_count=0).as_py():
            return first
        # (r + n) % n: r < 0, so the sum cannot overflow for n > 0, and wraps as Java does for n < 0
        a = first.fill_null(0).to_numpy(zero_copy_only=False)
        b = pc.fill_null(pc.if_else(first.is_null(), pa.scalar(1, divisor.type), divisor), 1).to_numpy(
            zero_copy_only=False)
        with np.errstate(all="ignore"):
            moved = np.fmod(a + b, b)
        return pc.if_else(negative, pa.array(moved, here.type), first)

    return binder.made(one.type, tree, [one, other], run, order=DIVISOR_FIRST)


@operator("negative", "_negated")
def negative(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """Minus."""
    (value,) = arguments
    if value.type in (STRING, VOID):
        value = binder.cast(value, DOUBLE)
    if not is_number(value.type):
        return binder.call("_minus_interval", [value], tree)
    return binder.made(value.type, tree, [value], _negated)


def _negated(values: Datum, here: Here) -> Datum:
    if is_integer(here.type):
        here.fail_where(pc.equal(values, -(1 << here.type.bit_width - 1)), OVERFLOW,
                        "-({}) is out of the range of " + type_name(here.type), values)
    return decimals.negated(here.array(values), here) if is_decimal(here.type) else pc.negate(values)


@operator("positive")
def positive(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """Plus before a number."""
    (value,) = arguments
    return binder.cast(value, DOUBLE) if value.type in (STRING, VOID) else value


@operator("abs")
def absolute(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """Without its sign."""
    (value,) = arguments
    if value.type in (STRING, VOID):
        value = binder.cast(value, DOUBLE)
    if not is_number(value.type):
        return binder.call("_abs_interval", [value], tree)

    def run(values: Datum, here: Here) -> Datum:
        if is_integer(here.type):
            here.fail_where(pc.equal(values, -(1 << here.type.bit_width - 1)), OVERFLOW,
                            "abs({}) is out of the range of " + type_name(here.type), values)
        if is_decimal(here.type):
            column = here.array(values)
            below = pc.less(column, pa.scalar(0, column.type)).fill_null(False).to_numpy(zero_copy_only=False)
            return decimals.negated(column, here, below)
        return pc.abs(values)

    return binder.made(value.type, tree, [value], run)


@operator("try_add")
def try_add(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """The sum, or null where it overflows."""
    return _tried(binder, arguments, tree, "+", "_try_plus")


@operator("try_subtract")
def try_subtract(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """The difference, or null where it overflows."""
    return _tried(binder, arguments, tree, "-", "_try_minus")


@operator("try_multiply")
def try_multiply(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """The product, or null where it overflows."""
    return _tried(binder, arguments, tree, "*", "_try_times")


def _tried(binder: Binding, arguments: list[Bound], tree: Any, sign: str, of_times: str) -> Bound:
    if not all(is_number(a.type) or a.type in (STRING, VOID) for a in arguments):
        return binder.call(of_times, arguments, tree)
    if STRING in (a.type for a in arguments):  # text that is no number is null, too
        return tried(arithmetic(binder, arguments, tree, sign, failing=True))
    return arithmetic(binder, arguments, tree, sign, failing=False)


@operator("try_divide")
def try_divide(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """The quotient, or null for a division by zero."""
    if not all(is_number(a.type) or a.type in (STRING, VOID) for a in arguments):
        return binder.call("_try_divided", arguments, tree)
    if STRING in (a.type for a in arguments):
        return tried(divide(binder, arguments, tree))
    return divide(binder, arguments, tree, failing=False)


@operator("try_mod")
def try_mod(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """The remainder, or null for a division by zero."""
    if STRING in (a.type for a in arguments):
        return tried(remainder(binder, arguments, tree))
    return remainder(binder, arguments, tree, failing=False)


