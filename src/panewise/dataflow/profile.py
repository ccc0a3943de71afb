"""What every operator of a query does, measured by standing in for each: a query that is not measured does
nothing more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

from panewise.dataflow.aggregate import WindowAggregation
from panewise.dataflow.batch import Batch
from panewise.dataflow.graph import Node, Outlet
from panewise.dataflow.operators.base import Operator
from panewise.dataflow.query import Query
from panewise.dataflow.relations.region import Relation
from panewise.dataflow.relations.tree import Stage

CALLS = ("take", "settle", "advance", "flush")


@dataclass
class Spent:
    """What one operator, or a part of its work, has done so far."""

    name: str
    seconds: float = 0.0
    calls: int = 0
    rows: int = 0
    """Rows that went in."""
    out: int = 0
    """Rows that came out."""
    late: int = 0
    kept: int = 0
    """The most rows or partials that it kept."""
    bytes: int = 0
    """And how large its state was at most."""

    def timed(self, work: Callable[[], Any]) -> Any:
        """Do some work, and count it."""
        before = perf_counter_ns()
        try:
            return work()
        finally:
            self.seconds += (perf_counter_ns() - before) / 1e9

    def look(self, counters: dict[str, Any]) -> None:
        """See how much is kept now."""
        self.kept = max(self.kept, int(counters.get("rows", 0)))
        self.bytes = max(self.bytes, int(counters.get("bytes", 0)))


class Profile:
    """The operators of a query by the numbers of their steps, measured from now on.

    ``parts`` are what aggregates do, by step and method; ``stages`` the operators of relations, by step and place.
    """

    def __init__(self, query: Query) -> None:
        self.steps: dict[int, Spent] = {}
        self.parts: dict[int, dict[str, Spent]] = {}
        self.stages: dict[int, dict[int, Spent]] = {}
        for number, made in enumerate(query.made):
            if isinstance(made, Node) and not isinstance(made.operator, Outlet):
                self._operator(number, made.operator)

    def _operator(self, number: int, operator: Operator) -> None:
        spent = self.steps[number] = Spent(operator.name)
        for method in CALLS:
            _measure(operator, method, spent, after=lambda: spent.look(operator.counters()))
        settle = operator.settle

        def settled() -> Any:
            found = settle()
            spent.late += sum(int(late.sum()) for _, late in operator.missed)  # the graph takes them next
            return found

        vars(operator)["settle"] = settled
        if isinstance(operator, WindowAggregation):
            parts = self.parts[number] = {}
            for owner, method in ((operator, "prepare"), (operator, "count"), (operator.kernel, "advance"),
                                  (operator.kernel, "ripe"), (operator.results, "present")):
                parts[method] = Spent(f"aggregate: {method}")
                _measure(owner, method, parts[method])
        if isinstance(operator, Relation):
            self.stages[number] = {place: _stage(stage) for place, stage in enumerate(operator.root.walk())}


def _stage(stage: Stage) -> Spent:
    spent, step, told = Spent(stage.plan.kernel), stage.operator.step, stage.told

    def stepped(inputs: Any, upto: int) -> Any:
        spent.calls += 1
        spent.rows += sum(len(delta.lives) for delta in inputs)
        delta = spent.timed(lambda: step(inputs, upto))
        spent.out = told.lives + len(delta.lives)
        spent.look(stage.operator.counters())
        return delta

    vars(stage.operator)["step"] = stepped
    return spent


def _measure(owner: Any, method: str, spent: Spent, after: Callable[[], object] | None = None) -> None:
    call = getattr(owner, method)

    def called(*arguments: Any, **named: Any) -> Any:
        spent.calls += 1
        spent.rows += sum(_rows(given) for given in arguments)
        found = spent.timed(lambda: call(*arguments, **named))
        if isinstance(found, Iterator):
            return _each(found, spent, after)
        spent.out += sum(map(_rows, found)) if isinstance(found, list | tuple) else _rows(found)
        if after is not None:
            after()
        return found

    vars(owner)[method] = called


def _each(items: Iterator[Any], spent: Spent, after: Callable[[], object] | None) -> Iterable[Any]:
    """What is made one by one, each when it is asked for."""
    done = object()
    while (item := spent.timed(lambda: next(items, done))) is not done:
        spent.out += _rows(item)
        yield item
    if after is not None:
        after()


def _rows(given: Any) -> int:
    """How many rows something has."""
    table = given.table if isinstance(given, Batch) else given
    found = getattr(table, "num_rows", None)
    return found if isinstance(found, int) else len(given.values) if hasattr(given, "bounds") else 0
