"""Scalar expressions over plain rows, computed once per distinct input and remembered."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from panewise.core.ages import stream_rows
from panewise.core.errors import EvaluationError, SchemaError
from panewise.core.scalar import Scalar
from panewise.core.trees import deep_stack
from panewise.engines.oracle.column_types import ColumnTypes, evaluator, observed
from panewise.engines.oracle.scalar import Evaluator, time_zone
from panewise.engines.oracle.scalar.types import BOOLEAN, NULL, Type
from panewise.engines.oracle.tuples import Tup, frozen
from panewise.plan.nodes import Node
from panewise.progress.timeline import Timeline

Values = Mapping[str, Any]


class Expressions:
    """Evaluates expressions on rows; an expression has no state, so equal inputs need computing only once."""

    def __init__(self, types: ColumnTypes | None = None, zone: str = "UTC") -> None:
        self.zone = zone
        self.types = ColumnTypes() if types is None else types
        self._places: list[str] = []
        self._bound: dict[tuple[str, tuple[tuple[str, Type], ...]], tuple[Evaluator, dict[Hashable, Any]]] = {}

    def number(self, given: Timeline, kept: Timeline) -> None:
        """Where rows stand in their streams, among all that were given, by their places among those that are kept."""
        seen, numbers = Counter[str](), dict[int, int]()
        for arrival in given:
            seen[arrival.stream] += arrival.is_row
            numbers[id(arrival)] = seen[arrival.stream]
        self._places = [f"stream {arrival.stream!r}, row {numbers[id(arrival)]}" for arrival in kept]

    def compute(self, scalar: Scalar, rows: Sequence[Values | Tup], *over: Node) -> list[Any]:
        """The expression on every row of nodes whose columns stand side by side; of two equal names the first counts.

        A row of a stream is named by its place where the expression fails on it; others show their values alone.

        >>> Expressions().compute(Scalar.parse("a + 1"), [{"a": 1}, {"a": None}])
        [2, None]
        """
        name = scalar.column_name
        every = [row.values if isinstance(row, Tup) else row for row in rows]
        if name is not None:
            return [_column(row, name) for row in every]
        if not rows:
            return []
        columns = sorted(scalar.columns)
        known = self.types.of(*over)
        types = {c: known[c] if c in known else observed(_column(row, c) for row in every) for c in columns}
        compute, remembered = self._evaluator(scalar, types)
        found = []
        with time_zone(self.zone), deep_stack():
            for row, values in zip(rows, every, strict=True):
                asked = tuple(_typed(_column(values, c)) for c in columns)
                if asked not in remembered:
                    try:
                        remembered[asked] = compute(values)
                    except EvaluationError as error:
                        place = self._place(row)
                        raise (error.placed(place) if place else error) from error.__cause__
                found.append(remembered[asked])
        return found

    def _place(self, row: Values | Tup) -> str:
        """Where a row stands that came in a stream, alone; what is made of several has no place."""
        if not isinstance(row, Tup) or row.origin is None:
            return ""
        arrivals = stream_rows(row.order)
        return self._places[arrivals[0]] if len(arrivals) == 1 and arrivals[0] < len(self._places) else ""

    def holds(self, predicate: Scalar | None, rows: Sequence[Values | Tup], *over: Node) -> list[bool]:
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
