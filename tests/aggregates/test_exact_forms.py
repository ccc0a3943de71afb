"""States that lose nothing: bit for bit the scalar form, in whatever order, cuts and company rows are merged."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numba  # noqa: F401  (compiled loops are used where it is loaded)
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from panewise.aggregates import Aggregate, expansions, resolve

FLOATS = st.one_of(st.floats(-1e3, 1e3), st.integers(-9, 9).map(lambda n: n / 10), st.floats(-1e100, 1e100),
                   st.sampled_from([1e16, -1e16, 1e100, -1e100, 1.0, 2.0**-60, 0.1, -0.0]))
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
    aggregate = aggregate.exactly(inputs)
    codes = data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    order = data.draw(st.permutations(range(len(rows))))
    states = merged(aggregate, [rows[i] for i in order], [codes[i] for i in order],
                    data.draw(st.integers(0, len(rows))), inputs)
    results = aggregate.finish_all(states, inputs).to_pylist()
    for group in range(3):
        state = scalar(aggregate, [row for row, code in zip(rows, codes, strict=True) if code == group])
        assert tuple(column[group].as_py() for column in states) == aggregate.pack(state, inputs)
        assert results[group] == aggregate.finish(state)


@pytest.mark.parametrize(("name", "data_type"), ONE, ids=str)
@few
@given(data=st.data())
def test_one_column(name: str, data_type: pa.DataType, data: Any) -> None:
    value = VALUES[data_type].filter(lambda x: not x or abs(x) > 1e-100)  # squares below all floats are not kept
    rows = data.draw(st.lists(st.tuples(st.none() | value), max_size=8))
    assert_exact(resolve(name), data, rows, [data_type])


@few
@given(data=st.data())
def test_a_ratio_of_two_columns(data: Any) -> None:
    value = st.floats(-1e3, 1e3) | st.integers(-9, 9).map(lambda n: n / 10)
    rows = data.draw(st.lists(st.tuples(value, value), max_size=8))
    assert_exact(resolve("centre_of_mass"), data, [r for r in rows if all(x == 0 or abs(x) > 1e-100 for x in r)],
                 [pa.float64()] * 2)


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
    exact = resolve("sum").exactly([pa.float64()])
    assert columns[0][0].as_py() == exact.finish(scalar(exact, [(v,) for v in values])) or not values
    parts = [columns[0][0].as_py(), columns[1][0].as_py(), *columns[2][0].as_py()]
    assert expansions.to_parts(expansions.from_parts(*parts[:2], parts[2:])) == (parts[0], parts[1], parts[2:])


def test_another_group_does_not_change_a_sum() -> None:
    for aggregate in (resolve("sum"), resolve("sum").exactly([pa.float64()])):
        states = aggregate.partials([pa.array([0.1, 0.2, 0.3, 1e290])], np.array([0, 0, 0, 1]), 2, [pa.float64()])
        assert aggregate.finish_all(states, [pa.float64()]).to_pylist() == [0.6, 1e290]


def test_the_mean_of_floats_is_rounded_once_in_windows_too() -> None:
    states = resolve("avg").partials([pa.array([1.1, 0.3, 0.7])], np.zeros(3, np.int64), 1, [pa.float64()])
    exact = scalar(resolve("avg"), [(1.1,), (0.3,), (0.7,)])
    assert resolve("avg").finish_all(states, [pa.float64()]).to_pylist() == [resolve("avg").finish(exact)]


def test_squares_beyond_the_floats_make_the_variance_infinite() -> None:
    for aggregate in (resolve("var_samp"), resolve("stddev_pop")):
        states = aggregate.partials([pa.array([1e200, 1.0])], np.zeros(2, np.int64), 1, [pa.float64()])
        assert aggregate.finish_all(states, [pa.float64()]).to_pylist() == [math.inf]
        assert aggregate.finish(scalar(aggregate, [(1e200,), (1.0,)])) == math.inf
