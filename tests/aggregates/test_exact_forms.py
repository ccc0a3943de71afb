"""States that lose nothing: bit for bit the scalar form, in whatever order, cuts and company rows are merged."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numba  # noqa: F401  (compiled loops are used where it is loaded)
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from panewise.aggregates import Aggregate, resolve
from panewise.aggregates.exact_sums import expansions

FLOATS = st.one_of(st.floats(-1e3, 1e3), st.integers(-9, 9).map(lambda n: n / 10), st.floats(allow_nan=False),
                   st.sampled_from([1e16, -1e16, 1e308, -1e308, 1e155, 1.0, 2.0**-60, 0.1, -0.0, 5e-324, 1e-170]))
VALUES: dict[pa.DataType, Any] = {
    pa.float64(): FLOATS,
    pa.int64(): st.integers(-(2**63), 2**63 - 1) | st.integers(-99, 99),
    pa.decimal128(9, 2): st.integers(-(10**9) + 1, 10**9 - 1).map(lambda n: Decimal(n).scaleb(-2)),
    pa.decimal128(38, 4): st.integers(-(10**34), 10**34).map(lambda n: Decimal(f"{n}e-4")),
}
ONE = [(name, data_type) for name in ("sum", "avg", "var_samp", "var_pop", "stddev", "stddev_pop")
       for data_type in VALUES if name.startswith(("var", "std")) or data_type == pa.float64()]
few = settings(max_examples=40, deadline=None)


def scalar(aggregate: Aggregate, rows: list[tuple[Any, ...]]) -> Any:
    state = aggregate.init()
    for row in rows:
        state = aggregate.add(state, *row)
    return state


def merged(aggregate: Aggregate, rows: list[tuple[Any, ...]], codes: list[int], cut: int,
           inputs: list[pa.DataType]) -> list[pa.Array]:
    pieces = [aggregate.partials([pa.array([row[i] for row in part], t) for i, t in enumerate(inputs)],
                                 np.array(of, np.int64), 3, inputs)
              for part, of in ((rows[:cut], codes[:cut]), (rows[cut:], codes[cut:]))]
    return aggregate.combine([pa.concat_arrays(parts) for parts in zip(*pieces, strict=True)],
                             np.tile(np.arange(3), 2), 3, inputs)


def assert_exact(aggregate: Aggregate, data: Any, rows: list[tuple[Any, ...]], inputs: list[pa.DataType]) -> None:
    """Any order and any cut give the packed state of the scalar form, and its result, to the last bit."""
    codes = data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    order = data.draw(st.permutations(range(len(rows))))
    states = merged(aggregate, [rows[i] for i in order], [codes[i] for i in order],
                    data.draw(st.integers(0, len(rows))), inputs)
    results = aggregate.finish_all(states, inputs).to_pylist()
    for group in range(3):
        state = scalar(aggregate, [row for row, code in zip(rows, codes, strict=True) if code == group])
        assert repr(tuple(column[group].as_py() for column in states)) == repr(aggregate.pack(state, inputs))
        assert repr(results[group]) == repr(aggregate.finish(state))


@pytest.mark.parametrize(("name", "data_type"), ONE, ids=str)
@few
@given(data=st.data())
def test_one_column(name: str, data_type: pa.DataType, data: Any) -> None:
    rows = data.draw(st.lists(st.tuples(st.none() | VALUES[data_type]), max_size=8))
    assert_exact(resolve(name), data, rows, [data_type])


@few
@given(data=st.data())
def test_a_ratio_of_two_columns(data: Any) -> None:
    rows = data.draw(st.lists(st.tuples(FLOATS, FLOATS), max_size=8))
    assert_exact(resolve("centre_of_mass"), data, rows, [pa.float64()] * 2)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=8))
@example([1e308, 1e308, -1e308])
@example([5e-324, 1.0, 1e300])
@example([math.inf, -math.inf])
def test_a_sum_of_any_floats_is_the_rounded_exact_sum(values: list[float]) -> None:
    columns = expansions.sums([np.array(values)], np.zeros(len(values), np.int64), 1)
    finite = all(map(math.isfinite, values))
    if not finite:
        total = sum(v for v in values if not math.isfinite(v))
        assert str(columns[0][0].as_py()) == str(total)
        return
    exact = resolve("sum")
    assert columns[0][0].as_py() == exact.finish(scalar(exact, [(v,) for v in values])) or not values
    parts = tuple(column[0].as_py() for column in columns)
    assert repr(expansions.to_parts(expansions.from_parts(*parts))) == repr(parts)


def test_another_group_does_not_change_a_sum() -> None:
    states = resolve("sum").partials([pa.array([0.1, 0.2, 0.3, 1e290])], np.array([0, 0, 0, 1]), 2, [pa.float64()])
    assert resolve("sum").finish_all(states, [pa.float64()]).to_pylist() == [0.6, 1e290]


def test_the_mean_of_floats_is_the_rounded_sum_by_the_count() -> None:
    values = [1.1, 0.3, 0.7]
    states = resolve("avg").partials([pa.array(values)], np.zeros(3, np.int64), 1, [pa.float64()])
    assert resolve("avg").finish_all(states, [pa.float64()]).to_pylist() == [math.fsum(values) / 3]
    assert resolve("avg").finish(scalar(resolve("avg"), [(v,) for v in values])) == math.fsum(values) / 3


def test_variances_beyond_the_floats_are_infinite_and_those_of_large_and_tiny_numbers_are_not() -> None:
    near = math.nextafter(1e160, math.inf)
    step = Fraction(near) - Fraction(1e160)
    for values, variance in (([1e200, 1.0], math.inf), ([1e160, near], float(step * step / 2)),
                             ([1e-170, 3e-170], float((Fraction(3e-170) - Fraction(1e-170)) ** 2 / 2))):
        for name, expected in (("var_samp", variance), ("stddev", math.sqrt(variance))):
            aggregate = resolve(name)
            states = aggregate.partials([pa.array(values)], np.zeros(2, np.int64), 1, [pa.float64()])
            assert aggregate.finish_all(states, [pa.float64()]).to_pylist() == [expected]
            assert aggregate.finish(scalar(aggregate, [(v,) for v in values])) == expected


def test_a_sum_that_passed_the_largest_float_comes_back() -> None:
    largest = math.nextafter(math.inf, 0.0)
    values = pa.array([largest, largest, 0.1, -largest, -largest, largest, largest, math.inf, largest])
    codes, groups = np.array([0, 0, 0, 1, 1, 2, 2, 3, 3]), np.array([0, 0, 1, 2])
    parts = resolve("sum").partials([values], codes, 4, [pa.float64()])
    assert resolve("sum").finish_all(parts, [pa.float64()]).to_pylist() == [math.inf, -math.inf, math.inf, math.inf]
    together = resolve("sum").combine(parts, groups, 3, [pa.float64()])
    assert resolve("sum").finish_all(together, [pa.float64()]).to_pylist() == [0.1, math.inf, math.inf]
