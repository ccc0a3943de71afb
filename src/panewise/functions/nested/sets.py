"""Arrays as sets: NaN equals NaN, both zeros are equal, null equals null; the first of equal elements stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.functions.binding.binder_services import Binding
from panewise.functions.binding.bound import Bound
from panewise.functions.binding.frame import Here
from panewise.functions.binding.registry import operator
from panewise.functions.comparison import must_have_order
from panewise.functions.nested.lists import (
    computed_rows,
    counted,
    flat,
    identity,
    rebuilt,
    same_arrays,
    same_elements,
)
from panewise.functions.types import BIGINT, BOOLEAN, is_float, is_nested


def unique(values: list[Any]) -> list[Any]:
    """Each value once."""
    found: dict[Any, Any] = {}
    for value in values:
        found.setdefault(identity(value), value + 0.0 if isinstance(value, float) else value)
    return list(found.values())


def _of_two(name: str, plain: Callable[[list[Any], list[Any]], list[Any]]) -> None:
    @operator(name)
    def bind(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
        counted(binder, name, arguments, tree, 2)
        one, other = same_arrays(binder, name, arguments, tree)
        must_have_order(binder, name, one.type, tree)
        return binder.made(one.type, tree, [one, other], lambda a, b, here: computed_rows(plain, [a, b], here))


def _known(values: list[Any]) -> set[Any]:
    return {identity(v) for v in values}


def _intersection(one: list[Any], other: list[Any]) -> list[Any]:
    known = _known(other)
    return [v for v in unique(one) if identity(v) in known]


def _difference(one: list[Any], other: list[Any]) -> list[Any]:
    known = _known(other)
    return [v for v in unique(one) if identity(v) not in known]


_of_two("array_union", lambda one, other: unique([*one, *other]))
_of_two("array_intersect", _intersection)
_of_two("array_except", _difference)


@operator("arrays_overlap")
def overlap(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """Whether an element is in both; null where only a null might be."""
    counted(binder, "arrays_overlap", arguments, tree, 2)
    pair = same_arrays(binder, "arrays_overlap", arguments, tree)
    must_have_order(binder, "arrays_overlap", pair[0].type, tree)

    def plain(one: list[Any], other: list[Any]) -> bool | None:
        if _known([v for v in one if v is not None]) & _known([v for v in other if v is not None]):
            return True
        return None if one and other and (None in one or None in other) else False

    return binder.made(BOOLEAN, tree, pair, lambda a, b, here: computed_rows(plain, [a, b], here))


@operator("array_distinct")
def distinct(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """Each element once."""
    counted(binder, "array_distinct", arguments, tree, 1)
    (array,) = same_arrays(binder, "array_distinct", arguments, tree)
    must_have_order(binder, "array_distinct", array.type, tree)
    return binder.made(array.type, tree, [array], lambda a, here: computed_rows(unique, [a], here))


@operator("array_contains")
def contains(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """Whether an element equals a value; null where only a null might."""
    counted(binder, "array_contains", arguments, tree, 2)
    array, value = same_elements(binder, "array_contains", arguments, tree)
    must_have_order(binder, "array_contains", value.type, tree)
    if is_nested(value.type) or is_float(value.type):
        def plain(values: list[Any], wanted: Any) -> bool | None:
            if identity(wanted) in _known([v for v in values if v is not None]):
                return True
            return None if None in values else False

        return binder.made(BOOLEAN, tree, [array, value], lambda a, b, here: computed_rows(plain, [a, b], here))
    return binder.made(BOOLEAN, tree, [array, value], _contained, needs_arrays=True)


def _contained(lists: pa.Array, wanted: pa.Array, here: Here) -> pa.Array:
    elements, rows = flat(lists)
    equal = pc.equal(elements, wanted.take(pa.array(rows)))
    found = np.bincount(rows[pc.fill_null(equal, False).to_numpy(zero_copy_only=False)], minlength=here.rows) > 0
    unknown = np.bincount(rows[elements.is_null().to_numpy(zero_copy_only=False)], minlength=here.rows) > 0
    missing = pc.or_(lists.is_null(), wanted.is_null()).to_numpy(zero_copy_only=False)
    return pa.array(found, BOOLEAN, mask=missing | (unknown & ~found))


@operator("array_position")
def position(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """The place of the first equal element, from one; 0 if there is none."""
    counted(binder, "array_position", arguments, tree, 2)
    pair = same_elements(binder, "array_position", arguments, tree)
    must_have_order(binder, "array_position", pair[1].type, tree)

    def plain(values: list[Any], wanted: Any) -> int:
        sought = identity(wanted)
        return next((i for i, v in enumerate(values, 1) if v is not None and identity(v) == sought), 0)

    return binder.made(BIGINT, tree, pair, lambda a, b, here: computed_rows(plain, [a, b], here))


@operator("array_remove")
def remove(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """Without the elements that equal a value; nulls stay."""
    counted(binder, "array_remove", arguments, tree, 2)
    pair = same_elements(binder, "array_remove", arguments, tree)
    must_have_order(binder, "array_remove", pair[1].type, tree)

    def plain(values: list[Any], wanted: Any) -> list[Any]:
        sought = identity(wanted)
        return [v for v in values if v is None or identity(v) != sought]

    return binder.made(pair[0].type, tree, pair, lambda a, b, here: computed_rows(plain, [a, b], here))


@operator("array_compact")
def compact(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """Without nulls."""
    counted(binder, "array_compact", arguments, tree, 1)
    (array,) = same_arrays(binder, "array_compact", arguments, tree)

    def run(lists: pa.Array, here: Here) -> pa.Array:
        elements, rows = flat(lists)
        kept = elements.is_valid().to_numpy(zero_copy_only=False)
        return rebuilt(elements.filter(pa.array(kept)), np.bincount(rows[kept], minlength=here.rows),
                       lists.is_null(), here.type)

    return binder.made(array.type, tree, [array], run, needs_arrays=True)


