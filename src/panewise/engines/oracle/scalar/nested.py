"""Arrays, maps and structs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from panewise.engines.oracle.scalar.casts import cast
from panewise.engines.oracle.scalar.coercion import argument, tightest, unified, widest
from panewise.engines.oracle.scalar.ordering import nullable_key, sort_key
from panewise.engines.oracle.scalar.signatures import function
from panewise.engines.oracle.scalar.typed import Failure, MismatchError, Row, Typed, constant, eager, strict
from panewise.engines.oracle.scalar.types import (
    BOOLEAN,
    BYTE,
    INT,
    INTEGRAL,
    LONG,
    NULL,
    SHORT,
    STRING,
    Array,
    Map,
    Struct,
    Type,
    Value,
    array_of,
    is_atomic,
    map_of,
)


def elements(item: Typed, sql: str) -> Type:
    """The element type of an array."""
    if item.type == NULL:
        return NULL
    if not isinstance(item.type, Array):
        raise MismatchError(f"{sql}: {item.sql} is {item.type}, expected an array")
    return item.type.element


@function("array")
def _array(arguments: list[Typed], sql: str) -> Typed:
    if not arguments:
        return constant(array_of(NULL), [], sql)
    kind, items = unified(arguments, sql)
    return eager(array_of(kind), lambda *values: list(values), items, sql)


@function("map")
def _map(arguments: list[Typed], sql: str) -> Typed:
    if len(arguments) % 2:
        raise MismatchError(f"{sql}: a map takes keys and values in turn", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION")
    if not arguments:
        return constant(map_of(STRING, STRING), [], sql)
    key, keys = unified(arguments[::2], sql)
    if _holds_map(key):
        raise MismatchError(f"{sql}: a key of a map cannot be or contain a map",
                            "DATATYPE_MISMATCH.INVALID_MAP_KEY_TYPE")
    value, values = unified(arguments[1::2], sql)
    count = len(keys)

    def run(*found: Value) -> Value:
        return checked_map(list(zip(found[:count], found[count:], strict=True)), key)

    return eager(map_of(key, value), run, [*keys, *values], sql)


def _holds_map(kind: Type) -> bool:
    match kind:
        case Map():
            return True
        case Array():
            return _holds_map(kind.element)
        case Struct():
            return any(_holds_map(part) for _, part in kind.fields)
    return False


def checked_map(pairs: list[tuple[Value, Value]], kind: Type) -> list[tuple[Value, Value]]:
    """A map has each key once, and no null among them."""
    same, seen = nullable_key(kind), set()
    pairs = [(key + 0.0 if isinstance(key, float) else key, value) for key, value in pairs]  # the zero of a key is 0.0
    for key, _ in pairs:
        if key is None:
            raise Failure("NULL_MAP_KEY", "a key of a map is null")
        if same(key) in seen:
            raise Failure("DUPLICATED_MAP_KEY", f"the key {key!r} is there twice")
        seen.add(same(key))
    return pairs


def struct_of(fields: Sequence[tuple[str, Typed]], sql: str) -> Typed:
    """A struct of named parts."""
    kind = Struct(fields=tuple((name, item.type) for name, item in fields))
    return eager(kind, lambda *values: tuple(values), [item for _, item in fields], sql)


@function("named_struct", least=2)
def _named_struct(arguments: list[Typed], sql: str) -> Typed:
    return struct_of([(str(name.value), item) for name, item in zip(arguments[::2], arguments[1::2], strict=True)], sql)


def field_of(item: Typed, name: str, sql: str) -> Typed:
    """A field of a struct, or of every struct of an array."""
    kind = item.type
    if isinstance(kind, Map):
        return _value_of(item, constant(STRING, name), kind, sql)
    if isinstance(kind, Array) and isinstance(kind.element, Struct):
        inner = field_of(Typed(kind.element, lambda row: row["<item>"]), name, sql)
        return strict(array_of(inner.type), lambda values: [inner.run({"<item>": v}) for v in values], [item], sql)
    if not isinstance(kind, Struct):
        raise MismatchError(f"{sql}: {item.sql} is {kind} and has no fields", "INVALID_EXTRACT_BASE_FIELD_TYPE")
    names = [field for field, _ in kind.fields]
    at = [i for i, field in enumerate(names) if field == name] or [
        i for i, field in enumerate(names) if field.lower() == name.lower()]
    if not at:
        raise MismatchError(f"{sql}: no field {name!r}; there are {', '.join(names)}", "FIELD_NOT_FOUND")
    return strict(kind.fields[at[0]][1], lambda value: value[at[0]], [item], sql)


def subscript(item: Typed, key: Typed, sql: str) -> Typed:
    """``array[i]`` from 0, ``map[key]``, ``struct['field']``."""
    kind = item.type
    if isinstance(kind, Struct) or (isinstance(kind, Array) and isinstance(kind.element, Struct)
                                    and key.type == STRING and key.constant):
        if key.type != STRING or not key.constant:
            raise MismatchError(f"{sql}: a field is named by a constant text", "INVALID_EXTRACT_FIELD_TYPE")
        return field_of(item, str(key.value), sql)
    if isinstance(kind, Map):
        return _value_of(item, key, kind, sql)
    if key.type not in (*INTEGRAL, NULL):
        raise MismatchError(f"{sql}: {key.sql} is {key.type}, expected a whole number")
    index = cast(key, INT) if key.type == NULL else key

    def run(values: list[Value], at: int) -> Value:
        if not 0 <= at < len(values):
            raise Failure("INVALID_ARRAY_INDEX", f"index {at} of an array of {len(values)}")
        return values[at]

    return strict(elements(item, sql), run, [item, index], sql)


def _value_of(item: Typed, key: Typed, kind: Map, sql: str) -> Typed:
    met = kind.key if key.type == STRING and is_atomic(kind.key) else widest(kind.key, key.type)
    if met is None or met != kind.key:
        raise MismatchError(f"{sql}: {key.sql} is {key.type}, the keys are {kind.key}")
    same = sort_key(kind.key)

    def run(pairs: list[tuple[Value, Value]], wanted: Value) -> Value:
        return next((value for k, value in pairs if same(k) == same(wanted)), None)

    return strict(kind.value, run, [item, cast(key, kind.key)], sql)


def _element(arguments: list[Typed], sql: str, *, safe: bool) -> Typed:
    item, key = arguments
    if isinstance(item.type, Map):
        return _value_of(item, key, item.type, sql)

    if key.type not in (BYTE, SHORT, INT, NULL):
        raise MismatchError(f"{sql}: {key.sql} is {key.type}, expected int")

    def run(values: list[Value], at: int) -> Value:
        if at == 0:
            raise Failure("INVALID_INDEX_OF_ZERO", "positions count from 1")
        if abs(at) > len(values):
            if safe:
                return None
            raise Failure("INVALID_ARRAY_INDEX_IN_ELEMENT_AT", f"position {at} of an array of {len(values)}")
        return values[at - 1 if at > 0 else at]

    return strict(elements(item, sql), run, [item, argument(key, INT, sql)], sql)


@function("element_at", least=2, most=2)
def _element_at(arguments: list[Typed], sql: str) -> Typed:
    return _element(arguments, sql, safe=False)


@function("try_element_at", least=2, most=2)
def _try_element_at(arguments: list[Typed], sql: str) -> Typed:
    return _element(arguments, sql, safe=True)


@function("get", least=2, most=2)
def _get(arguments: list[Typed], sql: str) -> Typed:
    return strict(elements(arguments[0], sql), lambda values, at: values[at] if 0 <= at < len(values) else None,
                  [arguments[0], argument(arguments[1], INT, sql)], sql)


@function("size", "cardinality", least=1, most=1)
def _size(arguments: list[Typed], sql: str) -> Typed:
    if not isinstance(arguments[0].type, Array | Map) and arguments[0].type != NULL:
        raise MismatchError(f"{sql}: {arguments[0].sql} is {arguments[0].type}, expected an array or a map")
    return strict(INT, len, arguments, sql)


@function("array_size", least=1, most=1)
def _array_size(arguments: list[Typed], sql: str) -> Typed:
    elements(arguments[0], sql)
    return strict(INT, len, arguments, sql)


def _with_element(arguments: list[Typed], sql: str) -> tuple[Typed, Typed, Type]:
    """An array and a value in one element type."""
    array, value = arguments
    element = elements(array, sql)
    kind = widest(element, value.type) if STRING not in (element, value.type) else tightest(element, value.type)
    if kind is None or array.type == NULL:
        raise MismatchError(f"{sql}: {array.type} and {value.type} do not fit",
                            "DATATYPE_MISMATCH.ARRAY_FUNCTION_DIFF_TYPES")
    return cast(array, array_of(kind)), cast(value, kind), kind


@function("array_contains", least=2, most=2)
def _contains(arguments: list[Typed], sql: str) -> Typed:
    array, value, kind = _with_element(arguments, sql)
    key = sort_key(kind)

    def run(values: list[Value], wanted: Value) -> bool | None:
        if any(v is not None and key(v) == key(wanted) for v in values):
            return True
        return None if any(v is None for v in values) else False

    return strict(BOOLEAN, run, [array, value], sql)


@function("array_position", least=2, most=2)
def _position(arguments: list[Typed], sql: str) -> Typed:
    array, value, kind = _with_element(arguments, sql)
    key = sort_key(kind)
    return strict(LONG, lambda values, wanted: next(
        (i for i, v in enumerate(values, 1) if v is not None and key(v) == key(wanted)), 0), [array, value], sql)


@function("array_remove", least=2, most=2)
def _remove(arguments: list[Typed], sql: str) -> Typed:
    array, value, kind = _with_element(arguments, sql)
    key = sort_key(kind)
    return strict(array.type, lambda values, gone: [v for v in values if v is None or key(v) != key(gone)],
                  [array, value], sql)


def _unique(values: list[Value], key: Callable[[Value], Any]) -> list[Value]:
    found: dict[Any, Value] = {}
    for value in values:
        found.setdefault(key(value), value + 0.0 if isinstance(value, float) else value)  # the zero of a set is 0.0
    return list(found.values())


@function("array_distinct", least=1, most=1)
def _distinct(arguments: list[Typed], sql: str) -> Typed:
    key = nullable_key(elements(arguments[0], sql))
    return strict(arguments[0].type, lambda values: _unique(values, key), arguments, sql)


@function("sort_array", least=1, most=2)
def _sort_array(arguments: list[Typed], sql: str) -> Typed:
    key = nullable_key(elements(arguments[0], sql))
    ascending = argument(arguments[1], BOOLEAN, sql) if len(arguments) > 1 else constant(BOOLEAN, True)
    return strict(arguments[0].type, lambda values, up: sorted(values, key=key, reverse=not up),
                  [arguments[0], ascending], sql)


for _name, _choose in (("array_max", max), ("array_min", min)):
    @function(_name, least=1, most=1)
    def _best(arguments: list[Typed], sql: str, choose: Callable[..., Value] = _choose) -> Typed:
        kind = elements(arguments[0], sql)
        key = sort_key(kind)
        return strict(kind, lambda values: choose((v for v in values if v is not None), key=key, default=None),
                      arguments, sql)


@function("map_keys", least=1, most=1)
def _map_keys(arguments: list[Typed], sql: str) -> Typed:
    return strict(array_of(_map_type(arguments[0], sql).key), lambda pairs: [k for k, _ in pairs], arguments, sql)


@function("map_values", least=1, most=1)
def _map_values(arguments: list[Typed], sql: str) -> Typed:
    return strict(array_of(_map_type(arguments[0], sql).value), lambda pairs: [v for _, v in pairs], arguments, sql)


def _map_type(item: Typed, sql: str) -> Map:
    if not isinstance(item.type, Map):
        raise MismatchError(f"{sql}: {item.sql} is {item.type}, expected a map")
    return item.type


# -- lambdas ---------------------------------------------------------------------------------------------------------

Body = Callable[[Sequence[Type]], Typed]
"""The body of a lambda once the types of its variables are known."""
HIGHER_ORDER = ("transform", "filter", "exists", "forall")


def mapped(name: str, array: Typed, body: Body, variables: Sequence[str], sql: str) -> Typed:
    """``transform``, ``filter``, ``exists`` and ``forall`` of an array; a second variable is the index from 0."""
    inner = body([elements(array, sql), INT][:len(variables)])
    if name != "transform":
        inner = argument(inner, BOOLEAN, sql)

    def run(row: Row) -> Value:
        values = array.run(row)
        if values is None:
            return None
        found = (inner.run({**row, **dict(zip(variables, (value, i), strict=False))}) for i, value in enumerate(values))
        match name:
            case "transform":
                return list(found)
            case "filter":
                return [value for value, kept in zip(values, found, strict=True) if kept is True]
        return _quantified(found, decisive=name == "exists")

    kind = array_of(inner.type) if name == "transform" else array.type if name == "filter" else BOOLEAN
    return Typed(kind, run, sql)


def _quantified(found: Iterable[bool | None], *, decisive: bool) -> bool | None:
    """Elements behind the one that decides are not looked at."""
    unknown = False
    for value in found:
        if value is decisive:
            return decisive
        unknown = unknown or value is None
    return None if unknown else not decisive

