"""Arrays, maps and structs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from panewise.engines.oracle.scalar import types as T
from panewise.engines.oracle.scalar.casts import cast
from panewise.engines.oracle.scalar.coercion import argument, tightest, unified, widest
from panewise.engines.oracle.scalar.ordering import nullable_key, sort_key
from panewise.engines.oracle.scalar.signatures import function
from panewise.engines.oracle.scalar.typed import Failure, MismatchError, Row, Typed, constant, eager, strict

Test = Callable[[T.Value], bool]


def elements(item: Typed, sql: str) -> T.Type:
    """The element type of an array."""
    if item.type == T.NULL:
        return T.NULL
    if not isinstance(item.type, T.Array):
        raise MismatchError(f"{sql}: {item.sql} is {item.type}, expected an array")
    return item.type.element


@function("array")
def _array(arguments: list[Typed], sql: str) -> Typed:
    if not arguments:
        return constant(T.Array(T.NULL), [], sql)
    kind, items = unified(arguments, sql)
    return eager(T.Array(kind), lambda *values: list(values), items, sql)


@function("map")
def _map(arguments: list[Typed], sql: str) -> Typed:
    if len(arguments) % 2:
        raise MismatchError(f"{sql}: a map takes keys and values in turn", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION")
    if not arguments:
        return constant(T.Map(T.STRING, T.STRING), [], sql)
    key, keys = unified(arguments[::2], sql)
    if _holds_map(key):
        raise MismatchError(f"{sql}: a key of a map cannot be or contain a map",
                            "DATATYPE_MISMATCH.INVALID_MAP_KEY_TYPE")
    value, values = unified(arguments[1::2], sql)
    count = len(keys)

    def run(*found: T.Value) -> T.Value:
        return checked_map(list(zip(found[:count], found[count:], strict=True)), key)

    return eager(T.Map(key, value), run, [*keys, *values], sql)


def _holds_map(kind: T.Type) -> bool:
    match kind:
        case T.Map():
            return True
        case T.Array():
            return _holds_map(kind.element)
        case T.Struct():
            return any(_holds_map(part) for _, part in kind.fields)
    return False


def checked_map(pairs: list[tuple[T.Value, T.Value]], kind: T.Type) -> list[tuple[T.Value, T.Value]]:
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
    kind = T.Struct(tuple((name, item.type) for name, item in fields))
    return eager(kind, lambda *values: tuple(values), [item for _, item in fields], sql)


@function("named_struct", least=2)
def _named_struct(arguments: list[Typed], sql: str) -> Typed:
    return struct_of([(str(name.value), item) for name, item in zip(arguments[::2], arguments[1::2], strict=True)], sql)


def field_of(item: Typed, name: str, sql: str) -> Typed:
    """A field of a struct, or of every struct of an array."""
    kind = item.type
    if isinstance(kind, T.Map):
        return _value_of(item, constant(T.STRING, name), kind, sql)
    if isinstance(kind, T.Array) and isinstance(kind.element, T.Struct):
        inner = field_of(Typed(kind.element, lambda row: row["<item>"]), name, sql)
        return strict(T.Array(inner.type), lambda values: [inner.run({"<item>": v}) for v in values], [item], sql)
    if not isinstance(kind, T.Struct):
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
    if isinstance(kind, T.Struct) or (isinstance(kind, T.Array) and isinstance(kind.element, T.Struct)
                                    and key.type == T.STRING and key.constant):
        if key.type != T.STRING or not key.constant:
            raise MismatchError(f"{sql}: a field is named by a constant text", "INVALID_EXTRACT_FIELD_TYPE")
        return field_of(item, str(key.value), sql)
    if isinstance(kind, T.Map):
        return _value_of(item, key, kind, sql)
    if key.type not in (*T.INTEGRAL, T.NULL):
        raise MismatchError(f"{sql}: {key.sql} is {key.type}, expected a whole number")
    index = cast(key, T.INT) if key.type == T.NULL else key

    def run(values: list[T.Value], at: int) -> T.Value:
        if not 0 <= at < len(values):
            raise Failure("INVALID_ARRAY_INDEX", f"index {at} of an array of {len(values)}")
        return values[at]

    return strict(elements(item, sql), run, [item, index], sql)


def _value_of(item: Typed, key: Typed, kind: T.Map, sql: str) -> Typed:
    met = kind.key if key.type == T.STRING and T.is_atomic(kind.key) else widest(kind.key, key.type)
    if met is None or met != kind.key:
        raise MismatchError(f"{sql}: {key.sql} is {key.type}, the keys are {kind.key}")
    same = sort_key(kind.key)

    def run(pairs: list[tuple[T.Value, T.Value]], wanted: T.Value) -> T.Value:
        return next((value for k, value in pairs if same(k) == same(wanted)), None)

    return strict(kind.value, run, [item, cast(key, kind.key)], sql)


@function("size", "cardinality", least=1, most=1)
def _size(arguments: list[Typed], sql: str) -> Typed:
    if not isinstance(arguments[0].type, T.Array | T.Map) and arguments[0].type != T.NULL:
        raise MismatchError(f"{sql}: {arguments[0].sql} is {arguments[0].type}, expected an array or a map")
    return strict(T.INT, len, arguments, sql)


def _of_an_element(name: str, result: T.Type | None, compute: Callable[[list[T.Value], Test], T.Value]) -> None:
    """Register a function of an array and a value, in one element type; without a result it gives such an array."""

    @function(name, least=2, most=2)
    def build(arguments: list[Typed], sql: str) -> Typed:
        array, value = arguments
        element = elements(array, sql)
        meet = tightest if T.STRING in (element, value.type) else widest
        kind = meet(element, value.type)
        if kind is None or array.type == T.NULL:
            raise MismatchError(f"{sql}: {array.type} and {value.type} do not fit",
                                "DATATYPE_MISMATCH.ARRAY_FUNCTION_DIFF_TYPES")
        key, whole = sort_key(kind), T.Array(kind)

        def run(values: list[T.Value], wanted: T.Value) -> T.Value:
            return compute(values, lambda found: found is not None and bool(key(found) == key(wanted)))

        return strict(result or whole, run, [cast(array, whole), cast(value, kind)], sql)


def _contains(values: list[T.Value], wanted: Test) -> bool | None:
    if any(map(wanted, values)):
        return True
    return None if None in values else False


_of_an_element("array_contains", T.BOOLEAN, _contains)
_of_an_element("array_remove", None, lambda values, wanted: [value for value in values if not wanted(value)])


@function("array_distinct", least=1, most=1)
def _distinct(arguments: list[Typed], sql: str) -> Typed:
    key = nullable_key(elements(arguments[0], sql))

    def run(values: list[T.Value]) -> list[T.Value]:
        found: dict[Any, T.Value] = {}
        for value in values:
            found.setdefault(key(value), value + 0.0 if isinstance(value, float) else value)  # the zero of a set is 0.0
        return list(found.values())

    return strict(arguments[0].type, run, arguments, sql)


@function("map_keys", least=1, most=1)
def _map_keys(arguments: list[Typed], sql: str) -> Typed:
    kind = arguments[0].type
    if not isinstance(kind, T.Map):
        raise MismatchError(f"{sql}: {arguments[0].sql} is {kind}, expected a map")
    return strict(T.Array(kind.key), lambda pairs: [key for key, _ in pairs], arguments, sql)


# -- lambdas ---------------------------------------------------------------------------------------------------------

Body = Callable[[Sequence[T.Type]], Typed]
"""The body of a lambda once the types of its variables are known."""
HIGHER_ORDER = ("transform", "filter", "exists", "forall")


def mapped(name: str, array: Typed, body: Body, variables: Sequence[str], sql: str) -> Typed:
    """``transform``, ``filter``, ``exists`` and ``forall`` of an array; a second variable is the index from 0."""
    inner = body([elements(array, sql), T.INT][:len(variables)])
    if name != "transform":
        inner = argument(inner, T.BOOLEAN, sql)

    def run(row: Row) -> T.Value:
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

    kind = T.Array(inner.type) if name == "transform" else array.type if name == "filter" else T.BOOLEAN
    return Typed(kind, run, sql)


def _quantified(found: Iterable[bool | None], *, decisive: bool) -> bool | None:
    """Elements behind the one that decides are not looked at."""
    unknown = False
    for value in found:
        if value is decisive:
            return decisive
        unknown = unknown or value is None
    return None if unknown else not decisive

