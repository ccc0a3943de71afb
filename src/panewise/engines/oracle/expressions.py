"""Scalar expressions over plain rows, computed once per distinct input and remembered."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from panewise.core.errors import SchemaError
from panewise.core.scalar import Scalar
from panewise.core.trees import deep_stack
from panewise.engines.oracle.column_types import ColumnTypes, evaluator, observed
from panewise.engines.oracle.scalar import Evaluator, time_zone
from panewise.engines.oracle.scalar.types import BOOLEAN, NULL, Type
from panewise.engines.oracle.tuples import frozen
from panewise.plan.nodes import Node

Values = Mapping[str, Any]


class Expressions:
    """Evaluates expressions on rows; an expression has no state, so equal inputs need computing only once."""

    def __init__(self, types: ColumnTypes | None = None, zone: str = "UTC") -> None:
        self.zone = zone
        self.types = ColumnTypes() if types is None else types
        self._bound: dict[tuple[str, tuple[tuple[str, Type], ...]], tuple[Evaluator, dict[Hashable, Any]]] = {}

    def compute(self, scalar: Scalar, rows: Sequence[Values], *over: Node) -> list[Any]:
        """The expression on every row of nodes whose columns stand side by side; of two equal names the first counts.

        >>> Expressions().compute(Scalar.parse("a + 1"), [{"a": 1}, {"a": None}])
        [2, None]
        """
        name = scalar.column_name
        if name is not None:
            return [_column(row, name) for row in rows]
        if not rows:
            return []
        columns = sorted(scalar.columns)
        known = self.types.of(*over)
        types = {c: known[c] if c in known else observed(_column(row, c) for row in rows) for c in columns}
        compute, remembered = self._evaluator(scalar, types)
        found = []
        with time_zone(self.zone), deep_stack():
            for row in rows:
                asked = tuple(_typed(_column(row, c)) for c in columns)
                if asked not in remembered:
                    remembered[asked] = compute(row)
                found.append(remembered[asked])
        return found

    def holds(self, predicate: Scalar | None, rows: Sequence[Values], *over: Node) -> list[bool]:
        """On which rows the predicate is true; null is not true, no predicate always is."""
        if predicate is None:
            return [True] * len(rows)
        return [value is True for value in self.compute(predicate, rows, *over)]

    def bind(self, plan: Node) -> None:
        """Refuse a plan with an expression that has no type, before a row is read."""
        for node in reversed(list(plan.walk())):
            for scalar in node.scalars:
                if scalar is not node.condition:
                    self._check(scalar, node)
            if node.condition is not None:
                self._check(node.condition, node, condition=True)

    def _check(self, scalar: Scalar, node: Node, *, condition: bool = False) -> None:
        """Refuse an expression that has no type, or a condition that is not true or false."""
        types = self.types.of(*node.inputs)
        if scalar.columns <= types.keys() or not any(kind == NULL for kind in types.values()):
            found = evaluator(scalar, types).type
            if condition and found not in (BOOLEAN, NULL):
                raise SchemaError(f"{scalar} is {found}, and a condition must be true or false")

    def _evaluator(self, scalar: Scalar, types: Mapping[str, Type]) -> tuple[Evaluator, dict[Hashable, Any]]:
        at = scalar.sql, tuple(types.items())
        if at not in self._bound:
            self._bound[at] = evaluator(scalar, types), {}
        return self._bound[at]


def _typed(value: Any) -> Hashable:
    """What distinguishes two inputs: 1, 1.0 and true are equal in Python, and so are both zeros."""
    sign = math.copysign(1.0, value) if isinstance(value, float) else None
    return type(value).__name__, sign, frozen(value)


def _column(row: Values, name: str) -> Any:
    if name not in row:
        raise SchemaError(f"no column {name!r}; there are {', '.join(row)}")
    return row[name]
