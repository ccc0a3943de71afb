"""Aggregates without GROUP BY have one row at every instant, also over no rows (docs/semantics.md)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import panewise as pw
from oracle.questions import Oracle
from panewise.core.errors import EvaluationError, PlanError
from panewise.plan.nodes import GroupAggregate, RelationToStream
from panewise.planner.rewrites.closure import steps
from property_runs import drawn
from relations.instants import assert_like_the_oracle_at_every_instant, every_instant
from relations.plans import PLACES
from relations.positive_plans import internal
from relations.random_plans import STREAM_KINDS, Drawn, is_legal
from relations.running import assert_like_the_oracle, run_relation
from relations.test_random_plans import _counts_will_do, net
from relations.total_plans import ABOVE, cases

ROWS = [{"ts": 3, "k": "x", "v": 4}, {"ts": 4, "k": "y", "v": None}, {"ts": 20, "k": "x", "v": 1}]
NONE = pa.table({"ts": pa.array([], pa.int64()), "k": pa.array([], pa.string()), "v": pa.array([], pa.int64())})
ENGINES = ("oracle", "embedded")
every_engine = pytest.mark.parametrize("engine", ENGINES)
RELATIONS = {
    "window": "s [RANGE 5]", "sliding": "s [RANGE 4 SLIDE 2]", "tumbling": "s [RANGE TUMBLING 5]", "now": "s [NOW]",
    "rows": "s [ROWS 2]", "partitioned rows": "s [ROWS 1 PARTITION BY k]", "landmark": "s [UNBOUNDED]", "stream": "s",
    "join": "(SELECT s.k AS k, s.v AS v FROM s [RANGE 5], t [RANGE 5] WHERE s.k = t.k) AS q",
    "except": "(SELECT k, v FROM s [RANGE 5] EXCEPT ALL SELECT k, v FROM t [RANGE 5]) AS q",
    "not exists": "s [RANGE 5] WHERE NOT EXISTS (SELECT * FROM t [RANGE 5] WHERE t.k = s.k)",
    "distinct": "(SELECT DISTINCT k, v FROM s [RANGE 5]) AS q",
    "groups": "(SELECT k, sum(v) AS v FROM s [RANGE 5] GROUP BY k) AS q",
    "istream": "(SELECT Istream(k, v) FROM s [RANGE 5]) AS q [RANGE 2]",
}


def rows(text: str, engine: str = "embedded", **inputs: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in pw.sql(text, engine=engine, **inputs)]


def inputs_of(text: str, s: Any) -> dict[str, Any]:
    return {"s": s, "t": NONE} if "t [" in text else {"s": s}


# -- what it is


@every_engine
def test_the_row_is_there_before_the_first_row_between_rows_and_after_the_last(engine: str) -> None:
    assert rows("SELECT count(*) AS n, sum(v) AS total FROM s [RANGE 5]", engine, s=ROWS) == [
        (0, None, None, 1),
        (0, None, 3, -1), (1, 4, 3, 1), (1, 4, 4, -1), (2, 4, 4, 1), (2, 4, 8, -1), (1, None, 8, 1),
        (1, None, 9, -1), (0, None, 9, 1),
        (0, None, 20, -1), (1, 1, 20, 1), (1, 1, 25, -1), (0, None, 25, 1)]


@every_engine
@pytest.mark.parametrize("name", RELATIONS)
def test_over_an_input_without_rows_there_is_one_row(name: str, engine: str) -> None:
    text = f"SELECT count(*) AS n, max(v) AS top FROM {RELATIONS[name]}"
    assert rows(text, engine, **inputs_of(text, NONE)) == [(0, None, None, 1)]


@pytest.mark.parametrize("name", RELATIONS)
@pytest.mark.parametrize("strategy", ["upa", "direct", "negative"])
def test_every_relation_has_it_whenever_it_is_empty(name: str, strategy: str) -> None:
    text = f"SELECT count(*) AS n, max(v) AS top FROM {RELATIONS[name]}"
    given_rows = inputs_of(text, ROWS)
    assert rows(text, strategy=strategy, **given_rows) == rows(text, "oracle", **given_rows)


@every_engine
def test_every_aggregate_says_what_it_is_of_no_rows(engine: str) -> None:
    text = ("SELECT count(*) AS n, count(v) AS known, count(DISTINCT v) AS kinds, approx_count_distinct(v) AS about, "
            "sum(v) AS total, avg(v) AS mean, min(v) AS low, median(v) AS mid, stddev(v) AS spread, last(v) AS newest "
            "FROM s [RANGE 5]")
    assert rows(text, engine, s=NONE) == [(0, 0, 0, 0, None, None, None, None, None, None, None, 1)]


@every_engine
def test_groups_of_no_rows_are_none(engine: str) -> None:
    assert rows("SELECT k, count(*) AS n FROM s [RANGE 5] GROUP BY k", engine, s=NONE) == []


@every_engine
def test_windows_with_an_attribute_that_hold_no_row_are_not_put_out(engine: str) -> None:
    found = rows("SELECT count(*) [RANGE 5, SLIDE 5, WA ts] AS n FROM s", engine, s=ROWS)
    assert [n for _, n in found] == [2, 1]
    assert rows("SELECT count(*) [RANGE 5, SLIDE 5, WA ts] AS n FROM s", engine, s=NONE) == []


@every_engine
def test_a_table_that_was_always_there_counts_from_the_beginning(engine: str) -> None:
    text = "SELECT count(*) AS n, 6 / count(*) AS share FROM t"
    full = pw.table([{"k": 1}, {"k": 2}], retroactive=True)
    assert rows(text, engine, t=full) == [(2, 3.0, None, 1)]
    empty = pw.table(pa.table({"k": pa.array([], pa.int64())}), retroactive=True)
    assert rows("SELECT count(*) AS n FROM t", engine, t=empty) == [(0, None, 1)]


# -- what others make of it


@every_engine
def test_streams_tell_it_when_it_comes_and_goes_and_not_that_it_was_there(engine: str) -> None:
    given_rows = ROWS[:1]
    assert rows("SELECT Istream(count(*) AS n) FROM s [RANGE 5]", engine, s=given_rows) == [(1, 3), (0, 8)]
    assert rows("SELECT Dstream(count(*) AS n) FROM s [RANGE 5]", engine, s=given_rows) == [(0, 3), (1, 8)]
    assert rows("SELECT Rstream(count(*) AS n) FROM s [RANGE 5]", engine, s=given_rows) == [(1, 3), (0, 8)]
    assert rows("SELECT Rstream(count(*) AS n) FROM s [RANGE 5 SLIDE 5]", engine, s=[ROWS[0], ROWS[2]]) == [
        (1, 5), (0, 10), (1, 20), (0, 25)]  # at 15 nothing is there, nor has it just left
    for kind in ("Istream", "Dstream", "Rstream"):
        assert rows(f"SELECT {kind}(count(*) AS n) FROM s [RANGE 5]", engine, s=NONE) == []


@every_engine
def test_internal_windows_keep_the_values_that_came(engine: str) -> None:
    found = rows("SELECT count(*) AS n FROM s [RANGE 5 INTERNAL]", engine, s=ROWS[:1])
    assert found == [(1, 3, None), (0, 8, None)]


@every_engine
def test_a_window_over_its_stream_holds_the_zero_that_came(engine: str) -> None:
    text = "SELECT n FROM (SELECT Istream(count(*) AS n) FROM s [RANGE 5]) AS q [RANGE 2]"
    assert rows(text, engine, s=ROWS[:1]) == [(1, 3, 5), (0, 8, 10)]


@every_engine
def test_rows_of_another_relation_meet_it(engine: str) -> None:
    text = "SELECT s.k, q.n FROM s [RANGE 5], (SELECT count(*) AS n FROM t [RANGE 5]) AS q"
    assert rows(text, engine, s=ROWS[:1], t=NONE) == [("x", 0, 3, 1), ("x", 0, 8, -1)]


@every_engine
def test_conditions_above_apply_to_it(engine: str) -> None:
    inner = "(SELECT count(*) AS n FROM s [RANGE 5]) AS q"
    assert rows(f"SELECT n FROM {inner} WHERE n > 0", engine, s=ROWS[:1]) == [(1, 3, 1), (1, 8, -1)]
    assert rows(f"SELECT n FROM {inner} WHERE n = 0", engine, s=NONE) == [(0, None, 1)]
    assert rows(f"SELECT n FROM {inner} WHERE 1 = 0", engine, s=ROWS) == []
    with pytest.raises(EvaluationError, match="DIVIDE_BY_ZERO"):
        rows(f"SELECT 1 / n AS share FROM {inner}", engine, s=NONE)


@every_engine
def test_two_rows_over_nothing_have_no_order(engine: str) -> None:
    both = "(SELECT count(*) AS n FROM s [RANGE 5] UNION ALL SELECT sum(v) AS n FROM t [RANGE 5]) AS q"
    with pytest.raises(PlanError, match="two parts show rows of no input, as an aggregate without GROUP BY has them"):
        rows(f"SELECT last(n) AS n FROM {both}", engine, s=NONE, t=NONE)
    assert rows(f"SELECT max(n) AS n FROM {both}", engine, s=NONE, t=NONE) == [(0, None, 1)]


# -- when it is told


def opened(**options: Any) -> Any:
    text = "SELECT count(*) AS n, max(v) AS top FROM s [RANGE 5]"
    return pw.open_query(text, s="ts bigint, v bigint", current=True, **options)


def test_it_is_told_with_the_first_promise_and_shown_before() -> None:
    query = opened()
    assert query.current().to_pylist() == [{"n": 0, "top": None}]
    assert query.push("s", [{"ts": 3, "v": 4}]).num_rows == 0
    assert query.current().to_pylist() == [{"n": 0, "top": None}]
    assert query.push("s", pw.Punctuation.below("ts", 2)).to_pylist() == [
        {"n": 0, "top": None, "valid_from": None, "change": 1}]
    assert query.push("s", pw.Punctuation.below("ts", 3)).num_rows == 0
    assert query.push("s", pw.Punctuation.below("ts", 9)).column("valid_from").to_pylist() == [3, 3, 8, 8]
    assert query.current().to_pylist() == [{"n": 0, "top": None}]
    assert query.finish().num_rows == 0


@pytest.mark.parametrize("strategy", ["upa", "direct", "negative"])
def test_a_query_goes_on_from_any_state_without_telling_it_twice(strategy: str) -> None:
    items: list[Any] = [pw.Punctuation.below("ts", 1), [{"ts": 3, "v": 4}], pw.Punctuation.below("ts", 4),
                        pw.Punctuation.below("ts", 9), [{"ts": 12, "v": 1}]]
    query, told = opened(strategy=strategy), []
    for item in items:
        saved, query = query.snapshot(), opened(strategy=strategy)
        query.restore(saved)
        told += query.push("s", item).to_pylist()
    told += query.finish().to_pylist()
    assert [(row["n"], row["valid_from"], row["change"]) for row in told] == [
        (0, None, 1), (0, 3, -1), (1, 3, 1), (1, 8, -1), (0, 8, 1), (0, 12, -1), (1, 12, 1), (1, 17, -1), (0, 17, 1)]


def test_explain_says_that_it_is_never_empty() -> None:
    text = pw.explain("SELECT count(*) AS n FROM s [RANGE 5]", s=NONE)
    assert "one row at every instant, also of no rows" in text
    grouped = pw.explain("SELECT v, count(*) AS n FROM s [RANGE 5] GROUP BY v", s=NONE)
    assert "one row at every instant" not in grouped


# -- random plans

every_plan = pytest.mark.parametrize("above", ABOVE)


@every_plan
@settings(max_examples=8, deadline=None)
@given(st.data(), PLACES, PLACES)
def test_every_plan_over_it_equals_its_definition_at_every_instant(above: str, data: st.DataObject,
                                                                   cuts: frozenset[int], saves: frozenset[int]) -> None:
    plan, timeline = data.draw(cases(above))
    assert_like_the_oracle_at_every_instant(plan, timeline, cuts, saves)


@every_plan
@settings(max_examples=4, deadline=None)
@given(st.data(), STREAM_KINDS, PLACES, PLACES)
def test_every_plan_over_it_as_a_stream(above: str, data: st.DataObject, kind: Any, cuts: frozenset[int],
                                        saves: frozenset[int]) -> None:
    plan, timeline = data.draw(cases(above))
    assert_like_the_oracle(RelationToStream(plan, kind), timeline, cuts, saves)


@every_plan
@settings(max_examples=4, deadline=None)
@given(st.data(), PLACES, PLACES)
def test_all_styles_and_equivalent_plans_agree_about_it(above: str, data: st.DataObject, cuts: frozenset[int],
                                                        saves: frozenset[int]) -> None:
    plan, timeline = data.draw(cases(above))
    expected = net(run_relation(plan, timeline)[0])
    for style in ("direct", "negative") if _counts_will_do(plan) else ("direct",):
        assert net(run_relation(plan, timeline, cuts, saves, style=style)[0]) == expected
    for step in islice(steps(plan), 4):
        assert net(run_relation(step.plan, timeline, cuts)[0]) == expected, step.by


@pytest.mark.parametrize("above", ["alone", "filter", "project", "union", "join"])
@settings(max_examples=6, deadline=None)
@given(st.data(), PLACES, PLACES)
def test_what_internal_windows_keep_of_it_equals_its_definition(above: str, data: st.DataObject, cuts: frozenset[int],
                                                                saves: frozenset[int]) -> None:
    plan, timeline = data.draw(cases(above).filter(lambda case: is_legal(internal(case.plan))))
    assert_like_the_oracle_at_every_instant(internal(plan), timeline, cuts, saves)


def test_most_plans_that_are_drawn_are_empty_between_rows() -> None:
    test, path = test_every_plan_over_it_equals_its_definition_at_every_instant, Path(__file__)
    name = f"{path.relative_to(path.parents[2])}::{test.__name__}"
    found = [refills(*example["case"]) for above in ABOVE
             for example in drawn(test, Drawn, f"{name}[{above}]", above=above)]
    assert len(found) >= 50
    assert sum(found) >= 0.4 * len(found)


def refills(plan: Any, timeline: Any) -> bool:
    """Whether some aggregate of a plan has rows, then none, then rows again."""
    return any(pattern_of(node, timeline).count("on off on") for node in plan.walk()
               if isinstance(node, GroupAggregate) and not node.keys)


def pattern_of(node: GroupAggregate, timeline: Any) -> str:
    oracle = Oracle(node.input, timeline)
    return " ".join(changes("on" if oracle.relation_at(tau) else "off" for tau in every_instant(oracle)))


def changes(states: Iterator[str]) -> Iterator[str]:
    before = ""
    for state in states:
        if state != before:
            yield state
        before = state
