"""Bits of integers: &, |, ^, ~, shifts as Java shifts, bit_count and getbit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.functions.binding.binder_services import Binding
from panewise.functions.binding.bound import Bound
from panewise.functions.binding.frame import Datum, Here, as_numpy, with_nulls
from panewise.functions.binding.kinds import INTEGER
from panewise.functions.binding.registry import Kind, function, operator
from panewise.functions.casts.outcome import nulls_of
from panewise.functions.types import BIGINT, BINARY, BOOLEAN, INT, STRING, TINYINT, VOID, is_integer, type_name, wider

_SIGNS: dict[str, Callable[..., Datum]] = {"&": pc.bit_wise_and, "|": pc.bit_wise_or, "^": pc.bit_wise_xor}
SHIFTED = Kind("int or bigint", lambda given: given in (INT, BIGINT),
               lambda given: INT if is_integer(given) or given in (STRING, VOID) else None)


def _declare(sign: str) -> None:
    @operator(sign)
    def bind(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
        common = wider(*(a.type for a in arguments))
        if common == VOID:
            common = BIGINT
        if common is None or not is_integer(common):
            given = " and ".join(type_name(a.type) for a in arguments)
            raise binder.error(f"{sign} does not take {given}", tree, "cast them to integers")
        return binder.made(common, tree, [binder.cast(a, common) for a in arguments], _SIGNS[sign], needs_here=False,
                           strict=True)


for _sign in _SIGNS:
    _declare(_sign)


@function("~", takes=[INTEGER], gives=lambda given: given)
def inverted(values: Datum) -> Datum:
    """Every bit turned."""
    return pc.bit_wise_not(values)


def _shift(names: tuple[str, ...], shift: Callable[[Any, Any], Any]) -> None:
    @function(*names, takes=[SHIFTED, INT], gives=lambda given, _: given, arrays=True)
    def run(values: pa.Array, places: pa.Array, here: Here) -> pa.Array:
        width = here.type.bit_width
        null = nulls_of(values) | nulls_of(places)
        by = as_numpy(places, 0).astype(np.int64) & (width - 1)
        found = shift(as_numpy(values, 0), by.astype(here.type.to_pandas_dtype()))
        return pa.array(found, here.type, mask=null)


def _unsigned(values: Any, by: Any) -> Any:
    unsigned = np.uint32 if values.dtype == np.int32 else np.uint64
    return (values.view(unsigned) >> by.astype(unsigned)).view(values.dtype)


_shift(("shiftleft", "<<"), np.left_shift)
_shift(("shiftright", ">>"), np.right_shift)
_shift(("shiftrightunsigned", ">>>"), _unsigned)


@function("bit_count", takes=[Kind("integer or boolean", lambda given: is_integer(given) or given == BOOLEAN)],
          gives=INT, arrays=True)
def bit_count(values: pa.Array) -> pa.Array:
    """How many bits are set, of 64."""
    numbers = as_numpy(values.cast(pa.int8()) if values.type == BOOLEAN else values, 0).astype(np.int64).view(np.uint64)
    return with_nulls(np.bitwise_count(numbers).astype(np.int32), values, INT)


@function("getbit", "bit_get", takes=[INTEGER, INT], gives=TINYINT, arrays=True)
def getbit(values: pa.Array, places: pa.Array, here: Here) -> pa.Array:
    """One bit, counted from the right."""
    width = values.type.bit_width
    wrong = pc.and_(pc.is_valid(values), pc.or_(pc.less(places, 0), pc.greater_equal(places, width)))
    here.fail_where(wrong, "INVALID_PARAMETER_VALUE.BIT_POSITION_RANGE",
                    "{} is no bit of " + type_name(values.type) + f", which has {width}", places)
    numbers = as_numpy(values, 0).astype(np.int64)
    by = np.clip(as_numpy(places, 0).astype(np.int64), 0, 63)
    return pa.array(((numbers >> by) & 1).astype(np.int8), TINYINT, mask=nulls_of(values) | nulls_of(places))


PER_BITMAP = 32_768
"""Bits of one bitmap."""


@function("bitmap_bucket_number", takes=[BIGINT], gives=BIGINT, arrays=True)
def bitmap_bucket_number(values: pa.Array) -> pa.Array:
    """Which bitmap a number belongs to: positive ones are counted from one."""
    numbers = as_numpy(values, 0).astype(np.int64)
    before = numbers - (numbers > 0)
    whole = (before - np.fmod(before, PER_BITMAP)) // PER_BITMAP
    return with_nulls(whole + (numbers > 0), values, BIGINT)


@function("bitmap_bit_position", takes=[BIGINT], gives=BIGINT, arrays=True)
def bitmap_bit_position(values: pa.Array) -> pa.Array:
    """The bit of a number in its bitmap."""
    numbers = as_numpy(values, 0).astype(np.int64)
    with np.errstate(over="ignore"):
        found = np.where(numbers > 0, (numbers - 1) % PER_BITMAP, np.fmod(-numbers, PER_BITMAP))
    return with_nulls(found, values, BIGINT)


@function("bitmap_count", takes=[BINARY], gives=BIGINT, arrays=True)
def bitmap_count(values: pa.Array) -> pa.Array:
    """How many bits of a bitmap are set."""
    return pa.array([None if one is None else int.from_bytes(one, "little").bit_count() for one in values.to_pylist()],
                    BIGINT)
