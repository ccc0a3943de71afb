"""Aggregates of continuous relations change when what they are worth changes, to the last bit, and only then."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle.questions import Oracle
from panewise.core.schema import Catalog, SourceSchema
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Timeline
from panewise.sql import parse
from relations.running import run_relation

CATALOG = Catalog({"s": SourceSchema({"ts": pa.int64(), "k": pa.string(), "v": pa.int64(), "f": pa.float64(),
                                      "d": pa.decimal128(9, 2)}, time="ts")})


def timeline(rows: list[dict[str, Any]], *, promises: bool = True) -> Timeline:
    made: Timeline = []
    for row in rows:
        made.append(Arrival("s", {"k": "a", "v": None, "f": None, "d": None, **row}))
        if promises:
            made.append(Arrival("s", Punctuation.below("ts", row["ts"])))
    return made


def exact_rows(rows: Any) -> list[str]:
    return sorted(repr(list(row.items())) for row in rows)


def assert_exactly_the_oracle(text: str, items: Timeline, cuts: frozenset[int] = frozenset()) -> list[dict[str, Any]]:
    plan = parse(text, CATALOG)
    found, _ = run_relation(plan, items, cuts)
    assert exact_rows(found) == exact_rows(Oracle(plan, items).results())
    return found


@pytest.mark.parametrize("promises", [True, False])
@pytest.mark.parametrize(("call", "column", "values"), [
    ("stddev(v)", "v", [9, 2, 9, 9, None]),
    ("var_pop(f)", "f", [9.0, 2.0, 9.0, 9.0, None]),
    ("avg(f)", "f", [1.1, 0.3, 0.7]),
    ("sum(f)", "f", [1e200, 1e100, 1.0, -1e200, -1e100]),
    ("centre_of_mass(f, v + 1)", "f", [0.1, 0.2, 0.7]),
])
def test_results_change_when_the_oracles_do(call: str, column: str, values: list[Any], promises: bool) -> None:
    rows = [{"ts": ts, "v": ts, column: value} for ts, value in enumerate(values, 1)]
    assert_exactly_the_oracle(f"SELECT k, {call} AS x FROM s [RANGE 100] GROUP BY k", timeline(rows, promises=promises))


def test_a_sum_beyond_the_range_of_two_floats_comes_back() -> None:
    rows = [{"ts": ts, "f": f} for ts, f in enumerate([1e200, 1e100, 1.0, -1e200, -1e100], 1)]
    found = assert_exactly_the_oracle("SELECT sum(f) AS x FROM s [RANGE 100]", timeline(rows))
    assert {row["valid_from"]: row["x"] for row in found if row["change"] > 0 and row["valid_from"] in (4, 5)} == {
        4: 1e100, 5: 1.0}


def test_another_group_of_the_step_does_not_change_a_sum() -> None:
    rows = [{"ts": 1, "k": "a", "f": f} for f in (0.1, 0.2, 0.3)] + [{"ts": 1, "k": "b", "f": 1e290}]
    found = assert_exactly_the_oracle("SELECT k, sum(f) AS x FROM s [RANGE 100] GROUP BY k",
                                      timeline(rows, promises=False))
    assert {row["k"]: row["x"] for row in found} == {"a": 0.6, "b": 1e290}


CALLS = ["sum(f)", "avg(f)", "var_samp(f)", "stddev_pop(f)", "stddev(v)", "var_pop(d)", "centre_of_mass(f, v)",
         "sum(DISTINCT f)", "avg(DISTINCT f)"]
ROWS = st.lists(st.fixed_dictionaries({
    "ts": st.integers(0, 12), "k": st.sampled_from("ab"), "v": st.none() | st.integers(-9, 9),
    "f": st.none() | st.integers(-30, 30).map(lambda n: n / 10) | st.sampled_from([1e20, -1e20, 1e60, -1e60, 2.0**-70]),
    "d": st.none() | st.integers(-500, 500).map(lambda n: n / 4).map(str).map(Decimal)}),
    max_size=10).map(lambda rows: sorted(rows, key=lambda row: row["ts"]))


@pytest.mark.parametrize("bracket", ["RANGE 4", "ROWS 3", "RANGE 100"])
@settings(max_examples=25, deadline=None)
@given(st.sampled_from(CALLS), ROWS, st.booleans(), st.frozensets(st.integers(0, 20)))
def test_floats_are_told_as_the_oracle_tells_them(bracket: str, call: str, rows: list[dict[str, Any]], promises: bool,
                                                  cuts: frozenset[int]) -> None:
    assert_exactly_the_oracle(f"SELECT k, {call} AS x FROM s [{bracket}] GROUP BY k",
                              timeline(rows, promises=promises), cuts)
