"""Elements of arrays, values of keys, fields of structs, sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as t

from panewise.functions.binding.binder_services import Binding
from panewise.functions.binding.bound import Bound
from panewise.functions.binding.frame import Datum, Here
from panewise.functions.binding.kinds import ARRAY, MAP
from panewise.functions.binding.registry import Kind, function, operator
from panewise.functions.nested.lists import (
    computed_rows,
    counted,
    elements_of,
    flat,
    identity,
    rebuilt,
    sizes_of,
    starts_of,
)
from panewise.functions.types import BIGINT, INT, VOID, is_integer, type_name, wider

BAD_INDEX = "INVALID_ARRAY_INDEX"


@function("_field", takes=[], gives=VOID)
def field(struct: Datum, index: int) -> Datum:
    """One field; null where the struct is."""
    return pc.struct_field(struct, [index])


@function("_field_of_all", takes=[], gives=VOID)
def field_of_all(lists: Datum, index: int) -> Datum:
    """One field of every struct of an array."""
    if isinstance(lists, pa.Scalar):
        lists = pa.array([lists.as_py()], lists.type)
    elements, _ = flat(lists)
    inner = pc.struct_field(elements, [index])
    return rebuilt(inner, sizes_of(lists), lists.is_null(), pa.list_(inner.type))


def picked(lists: pa.Array, places: np.ndarray[Any, Any], there: np.ndarray[Any, Any]) -> pa.Array:
    """The element at a place of every list, null where there is none."""
    return elements_of(lists).take(pa.array(starts_of(lists) + np.where(there, places, 0), mask=~there))


def _places(lists: pa.Array, index: pa.Array) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    known = pc.and_(lists.is_valid(), index.is_valid()).to_numpy(zero_copy_only=False)
    return index.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64), known


PLACE = Kind("int", is_integer, lambda given: pa.int32() if given == VOID else None)
"""A place in brackets; text is not read as one."""


@function("_element", takes=[ARRAY, PLACE], gives=lambda array, index: array.value_type, arrays=True)
def element(lists: pa.Array, index: pa.Array, here: Here) -> pa.Array:
    """a[i]: counted from zero; a place outside the array fails."""
    places, known = _places(lists, index)
    sizes = sizes_of(lists)
    inside = (places >= 0) & (places < sizes)
    here.fail_where(pa.array(known & ~inside), BAD_INDEX, "there is no place {} in an array of {}", index,
                    pa.array(sizes))
    return picked(lists, places, known & inside)


@function("get", takes=[ARRAY, INT], gives=lambda array, index: array.value_type, arrays=True)
def get(lists: pa.Array, index: pa.Array) -> pa.Array:
    """Counted from zero; null outside the array."""
    places, known = _places(lists, index)
    return picked(lists, places, known & (places >= 0) & (places < sizes_of(lists)))


def _element_at(name: str, failing: bool) -> None:
    def of_array(lists: pa.Array, index: pa.Array, here: Here) -> pa.Array:
        places, known = _places(lists, index)
        sizes = sizes_of(lists)
        here.fail_where(pa.array(known & (places == 0)), "INVALID_INDEX_OF_ZERO", "places are counted from one")
        inside = np.abs(places) <= sizes
        if failing:
            here.fail_where(pa.array(known & ~inside), "INVALID_ARRAY_INDEX_IN_ELEMENT_AT",
                            "there is no place {} in an array of {}", index, pa.array(sizes))
        return picked(lists, np.where(places > 0, places - 1, sizes + places), known & inside)

    @operator(name)
    def bind(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
        counted(binder, name, arguments, tree, 2)
        of, key = arguments
        if t.is_map(of.type):
            return binder.call("_value_of_key", [of, key], tree)
        if not t.is_list(of.type):
            raise binder.error(f"{name} takes an array or a map, not {type_name(of.type)}", tree)
        if key.type == BIGINT:
            raise binder.error(f"{name} takes an int as the place, not bigint", tree, "cast it")
        return binder.made(of.type.value_type, tree, [of, binder.cast(key, INT)], of_array, needs_arrays=True)


_element_at("element_at", failing=True)
_element_at("try_element_at", failing=False)


@operator("_value_of_key")
def value_of_key(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """m[key]: null where the map has no such key."""
    of, key = arguments
    common = wider(of.type.key_type, key.type)
    if common is None:
        raise binder.error(f"{type_name(key.type)} is no key of {type_name(of.type)}", tree)
    of, key = binder.cast(of, pa.map_(common, of.type.item_type)), binder.cast(key, common)

    def run(maps: pa.Array, wanted: pa.Array, here: Here) -> pa.Array:
        def plain(entries: list[tuple[Any, Any]], one: Any) -> int | None:
            sought = identity(one)
            return next((i for i, (k, _) in enumerate(entries) if identity(k) == sought), None)

        at = computed_rows(plain, [maps, wanted], Here(here.frame, pa.int64(), here.zone, here.expression))
        there = at.is_valid().to_numpy(zero_copy_only=False)
        places = starts_of(maps) + at.fill_null(0).to_numpy(zero_copy_only=False)
        return maps.items.take(pa.array(places, mask=~there))

    return binder.made(of.type.item_type, tree, [of, key], run, needs_arrays=True)


@function("size", "cardinality", takes=[ARRAY], gives=INT, arrays=True)
@function("size", "cardinality", takes=[MAP], gives=INT, arrays=True)
@function("array_size", takes=[ARRAY], gives=INT, arrays=True)
def size(lists: pa.Array) -> pa.Array:
    """How many elements; null of null."""
    return pa.array(sizes_of(lists).astype(np.int32), mask=lists.is_null().to_numpy(zero_copy_only=False))
