"""Expressions on tables: bound once per text and types, computed on Arrow columns.

The parser and the library of functions are imported by the first expression that is more than a column: Spark's workers
import this module and many of them need neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.errors import EvaluationError, SchemaError, shortened
from panewise.core.scalar import REMEMBERED, Scalar
from panewise.functions.binding.frame import Frame
from panewise.functions.binding.session import zone as zone_in_force

if TYPE_CHECKING:
    from panewise.functions.binding.bound import Bound

Mask: TypeAlias = npt.NDArray[np.bool_]


def evaluate(scalars: Sequence[Scalar], table: pa.Table, zone: str | None = None) -> list[pa.Array]:
    """Compute several expressions on every row of one table, in the zone in force; row order is kept.

    >>> table = pa.table({"a": [1, 2, None], "b": ["x", "y", "z"]})
    >>> [c.to_pylist() for c in evaluate([Scalar.parse("a + 1"), Scalar.parse("upper(b)")], table)]
    [[2, 3, None], ['X', 'Y', 'Z']]
    """
    zone = zone or zone_in_force()
    try:
        return _computed(scalars, table, zone)
    except RecursionError:  # nesting is limited where texts are read; how deep the caller stands is not known there
        from panewise.core.trees import deep_stack

        with deep_stack():
            return _computed(scalars, table, zone)


def _computed(scalars: Sequence[Scalar], table: pa.Table, zone: str) -> list[pa.Array]:
    schema = table.schema
    frame = Frame(_Flat(table), table.num_rows)
    return [frame.columns[name] if (name := scalar.column_name) is not None and schema.get_field_index(name) >= 0
            else _array(scalar, bound(scalar.sql, _types_read(scalar, schema), zone), frame) for scalar in scalars]


def _array(scalar: Scalar, expression: Bound, frame: Frame) -> pa.Array:
    """Its values; bytes that were cast to text and are none are found by the first function that reads them."""
    try:
        return expression.array(frame)
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        if isinstance(error, pa.ArrowInvalid) and "UTF8" not in str(error):
            raise
        raise EvaluationError(f"a text in {shortened(scalar.sql, 200)} has bytes that are not UTF-8; "
                              "is_valid_utf8(text) tells which", condition="INVALID_UTF8_STRING") from error


def truth(predicate: Scalar | None, table: pa.Table, zone: str | None = None) -> Mask:
    """Where a condition is true, not null; no condition always is.

    >>> truth(Scalar.parse("a > 1"), pa.table({"a": [1, 2, None]})).tolist()
    [False, True, False]
    """
    if predicate is None:
        return np.ones(table.num_rows, np.bool_)
    (answers,) = evaluate([predicate], table, zone)
    _must_be_boolean(predicate, answers.type)
    held: Mask = (answers.fill_null(False) if answers.null_count else answers).to_numpy(zero_copy_only=False)
    return held


def type_of(scalar: Scalar, schema: pa.Schema, zone: str | None = None) -> pa.DataType:
    """The type of an expression over rows of a schema.

    >>> str(type_of(Scalar.parse("a / 2"), pa.schema({"a": pa.int64()})))
    'double'
    """
    name = scalar.column_name
    if name is not None and schema.get_field_index(name) >= 0:
        return schema.field(name).type
    return bound(scalar.sql, _types_read(scalar, schema), zone or zone_in_force()).type


def check_condition(predicate: Scalar, schema: pa.Schema, zone: str | None = None) -> None:
    """Refuse a condition that cannot be computed over rows of a schema, or is not true or false."""
    _must_be_boolean(predicate, type_of(predicate, schema, zone))


@lru_cache(maxsize=REMEMBERED)
def bound(sql: str, types: tuple[tuple[str, pa.DataType], ...], zone: str) -> Bound:
    """The typed expression of a text."""
    from panewise.core.trees import deep_stack
    from panewise.functions.binding.binder import Binder

    with deep_stack():
        return Binder(dict(types), zone).bind(Scalar(sql).shared_tree)


def _types_read(scalar: Scalar, schema: pa.Schema) -> tuple[tuple[str, pa.DataType], ...]:
    """The columns that an expression reads; all of them where it names none that is there, for the message."""
    try:
        return tuple((name, schema.field(name).type) for name in sorted(scalar.columns))
    except KeyError:
        return tuple((f.name, f.type) for f in schema)


def _must_be_boolean(predicate: Scalar, found: pa.DataType) -> None:
    if not pa.types.is_boolean(found):
        raise SchemaError(f"{predicate} is {found}, and a condition must be true or false")


class _Flat(dict[str, pa.Array]):
    """The columns of a table as arrays, put together when they are read."""

    def __init__(self, table: pa.Table) -> None:
        super().__init__()
        self._table = table

    def __missing__(self, name: str) -> pa.Array:
        try:
            column = self._table.column(name)
        except KeyError:
            names = shortened(", ".join(self._table.column_names), 300)
            raise SchemaError(f"no column {name!r}; there are {names}") from None
        self[name] = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        return self[name]
