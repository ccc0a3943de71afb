"""Where numbers end: overflow, cancellation, NaN, and types that are refused."""

from __future__ import annotations

import math
import random
import statistics
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.aggregates.base import Aggregate
from panewise.aggregates.registry import names, resolve
from panewise.core.errors import AggregateError

TOP, BOTTOM = 2**63 - 1, -(2**63)


def run(aggregate: Aggregate, values: Any, data_type: pa.DataType, batches: int = 1) -> Any:
    """The result over one group, from as many partial states as asked for."""
    array = pa.array(values, data_type)
    codes = np.arange(len(array)) % batches
    partials = aggregate.partials([array], codes, batches, [data_type])
    state = aggregate.combine(partials, np.zeros(batches, np.int64), 1, [data_type])
    return aggregate.finish_all(state, [data_type])[0].as_py()


# -- integers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batches", [1, 2, 5])
def test_a_sum_may_pass_beyond_bigint_and_come_back(batches: int) -> None:
    assert run(resolve("sum"), [TOP, TOP, BOTTOM, BOTTOM, 7], pa.int64(), batches) == 5
    assert run(resolve("sum"), [BOTTOM], pa.int64(), batches) == BOTTOM
    assert run(resolve("sum"), [TOP, 1, -1], pa.int64(), batches) == TOP


@pytest.mark.parametrize("values", [[TOP, 1], [BOTTOM, -1], [TOP] * 5, [BOTTOM] * 5])
def test_a_sum_that_bigint_does_not_hold_is_an_error_that_says_what_to_do(values: list[int]) -> None:
    with pytest.raises(AggregateError, match=rf"sum overflowed: {sum(values)} does not fit bigint; cast"):
        run(resolve("sum"), values, pa.int64(), 2)


def test_an_overflow_in_one_group_is_found_among_many() -> None:
    values = pa.array([1, TOP, 2, TOP])
    partials = resolve("sum").partials([values], np.array([0, 1, 2, 1]), 3, [pa.int64()])
    with pytest.raises(AggregateError, match=str(2 * TOP)):
        resolve("sum").finish_all(partials, [pa.int64()])


def test_an_average_of_integers_does_not_overflow() -> None:
    assert run(resolve("avg"), [TOP, TOP, TOP], pa.int64(), 2) == float(TOP)
    assert run(resolve("avg"), [TOP, BOTTOM], pa.int64(), 2) == -0.5
    assert run(resolve("avg"), [2**53 + 1, 2**53 + 1], pa.int64()) == float(2**53 + 1)


def test_sums_of_integers_that_doubles_cannot_hold_are_exact() -> None:
    values = [2**53 + 1, 2**53 + 3, 1] * 300
    assert run(resolve("sum"), values, pa.int64(), 7) == sum(values)


def test_unsigned_integers_beyond_bigint_are_decimals_as_spark_reads_them() -> None:
    values = [2**64 - 1, 2**64 - 1, 0]
    assert run(resolve("max"), values, pa.uint64()) == 2**64 - 1
    assert run(resolve("sum"), values, pa.uint64()) == 2 * (2**64 - 1)
    assert resolve("sum").result_type([pa.uint64()]) == pa.decimal128(30, 0)


def test_decimals_overflow_only_beyond_38_digits() -> None:
    largest = Decimal(10**38 - 1)
    assert run(resolve("sum"), [largest, largest.copy_negate(), largest], pa.decimal128(38, 0), 3) == largest
    with pytest.raises(AggregateError, match=r"sum overflowed.*decimal\(38, 0\)"):
        run(resolve("sum"), [largest, Decimal(1)], pa.decimal128(38, 0), 2)
    with pytest.raises(AggregateError, match="sum overflowed"):
        run(resolve("sum"), [largest] * 40, pa.decimal128(38, 0), 3)
    scalar = resolve("sum")
    with pytest.raises(AggregateError, match="sum overflowed"):
        scalar.finish(scalar.add(scalar.add(scalar.init(), largest), Decimal(1)))


def test_an_average_of_decimals_rounds_half_up_once() -> None:
    values = [Decimal("0.01"), Decimal("0.02")] * 8 + [Decimal("0.00")]  # 0.24 / 17 = 0.014117647…
    assert run(resolve("avg"), values, pa.decimal128(5, 2)) == Decimal("0.014118")
    assert run(resolve("avg"), [Decimal("-0.01")] * 1 + [Decimal(0)] * 15, pa.decimal128(5, 2)) == Decimal("-0.000625")
    assert run(resolve("avg"), [Decimal(1)] + [Decimal(0)] * 31, pa.decimal128(5, 0)) == Decimal("0.0313")


# -- floats ------------------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(-1e200, 1e200), min_size=1, max_size=200), st.integers(1, 5))
def test_a_float_sum_is_the_exact_sum_rounded_once(values: list[float], batches: int) -> None:
    expected = math.fsum(values)
    assert run(resolve("sum"), values, pa.float64(), batches) == expected
    assert run(resolve("avg"), values, pa.float64(), batches) == expected / len(values)


def test_a_float_sum_does_not_depend_on_order_or_cuts() -> None:
    generator = random.Random(7)
    values = [generator.uniform(-1, 1) * 10.0 ** generator.randint(-8, 8) for _ in range(5000)]
    results = set()
    for batches in (1, 2, 3, 50):
        generator.shuffle(values)
        results.add(run(resolve("sum"), values, pa.float64(), batches))
    assert results == {math.fsum(values)}


def test_small_numbers_survive_beside_a_large_one_that_goes_away() -> None:
    assert run(resolve("sum"), [1e16, 1.0, 1.0, -1e16], pa.float64(), 2) == 2.0
    assert run(resolve("sum"), [0.1] * 10, pa.float64(), 5) == 1.0


def test_infinities_and_nan_go_through_sums_without_touching_other_groups() -> None:
    values = pa.array([math.inf, 1.0, math.nan, math.inf, -math.inf, 0.1, 0.2])
    codes = np.array([0, 0, 1, 2, 2, 3, 3])
    for name in ("sum", "avg"):
        partials = resolve(name).partials([values], codes, 4, [pa.float64()])
        found = resolve(name).finish_all(resolve(name).combine(partials, np.arange(4), 4, [pa.float64()]),
                                         [pa.float64()]).to_pylist()
        assert found[0] == math.inf
        assert math.isnan(found[1])
        assert math.isnan(found[2])
        assert found[3] == math.fsum([0.1, 0.2]) / (1 if name == "sum" else 2)
    assert run(resolve("sum"), [1e308, 1e308], pa.float64()) == math.inf


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=100), st.integers(1, 4))
def test_variance_keeps_its_digits_when_the_mean_is_large(spread: list[int], batches: int) -> None:
    values = [1e9 + s for s in spread]
    assert run(resolve("variance"), values, pa.float64(), batches) == float(statistics.variance(map(Fraction, spread)))


def test_min_and_max_place_nan_above_infinity() -> None:
    values = [math.nan, 1.0, math.inf]
    assert math.isnan(run(resolve("max"), values, pa.float64(), 3))
    assert run(resolve("min"), values, pa.float64(), 3) == 1.0
    assert math.isnan(run(resolve("min"), [math.nan, math.nan], pa.float64(), 2))
    assert run(resolve("min"), [math.nan, math.inf], pa.float64(), 2) == math.inf
    assert run(resolve("max"), [-math.inf], pa.float64()) == -math.inf


def test_nan_equals_nan_and_zero_equals_negative_zero_where_values_are_compared() -> None:
    values = [math.nan, -math.nan, 0.0, -0.0]
    assert run(resolve("count", distinct=True), values, pa.float64(), 2) == 2
    assert run(resolve("approx_count_distinct"), values, pa.float64(), 2) == 2
    assert math.copysign(1, run(resolve("min"), [-0.0, 0.0], pa.float64())) == 1
    assert run(resolve("mode"), values, pa.float64(), 2) == 0.0


# -- types -------------------------------------------------------------------------------------------------------

LIKE_THE_ARGUMENT = ("min", "max", "first", "last", "mode")


def test_result_types_are_those_of_spark_sql() -> None:
    money = pa.decimal128(10, 2)
    expected = {
        ("count", pa.string()): pa.int64(),
        ("sum", pa.int8()): pa.int64(),
        ("sum", pa.float32()): pa.float64(),
        ("sum", money): pa.decimal128(20, 2),
        ("sum", pa.decimal128(35, 2)): pa.decimal128(38, 2),
        ("avg", pa.int32()): pa.float64(),
        ("avg", money): pa.decimal128(14, 6),
        ("avg", pa.decimal128(38, 10)): pa.decimal128(38, 14),
        ("variance", money): pa.float64(),
        ("median", pa.int64()): pa.float64(),
        ("approx_count_distinct", pa.string()): pa.int64(),
    }
    for (name, data_type), result in expected.items():
        assert resolve(name).result_type([data_type]) == result, name
    for name in LIKE_THE_ARGUMENT:
        for data_type in (pa.int16(), pa.float32(), money, pa.string(), pa.date32(), pa.timestamp("us"), pa.bool_()):
            assert resolve(name).result_type([data_type]) == data_type
    items = resolve("top_k", (3,)).result_type([pa.string()])
    assert items == pa.list_(pa.struct([("item", pa.string()), ("count", pa.int64())]))


@pytest.mark.parametrize(("name", "data_type"), [
    ("sum", pa.string()), ("sum", pa.bool_()), ("avg", pa.timestamp("us")), ("var_samp", pa.date32()),
    ("median", pa.string()), ("min", pa.list_(pa.int64())), ("mode", pa.struct([("a", pa.int8())])),
    ("count_distinct", pa.list_(pa.int64())), ("approx_count_distinct", pa.map_(pa.string(), pa.string())),
])
def test_types_without_a_meaning_are_refused_by_name(name: str, data_type: pa.DataType) -> None:
    for ask in (resolve(name).state_fields, resolve(name).result_type):
        with pytest.raises(AggregateError, match=name) as caught:
            ask([data_type])
        assert str(data_type) in str(caught.value)


@pytest.mark.parametrize("name", names())
def test_a_wrong_number_of_arguments_is_refused(name: str) -> None:
    fractions = {"percentile", "quantile", "heavy_hitters", "approx_heavy_hitters", "percentile_approx",
                 "approx_percentile", "approx_quantile"}
    constants = (0.5,) if name in fractions else (5,) if name.startswith(("top", "frequent")) else ()
    aggregate = resolve(name, constants)
    too_many = [pa.int64()] * (aggregate.arity + 1)
    if not aggregate.variadic:
        with pytest.raises(AggregateError, match=rf"{aggregate.name} takes \d argument"):
            aggregate.result_type(too_many)
    if aggregate.arity:
        with pytest.raises(AggregateError, match="takes"):
            aggregate.state_fields([])


def test_encoded_and_sliced_columns_are_read_as_their_values() -> None:
    encoded = pa.array(["b", "a", None, "b"]).dictionary_encode()
    codes = np.zeros(4, np.int64)
    for name, expected in (("max", "b"), ("mode", "b"), ("count", 3)):
        aggregate = resolve(name)
        partials = aggregate.partials([encoded], codes, 1, [encoded.type])
        assert aggregate.finish_all(partials, [encoded.type]).to_pylist() == [expected]
    for data_type in (pa.int64(), pa.float64(), pa.decimal128(9, 2), pa.decimal128(30, 2), pa.bool_(), pa.date32()):
        whole = pa.array([1, 0, None, 1, 1], pa.int32() if data_type == pa.date32() else pa.int8()).cast(data_type)
        part = whole.slice(1, 3)
        found = run(resolve("max"), part, data_type)
        assert found == whole[0].as_py()
        if data_type not in (pa.bool_(), pa.date32()):
            assert run(resolve("sum"), part, data_type) == 1


def test_a_column_of_nothing_but_null_has_null_as_its_sum() -> None:
    assert run(resolve("sum"), [None, None], pa.null(), 2) is None
    assert run(resolve("count"), [None, None], pa.null(), 2) == 0
    assert run(resolve("max"), [None, None], pa.null(), 2) is None
