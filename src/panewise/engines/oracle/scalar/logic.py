"""Comparisons, three-valued logic, and expressions that choose between others."""

from __future__ import annotations

import operator as op
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from panewise.engines.oracle.scalar.casts import cast
from panewise.engines.oracle.scalar.coercion import beside_decimal, unified, unified_without_text, widest
from panewise.engines.oracle.scalar.ordering import sort_key
from panewise.engines.oracle.scalar.signatures import function
from panewise.engines.oracle.scalar.typed import NOTHING, MismatchError, Row, Typed, strict
from panewise.engines.oracle.scalar.types import BOOLEAN, NULL, STRING, Struct, Type, Value

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": op.eq, "<>": op.ne, "<": op.lt, "<=": op.le, ">": op.gt, ">=": op.ge}


def _met(left: Typed, right: Typed, sql: str) -> tuple[Typed, Typed, Callable[[Value], Any]]:
    left, right = beside_decimal(left, right), beside_decimal(right, left)
    kind = widest(left.type, _with_names_of(left.type, right.type))
    if kind is None:
        raise MismatchError(f"{sql}: {left.type} and {right.type} cannot be compared; cast one",
                            "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES")
    return cast(left, kind), cast(right, kind), sort_key(kind)


def _with_names_of(first: Type, second: Type) -> Type:
    """Structs are compared by position, whatever their fields are called."""
    if isinstance(first, Struct) and isinstance(second, Struct) and len(first.fields) == len(second.fields):
        return Struct(tuple((name, _with_names_of(one, other)) for (name, one), (_, other)
                            in zip(first.fields, second.fields, strict=True)))
    return second


def compared(operator: str, left: Typed, right: Typed, sql: str) -> Typed:
    """``= <> < <= > >=``: null if either side is."""
    left, right, key = _met(left, right, sql)
    holds = _COMPARE[operator]
    return strict(BOOLEAN, lambda a, b: holds(key(a), key(b)), [left, right], sql)


def same(left: Typed, right: Typed, sql: str) -> Typed:
    """``<=>``: equality in which null equals null."""
    left, right, key = _met(left, right, sql)

    def run(row: Row) -> bool:
        a, b = left.run(row), right.run(row)
        return a is b if a is None or b is None else bool(key(a) == key(b))

    return Typed(BOOLEAN, run, sql, constant=left.constant and right.constant)


def condition(item: Typed, sql: str) -> Typed:
    """An operand of logic."""
    if item.type not in (BOOLEAN, NULL, STRING):
        raise MismatchError(f"{sql}: {item.sql} is {item.type}, expected a condition",
                            "DATATYPE_MISMATCH.BINARY_OP_WRONG_TYPE")
    return cast(item, BOOLEAN)


def both(left: Typed, right: Typed, sql: str) -> Typed:
    """AND: false decides, whatever the other side is; the right side is not looked at after false."""
    return _decided(left, right, sql, by=False)


def either(left: Typed, right: Typed, sql: str) -> Typed:
    """OR: true decides; the right side is not looked at after true."""
    return _decided(left, right, sql, by=True)


def _decided(left: Typed, right: Typed, sql: str, *, by: bool) -> Typed:
    left, right = condition(left, sql), condition(right, sql)

    def run(row: Row) -> bool | None:
        a = left.run(row)
        b: bool | None = by if a is by else right.run(row)
        if b is by:
            return by
        return None if a is None or b is None else not by

    return Typed(BOOLEAN, run, sql, constant=left.constant and right.constant)


def opposite(item: Typed, sql: str) -> Typed:
    """NOT."""
    return strict(BOOLEAN, lambda value: not value, [condition(item, sql)], sql)


def is_null(item: Typed, sql: str) -> Typed:
    """IS NULL."""
    return Typed(BOOLEAN, lambda row: item.run(row) is None, sql, constant=item.constant)


def is_truth(item: Typed, wanted: bool, sql: str) -> Typed:
    """IS TRUE, IS FALSE."""
    item = condition(item, sql)
    return Typed(BOOLEAN, lambda row: item.run(row) is wanted, sql, constant=item.constant)


def among(item: Typed, options: Sequence[Typed], sql: str) -> Typed:
    """IN: null if nothing equals and something is null."""
    kind, (item, *others) = unified([item, *options], sql)
    key = sort_key(kind)

    def run(row: Row) -> bool | None:
        value = item.run(row)
        if value is None:
            return None
        wanted, unknown = key(value), False
        for option in others:
            found = option.run(row)
            if found is None:
                unknown = True
            elif key(found) == wanted:
                return True
        return None if unknown else False

    return Typed(BOOLEAN, run, sql, constant=item.constant and all(o.constant for o in others))


def cases(branches: Sequence[tuple[Typed, Typed]], default: Typed | None, sql: str) -> Typed:
    """CASE: the first branch whose condition is true; nothing behind it is computed."""
    results = [result for _, result in branches] + [default or NOTHING]
    kind, results = unified(results, sql)
    tests = [condition(test, sql) for test, _ in branches]

    def run(row: Row) -> Value:
        for test, result in zip(tests, results, strict=False):
            if test.run(row) is True:
                return result.run(row)
        return results[-1].run(row)

    return Typed(kind, run, sql, constant=all(item.constant for item in (*tests, *results)))


def first_known(items: Sequence[Typed], sql: str) -> Typed:
    """COALESCE: the first value that is not null; nothing behind it is computed."""
    kind, found = unified(list(items), sql)

    def run(row: Row) -> Value:
        for item in found:
            value = item.run(row)
            if value is not None:
                return value
        return None

    return Typed(kind, run, sql, constant=all(item.constant for item in found))


def extreme(name: str, items: Sequence[Typed], sql: str) -> Typed:
    """GREATEST and LEAST: nulls do not count."""
    kind, found = unified_without_text(list(items), sql)
    key, choose = sort_key(kind), max if name == "greatest" else min

    def run(row: Row) -> Value:
        values = [value for item in found if (value := item.run(row)) is not None]
        return choose(values, key=key) if values else None

    return Typed(kind, run, sql, constant=all(item.constant for item in found))


for _name in ("greatest", "least"):
    function(_name, least=2)(partial(extreme, _name))
function("coalesce", least=1)(first_known)
function("nvl", "ifnull", least=2, most=2)(first_known)
function("isnull", least=1, most=1)(lambda items, sql: is_null(items[0], sql))
function("isnotnull", least=1, most=1)(lambda items, sql: opposite(is_null(items[0], sql), sql))
function("nullif", least=2, most=2)(
    lambda items, sql: cases([(compared("=", items[0], items[1], sql), NOTHING)], items[0], sql))
function("nvl2", least=3, most=3)(lambda items, sql: cases([(is_null(items[0], sql), items[2])], items[1], sql))
