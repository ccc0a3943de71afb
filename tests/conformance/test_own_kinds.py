"""A window kind and an aggregate that know panewise only from outside: on every engine, with restarts.

docs/contributing.md shows these two classes as all there is to write.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession

import panewise as pw
from conformance.cases import Case
from conformance.compare import assert_same_rows
from conformance.runners import embedded, spark_batch, spark_streaming
from panewise.aggregates import AggClass, State
from panewise.aggregates.registry import unregister
from panewise.core.intervals import Interval
from panewise.core.ordinals import Ordinals
from panewise.progress.punctuation import Punctuation
from panewise.windows.base import ContextClass, Rows, WindowSpec, ids_in_ranges

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # pytest alone can import this module


@dataclass(frozen=True)
class Beginnings(WindowSpec):
    """Of every ``period`` ticks the first ``length``: window w is [w * period, w * period + length)."""

    kind: ClassVar[str] = "beginnings"
    shows_range: ClassVar[bool] = True
    period: int = 10
    length: int = 4

    def windows(self, rows: Rows) -> Ordinals:
        return ids_in_ranges(*self.wids(rows))

    def extent(self, wid: int, rows: Rows | None = None) -> Interval:
        return Interval(wid * self.period, wid * self.period + self.length)

    def wids(self, rows: Rows) -> tuple[Ordinals, Ordinals]:
        first = rows.values // self.period
        return first, first + (rows.values % self.period < self.length)

    def closed_below(self, bound: int) -> int:
        return (bound - self.length) // self.period + 1


@dataclass(frozen=True)
class Spread(pw.Aggregate):
    """``spread(x)``: the largest value less the smallest."""

    name: ClassVar[str] = "spread"
    agg_class: ClassVar[AggClass] = AggClass.DISTRIBUTIVE

    def state_fields(self, inputs: Sequence[pa.DataType]) -> list[pa.Field]:
        return [pa.field("low", inputs[0]), pa.field("high", inputs[0])]

    def result_type(self, inputs: Sequence[pa.DataType]) -> pa.DataType:
        return inputs[0]

    def init(self) -> State:
        return (None, None)

    def add(self, state: State, *values: Any) -> State:
        return self.merge(state, (values[0], values[0]))

    def merge(self, left: State, right: State) -> State:
        if left[0] is None or right[0] is None:
            return right if left[0] is None else left
        return (min(left[0], right[0]), max(left[1], right[1]))

    def finish(self, state: State) -> Any:
        return None if state[0] is None else state[1] - state[0]


@pytest.fixture(scope="module", autouse=True)
def spread_is_registered() -> Iterator[None]:
    pw.register(Spread)
    yield
    unregister("spread")


def case(text: str = "SELECT k, count(*) [:w] AS n, spread(v) AS apart FROM s GROUP BY k") -> Case:
    random = Random(3)
    rows: list[dict[str, Any] | Punctuation] = []
    for tick in range(0, 60, 2):
        rows.append({"ts": max(0, tick - random.randrange(6)), "k": random.choice("ab"),
                     "v": random.choice((None, 1, 5, 8))})
        if tick % 14 == 0:
            rows.append(Punctuation.below("ts", tick - 6))
    return Case("own kinds", text, {"s": rows}, {"s": {"ts": pa.int64(), "k": pa.string(), "v": pa.int64()}},
                params={"w": Beginnings()})


def test_the_oracle_answers_by_the_definition() -> None:
    rows = [{"ts": t, "k": "a", "v": v} for t, v in ((1, 3), (14, 1), (2, 9), (13, 4), (5, 0))]
    found = pw.sql("SELECT count(*) [:w] AS n, spread(v) AS apart FROM s", s=rows, time="ts", engine="oracle",
                   params={"w": Beginnings()})
    assert [(r["window"]["start"], r["window"]["end"], r["n"], r["apart"]) for r in found] == [(0, 4, 2, 6),
                                                                                                 (10, 14, 1, 0)]


@pytest.mark.parametrize("restarts", [(), (3, 11, 30)])
def test_in_process_with_restarts(restarts: tuple[int, ...]) -> None:
    assert_same_rows(embedded(case(), batch_rows=1, restarts=restarts), case().expected())


def test_a_window_aggregate_over_one() -> None:
    text = "SELECT sum(n) [RANGE 30, SLIDE 10] AS n FROM (SELECT count(*) [:w] AS n FROM s)"
    assert_same_rows(embedded(case(text), batch_rows=2, restarts=(5,)), case(text).expected())


def test_spark_in_batch(spark: SparkSession, tmp_path: Path) -> None:
    assert_same_rows(spark_batch(case(), spark=spark, folder=tmp_path), case().expected())


def test_spark_streaming_that_failed_in_the_middle(spark: SparkSession, tmp_path: Path) -> None:
    found = spark_streaming(case(), spark=spark, folder=tmp_path, batch_rows=9, shards=2, fail_at=1)
    assert_same_rows(found, case().expected())


def test_a_kind_whose_windows_other_rows_decide_is_refused_by_name() -> None:
    @dataclass(frozen=True)
    class Foretold(Beginnings):
        kind: ClassVar[str] = "foretold"
        context_class: ClassVar[ContextClass] = ContextClass.FCU

    with pytest.raises(pw.PanewiseError, match="foretold windows are not run by the embedded engine"):
        pw.sql("SELECT count(*) [:w] AS n FROM s", s=[{"ts": 1}], time="ts", params={"w": Foretold()})
