"""Comparisons: NaN equals NaN and is larger than every number, both zeros are equal, nested values compare in order."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from panewise.functions import logic
from panewise.functions.binding.binder_services import Binding
from panewise.functions.binding.bound import Bound, Constant, Lazy
from panewise.functions.binding.frame import Datum, as_array
from panewise.functions.binding.registry import function, operator
from panewise.functions.types import BOOLEAN, is_decimal, is_float, is_nested, type_name

COMPARISONS = {"=": pc.equal, "!=": pc.not_equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater,
               ">=": pc.greater_equal}


def _declare(sign: str) -> None:
    @operator(sign)
    def bind(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
        one, other = _compared(binder, arguments, tree, sign)
        return binder.made(BOOLEAN, tree, [one, other], comparison_of(sign, one.type), needs_here=False,
                           strict=True)


def _compared(binder: Binding, arguments: list[Bound], tree: Any, sign: str) -> list[Bound]:
    """Two operands of one type that has an order."""
    pair = binder.comparable(arguments, tree)
    must_have_order(binder, sign, pair[0].type, tree)
    return pair


def must_have_order(binder: Binding, name: str, of: pa.DataType, tree: Any) -> None:
    """Refuse what compares values of a type without an order, as Spark does: maps, and intervals of months and days."""
    if _has(pa.types.is_map, of):
        raise binder.error(f"{name} does not take {type_name(of)}: maps are not compared", tree,
                           "compare map_entries() of them")
    if _has(pa.types.is_interval, of):
        raise binder.error(f"{name} does not take {type_name(of)}: intervals of months, days and time are not "
                           "compared, because months differ in length", tree,
                           "use make_ym_interval or make_dt_interval")


def has_order(of: pa.DataType) -> bool:
    """Whether values of a type compare: all but maps and intervals of months and days, or what has them as parts."""
    return not (_has(pa.types.is_map, of) or _has(pa.types.is_interval, of))


def _has(kind: Callable[[pa.DataType], bool], of: pa.DataType) -> bool:
    """Whether a type is of a kind, or has parts that are."""
    return kind(of) or (is_nested(of) and any(_has(kind, of.field(i).type) for i in range(of.num_fields)))


def comparison_of(sign: str, of: pa.DataType) -> Any:
    """The comparison of two columns of a type."""
    compare = COMPARISONS[sign]
    if is_nested(of):
        return lambda one, other: _nested(sign, one, other)
    if is_float(of):
        return lambda one, other: _floats(sign, one, other)
    if isinstance(of, pa.ExtensionType):  # months: Arrow compares the numbers
        return lambda one, other: compare(_stored(one), _stored(other))
    return compare


def _stored(values: Datum) -> Datum:
    return values.value if isinstance(values, pa.Scalar) else values.storage


def _floats(sign: str, one: Datum, other: Datum) -> Datum:
    plain = COMPARISONS[sign](one, other)
    left, right = pc.is_nan(one), pc.is_nan(other)
    if not _any(left) and not _any(right):
        return plain
    # NaN as a value: equal to itself, above everything else
    if sign in ("=", "!="):
        found = pc.or_(plain, pc.and_(left, right)) if sign == "=" else pc.and_not(plain, pc.and_(left, right))
    elif sign in ("<", ">="):
        found = pc.or_(plain, pc.and_not(right, left)) if sign == "<" else \
            pc.or_(plain, left)
    else:
        found = pc.or_(plain, pc.and_not(left, right)) if sign == ">" else pc.or_(plain, right)
    return found


def _any(flags: Datum) -> bool:
    return bool(flags.as_py()) if isinstance(flags, pa.Scalar) else bool(pc.any(flags, min_count=0).as_py())


def _nested(sign: str, one: Datum, other: Datum) -> Datum:
    rows = len(one) if isinstance(one, pa.Array) else len(other)
    pairs = zip(as_array(one, rows).to_pylist(), as_array(other, rows).to_pylist(), strict=True)
    return pa.array([None if a is None or b is None else _SIGNS[sign](ordering(a, b)) for a, b in pairs], BOOLEAN)


_SIGNS = {"=": lambda c: c == 0, "!=": lambda c: c != 0, "<": lambda c: c < 0, "<=": lambda c: c <= 0,
          ">": lambda c: c > 0, ">=": lambda c: c >= 0}


def ordering(one: Any, other: Any) -> int:
    """-1, 0 or 1: the order of two values of one type; nulls inside nested values come first, NaN last."""
    if one is None or other is None:
        return (one is not None) - (other is not None)
    if isinstance(one, dict):
        one, other = list(one.values()), list(other.values())
    if isinstance(one, list | tuple):
        for a, b in zip(one, other, strict=False):
            found = ordering(a, b)
            if found:
                return found
        return (len(one) > len(other)) - (len(one) < len(other))
    if isinstance(one, float) and (math.isnan(one) or math.isnan(other)):
        return math.isnan(one) - math.isnan(other)
    if isinstance(one, str):
        one, other = one.encode(), other.encode()
    return int(one > other) - int(one < other)


for _sign in COMPARISONS:
    _declare(_sign)


@operator("<=>", "equal_null")
def same(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """Equal, or both null."""
    one, other = _compared(binder, arguments, tree, "<=>")
    equal = comparison_of("=", one.type)

    def run(left: Datum, right: Datum) -> Datum:
        return pc.if_else(pc.and_(pc.is_null(left), pc.is_null(right)), True, pc.fill_null(equal(left, right), False))

    return binder.made(BOOLEAN, tree, [one, other], run, needs_here=False)


@operator("in")
def among(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """Equal to one of a list; null where it might be."""
    value, *choices = binder.together(arguments, tree)
    must_have_order(binder, "IN", value.type, tree)
    equal = comparison_of("=", value.type)
    if not all(isinstance(choice, Constant) for choice in choices):  # the list is read until one is equal
        parts = [binder.call("=", [value, choice], tree) for choice in choices]
        return Lazy(BOOLEAN, tree, tuple(parts), logic.disjunction)
    plain = not is_float(value.type) and not is_nested(value.type)

    def searched(values: Datum, *others: Datum) -> Datum:
        known = pa.array([o.as_py() if isinstance(o, pa.Scalar) else o[0].as_py() for o in others], values.type) \
            if not is_decimal(values.type) else pa.concat_arrays([as_array(o, 1) for o in others])
        found = pc.is_in(values, value_set=known.drop_null(), skip_nulls=True)
        missing = pc.is_null(values) if not known.null_count else pc.or_(pc.is_null(values), pc.invert(found))
        return pc.if_else(missing, pa.scalar(None, BOOLEAN), found)

    def folded(values: Datum, *others: Datum) -> Datum:
        found = equal(values, others[0])
        for choice in others[1:]:
            found = pc.or_kleene(found, equal(values, choice))
        return found

    return binder.made(BOOLEAN, tree, [value, *choices], searched if plain else folded, needs_here=False)


@function("not", takes=[BOOLEAN], gives=BOOLEAN)
def negated(values: Datum) -> Datum:
    """True for false, null for null."""
    return pc.invert(values)


@function("_istrue", takes=[BOOLEAN], gives=BOOLEAN)
def is_true(values: Datum) -> Datum:
    """IS TRUE: null is not true."""
    return pc.fill_null(values, False)


@function("_isfalse", takes=[BOOLEAN], gives=BOOLEAN)
def is_false(values: Datum) -> Datum:
    """IS FALSE: null is not false."""
    return pc.invert(pc.fill_null(values, True))
