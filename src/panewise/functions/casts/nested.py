"""Arrays, maps and structs: cast element by element, and written as text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as t

from panewise.functions.binding.frame import Frame, Here, picked_apart
from panewise.functions.casts.outcome import nulls_of
from panewise.functions.casts.table import cast_where, find
from panewise.functions.types import BINARY, STRING, is_integer, tightest


class _Taken(dict[str, pa.Array]):
    """Columns with a row per element, taken when a message asks for them."""

    def __init__(self, whole: Any, parents: pa.Array) -> None:
        super().__init__()
        self._whole, self._parents = whole, parents

    def __missing__(self, name: str) -> pa.Array:
        self[name] = picked_apart(self._whole[name]).take(self._parents)
        return self[name]


def within(here: Here, parents: pa.Array, of: pa.DataType) -> Here:
    """The call on elements instead of rows, so that a failure names the row of the element."""
    frame = here.frame
    numbers = parents if frame.numbers is None else frame.numbers.take(parents)
    return replace(here, type=of, frame=Frame(_Taken(frame.columns, parents), len(parents), numbers))


def cast_inside(values: pa.Array, here: Here, of: pa.DataType, failing: bool) -> pa.Array:
    """Values of one type in another, by the table of casts."""
    if values.type == of:
        return values
    run = find(values.type, of)
    if run is None:
        raise TypeError(f"{values.type} cannot be cast to {of}")
    found: pa.Array = run(values, here=replace(here, type=of), failing=failing)
    return found


def _offsets(values: pa.Array) -> pa.Array:
    lengths = pc.list_value_length(values) if t.is_list(values.type) else pc.list_value_length(_as_list(values))
    counts = lengths.fill_null(0).to_numpy(zero_copy_only=False)
    return pa.array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))


def _as_list(values: pa.Array) -> pa.Array:
    """A map as the list of its entries."""
    entries = pa.struct([pa.field("key", values.type.key_type, False), pa.field("value", values.type.item_type)])
    return values.cast(pa.list_(pa.field("entries", entries, False)))


def _lists(given: pa.DataType, to: pa.DataType) -> bool:
    return bool(t.is_list(given) and t.is_list(to) and _castable(given.value_type, to.value_type))


def _maps(given: pa.DataType, to: pa.DataType) -> bool:
    return bool(t.is_map(given) and t.is_map(to) and _castable(given.key_type, to.key_type)
                and _castable(given.item_type, to.item_type))


def keys_may_be_lost(given: pa.DataType, to: pa.DataType) -> bool:
    """Whether TRY_CAST could make a key of a map null, which no map may hold."""
    if t.is_map(given) and t.is_map(to):
        safe = to.key_type in (given.key_type, STRING) or \
            (is_integer(given.key_type) and tightest(given.key_type, to.key_type) == to.key_type)
        return not safe or keys_may_be_lost(given.item_type, to.item_type)
    if t.is_list(given) and t.is_list(to):
        return keys_may_be_lost(given.value_type, to.value_type)
    if t.is_struct(given) and t.is_struct(to):
        return any(keys_may_be_lost(a.type, b.type) for a, b in zip(given, to, strict=False))
    return False


def _structs(given: pa.DataType, to: pa.DataType) -> bool:
    return bool(t.is_struct(given) and t.is_struct(to) and len(given) == len(to)
                and all(_castable(a.type, b.type) for a, b in zip(given, to, strict=True)))


def _castable(given: pa.DataType, to: pa.DataType) -> bool:
    return find(given, to) is not None


@cast_where(_lists)
def between_lists(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """Every element."""
    inside = within(here, pc.list_parent_indices(values).cast(pa.int64()), here.type.value_type)
    elements = cast_inside(values.flatten(), inside, here.type.value_type, failing)
    return pa.ListArray.from_arrays(_offsets(values), elements, type=here.type, mask=pa.array(nulls_of(values)))


@cast_where(_maps)
def between_maps(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """Every key and every value."""
    listed = _as_list(values)
    inside = within(here, pc.list_parent_indices(listed).cast(pa.int64()), here.type)
    keys, items = listed.flatten().flatten()
    return pa.MapArray.from_arrays(_offsets(values), cast_inside(keys, inside, here.type.key_type, failing),
                                   cast_inside(items, inside, here.type.item_type, failing), type=here.type,
                                   mask=pa.array(nulls_of(values)))


@cast_where(_structs)
def between_structs(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """Field by field, in order; the names are those of the new type."""
    fields = [cast_inside(column, here, field.type, failing)
              for column, field in zip(values.flatten(), here.type, strict=True)]
    return pa.StructArray.from_arrays(fields, fields=list(here.type), mask=pa.array(nulls_of(values)))


def _written(given: pa.DataType, to: pa.DataType) -> bool:
    if to != STRING:
        return False
    if t.is_list(given):
        return _castable(given.value_type, STRING)
    if t.is_map(given):
        return _castable(given.key_type, STRING) and _castable(given.item_type, STRING)
    return bool(t.is_struct(given)) and all(_castable(field.type, STRING) for field in given)


@cast_where(_written)
def nested_to_text(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """[1, null], {k -> v}, {1, a}: nulls inside are the word null."""
    if t.is_struct(values.type):
        fields = [_texts(column, here, failing) for column in values.flatten()]
        joined = pc.binary_join_element_wise(*fields, pa.scalar(b", ")) if fields else \
            pa.array([b""] * len(values), BINARY)
        return _enclosed(values, joined, b"{", b"}")
    listed = values if t.is_list(values.type) else _as_list(values)
    inside = within(here, pc.list_parent_indices(listed).cast(pa.int64()), STRING)
    if t.is_list(values.type):
        elements = _texts(values.flatten(), inside, failing)
    else:
        keys, items = (_texts(part, inside, failing) for part in listed.flatten().flatten())
        elements = pc.binary_join_element_wise(keys, items, pa.scalar(b" -> "))
    joined = pc.binary_join(pa.ListArray.from_arrays(_offsets(values), elements), pa.scalar(b", "))
    return _enclosed(values, joined, b"[" if t.is_list(values.type) else b"{", b"]" if t.is_list(values.type) else b"}")


def _texts(values: pa.Array, here: Here, failing: bool) -> pa.Array:
    """Elements as bytes of text: text may hold bytes that are no UTF-8."""
    texts = cast_inside(values, here, STRING, failing).fill_null("null")
    return pa.Array.from_buffers(BINARY, len(texts), texts.buffers(), offset=texts.offset)


def _enclosed(values: pa.Array, joined: pa.Array, before: bytes, behind: bytes) -> pa.Array:
    whole = pc.binary_join_element_wise(pa.scalar(before), joined, pa.scalar(behind), pa.scalar(b""))
    texts = pa.Array.from_buffers(STRING, len(whole), whole.buffers(), offset=whole.offset)
    return pc.if_else(pa.array(nulls_of(values)), pa.scalar(None, STRING), texts)
