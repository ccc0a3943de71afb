"""Functions that choose among values: only the branch that a row reaches is computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from panewise.functions import logic
from panewise.functions.binding.binder_services import Binding
from panewise.functions.binding.bound import Bound, Constant, Lazy
from panewise.functions.binding.frame import Datum
from panewise.functions.binding.kinds import ANY
from panewise.functions.binding.registry import function, special
from panewise.functions.types import BOOLEAN, DOUBLE, VOID, is_float


def _count(binder: Binding, tree: Any, arguments: Sequence[Any], least: int, most: int | None = None) -> list[Bound]:
    if len(arguments) < least or (most is not None and len(arguments) > most):
        wanted = str(least) if most == least else f"at least {least}" if most is None else f"{least} to {most}"
        raise binder.error(f"{tree.name.lower()} takes {wanted} arguments, {len(arguments)} are given", tree)
    return [binder.bind(argument) for argument in arguments]


@special("coalesce", "nvl", "ifnull")
def coalesce(binder: Binding, tree: Any, arguments: Sequence[Any]) -> Bound:
    """The first value that is not null."""
    values = _count(binder, tree, arguments, *((1, None) if tree.name.lower() == "coalesce" else (2, 2)))
    parts = binder.together(values, tree)
    return Lazy(parts[0].type, tree, parts, logic.first_value)


@special("if")
def if_(binder: Binding, tree: Any, arguments: Sequence[Any]) -> Bound:
    """One of two values, by a condition."""
    if len(arguments) != 3:
        raise binder.error("if takes a condition and two values", tree)
    return binder.branches([binder.condition(arguments[0])], [binder.bind(a) for a in arguments[1:]], tree)


@special("nvl2")
def nvl2(binder: Binding, tree: Any, arguments: Sequence[Any]) -> Bound:
    """The second value where the first is not null, else the third."""
    first, *values = _count(binder, tree, arguments, 3, 3)
    return binder.branches([binder.call("isnotnull", [first], tree)], values, tree)


@special("nullif")
def nullif(binder: Binding, tree: Any, arguments: Sequence[Any]) -> Bound:
    """The first value, or null where both are equal."""
    one, other = _count(binder, tree, arguments, 2, 2)
    nothing = Constant(VOID, tree, pa.scalar(None))
    return binder.branches([binder.call("=", [one, other], tree)], [nothing, one], tree)


@special("nullifzero")
def nullifzero(binder: Binding, tree: Any, arguments: Sequence[Any]) -> Bound:
    """Null for zero."""
    (value,) = _count(binder, tree, arguments, 1, 1)
    zero = Constant(pa.int32(), tree, pa.scalar(0, pa.int32()))
    nothing = Constant(VOID, tree, pa.scalar(None))
    return binder.branches([binder.call("=", [value, zero], tree)], [nothing, value], tree)


@special("zeroifnull")
def zeroifnull(binder: Binding, tree: Any, arguments: Sequence[Any]) -> Bound:
    """Zero for null."""
    (value,) = _count(binder, tree, arguments, 1, 1)
    parts = binder.together([value, Constant(pa.int32(), tree, pa.scalar(0, pa.int32()))], tree)
    return Lazy(parts[0].type, tree, parts, logic.first_value)


@special("nanvl")
def nanvl(binder: Binding, tree: Any, arguments: Sequence[Any]) -> Bound:
    """The second value where the first is not a number."""
    one, other = _count(binder, tree, arguments, 2, 2)
    if not (is_float(one.type) and one.type == other.type):
        one, other = binder.cast(one, DOUBLE), binder.cast(other, DOUBLE)
    return binder.branches([binder.call("isnan", [one], tree)], [other, one], tree)


@function("isnull", takes=[ANY], gives=BOOLEAN)
def isnull(values: Datum) -> Datum:
    """Whether it is null."""
    return pc.is_null(values)


@function("isnotnull", takes=[ANY], gives=BOOLEAN)
def isnotnull(values: Datum) -> Datum:
    """Whether it is not null."""
    return pc.is_valid(values)


@function("isnan", takes=[DOUBLE], gives=BOOLEAN)
def isnan(values: Datum) -> Datum:
    """Whether it is NaN; null is not."""
    return pc.fill_null(pc.is_nan(values), False)
