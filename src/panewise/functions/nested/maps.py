"""Maps: keys are never null and never twice; NaN and both zeros are one key each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types as t

from panewise.functions.binding.binder_services import Binding
from panewise.functions.binding.bound import Bound
from panewise.functions.binding.by_value import ValueFailure
from panewise.functions.binding.frame import Datum, Here
from panewise.functions.binding.kinds import MAP
from panewise.functions.binding.registry import function, operator
from panewise.functions.nested.lists import computed_rows, counted, identity, rebuilt, sizes_of, starts_of
from panewise.functions.types import BOOLEAN, VOID, type_name, wider


def built(entries: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """The entries of a map, refused where a key is null or comes twice."""
    known = set()
    found = []
    for key, value in entries:
        if key is None:
            raise ValueFailure("NULL_MAP_KEY", "a key of a map is null")
        normal = identity(key)
        if normal in known:
            raise ValueFailure("DUPLICATED_MAP_KEY", f"the key {str(key)[:80]} comes twice")
        known.add(normal)
        found.append((key + 0.0 if isinstance(key, float) else key, value))
    return found


@operator("map")
def map_(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """Keys and values in turn."""
    if len(arguments) % 2:
        raise binder.error("map takes keys and values in turn", tree)
    keys, values = binder.together(arguments[::2], tree), binder.together(arguments[1::2], tree)
    of = pa.map_(keys[0].type, values[0].type) if keys else pa.map_(VOID, VOID)
    if "map<" in type_name(of.key_type):
        raise binder.error("a key of a map cannot be a map", tree)

    def plain(*data: Any) -> list[tuple[Any, Any]]:
        half = len(data) // 2
        return built(list(zip(data[:half], data[half:], strict=True)))

    return binder.made(of, tree, [*keys, *values], lambda *data, here: computed_rows(
        plain, data, here, nulls=True) if data else pa.array([[]] * here.rows, here.type))


@operator("map_from_arrays")
def from_arrays(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """Keys from one array, values from another of the same length."""
    counted(binder, "map_from_arrays", arguments, tree, 2)
    keys, values = arguments
    for one in arguments:
        if not t.is_list(one.type):
            raise binder.error(f"map_from_arrays takes arrays, not {type_name(one.type)}", tree)

    def plain(some: list[Any], others: list[Any]) -> list[tuple[Any, Any]]:
        if len(some) != len(others):
            raise ValueFailure("_LEGACY_ERROR_TEMP_2128", "there are not as many values as keys")
        return built(list(zip(some, others, strict=True)))

    return binder.made(pa.map_(keys.type.value_type, values.type.value_type), tree, arguments,
                       lambda a, b, here: computed_rows(plain, [a, b], here))


@operator("map_from_entries")
def from_entries(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """From an array of structs of key and value."""
    counted(binder, "map_from_entries", arguments, tree, 1)
    of = arguments[0].type
    if not (t.is_list(of) and t.is_struct(of.value_type) and of.value_type.num_fields == 2):
        raise binder.error(f"map_from_entries takes an array of structs of two fields, not {type_name(of)}", tree)

    def plain(entries: list[dict[str, Any] | None]) -> list[tuple[Any, Any]] | None:
        if None in entries:
            return None
        return built([tuple(e.values()) for e in entries if e is not None])

    inner = of.value_type
    return binder.made(pa.map_(inner.field(0).type, inner.field(1).type), tree, arguments,
                       lambda a, here: computed_rows(plain, [a], here))


@operator("map_concat")
def concat(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """All entries of several maps."""
    for one in arguments:
        if not t.is_map(one.type):
            raise binder.error(f"map_concat takes maps, not {type_name(one.type)}", tree)
    parts = binder.together(arguments, tree) if arguments else ()
    return binder.made(parts[0].type if parts else pa.map_(VOID, VOID), tree, parts, lambda *data, here: computed_rows(
        lambda *maps: built([e for m in maps for e in m]), data, here) if data else pa.array(
            [[]] * here.rows, here.type))


def _part(maps: pa.Array, part: pa.Array, here: Here) -> pa.Array:
    sizes = sizes_of(maps)


    first = np.repeat(starts_of(maps), sizes)
    within = np.arange(len(first)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return rebuilt(part.take(pa.array(first + within)), sizes, maps.is_null(), here.type)


@function("map_keys", takes=[MAP], gives=lambda of: pa.list_(of.key_type), arrays=True)
def keys_of(maps: pa.Array, here: Here) -> pa.Array:
    """The keys."""
    return _part(maps, maps.keys, here)


@function("map_values", takes=[MAP], gives=lambda of: pa.list_(of.item_type), arrays=True)
def values_of(maps: pa.Array, here: Here) -> pa.Array:
    """The values."""
    return _part(maps, maps.items, here)


@function("map_entries", takes=[MAP], gives=lambda of: pa.list_(pa.struct(
    [("key", of.key_type), ("value", of.item_type)])), arrays=True)
def entries_of(maps: pa.Array, here: Here) -> pa.Array:
    """Structs of key and value."""
    inner = here.type.value_type
    return _part(maps, pa.StructArray.from_arrays([maps.keys, maps.items], fields=list(inner)), here)


@operator("map_contains_key")
def contains_key(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """Whether a map has a key."""
    counted(binder, "map_contains_key", arguments, tree, 2)
    of, key = arguments
    common = wider(of.type.key_type, key.type) if t.is_map(of.type) else None
    if common is None:
        raise binder.error(f"{type_name(key.type)} is no key of {type_name(of.type)}", tree)
    of, key = binder.cast(of, pa.map_(common, of.type.item_type)), binder.cast(key, common)

    def plain(entries: list[tuple[Any, Any]], one: Any) -> bool:
        sought = identity(one)
        return any(identity(k) == sought for k, _ in entries)

    return binder.made(BOOLEAN, tree, [of, key], lambda a, b, here: computed_rows(plain, [a, b], here))


@function("str_to_map", takes=[pa.string(), pa.string(), pa.string()], gives=pa.map_(pa.string(), pa.string()),
          optional=2)
def str_to_map(text: Datum, pairs: Datum | None = None, sign: Datum | None = None, *, here: Here) -> Datum:
    """Pairs parted by one pattern, key and value by another."""
    from panewise.functions.texts.matching import split

    def plain(one: str, between: str = ",", inside: str = ":") -> list[tuple[Any, Any]]:
        parts = [split(pair, inside, 2) for pair in split(one, between)]
        return built([(p[0], p[1] if len(p) > 1 else None) for p in parts])

    return computed_rows(plain, [d for d in (text, pairs, sign) if d is not None], here)
