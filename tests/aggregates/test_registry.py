"""Functions by name, and aggregates a user writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest

from kernels.tiny import Total
from panewise.aggregates import AggClass, Aggregate, State, is_aggregate, names, register, resolve, unregister
from panewise.aggregates.moments import StddevSamp, VarSamp
from panewise.aggregates.multiset import CountDistinct, Distinct, TopK
from panewise.aggregates.order import First
from panewise.aggregates.sums import Avg, Sum
from panewise.core.errors import AggregateError
from panewise.kernels.contract.partials import bind


def test_names_are_found_in_any_case_and_under_their_aliases() -> None:
    assert resolve("MEAN") == resolve("avg") == Avg()
    assert resolve("Variance") == resolve("var_samp") == VarSamp()
    assert resolve("std") == resolve("STDDEV") == StddevSamp()
    assert resolve("quantile", (0.9,)) == resolve("percentile", (0.9,))
    assert resolve("Center_Of_Mass") == resolve("centre_of_mass")
    assert resolve("first", (True,)) == First(ignore_nulls=True)
    assert is_aggregate("Top_K")
    assert not is_aggregate("substring")
    assert names() == sorted(names())


def test_distinct_counts_values_once_and_means_nothing_to_min_and_max() -> None:
    assert resolve("count", distinct=True) == CountDistinct()
    assert resolve("sum", distinct=True) == Distinct(Sum())
    assert resolve("max", distinct=True) == resolve("max")
    assert resolve("approx_count_distinct", distinct=True) == resolve("approx_count_distinct")
    with pytest.raises(AggregateError, match=r"centre_of_mass\(DISTINCT"):
        resolve("centre_of_mass", distinct=True)


def test_an_unknown_name_gets_suggestions_and_the_list() -> None:
    with pytest.raises(AggregateError, match="'medain': did you mean median") as caught:
        resolve("medain")
    assert "There are any_value" in str(caught.value)
    with pytest.raises(AggregateError, match="'xyzzy': There are"):
        resolve("xyzzy")


@pytest.mark.parametrize(("name", "constants", "said"), [
    ("percentile", (), r"percentile takes 1 constant \(fraction\), not 0: write percentile\(x, 0.95\)"),
    ("quantile", (95,), "fraction from 0 to 1, not 95"),
    ("quantile", ("high",), "fraction from 0 to 1, not 'high'"),
    ("median", (0.5,), "median takes 0 constants, not 1"),
    ("sum", (1,), "sum takes 0 constants, not 1"),
    ("top_k", (), r"write top_k\(x, 10\)"),
    ("top_k", (0,), "whole number from 1, not 0"),
    ("top_k", (2.5,), "not 2.5"),
    ("heavy_hitters", (0,), "above 0 and at most 1"),
    ("heavy_hitters", (0.1, 2), "takes 1 constant"),
    ("approx_count_distinct", (0,), "between 0 and 1"),
    ("approx_count_distinct", (0.00001,), r"use count\(DISTINCT x\)"),
    ("approx_percentile", (0.5, 0), "accuracy from 1 to 10000"),
    ("first", ("yes",), "true or false"),
])
def test_wrong_constants_are_refused_with_what_to_write(name: str, constants: tuple[Any, ...], said: str) -> None:
    with pytest.raises(AggregateError, match=said):
        resolve(name, constants)


@dataclass(frozen=True)
class GeometricRange(Aggregate):
    """Largest by smallest positive value: only the scalar form, state types in Arrow."""

    floor: float = 0.0
    name: ClassVar[str] = "geometric_range"
    agg_class: ClassVar[AggClass] = AggClass.ALGEBRAIC

    def state_fields(self, inputs: Sequence[pa.DataType]) -> list[pa.Field]:
        return [pa.field("low", pa.float64()), pa.field("high", pa.float64())]

    def result_type(self, inputs: Sequence[pa.DataType]) -> pa.DataType:
        return pa.float64()

    def init(self) -> State:
        return (None, None)

    def add(self, state: State, *values: Any) -> State:
        (value,) = values
        return state if value is None or value <= self.floor else self.merge(state, (value, value))

    def merge(self, left: State, right: State) -> State:
        if left[0] is None or right[0] is None:
            return right if left[0] is None else left
        return min(left[0], right[0]), max(left[1], right[1])

    def finish(self, state: State) -> float | None:
        return None if state[0] is None else float(state[1] / state[0])


@pytest.fixture
def registered() -> Iterator[None]:
    register(GeometricRange, aliases=["spread_ratio"])
    yield
    for name in ("geometric_range", "spread_ratio"):
        unregister(name)


@pytest.mark.usefixtures("registered")
def test_a_user_defined_aggregate_needs_only_the_scalar_form() -> None:
    aggregate = resolve("Spread_Ratio", (0.5,))
    assert aggregate == GeometricRange(0.5)
    inputs = [pa.float64()]
    rows = pa.array([1.0, 4.0, None, 0.1, 8.0, 2.0])
    partials = aggregate.partials([rows], np.array([0, 1, 0, 0, 0, 1]), 3, inputs)
    assert aggregate.finish_all(partials, inputs).to_pylist() == [8.0, 2.0, None]
    merged = aggregate.combine(partials, np.array([0, 0, 1]), 2, inputs)
    assert aggregate.finish_all(merged, inputs).to_pylist() == [8.0, None]
    assert [c.type for c in merged] == [pa.float64(), pa.float64()]
    assert aggregate.elementwise(inputs) is None
    assert not aggregate.is_invertible(inputs)


@pytest.mark.usefixtures("registered")
def test_a_name_is_taken_once_unless_replaced() -> None:
    with pytest.raises(AggregateError, match="'geometric_range' exists already"):
        register(GeometricRange)
    with pytest.raises(AggregateError, match="'sum' exists already"):
        register(GeometricRange, name="sum")
    register(GeometricRange, name="geometric_range", replace=True)
    assert resolve("geometric_range") == GeometricRange()


def test_a_factory_can_be_registered_under_a_name_and_a_built_in_comes_back() -> None:
    register(lambda k=3: TopK(int(k)), name="favourites")
    register(Avg, name="sum", replace=True)
    try:
        assert resolve("favourites") == TopK(3)
        assert resolve("favourites", (5,)) == TopK(5)
        assert resolve("sum") == Avg()
        with pytest.raises(AggregateError, match="favourites does not take the constants"):
            resolve("favourites", (1, 2, 3))
    finally:
        unregister("favourites")
        unregister("sum")
    assert not is_aggregate("favourites")
    assert resolve("sum") == Sum()


def test_a_registered_aggregate_needs_a_usable_name() -> None:
    with pytest.raises(AggregateError, match="has no name"):
        register(lambda fraction: Distinct(Sum()))
    with pytest.raises(AggregateError, match="cannot name an aggregate"):
        register(Sum, name="my sum")


def test_an_aggregate_whose_floats_are_added_in_any_order_is_refused_by_name() -> None:
    calls = [("t", Total())]
    assert bind(calls, [[pa.int64()]])
    with pytest.raises(AggregateError, match=r"total: the state 'sum' is double and merged by 'sum'.*EXACT_SUM"):
        bind(calls, [[pa.float64()]])
