"""The columnar form, the scalar form and the definition give one answer, however rows are cut, permuted and merged."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregates.cases import CASES, ORDERED_CASES, OVERFLOW, Case, combine, fold, partials, same
from panewise.aggregates.exact_sums.digits import digits_of, gathered, spread
from panewise.core.errors import AggregateError

GROUPS = 3
EVERYTHING = [*CASES, *ORDERED_CASES]
few = settings(max_examples=20, deadline=None)


def of_each_function(cases: list[Case]) -> Any:
    """One test per function; which types of arguments it gets is drawn with the rows."""
    functions: dict[str, list[Case]] = {}
    for case in cases:
        functions.setdefault(case.label, []).append(case)
    return pytest.mark.parametrize("choice", [pytest.param(c, id=label) for label, c in functions.items()])


def finished(case: Case, columns: list[pa.Array]) -> list[Any]:
    result = case.aggregate.finish_all(columns, case.inputs)
    assert result.type == case.aggregate.result_type(case.inputs)
    result.validate(full=True)
    values: list[Any] = result.to_pylist()
    return values


@of_each_function(EVERYTHING)
@few
@given(data=st.data())
def test_any_cut_and_permutation_gives_the_definition_in_both_forms(choice: list[Case], data: Any) -> None:
    case = data.draw(st.sampled_from(choice), "case")
    rows = data.draw(case.rows, "rows")
    count = len(rows)
    codes = data.draw(st.lists(st.integers(0, GROUPS - 1), min_size=count, max_size=count), "codes")
    shuffled = data.draw(st.permutations(range(count)), "order")
    cut = data.draw(st.integers(0, count), "cut")
    expected = [case.define([r for r, c in zip(rows, codes, strict=True) if c == g]) for g in range(GROUPS)]
    pieces = [partials(case, [rows[i] for i in part], part, [codes[i] for i in part], GROUPS)
              for part in (shuffled[:cut], shuffled[cut:], [])]
    states = combine(case, pieces, [list(range(GROUPS))] * 3, GROUPS)
    scalar_states = [fold(case, [rows[i] for i in shuffled if codes[i] == g], [i for i in shuffled if codes[i] == g])
                     for g in range(GROUPS)]
    if OVERFLOW in expected:
        with pytest.raises(AggregateError, match=f"{case.aggregate.name} overflowed"):
            finished(case, states)
        with pytest.raises(AggregateError, match="overflowed"):
            [case.aggregate.finish(s) for s in scalar_states]
        return
    assert same(finished(case, states), expected)
    scalar = pa.array([case.aggregate.finish(s) for s in scalar_states], case.aggregate.result_type(case.inputs))
    assert same(scalar.to_pylist(), expected)


@of_each_function(EVERYTHING)
@few
@given(data=st.data())
def test_states_move_between_the_forms(choice: list[Case], data: Any) -> None:
    """A scalar state packed into columns merges with columnar states, and back."""
    case = data.draw(st.sampled_from(choice), "case")
    first, second = data.draw(case.rows, "first"), data.draw(case.rows, "second")
    everything = first + second
    at = list(range(len(everything)))
    if case.define(everything) is OVERFLOW:
        return
    scalar = fold(case, first, at[: len(first)])
    row = case.aggregate.pack(scalar, case.inputs)
    packed = [pa.array([v], f.type) for v, f in zip(row, case.aggregate.state_fields(case.inputs), strict=True)]
    other = partials(case, second, at[len(first):], [0] * len(second), 1)
    merged = combine(case, [packed, other], [[0], [0]], 1)
    assert same(finished(case, merged), [case.define(everything)])
    back = case.aggregate.unpack(tuple(c[0].as_py() for c in other), case.inputs)
    together = case.aggregate.merge(scalar, back)
    typed = pa.array([case.aggregate.finish(together)], case.aggregate.result_type(case.inputs))
    assert same(typed.to_pylist(), [case.define(everything)])


@of_each_function(EVERYTHING)
@few
@given(data=st.data())
def test_merging_is_associative_and_the_empty_state_is_neutral(choice: list[Case], data: Any) -> None:
    case = data.draw(st.sampled_from(choice), "case")
    a, b, c = (data.draw(case.rows) for _ in range(3))
    if case.define(a + b + c) is OVERFLOW:
        return
    at = list(range(len(a) + len(b) + len(c)))
    states = [fold(case, a, at[: len(a)]), fold(case, b, at[len(a): len(a) + len(b)]),
              fold(case, c, at[len(a) + len(b):])]
    merge, empty = case.aggregate.merge, case.aggregate.init()
    left, right = merge(merge(states[0], states[1]), states[2]), merge(states[0], merge(states[1], states[2]))
    assert same(case.aggregate.finish(left), case.aggregate.finish(right))
    assert same(case.aggregate.finish(merge(empty, left)), case.aggregate.finish(left))
    assert same(case.aggregate.finish(merge(left, empty)), case.aggregate.finish(left))


INVERTIBLE = [c for c in CASES if c.aggregate.is_invertible(c.inputs)]


@of_each_function(INVERTIBLE)
@few
@given(data=st.data())
def test_taking_rows_away_leaves_the_others(choice: list[Case], data: Any) -> None:
    case = data.draw(st.sampled_from(choice), "case")
    kept, gone = data.draw(case.rows, "kept"), data.draw(case.rows, "gone")
    expected = case.define(kept)
    if expected is OVERFLOW:
        return
    at = [0] * len(kept + gone)
    whole, part = fold(case, kept + gone, at), fold(case, gone, at[: len(gone)])
    typed = pa.array([case.aggregate.finish(case.aggregate.inverse(whole, part))],
                     case.aggregate.result_type(case.inputs))
    assert same(typed.to_pylist(), [expected])
    columns = [partials(case, r, at[: len(r)], [1] * len(r), 2) for r in (kept + gone, gone)]
    left = case.aggregate.subtract_all(*columns, case.inputs)
    assert same(finished(case, left), [case.define([]), expected])


def test_what_cannot_be_inverted_says_so() -> None:
    names = {c.label for c in CASES if not c.aggregate.is_invertible(c.inputs)}
    assert {"min", "max", "var_samp", "centre_of_mass", "approx_percentile"} <= names
    for case in CASES:
        if case.label in {"sum", "avg"}:
            assert case.aggregate.is_invertible(case.inputs) is not any(map(pa.types.is_floating, case.inputs))
    with pytest.raises(NotImplementedError, match="max has no inverse"):
        next(c for c in CASES if c.label == "max").aggregate.inverse((3,), (3,))


ELEMENTWISE = [c for c in CASES if c.aggregate.elementwise(c.inputs) is not None]


@of_each_function(ELEMENTWISE)
@few
@given(data=st.data())
def test_states_merge_column_by_column_where_the_aggregate_says_so(choice: list[Case], data: Any) -> None:
    case = data.draw(st.sampled_from(choice), "case")
    first, second = data.draw(case.rows, "first"), data.draw(case.rows, "second")
    if case.define(first + second) is OVERFLOW:
        return
    operations = case.aggregate.elementwise(case.inputs)
    assert operations is not None
    at = [0] * len(first + second)
    pieces = [partials(case, r, at[: len(r)], [0] * len(r), 1) for r in (first, second, [])]
    merge = {"sum": sum, "min": min, "max": max}
    columns: list[pa.Array] = []
    for i, operation in enumerate(operations):
        if len(columns) > i:
            continue
        if operation == "exact":  # three columns are one number, of which digits add
            sums = [pa.concat_arrays([p[i + j] for p in pieces]) for j in range(3)]
            layout = digits_of(sums)
            columns += gathered(spread(sums, layout).sum(axis=1, keepdims=True), layout)
        else:
            columns.append(pa.array([merge[operation](p[i][0].as_py() for p in pieces)], pieces[0][i].type))
    assert same(finished(case, columns), [case.define(first + second)])


@pytest.mark.parametrize("case", EVERYTHING, ids=str)
def test_no_rows_and_only_nulls(case: Case) -> None:
    nulls = [(None,) * len(case.kinds)] * 3
    columns = partials(case, nulls, range(3), [1, 1, 1], 2)
    counted = case.define(nulls)
    assert finished(case, columns) == [case.define([]), counted]
    assert case.aggregate.finish(fold(case, nulls, range(3))) == counted
    assert finished(case, partials(case, [], [], [], 0)) == []
    nothing = [pa.array([], f.type) for f in case.aggregate.state_fields(case.inputs)]
    assert finished(case, combine(case, [nothing], [[]], 2)) == [case.define([])] * 2
