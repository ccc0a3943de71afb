"""Which type two values meet in, and which casts happen unasked (ANSI mode)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

from panewise.engines.oracle.scalar import types as T
from panewise.engines.oracle.scalar.casts import cast
from panewise.engines.oracle.scalar.decimals import as_decimal, literal_type, wider
from panewise.engines.oracle.scalar.typed import MismatchError, Typed

_PRECEDENCE = (*T.INTEGRAL, T.FLOAT, T.DOUBLE)


def tightest(left: T.Type, right: T.Type) -> T.Type | None:
    """The common type that loses nothing."""
    if left == right:
        return left
    if T.NULL in (left, right):
        return right if left == T.NULL else left
    if left in _PRECEDENCE and right in _PRECEDENCE:
        found = _PRECEDENCE[max(_PRECEDENCE.index(left), _PRECEDENCE.index(right))]
        return T.DOUBLE if found == T.FLOAT else found
    for one, other in ((left, right), (right, left)):
        if one in T.INTEGRAL and isinstance(other, T.Decimal) and (
                other.precision - other.scale >= as_decimal(one).precision):
            return other
    if {left, right} <= {T.DATE, T.TIMESTAMP, T.NTZ}:
        return T.NTZ if {left, right} == {T.DATE, T.NTZ} else T.TIMESTAMP
    if isinstance(left, T.DayTime) and isinstance(right, T.DayTime):
        return T.DayTime(start=min(left.start, right.start), end=max(left.end, right.end))
    return _common_parts(left, right, tightest)


def widest(left: T.Type, right: T.Type) -> T.Type | None:
    """The type in which two values are compared or chosen from; strings become what stands beside them."""
    found = tightest(left, right) or _with_decimal(left, right)
    return found or _with_string(left, right) or _common_parts(left, right, widest)


def _with_decimal(left: T.Type, right: T.Type) -> T.Type | None:
    if not isinstance(left, T.Decimal) and not isinstance(right, T.Decimal):
        return None
    if left in (T.FLOAT, T.DOUBLE) or right in (T.FLOAT, T.DOUBLE):
        return T.DOUBLE
    if T.is_numeric(left) and T.is_numeric(right):
        return wider(as_decimal(left), as_decimal(right))
    return None


def _with_string(left: T.Type, right: T.Type) -> T.Type | None:
    for one, other in ((left, right), (right, left)):
        if one == T.STRING and T.is_atomic(other):
            if other in T.INTEGRAL:
                return T.LONG
            if T.is_numeric(other):
                return T.DOUBLE
            return None if T.is_interval(other) else other
    return None


def _common_parts(left: T.Type, right: T.Type, meet: Callable[[T.Type, T.Type], T.Type | None]) -> T.Type | None:
    match left, right:
        case T.Array(), T.Array():
            element = meet(left.element, right.element)
            return None if element is None else T.Array(element)
        case T.Map(), T.Map():
            if left.key != right.key and _no_keys(left.key, right.key):
                return None
            key, value = meet(left.key, right.key), meet(left.value, right.value)
            return None if key is None or value is None else T.Map(key, value)
        case T.Struct(), T.Struct():
            if [n.lower() for n, _ in left.fields] != [n.lower() for n, _ in right.fields]:
                return None
            fields = [(n, meet(a, b)) for (n, a), (_, b) in zip(left.fields, right.fields, strict=True)]
            known = tuple((n, t) for n, t in fields if t is not None)
            return T.Struct(known) if len(known) == len(fields) else None
    return None


def _no_keys(left: T.Type, right: T.Type) -> bool:
    """Types whose casts may give null, which no key of a map may be: Spark counts those of a date without a zone."""
    return {left, right} == {T.DATE, T.NTZ} or (T.STRING in (left, right) and not {left, right} & {T.NULL, T.BINARY})


def united(left: T.Type, right: T.Type) -> T.Type | None:
    """The type that two columns of a UNION meet in: structs also by position, whatever their fields are called."""
    return widest(left, right) or (left if _nameless(left) == _nameless(right) else None)


def compared(left: T.Type, right: T.Type) -> T.Type | None:
    """The type that two columns of EXCEPT ALL meet in: maps are not compared, nor structs of other names."""
    return left if left == right else None if _has_map(left) or _has_map(right) else widest(left, right)


def _has_map(kind: T.Type) -> bool:
    match kind:
        case T.Map():
            return True
        case T.Array():
            return _has_map(kind.element)
        case T.Struct():
            return any(_has_map(field) for _, field in kind.fields)
    return False


def _nameless(kind: T.Type) -> T.Type:
    match kind:
        case T.Array():
            return T.Array(_nameless(kind.element))
        case T.Map():
            return T.Map(_nameless(kind.key), _nameless(kind.value))
        case T.Struct():
            return T.Struct(tuple((str(place), _nameless(t)) for place, (_, t) in enumerate(kind.fields)))
    return kind


def common(types: Iterable[T.Type], sql: str) -> T.Type:
    """The type of a value that is one of several."""
    found: T.Type = T.NULL
    listed = list(types)
    # strings and others in one list: complex types with strings in them first, as they are widened pair by pair
    for kind in sorted(listed, key=lambda t: not _has_string(t)):
        met = widest(found, kind)
        if met is None:
            raise MismatchError(f"{sql}: {' and '.join(str(t) for t in listed)} have no common type; cast them",
                                "DATATYPE_MISMATCH.DATA_DIFF_TYPES")
        found = met
    return found


def _has_string(kind: T.Type) -> bool:
    return (isinstance(kind, T.Array) and _has_string(kind.element)) or kind == T.STRING


def unified_without_text(items: list[Typed], sql: str) -> tuple[T.Type, list[Typed]]:
    """The same where text does not become what stands beside it."""
    if len({item.type == T.STRING for item in items if item.type != T.NULL}) > 1:
        raise MismatchError(f"{sql}: text and {', '.join(str(i.type) for i in items)} have no common type; cast them",
                            "DATATYPE_MISMATCH.DATA_DIFF_TYPES")
    return unified(items, sql)


def unified(items: list[Typed], sql: str) -> tuple[T.Type, list[Typed]]:
    """Several expressions in their common type."""
    if all(one.type == other.type for one, other in pairwise(items)):
        return items[0].type, items
    kind = common((item.type for item in items), sql)
    return kind, [cast(item, kind) for item in items]


def beside_decimal(item: Typed, other: Typed) -> Typed:
    """An integer beside a decimal as a decimal: a constant with the digits it has, others with those of their type."""
    if item.type not in T.INTEGRAL or not isinstance(other.type, T.Decimal):
        return item
    return cast(item, literal_type(item.value) if item.literal else as_decimal(item.type))


def accepts(given: T.Type, wanted: T.Type) -> bool:
    """Whether an argument is cast to a parameter's type unasked."""
    if given in (wanted, T.NULL):
        return True
    match given, wanted:
        case T.Array(), T.Array():
            return accepts(given.element, wanted.element)
        case T.Map(), T.Map():
            return accepts(given.key, wanted.key) and accepts(given.value, wanted.value)
    if not T.is_atomic(given) or not T.is_atomic(wanted):
        return False
    if given == T.STRING:
        return not T.is_interval(wanted)
    times = (T.DATE, T.TIMESTAMP, T.NTZ)
    return (wanted == T.STRING or (T.is_numeric(given) and T.is_numeric(wanted)) or (given in times and wanted in times)
            or (isinstance(given, T.DayTime) and isinstance(wanted, T.DayTime)))


def argument(item: Typed, wanted: T.Type, sql: str) -> Typed:
    """An argument in the type its parameter has."""
    if not accepts(item.type, wanted):
        raise MismatchError(f"{sql}: {item.sql} is {item.type}, expected {wanted}; cast it")
    return cast(item, wanted)
