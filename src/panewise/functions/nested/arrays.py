"""Arrays made, joined, cut and sorted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cmp_to_key
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as t

from panewise.core.sizes import ELEMENT, bytes_of_text
from panewise.functions.binding.binder_services import Binding
from panewise.functions.binding.bound import Bound, Lambda
from panewise.functions.binding.by_value import ValueFailure
from panewise.functions.binding.frame import Datum, Frame, Here
from panewise.functions.binding.kinds import ANY, ARRAY, same
from panewise.functions.binding.registry import function, operator, special
from panewise.functions.binding.sizes import bytes_of, must_fit, plain_size
from panewise.functions.comparison import has_order, must_have_order, ordering
from panewise.functions.nested.lists import computed_rows, counted, flat, rebuilt, same_arrays, same_elements, sizes_of
from panewise.functions.texts.text import concat as concat_texts
from panewise.functions.types import BINARY, BOOLEAN, INT, STRING, VOID, type_name

LIMIT = (1 << 31) - 1 - 15
"""The largest array that Java can hold."""
TOO_MANY = "COLLECTION_SIZE_LIMIT_EXCEEDED.PARAMETER"


@operator("array")
def array(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """An array of its arguments, in their common type."""
    parts = binder.together(arguments, tree)
    of = pa.list_(parts[0].type if parts else VOID)

    def run(*values: pa.Array, here: Here) -> pa.Array:
        columns = [here.array(v) for v in values]
        if not columns:
            return pa.array([[]] * here.rows, here.type)
        order = np.arange(len(columns) * here.rows).reshape(len(columns), here.rows).T.ravel()
        return rebuilt(pa.concat_arrays(columns).take(pa.array(order)), np.full(here.rows, len(columns)),
                       pa.array(np.zeros(here.rows, np.bool_)), here.type)

    return binder.made(of, tree, parts, run, needs_arrays=True)


@operator("concat")
def concat(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """Texts or arrays one behind the other; null if one is null."""
    if not any(t.is_list(a.type) for a in arguments):
        if all(a.type == BINARY for a in arguments) and arguments:
            return binder.made(BINARY, tree, arguments, concat_texts)
        return binder.made(STRING, tree, [binder.cast(a, STRING) for a in arguments], concat_texts)
    parts = same_arrays(binder, "concat", arguments, tree)
    return binder.made(parts[0].type, tree, parts, lambda *lists, here: computed_rows(
        lambda *values: [v for part in values for v in part], lists, here,
        size=("concat", lambda *values: sum(map(plain_size, values)))))


@operator("array_append")
def append(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """A value behind the last element."""
    return _with_value(binder, "array_append", arguments, tree, lambda values, one: [*values, one])


@operator("array_prepend")
def prepend(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """A value before the first element."""
    return _with_value(binder, "array_prepend", arguments, tree, lambda values, one: [one, *values])


def _with_value(binder: Binding, name: str, arguments: list[Bound], tree: Any,
                plain: Callable[[list[Any], Any], list[Any]]) -> Bound:
    counted(binder, name, arguments, tree, 2)
    pair = same_elements(binder, name, arguments, tree)
    return binder.made(pair[0].type, tree, pair, lambda a, b, here: computed_rows(
        lambda values, one: None if values is None else plain(values, one), [a, b], here, nulls=True))


@operator("array_insert")
def insert(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """A value at a place; nulls fill what lies between."""
    counted(binder, "array_insert", arguments, tree, 3)
    of, place, value = arguments
    of, value = same_elements(binder, "array_insert", [of, value], tree)

    def plain(values: list[Any] | None, at: int | None, one: Any) -> list[Any] | None:
        if values is None or at is None:
            return None
        if at == 0:
            raise ValueFailure("INVALID_INDEX_OF_ZERO", "places are counted from one")
        if max(abs(at), len(values) + 1) > LIMIT:
            raise ValueFailure("COLLECTION_SIZE_LIMIT_EXCEEDED.FUNCTION", f"{abs(at)} elements are too many")
        if at > 0:
            return [*values[:at - 1], *[None] * (at - 1 - len(values)), one, *values[at - 1:]]
        behind = -at - 1  # how many elements follow the new one
        if behind <= len(values):
            return [*values[:len(values) - behind], one, *values[len(values) - behind:]]
        return [one, *[None] * (behind - len(values)), *values]

    return binder.made(of.type, tree, [of, binder.cast(place, INT), value],
                       lambda a, b, c, here: computed_rows(plain, [a, b, c], here, nulls=True,
                                                           size=("array_insert", _inserted_size)))


def _inserted_size(values: list[Any] | None, at: int | None, one: Any) -> int:
    if values is None or at is None or max(abs(at), len(values) + 1) > LIMIT:
        return 0
    return plain_size(values) + plain_size(one) + ELEMENT * max(0, abs(at) - len(values))


@function("array_repeat", takes=[ANY, INT], gives=lambda of, n: pa.list_(of), arrays=True)
def repeat(values: pa.Array, times: pa.Array, here: Here) -> pa.Array:
    """A value several times."""
    here.fail_where(pc.greater(times, LIMIT), TOO_MANY, "{} elements are too many", times)
    counts = np.maximum(times.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64), 0)
    must_fit("array_repeat", counts * np.maximum(bytes_of(values, here), ELEMENT), here)
    return rebuilt(values.take(pa.array(np.repeat(np.arange(here.rows), counts))), counts, times.is_null(), here.type)


def inner_type(of: pa.DataType) -> pa.DataType:
    """The type of the arrays inside an array."""
    if not t.is_list(of.value_type):
        raise TypeError(f"it takes an array of arrays, not {type_name(of)}")
    return of.value_type


@function("flatten", takes=[ARRAY], gives=inner_type, arrays=True)
def flatten(lists: pa.Array, here: Here) -> pa.Array:
    """The elements of all inner arrays; null if one of them is null."""
    return computed_rows(lambda values: None if None in values else [v for part in values for v in part],
                         [lists], here)


@function("reverse", takes=[ARRAY], gives=same)
def reverse(lists: Datum, here: Here) -> Datum:
    """The elements from last to first."""
    return computed_rows(lambda values: values[::-1], [lists], here)


@function("slice", takes=[ARRAY, INT, INT], gives=same, arrays=True)
def slice_(lists: pa.Array, start: pa.Array, size: pa.Array, here: Here) -> pa.Array:
    """So many elements from a place on; a negative place counts from the end."""
    def plain(values: list[Any], at: int, count: int) -> list[Any]:
        if at == 0:
            raise ValueFailure("INVALID_PARAMETER_VALUE.START", "places are counted from one")
        if count < 0:
            raise ValueFailure("INVALID_PARAMETER_VALUE.LENGTH", f"the length {count} is negative")
        first = at - 1 if at > 0 else len(values) + at
        return [] if first < 0 else values[first:first + count]

    return computed_rows(plain, [lists, start, size], here)


@function("array_join", takes=[pa.list_(STRING), STRING, STRING], gives=STRING, optional=1)
def join(lists: Datum, delimiter: Datum, for_null: Datum | None = None, *, here: Here) -> Datum:
    """The elements as one text; nulls are left out unless a text stands for them."""
    def plain(values: list[Any], between: str, instead: str | None = None) -> str:
        shown = [instead if v is None else v for v in values]
        return between.join(v for v in shown if v is not None)

    def size(values: list[Any], between: str, instead: str | None = None) -> int:
        filled = [instead if v is None else v for v in values]
        return sum(bytes_of_text(v) + bytes_of_text(between) for v in filled if v is not None)

    return computed_rows(plain, [lists, delimiter] if for_null is None else [lists, delimiter, for_null], here,
                         size=("array_join", size))


def ordered(of: pa.DataType, *_: pa.DataType) -> pa.DataType:
    """The type of an array whose elements must have an order: maps and intervals of months and days have none."""
    if not has_order(of):
        raise TypeError(f"{type_name(of.value_type)} has no order")
    return of


def _extreme(name: str, sign: int) -> None:
    @function(name, takes=[ARRAY], gives=lambda of: ordered(of).value_type)
    def run(lists: Datum, here: Here) -> Datum:
        def plain(values: list[Any]) -> Any:
            known = [v for v in values if v is not None]
            return max(known, key=cmp_to_key(lambda a, b: sign * ordering(a, b))) if known else None

        return computed_rows(plain, [lists], here)


_extreme("array_max", 1)
_extreme("array_min", -1)


@function("sort_array", takes=[ARRAY, BOOLEAN], gives=ordered, optional=1)
def sort_array(lists: Datum, ascending: Datum | None = None, *, here: Here) -> Datum:
    """In order; nulls first, or last where it descends."""
    def plain(values: list[Any], up: bool = True) -> list[Any]:
        return sorted(values, key=cmp_to_key(ordering), reverse=not up)

    return computed_rows(plain, [lists] if ascending is None else [lists, ascending], here)


@special("array_sort")
def array_sort(binder: Binding, tree: Any, arguments: Sequence[Any]) -> Bound:
    """In order, nulls last; or in the order a lambda gives."""
    counted(binder, "array_sort", arguments, tree, 1, 2)
    (of,) = same_arrays(binder, "array_sort", [binder.bind(arguments[0])], tree)
    if len(arguments) == 1:
        must_have_order(binder, "array_sort", of.type, tree)

        def plain(values: list[Any]) -> list[Any]:
            known = [v for v in values if v is not None]
            return sorted(known, key=cmp_to_key(ordering)) + [None] * (len(values) - len(known))

        return binder.made(of.type, tree, [of], lambda lists, here: computed_rows(plain, [lists], here))
    compare = binder.lambda_of(arguments[1], [of.type.value_type] * 2)
    if compare.type != INT or len(compare.parameters) != 2:
        raise binder.error("the lambda of array_sort takes two elements and gives an int", arguments[1])
    return binder.made(of.type, tree, [of, compare], _sorted_by(compare), needs_arrays=True)


def _sorted_by(compare: Lambda) -> Callable[..., pa.Array]:
    def run(lists: pa.Array, _: Any, here: Here) -> pa.Array:
        elements, rows = flat(lists)
        frame = here.frame

        def order(one: int, other: int) -> int:
            row = frame.select(pa.array(np.arange(frame.rows) == rows[one]))
            both = Frame(row.columns, 1, row.numbers, bound={
                **row.bound, compare.parameters[0]: elements.slice(one, 1),
                compare.parameters[1]: elements.slice(other, 1)})
            found = compare.body.array(both)[0].as_py()
            if found is None:
                here.fail(int(rows[one]), "COMPARATOR_RETURNS_NULL", "the lambda of array_sort gives null")
            return int(found)

        sizes = sizes_of(lists)
        places: list[int] = []
        for start, count in zip(np.cumsum(sizes) - sizes, sizes, strict=True):
            places.extend(sorted(range(start, start + count), key=cmp_to_key(order)))
        return rebuilt(elements.take(pa.array(places, pa.int64())), sizes, lists.is_null(), here.type)

    return run


@operator("arrays_zip")
def zipped(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """Structs of the elements at each place; shorter arrays give nulls."""
    for argument in arguments:
        if not t.is_list(argument.type):
            raise binder.error(f"arrays_zip takes arrays, not {type_name(argument.type)}", tree)
    names = [str(a.tree.name) if type(a.tree).__name__ == "Column" else str(i) for i, a in enumerate(arguments)]
    of = pa.list_(pa.struct([pa.field(n, a.type.value_type) for n, a in zip(names, arguments, strict=True)]))

    def plain(*values: list[Any]) -> list[dict[str, Any]]:
        most = max(map(len, values), default=0)
        return [{n: v[i] if i < len(v) else None for n, v in zip(names, values, strict=True)} for i in range(most)]

    return binder.made(of, tree, arguments, lambda *lists, here: computed_rows(plain, lists, here))
