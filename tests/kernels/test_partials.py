"""Partial tables: grouping, merging and finishing do what a plain dictionary would."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.tiny import CountRows, Extreme, InOrder, Total
from panewise.kernels.contract.partials import bind, combine_partials, finish_partials, partial_table
from panewise.kernels.groups.grouping import group_codes

VALUES = {
    "narrow": (st.integers(-3, 3), pa.int64()),
    "wide": (st.sampled_from([-(2**63), 0, 1, 2**63 - 1]), pa.int64()),
    "unsigned": (st.sampled_from([None, 0, 2**64 - 1]), pa.uint64()),
    "string": (st.sampled_from([None, "", "a", "b"]), pa.string()),
    "float": (st.sampled_from([None, 0.0, -0.0, 1.5, math.nan]), pa.float64()),
    "bool": (st.sampled_from([None, True, False]), pa.bool_()),
    "list": (st.sampled_from([None, [], [1], [1, 2]]), pa.list_(pa.int64())),
}


def canonical(value: object) -> object:
    return "NaN" if isinstance(value, float) and math.isnan(value) else repr(value).replace("-0.0", "0.0")


@st.composite
def key_columns(draw: st.DrawFn) -> list[pa.Array]:
    names = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=3))
    rows = draw(st.integers(0, 12))
    return [pa.array(draw(st.lists(VALUES[n][0], min_size=rows, max_size=rows)), VALUES[n][1]) for n in names]


@settings(deadline=None, max_examples=75)
@given(key_columns())
def test_rows_have_the_same_code_exactly_when_all_their_columns_are_equal(columns: list[pa.Array]) -> None:
    codes, first = group_codes(columns)
    rows = [tuple(canonical(v) for v in row) for row in zip(*(c.to_pylist() for c in columns), strict=True)]
    expected_first = {row: i for i, row in reversed(list(enumerate(rows)))}
    assert len(first) == len(expected_first)
    assert sorted(first.tolist()) == sorted(expected_first.values())
    assert [int(first[c]) for c in codes] == [expected_first[row] for row in rows]


def test_many_wide_columns_do_not_overflow_the_combined_code() -> None:
    rng = np.random.default_rng(1)
    columns = [rng.integers(-(2**62), 2**62, 5000) for _ in range(8)]
    codes, first = group_codes([np.concatenate([c, c]) for c in columns])
    assert len(first) == 5000
    assert (codes[:5000] == codes[5000:]).all()


def test_no_column_to_group_by_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one column"):
        group_codes([])


def rows_strategy() -> st.SearchStrategy[list[tuple[int, str | None, int | None]]]:
    row = st.tuples(st.integers(-5, 5), st.sampled_from([None, "a", "b"]), st.one_of(st.none(), st.integers(-9, 9)))
    return st.lists(row, max_size=20)


AGGREGATES = bind([("n", CountRows()), ("hi", Extreme()), ("s", Total()), ("all", InOrder())],
                  [(), (pa.int64(),), (pa.int64(),), (pa.int64(),)])


def partials_of(rows: list[tuple[int, str | None, int | None]]) -> pa.Table:
    value = pa.array([r[2] for r in rows], pa.int64())
    keys = pa.table({"k": pa.array([r[1] for r in rows], pa.string())})
    ids = np.array([r[0] for r in rows], np.int64)
    return partial_table(ids, keys, [[], [value], [value], [value]], AGGREGATES, id_name="wid")


@settings(deadline=None, max_examples=40)
@given(rows_strategy(), st.data())
def test_partials_of_pieces_merge_to_the_partials_of_the_whole_in_arrival_order(
        rows: list[tuple[int, str | None, int | None]], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(rows)))
    pieces = pa.concat_tables([partials_of(rows[:cut]), partials_of(rows[cut:])])
    combined = combine_partials(pieces, ["k"], AGGREGATES, id_name="wid")
    finished = finish_partials(combined, ["k"], AGGREGATES, id_name="wid")
    expected: dict[tuple[int, str | None], list[int | None]] = {}
    for wid, key, value in rows:
        expected.setdefault((wid, key), []).append(value)
    assert finished.column("wid").to_pylist() == sorted(wid for wid, _ in expected)
    assert {(r["wid"], r["k"]): r["all"] for r in finished.to_pylist()} == expected
    for row in finished.to_pylist():
        known = [v for v in row["all"] if v is not None]
        assert row["n"] == len(row["all"])
        assert row["hi"] == max(known, default=None)
        assert row["s"] == (sum(known) if known else None)


def test_state_columns_are_named_after_the_result_and_the_state_field() -> None:
    assert partials_of([]).column_names == ["wid", "k", "n.n", "hi.best", "s.sum", "all.values"]
