"""Joins of windows run at once: the same answers as trees of joins of two, over any inputs, and when it is done."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import panewise as pw
from panewise.api.query import plan_of
from panewise.core.errors import PlanError
from panewise.core.scalar import Scalar
from panewise.dataflow import open_plan
from panewise.dataflow.relations.tree import Stage
from panewise.kernels.relations.joins.many_join import ManyJoin
from panewise.plan.nodes import Distinct, NamedScalar, Node, Project
from panewise.planner.choose.join_order import Stream
from panewise.planner.choose.joins_at_once import one_attribute, saves_work
from panewise.progress.timeline import Timeline
from relations.many_joins import MANNERS, STREAMS, any_input, joins
from relations.plans import PLACES, source, timelines
from relations.running import assert_like_the_oracle, bag, run_relation

COLUMNS = "ts bigint, k string, v bigint"
TEXT = "SELECT * FROM s [{0}], t [{0}], u [{0}] WHERE s.k = t.k AND t.k = u.k"
SCHEMAS = dict.fromkeys(STREAMS, COLUMNS)
MANY = {f"{name}.rows_per_second": 100 for name in STREAMS} | {f"{name}.k": 10 for name in STREAMS}


def operators(root: Stage) -> list[type]:
    return [type(stage.operator) for stage in root.walk()]


@settings(max_examples=60, deadline=None)
@given(joins(), timelines(STREAMS, rows=18, times=12), PLACES, PLACES, st.sampled_from(["at once", *MANNERS]))
def test_joined_at_once_gives_the_oracles_answer(plan: Node, items: Timeline, cuts: frozenset[int],
                                                 saves: frozenset[int], how: str) -> None:
    assert_like_the_oracle(plan, items, cuts, saves, joins=how)
    _, query = run_relation(plan, items, joins=how)
    assert ManyJoin in operators(query.relation.root)


@settings(max_examples=100, deadline=None)
@given(joins(any_input, least=2), timelines(STREAMS, rows=18, times=12), PLACES, PLACES,
       st.sampled_from(["at once", *MANNERS]))
def test_over_inputs_whose_rows_leave_early_too(plan: Node, items: Timeline, cuts: frozenset[int],
                                                saves: frozenset[int], how: str) -> None:
    """Windows by rows, NOT EXISTS, EXCEPT ALL: an end of a row becomes the ends of the results it is part of."""
    assert_like_the_oracle(plan, items, cuts, saves, joins=how)


@settings(max_examples=30, deadline=None)
@given(joins(any_input), timelines(STREAMS, rows=18, times=12), PLACES, st.sampled_from(MANNERS))
def test_below_other_operators_too(join: Node, items: Timeline, saves: frozenset[int], how: str) -> None:
    plan = Distinct(Project(join, (NamedScalar("k", Scalar.column("a.k")), NamedScalar("v", Scalar.column("b.v")))))
    assert_like_the_oracle(plan, items, frozenset(), saves, joins=how)


@settings(max_examples=30, deadline=None)
@given(joins(any_input), timelines(STREAMS, rows=18, times=12), PLACES, st.sampled_from(MANNERS))
def test_where_every_end_is_sent_too(plan: Node, items: Timeline, saves: frozenset[int], how: str) -> None:
    assert_like_the_oracle(plan, items, frozenset(), saves, joins=how, style="negative")


def test_only_equal_columns_are_joined_at_once() -> None:
    def found(text: str) -> bool:
        plan = plan_of(text, {name: source(name).schema for name in STREAMS})
        return any(one_attribute(node) is not None for node in open_plan(plan).relation.physical.running.walk())

    three = "SELECT * FROM s [RANGE 5], t [RANGE 5], u [{}] WHERE s.k = t.k AND {}"
    assert found(three.format("RANGE 5", "t.k = u.k"))
    assert found(three.format("RANGE 5", "t.k = u.k").replace("*", "s.v, u.v AS other"))  # columns are left out between
    assert found(three.format("ROWS 5", "t.k = u.k"))  # rows leave when others come
    assert not found(three.format("RANGE 5", "t.v = u.v"))  # two attributes
    assert not found(three.format("RANGE 5", "t.k = u.k AND s.v < u.v"))
    assert not found("SELECT * FROM s [RANGE 5], t [RANGE 5] WHERE s.k = t.k")


def test_statistics_decide_unless_a_way_is_asked_for() -> None:
    def at_once(**options: object) -> bool:
        query = pw.open_query(TEXT.format("RANGE 10"), **options, **SCHEMAS)  # type: ignore[arg-type]
        assert query.relation is not None
        return ManyJoin in operators(query.relation.root)

    assert at_once(stats=MANY)
    assert not at_once(stats=MANY, joins="by twos")
    assert not at_once()
    assert at_once(joins="at once")


@pytest.mark.parametrize("window", ["CALENDAR 1 month", "UNBOUNDED", "NOW", "RANGE 10 days SLIDE 1 day"])
@pytest.mark.parametrize("how", ["at once", "at once: lazy, eager expiry"])
def test_any_window_over_timestamps_is_joined_at_once(window: str, how: str) -> None:
    rows = [{"ts": datetime(2026, 1, day, tzinfo=UTC), "k": "a"} for day in (1, 9, 30)]
    text = f"SELECT s.ts, u.ts AS other FROM s [{window}], t [{window}], u [{window}] WHERE s.k = t.k AND t.k = u.k"
    found, expected = (pw.sql(text, joins=joins, s=rows, t=rows, u=rows) for joins in (how, "by twos"))
    assert len(list(expected)) >= 3
    assert bag(found) == bag(expected)


def test_what_cannot_be_asked_for_is_refused() -> None:
    with pytest.raises(PlanError, match="no way to run joins"):
        pw.open_query(TEXT.format("RANGE 10"), joins="at once: sometimes", **SCHEMAS)
    with pytest.raises(PlanError, match="no way to run joins"):
        pw.open_query(TEXT.format("RANGE 10"), joins="by twos: lazy", **SCHEMAS)
    with pytest.raises(PlanError, match="no join of this query can be run so"):
        pw.open_query("SELECT * FROM s [RANGE 5], t [RANGE 5] WHERE s.v < t.v", joins="at once", s=COLUMNS, t=COLUMNS)
    with pytest.raises(PlanError, match="this query joins none"):
        pw.open_query("SELECT count(*) [RANGE 5, SLIDE 5, WA ts] AS n FROM s", joins="at once", s=COLUMNS)


@pytest.mark.parametrize("values", [2000, 500, 200, 100, 50])
def test_a_selective_first_join_is_not_worth_an_operator_of_its_own(values: int) -> None:
    """What ``bench/many_joins.py`` measures of a rare first pair: walking through a few rows costs next to nothing."""
    assert saves_work([Stream(20, 5, values), Stream(20, 5, values), Stream(20_000, 5, values)])


@pytest.mark.parametrize(("partners", "told", "chosen"), [(1, True, True), (2, True, True), (3, True, False),
                                                          (3, False, True), (10, True, False), (10, False, True)])
def test_results_that_would_be_kept_only_to_be_named_speak_against_joining_at_once(partners: int, told: bool,
                                                                                  chosen: bool) -> None:
    """What ``bench/many_joins.py`` measures over windows by rows."""
    assert saves_work([Stream(600, 5, 3000 / partners)] * 3, told=told) == chosen


@pytest.mark.parametrize(("text", "chosen"), [
    ("SELECT s.v FROM s [RANGE 10], t [RANGE 10], u [RANGE 10] WHERE s.k = t.k AND t.k = u.k", True),
    ("SELECT s.v FROM s [ROWS 1000], t [ROWS 1000], u [ROWS 1000] WHERE s.k = t.k AND t.k = u.k", False),
    ("SELECT s.v FROM s [ROWS 1000], t [RANGE 10], u [RANGE 10] WHERE s.k = t.k AND t.k = u.k", False),
    ("SELECT Istream(s.v) FROM s [ROWS 1000], t [ROWS 1000], u [ROWS 1000] WHERE s.k = t.k AND t.k = u.k", True),
    ("SELECT count(*) AS n FROM s [ROWS 1000], t [ROWS 1000], u [ROWS 1000] WHERE s.k = t.k AND t.k = u.k", True),
])
def test_whoever_reads_results_keeps_them_in_either_way(text: str, chosen: bool) -> None:
    stats = {f"{name}.rows_per_second": 100 for name in STREAMS} | {f"{name}.k": 100 for name in STREAMS}
    query = pw.open_query(text, stats=stats, **SCHEMAS)
    assert any("joined at once" in str(operator.get("runs")) for operator in query.status()["operators"]) == chosen
