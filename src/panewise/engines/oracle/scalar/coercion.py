"""Which type two values meet in, and which casts happen unasked (ANSI mode)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from panewise.engines.oracle.scalar.casts import cast
from panewise.engines.oracle.scalar.decimals import literal_type, type_of_integral, wider
from panewise.engines.oracle.scalar.typed import MismatchError, Typed
from panewise.engines.oracle.scalar.types import (
    DATE,
    DOUBLE,
    FLOAT,
    INTEGRAL,
    LONG,
    NTZ,
    NULL,
    STRING,
    TIMESTAMP,
    Array,
    DayTime,
    Decimal,
    Map,
    Struct,
    Type,
    is_atomic,
    is_numeric,
)

_PRECEDENCE = (*INTEGRAL, FLOAT, DOUBLE)


def tightest(left: Type, right: Type) -> Type | None:
    """The common type that loses nothing."""
    if left == right:
        return left
    if NULL in (left, right):
        return right if left == NULL else left
    if left in _PRECEDENCE and right in _PRECEDENCE:
        found = _PRECEDENCE[max(_PRECEDENCE.index(left), _PRECEDENCE.index(right))]
        return DOUBLE if found == FLOAT else found
    for one, other in ((left, right), (right, left)):
        if one in INTEGRAL and isinstance(other, Decimal):
            needed = type_of_integral(one)
            if other.precision - other.scale >= needed.precision:
                return other
    if {left, right} <= {DATE, TIMESTAMP, NTZ}:
        return NTZ if {left, right} == {DATE, NTZ} else TIMESTAMP
    if isinstance(left, DayTime) and isinstance(right, DayTime):
        return DayTime(start=min(left.start, right.start), end=max(left.end, right.end))
    return _common_parts(left, right, tightest_or_none=True)


def widest(left: Type, right: Type) -> Type | None:
    """The type in which two values are compared or chosen from; strings become what stands beside them."""
    found = tightest(left, right) or _with_decimal(left, right)
    return found or _with_string(left, right) or _common_parts(left, right, tightest_or_none=False)


def _with_decimal(left: Type, right: Type) -> Type | None:
    if not isinstance(left, Decimal) and not isinstance(right, Decimal):
        return None
    if left in (FLOAT, DOUBLE) or right in (FLOAT, DOUBLE):
        return DOUBLE
    if is_numeric(left) and is_numeric(right):
        return wider(as_decimal(left), as_decimal(right))
    return None


def as_decimal(kind: Type) -> Decimal:
    """A decimal that holds every value of an exact type."""
    return kind if isinstance(kind, Decimal) else type_of_integral(kind)


def _with_string(left: Type, right: Type) -> Type | None:
    for one, other in ((left, right), (right, left)):
        if one == STRING and is_atomic(other):
            if other in INTEGRAL:
                return LONG
            if is_numeric(other):
                return DOUBLE
            return None if other.name.startswith("interval") else other
    return None


def _common_parts(left: Type, right: Type, *, tightest_or_none: bool) -> Type | None:
    meet = tightest if tightest_or_none else widest
    match left, right:
        case Array(), Array():
            element = meet(left.element, right.element)
            return None if element is None else Array(element=element)
        case Map(), Map():
            key, value = meet(left.key, right.key), meet(left.value, right.value)
            return None if key is None or value is None else Map(key=key, value=value)
        case Struct(), Struct():
            if [n.lower() for n, _ in left.fields] != [n.lower() for n, _ in right.fields]:
                return None
            fields = [(n, meet(a, b)) for (n, a), (_, b) in zip(left.fields, right.fields, strict=True)]
            known = tuple((n, t) for n, t in fields if t is not None)
            return Struct(fields=known) if len(known) == len(fields) else None
    return None


def common(types: Iterable[Type], sql: str) -> Type:
    """The type of a value that is one of several."""
    found: Type = NULL
    listed = list(types)
    # strings and others in one list: complex types with strings in them first, as they are widened pair by pair
    for kind in sorted(listed, key=lambda t: not _has_string(t)):
        met = widest(found, kind)
        if met is None:
            raise MismatchError(f"{sql}: {' and '.join(str(t) for t in listed)} have no common type; cast them",
                                "DATATYPE_MISMATCH.DATA_DIFF_TYPES")
        found = met
    return found


def _has_string(kind: Type) -> bool:
    return (isinstance(kind, Array) and _has_string(kind.element)) or kind == STRING


def unified_without_text(items: list[Typed], sql: str) -> tuple[Type, list[Typed]]:
    """The same where text does not become what stands beside it."""
    if len({item.type == STRING for item in items if item.type != NULL}) > 1:
        raise MismatchError(f"{sql}: text and {', '.join(str(i.type) for i in items)} have no common type; cast them",
                            "DATATYPE_MISMATCH.DATA_DIFF_TYPES")
    return unified(items, sql)


def unified(items: list[Typed], sql: str) -> tuple[Type, list[Typed]]:
    """Several expressions in their common type."""
    if all(one.type == other.type for one, other in pairwise(items)):
        return items[0].type, items
    kind = common((item.type for item in items), sql)
    return kind, [cast(item, kind) for item in items]


def beside_decimal(item: Typed, other: Typed) -> Typed:
    """An integer beside a decimal as a decimal: a constant with the digits it has, others with those of their type."""
    if item.type not in INTEGRAL or not isinstance(other.type, Decimal):
        return item
    kind = literal_type(item.value) if item.literal else type_of_integral(item.type)
    return cast(item, kind)


def accepts(given: Type, wanted: Type) -> bool:
    """Whether an argument is cast to a parameter's type unasked."""
    if given in (wanted, NULL):
        return True
    match given, wanted:
        case Array(), Array():
            return accepts(given.element, wanted.element)
        case Map(), Map():
            return accepts(given.key, wanted.key) and accepts(given.value, wanted.value)
    if not is_atomic(given) or not is_atomic(wanted):
        return False
    if given == STRING:
        return not wanted.name.startswith("interval")
    if wanted == STRING:
        return True
    if is_numeric(given) and is_numeric(wanted):
        return True
    if isinstance(given, DayTime) and isinstance(wanted, DayTime):
        return True
    return given in (DATE, TIMESTAMP, NTZ) and wanted in (DATE, TIMESTAMP, NTZ)


def argument(item: Typed, wanted: Type, sql: str) -> Typed:
    """An argument in the type its parameter has."""
    if not accepts(item.type, wanted):
        raise MismatchError(f"{sql}: {item.sql} is {item.type}, expected {wanted}; cast it")
    return cast(item, wanted)
