"""Scalar expressions over plain rows, computed once per distinct input and remembered."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from panewise.core.errors import SchemaError
from panewise.core.scalar import Scalar, evaluate
from panewise.engines.oracle.tuples import frozen

Values = Mapping[str, Any]


class Expressions:
    """Evaluates expressions on rows; an expression has no state, so equal inputs need computing only once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Hashable], Any] = {}

    def compute(self, scalar: Scalar, rows: Sequence[Values]) -> list[Any]:
        """The expression on every row.

        >>> Expressions().compute(Scalar.parse("a + 1"), [{"a": 1}, {"a": None}])
        [2, None]
        """
        name = scalar.column_name
        if name is not None:
            return [_column(row, name) for row in rows]
        columns = sorted(scalar.columns)
        asked = [(scalar.sql, tuple(_typed(_column(row, c)) for c in columns)) for row in rows]
        missing = {k: row for k, row in zip(asked, rows, strict=True) if k not in self._known}
        if missing:
            data: dict[str, Any] = {c: pa.array([row[c] for row in missing.values()]) for c in columns}
            table = pa.table(data or {"": pa.nulls(len(missing))})
            self._known.update(zip(missing, evaluate([scalar], table)[0].to_pylist(), strict=True))
        return [self._known[k] for k in asked]

    def holds(self, predicate: Scalar | None, rows: Sequence[Values]) -> list[bool]:
        """On which rows the predicate is true; null is not true, no predicate always is."""
        if predicate is None:
            return [True] * len(rows)
        return [value is True for value in self.compute(predicate, rows)]


def _typed(value: Any) -> Hashable:
    return type(value).__name__, frozen(value)  # 1, 1.0 and true are equal in Python but not to every function


def _column(row: Values, name: str) -> Any:
    if name not in row:
        raise SchemaError(f"no column {name!r}; there are {', '.join(row)}")
    return row[name]
