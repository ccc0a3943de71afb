"""Higher-order functions: the body of a lambda is computed once, on the elements of all arrays together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as t

from panewise.core.errors import EvaluationError
from panewise.functions.binding.binder_services import Binding
from panewise.functions.binding.bound import Bound, Lambda
from panewise.functions.binding.by_value import ValueFailure
from panewise.functions.binding.frame import Datum, Frame, Here, picked_apart, scattered
from panewise.functions.binding.registry import special
from panewise.functions.nested.lists import computed_rows, counted, flat, identity, rebuilt, sizes_of
from panewise.functions.nested.maps import built
from panewise.functions.types import BOOLEAN, INT, VOID, type_name, wider


class _Taken(dict[str, pa.Array]):
    """Columns of the rows that elements belong to, taken when they are read."""

    def __init__(self, whole: Mapping[str, pa.Array], rows: pa.Array) -> None:
        super().__init__()
        self._whole, self._rows = whole, rows

    def __missing__(self, name: str) -> pa.Array:
        self[name] = picked_apart(self._whole[name]).take(self._rows)
        return self[name]


def per_element(frame: Frame, rows: np.ndarray[Any, Any], body: Lambda, values: Sequence[Datum]) -> pa.Array:
    """The body of a lambda on every element; ``rows`` says which row each belongs to."""
    at = pa.array(rows)
    numbers = at if frame.numbers is None else frame.numbers.take(at)
    outer = {n: d if isinstance(d, pa.Scalar) else d.take(at) for n, d in frame.bound.items()}
    inner = dict(zip(body.parameters, values, strict=False))
    return body.body.array(Frame(_Taken(frame.columns, at), len(rows), numbers, bound={**outer, **inner}))


def _within(sizes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    found: np.ndarray[Any, Any] = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return found.astype(np.int32)


def _array(binder: Binding, name: str, tree: Any) -> Bound:
    found = binder.bind(tree)
    if not t.is_list(found.type):
        raise binder.error(f"{name} takes an array, not {type_name(found.type)}", tree)
    return found


def _map(binder: Binding, name: str, tree: Any) -> Bound:
    found = binder.bind(tree)
    if not t.is_map(found.type):
        raise binder.error(f"{name} takes a map, not {type_name(found.type)}", tree)
    return found


def _condition(binder: Binding, body: Lambda, tree: Any) -> None:
    if body.type not in (BOOLEAN, VOID):
        raise binder.error(f"the lambda gives {type_name(body.type)}, and must give true or false", tree)


def _over_elements(binder: Binding, of: Bound, body: Lambda, gives: pa.DataType, tree: Any,
                   finish: Callable[..., pa.Array]) -> Bound:
    def run(lists: pa.Array, *_: Any, here: Here) -> pa.Array:
        elements, rows = flat(lists)
        places = pa.array(_within(sizes_of(lists)), INT)
        found = per_element(here.frame, rows, body, [elements, places])
        return finish(lists, elements, rows, found, here)

    return binder.made(gives, tree, [of, body], lambda lists, body_, here: run(lists, here=here), needs_arrays=True)


@special("transform")
def transform(binder: Binding, tree: Any, arguments: Sequence[Any]) -> Bound:
    """Every element through a lambda of the element, or of the element and its place from zero."""
    counted(binder, "transform", arguments, tree, 2)
    of = _array(binder, "transform", arguments[0])
    body = binder.lambda_of(arguments[1], [of.type.value_type, INT])
    return _over_elements(binder, of, body, pa.list_(body.type), tree,
                          lambda lists, elements, rows, found, here: rebuilt(
                              found, sizes_of(lists), lists.is_null(), here.type))


@special("filter")
def filter_(binder: Binding, tree: Any, arguments: Sequence[Any]) -> Bound:
    """The elements for which a lambda is true."""
    counted(binder, "filter", arguments, tree, 2)
    of = _array(binder, "filter", arguments[0])
    body = binder.lambda_of(arguments[1], [of.type.value_type, INT])
    _condition(binder, body, arguments[1])

    def finish(lists: pa.Array, elements: pa.Array, rows: Any, found: pa.Array, here: Here) -> pa.Array:
        kept = pc.fill_null(found.cast(BOOLEAN), False).to_numpy(zero_copy_only=False)
        return rebuilt(elements.filter(pa.array(kept)), np.bincount(rows[kept], minlength=here.rows),
                       lists.is_null(), here.type)

    return _over_elements(binder, of, body, of.type, tree, finish)


def _quantified(name: str, sought: bool) -> None:
    @special(name)
    def bind(binder: Binding, tree: Any, arguments: Sequence[Any]) -> Bound:
        counted(binder, name, arguments, tree, 2)
        of = _array(binder, name, arguments[0])
        body = binder.lambda_of(arguments[1], [of.type.value_type])
        _condition(binder, body, arguments[1])

        def run(lists: pa.Array, _: Any, here: Here) -> pa.Array:
            elements, rows = flat(lists)
            try:
                steps = [(np.arange(len(rows)), per_element(here.frame, rows, body, [elements]))]
            except EvaluationError:
                steps = _one_by_one(lists, elements, body, sought, here)
            there, unknown = np.zeros(here.rows, np.bool_), np.zeros(here.rows, np.bool_)
            for places, answers in steps:
                there[rows[places[_hits(answers, sought)]]] = True
                unknown[rows[places[answers.is_null().to_numpy(zero_copy_only=False)]]] = True
            missing = lists.is_null().to_numpy(zero_copy_only=False)
            return pa.array(there if sought else ~there, BOOLEAN, mask=missing | (unknown & ~there))

        return binder.made(BOOLEAN, tree, [of, body], run, needs_arrays=True)


def _hits(answers: pa.Array, sought: bool) -> np.ndarray[Any, Any]:
    found: np.ndarray[Any, Any] = pc.fill_null(pc.equal(answers.cast(BOOLEAN), sought), False).to_numpy(
        zero_copy_only=False)
    return found


def _one_by_one(lists: pa.Array, elements: pa.Array, body: Lambda, sought: bool,
                here: Here) -> list[tuple[np.ndarray[Any, Any], pa.Array]]:
    """Place by place, because elements behind the first hit are not looked at and may fail."""
    sizes = sizes_of(lists)
    first = np.cumsum(sizes) - sizes
    waiting, steps = np.flatnonzero(sizes > 0), []
    place = 0
    while len(waiting):
        places = first[waiting] + place
        answers = per_element(here.frame, waiting, body, [elements.take(pa.array(places))])
        steps.append((places, answers))
        waiting = waiting[~_hits(answers, sought)]
        place += 1
        waiting = waiting[sizes[waiting] > place]
    return steps


_quantified("exists", sought=True)
_quantified("forall", sought=False)


@special("aggregate", "reduce")
def aggregate(binder: Binding, tree: Any, arguments: Sequence[Any]) -> Bound:
    """All elements folded into one value, from the first to the last."""
    counted(binder, "aggregate", arguments, tree, 3, 4)
    of, start = _array(binder, "aggregate", arguments[0]), binder.bind(arguments[1])
    merge = binder.lambda_of(arguments[2], [start.type, of.type.value_type])
    if merge.type != start.type:
        raise binder.error(f"the lambda gives {type_name(merge.type)}, the start value is {type_name(start.type)}",
                           arguments[2], "cast the start value")
    finish = binder.lambda_of(arguments[3], [start.type]) if len(arguments) == 4 else None

    def run(lists: pa.Array, begin: pa.Array, *_: Any, here: Here) -> pa.Array:
        elements, _rows = flat(lists)
        sizes = sizes_of(lists)
        first = np.cumsum(sizes) - sizes
        found = begin
        for place in range(int(sizes.max(initial=0))):  # one columnar pass per place, over the arrays that reach it
            rows = np.flatnonzero(sizes > place)
            stepped = per_element(here.frame, rows, merge, [found.take(pa.array(rows)),
                                                            elements.take(pa.array(first[rows] + place))])
            order = np.arange(here.rows)
            order[rows] = here.rows + np.arange(len(rows))
            found = pa.concat_arrays([found, stepped]).take(pa.array(order))
        if finish is not None:  # a null array has no value to finish
            there = lists.is_valid()
            rows = np.flatnonzero(there.to_numpy(zero_copy_only=False))
            found = scattered(per_element(here.frame, rows, finish, [found.take(pa.array(rows))]), there)
        return pc.if_else(lists.is_null(), pa.scalar(None, here.type), found)

    bodies = [merge] if finish is None else [merge, finish]
    return binder.made(merge.type if finish is None else finish.type, tree, [of, start, *bodies],
                       lambda lists, begin, *rest, here: run(lists, begin, here=here), needs_arrays=True)


@special("zip_with")
def zip_with(binder: Binding, tree: Any, arguments: Sequence[Any]) -> Bound:
    """Two arrays through a lambda of both elements; the shorter one is filled with nulls."""
    counted(binder, "zip_with", arguments, tree, 3)
    one, other = (_array(binder, "zip_with", a) for a in arguments[:2])
    body = binder.lambda_of(arguments[2], [one.type.value_type, other.type.value_type])

    def run(left: pa.Array, right: pa.Array, here: Here) -> pa.Array:
        missing = pc.or_(left.is_null(), right.is_null())
        gone = missing.to_numpy(zero_copy_only=False)
        sizes = np.where(gone, 0, np.maximum(sizes_of(left), sizes_of(right)))
        rows, places = np.repeat(np.arange(here.rows), sizes), _within(sizes)
        values = []
        for side in (left, right):
            inside = places < np.repeat(sizes_of(side), sizes)
            at = np.repeat(side.offsets.to_numpy()[:-1], sizes) + np.where(inside, places, 0)
            values.append(side.values.take(pa.array(at, mask=~inside)))
        return rebuilt(per_element(here.frame, rows, body, values), sizes, missing, here.type)

    return binder.made(pa.list_(body.type), tree, [one, other, body],
                       lambda left, right, _, here: run(left, right, here), needs_arrays=True)


def _over_entries(name: str, finish: Callable[..., pa.Array], gives: Callable[[pa.DataType, Lambda], pa.DataType],
                  condition: bool = False) -> None:
    @special(name)
    def bind(binder: Binding, tree: Any, arguments: Sequence[Any]) -> Bound:
        counted(binder, name, arguments, tree, 2)
        of = _map(binder, name, arguments[0])
        body = binder.lambda_of(arguments[1], [of.type.key_type, of.type.item_type])
        if condition:
            _condition(binder, body, arguments[1])

        def run(maps: pa.Array, _: Any, here: Here) -> pa.Array:
            sizes = sizes_of(maps)
            at = pa.array(np.repeat(maps.offsets.to_numpy()[:-1], sizes) + _within(sizes))
            keys, items = maps.keys.take(at), maps.items.take(at)
            rows = np.repeat(np.arange(here.rows), sizes)
            found = per_element(here.frame, rows, body, [keys, items])
            return finish(maps, keys, items, rows, found, here)

        return binder.made(gives(of.type, body), tree, [of, body], run, needs_arrays=True)


def _made(keys: pa.Array, items: pa.Array, sizes: Any, maps: pa.Array, here: Here) -> pa.Array:
    offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32))
    return pa.MapArray.from_arrays(offsets, keys, items, type=here.type, mask=maps.is_null())


def _new_keys(maps: pa.Array, keys: pa.Array, items: pa.Array, rows: Any, found: pa.Array, here: Here) -> pa.Array:
    sizes = sizes_of(maps)
    listed, first = found.to_pylist(), np.cumsum(sizes) - sizes
    for row, (start, size) in enumerate(zip(first, sizes, strict=True)):
        try:
            built([(key, None) for key in listed[start:start + size]])
        except ValueFailure as failure:
            here.fail(row, failure.condition, failure.message)
    return _made(found, items, sizes, maps, here)


def _kept(maps: pa.Array, keys: pa.Array, items: pa.Array, rows: Any, found: pa.Array, here: Here) -> pa.Array:
    mask = pc.fill_null(found.cast(BOOLEAN), False)
    kept = mask.to_numpy(zero_copy_only=False)
    return _made(keys.filter(mask), items.filter(mask), np.bincount(rows[kept], minlength=here.rows), maps, here)


_over_entries("transform_keys", _new_keys, lambda of, body: pa.map_(body.type, of.item_type))
_over_entries("transform_values", lambda maps, keys, items, rows, found, here: _made(
    keys, found, sizes_of(maps), maps, here), lambda of, body: pa.map_(of.key_type, body.type))
_over_entries("map_filter", _kept, lambda of, body: of, condition=True)


@special("map_zip_with")
def map_zip_with(binder: Binding, tree: Any, arguments: Sequence[Any]) -> Bound:
    """Two maps through a lambda of a key and both values; null where a map has not the key."""
    counted(binder, "map_zip_with", arguments, tree, 3)
    one, other = (_map(binder, "map_zip_with", a) for a in arguments[:2])
    common = wider(one.type.key_type, other.type.key_type)
    if common is None:
        raise binder.error("the maps have keys of different types", tree)
    one = binder.cast(one, pa.map_(common, one.type.item_type))
    other = binder.cast(other, pa.map_(common, other.type.item_type))
    body = binder.lambda_of(arguments[2], [common, one.type.item_type, other.type.item_type])
    triple = pa.list_(pa.struct([("k", common), ("a", one.type.item_type), ("b", other.type.item_type)]))

    def plain(left: list[tuple[Any, Any]], right: list[tuple[Any, Any]]) -> list[dict[str, Any]]:
        found: dict[Any, dict[str, Any]] = {}
        for name, entries in (("a", left), ("b", right)):
            for key, value in entries:
                found.setdefault(identity(key), {"k": key, "a": None, "b": None})[name] = value
        return list(found.values())

    def run(left: pa.Array, right: pa.Array, _: Any, here: Here) -> pa.Array:
        both = computed_rows(plain, [left, right], Here(here.frame, triple, here.zone, here.expression))
        elements, rows = flat(both)
        keys, *values = (pc.struct_field(elements, [i]) for i in range(3))
        return _made(keys, per_element(here.frame, rows, body, [keys, *values]), sizes_of(both), both, here)

    return binder.made(pa.map_(common, body.type), tree, [one, other, body], run, needs_arrays=True)
