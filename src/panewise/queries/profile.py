"""Time per operator, measured by standing in for each: nothing is added to a query that nobody measures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter_ns
from typing import Any, TypeVar

import pyarrow as pa

from panewise.progress.punctuation import Punctuation
from panewise.queries.aggregate import WindowStage
from panewise.queries.chunks import Chunk
from panewise.queries.operators import Passing
from panewise.queries.pipeline import Path, Pipeline

T = TypeVar("T")


@dataclass
class Spent:
    """What one step of a query has cost so far."""

    seconds: float = 0.0
    calls: int = 0
    rows: int = 0
    """Rows that went in."""


class Profile(dict[str, Spent]):
    """Steps by name, in the order in which rows pass them.

    >>> profile = Profile()
    >>> profile.timed("Select", 3, lambda: 7), profile["Select"].rows, profile["Select"].calls
    (7, 3, 1)
    """

    def timed(self, step: str, rows: int, work: Callable[[], T]) -> T:
        """Do some work on some rows, and count it."""
        spent = self.setdefault(step, Spent())
        before = perf_counter_ns()
        try:
            return work()
        finally:
            spent.seconds += (perf_counter_ns() - before) / 1e9
            spent.calls += 1
            spent.rows += rows

    def pipeline(self, pipeline: Pipeline) -> Pipeline:
        """The same pipeline with every operator measured; operators are named by their path."""
        return replace(pipeline, paths=tuple(self._path(path) for path in pipeline.paths))

    def _path(self, path: Path) -> Path:
        measured = tuple(_Measured(operator, f"{path.source.name}: {operator.name}", self)
                         for operator in path.operators)
        return replace(path, operators=measured)

    def stage(self, stage: WindowStage) -> WindowStage:
        """The same stage with its calls measured."""
        for method, rows in (("prepare", _chunk_rows), ("count", _prepared_rows), ("advance", _none), ("ripe", _none),
                             ("present", _table_rows)):
            setattr(stage, method, self._measured(f"aggregate: {method}", getattr(stage, method), rows))
        return stage

    def _measured(self, step: str, call: Callable[..., T], rows: Callable[..., int]) -> Callable[..., T]:
        return lambda *args, **named: self.timed(step, rows(*args), lambda: call(*args, **named))


class _Measured(Passing):
    """An operator that is looked at with a watch in hand."""

    def __init__(self, operator: Passing, step: str, profile: Profile) -> None:
        self.operator, self._step, self._profile = operator, step, profile

    def process(self, chunk: Chunk) -> Chunk:
        return self._profile.timed(self._step, chunk.table.num_rows, lambda: self.operator.process(chunk))

    def advance(self, punctuation: Punctuation) -> list[Punctuation]:
        return self._profile.timed(self._step, 0, lambda: self.operator.advance(punctuation))


def _chunk_rows(chunk: Any, *_: object) -> int:
    return int(chunk.table.num_rows)


def _prepared_rows(rows: Any, *_: object) -> int:
    return len(rows.values)


def _table_rows(table: pa.Table, *_: object) -> int:
    return int(table.num_rows)


def _none(*_: object) -> int:
    return 0
