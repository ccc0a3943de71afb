"""The physical plan and the running operators are the same: kernels, structures, catalogues, how departures are told.

``held`` compares them object by object. Plans of every kind are drawn; written ones pin what is chosen where.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import panewise as pw
from panewise.core.errors import PlanError
from panewise.core.schema import Catalog, SourceSchema
from panewise.dataflow import open_plan
from panewise.engines.embedded.explaining import explain_streams
from panewise.kernels.relations.joins.join import WindowJoin
from panewise.kernels.relations.stores.alive import AliveRows
from panewise.plan.nodes import AntiJoin, Node, RelationToStream
from panewise.plan.physical import Departures, Layout, RelationPlan, State, Structure, Style
from panewise.planner.choose.physical import relation_plan
from panewise.planner.facts.ages_known import check_counted
from panewise.planner.options import RunOptions
from panewise.planner.statistics.relation_statistics import declared_relations
from panewise.sql import parse
from relations.held import Heard, assert_held, assert_runs
from relations.internal_plans import internals, mixtures
from relations.many_joins import MANNERS, STREAMS, any_input, joins, refreshed
from relations.pair_plans import pair_windows
from relations.plans import PLACES, timelines
from relations.random_plans import EVERYTHING, STREAM_KINDS, cases, is_legal
from relations.running import run_relation
from relations.test_announced_ends import everywhere

CATALOG = Catalog({name: SourceSchema({"ts": pa.int64(), "k": pa.string(), "v": pa.int64()}, time="ts")
                   for name in ("a", "b")})
EXECUTION = st.sampled_from([Style.UPA, Style.UPA, Style.NEGATIVE, Style.DIRECT])


def assert_runs_as_planned(plan: Node, items: Any, cuts: frozenset[int], saves: frozenset[int], **options: Any) -> None:
    """Before rows come, while they do, and after a restart."""
    heard = Heard()

    def opened(query: Any) -> None:
        assert_held(query)
        heard.listen(query)

    _, query = run_relation(plan, items, cuts, saves, opened=opened, late="drop", **options)
    assert_held(query)
    assert heard.steps
    assert not heard.found


def can_be_run(plan: Node, style: Style) -> bool:
    """Whether nobody asks how old a value of DISTINCT is, which negative tuples do not keep."""
    try:
        check_counted(plan)
    except PlanError:
        return style is not Style.NEGATIVE
    return True


@pytest.mark.parametrize("operator", EVERYTHING)
@settings(max_examples=12, deadline=None)
@given(st.data(), EXECUTION, PLACES, PLACES)
def test_relations_of_every_operator(operator: str, data: st.DataObject, style: Style, cuts: frozenset[int],
                                     saves: frozenset[int]) -> None:
    plan, items = data.draw(cases(operator, calendar=True, tables=True, again=True))
    if data.draw(st.integers(0, 3)) == 0:
        plan = RelationToStream(plan, data.draw(STREAM_KINDS))
    if can_be_run(plan, style):
        assert_runs_as_planned(plan, items, cuts, saves, style=style)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 3).flatmap(internals) | st.integers(1, 3).flatmap(mixtures), timelines(("s", "t"), rows=16),
       PLACES, PLACES)
def test_results_that_stay(plan: Node, items: Any, cuts: frozenset[int], saves: frozenset[int]) -> None:
    if is_legal(plan):
        assert_runs_as_planned(plan, items, cuts, saves)


@settings(max_examples=30, deadline=None)
@given(pair_windows(), timelines(("s", "t", "u"), rows=16), PLACES, PLACES)
def test_relations_over_joins_of_streams(plan: Node, items: Any, cuts: frozenset[int], saves: frozenset[int]) -> None:
    if is_legal(plan):
        assert_runs_as_planned(plan, items, cuts, saves)


@settings(max_examples=30, deadline=None)
@given(joins(any_input, 2) | refreshed(), timelines(STREAMS, rows=16), PLACES, PLACES,
       st.sampled_from(["auto", "at once", *MANNERS]))
def test_joins_of_many_windows(plan: Node, items: Any, cuts: frozenset[int], saves: frozenset[int], how: str) -> None:
    assert_runs_as_planned(plan, items, cuts, saves, joins=how)


@pytest.mark.parametrize("operator", ["exists", "not exists", "except", "join"])
@settings(max_examples=12, deadline=None)
@given(st.data(), PLACES, PLACES)
def test_operators_above_which_every_end_is_sent(operator: str, data: st.DataObject, cuts: frozenset[int],
                                                 saves: frozenset[int]) -> None:
    plan, items = data.draw(cases(operator, times=12))
    with mock.patch("panewise.planner.choose.node_maker.leaving_early", everywhere), \
            mock.patch("panewise.planner.choose.node_maker.prefers_calendar", return_value=False):
        assert_runs_as_planned(plan, items, cuts, saves)


COUNTED, JOINED = "SELECT DISTINCT k FROM a [ROWS 5]", "SELECT count(*) AS n FROM a [ROWS 5], b WHERE a.k = b.k"


@pytest.mark.parametrize(("text", "kernel", "wrong"), [
    (JOINED, "WindowJoin", {"departures": Departures.ALL}), (JOINED, "WindowJoin", {"departures": Departures.NAMED}),
    (JOINED, "GroupAggregate", {"keeps": (State(Layout.ROWS, Structure.CALENDAR),)}),
    (JOINED, "GroupAggregate", {"keeps": (State(Layout.BLOCKS, Structure.NUMBERS),)}),
    (JOINED, "GroupAggregate", {"keeps": (State(Layout.STATES),)}),
    (COUNTED, "DistinctByCount", {"kernel": "DistinctByEnd"}),
    (COUNTED, "DistinctByCount", {"keeps": (State(Layout.ROWS, Structure.FIFO),)})])
def test_a_plan_that_says_something_else_is_found_out(text: str, kernel: str, wrong: dict[str, Any]) -> None:
    query: Any = open_plan(parse(text, CATALOG))
    stage = next(stage for stage in query.relation.root.walk() if stage.plan.kernel == kernel)
    assert_runs(stage.operator, stage.plan)
    with pytest.raises(AssertionError):
        assert_runs(stage.operator, replace(stage.plan, **wrong))


def test_rows_that_leave_otherwise_than_they_were_told_are_found_out() -> None:
    query: Any = open_plan(parse("SELECT DISTINCT RECENT k FROM a [RANGE 5]", CATALOG))
    for stage in query.relation.root.walk():
        object.__setattr__(stage, "plan", replace(stage.plan, departures=Departures.IN_ORDER))
    heard = Heard()
    heard.listen(query)
    query.push("a", [{"ts": ts, "k": "x", "v": 1} for ts in (1, 3)])
    query.push("a", pw.Punctuation.below("ts", 4))
    query.finish()
    assert "DistinctByNewest IN_ORDER: ends were sent" in heard.found


def plan_of(text: str, **options: Any) -> tuple[RelationPlan, Any]:
    """How a query runs, and a query that does."""
    query: Any = open_plan(parse(text, CATALOG), **options)
    return assert_held(query), query


def state_of(plan: RelationPlan, kernel: str, side: int = 0) -> State:
    kept = next(node for node in plan.walk() if node.kernel == kernel).keeps[side]
    assert kept is not None
    return kept


@pytest.mark.parametrize("style", ["upa", "negative", "direct"])
@pytest.mark.parametrize("text", [
    "SELECT max(v) AS top FROM a", "SELECT k, count(*) AS n FROM a GROUP BY k",
    "SELECT k, median(v) AS m FROM a [UNBOUNDED START AT 3] GROUP BY k",
    "SELECT sum(v) AS s FROM (SELECT v FROM a UNION ALL SELECT v FROM b)",
])
def test_an_aggregate_over_rows_that_never_leave_keeps_no_row(text: str, style: str) -> None:
    assert state_of(plan_of(text, strategy=style)[0], "GroupAggregate") == State(Layout.STATES)


@pytest.mark.parametrize(("aggregate", "blocks"), [
    ("count(*)", False), ("sum(v)", False), ("avg(v)", False), ("sum(v / 2e0)", True), ("max(v)", True),
    ("last(v)", True), ("median(v)", True), ("stddev(v)", False),
    ("stddev(v / 2e0)", True)])
@pytest.mark.parametrize("below", ["a [RANGE 5]", "(SELECT a.v FROM a [RANGE 5], b [RANGE 9] WHERE a.k = b.k)"])
def test_blocks_are_kept_where_states_cannot_be_subtracted(aggregate: str, blocks: bool, below: str) -> None:
    plan, _ = plan_of(f"SELECT {aggregate} AS x FROM {below}")
    assert state_of(plan, "GroupAggregate").layout is (Layout.BLOCKS if blocks else Layout.ROWS)


@pytest.mark.parametrize(("text", "kernel", "held"), [
    ("SELECT DISTINCT k FROM a [RANGE 5]", "DistinctByEnd", "a row and a spare one per value, calendar queue"),
    ("SELECT DISTINCT RECENT k FROM a [RANGE 6 SLIDE 4]", "DistinctByNewest", "an end per value, calendar queue"),
    ("SELECT DISTINCT RECENT k FROM a [RANGE 6]", "DistinctByNewest", "an end per value, calendar queue"),
    ("SELECT DISTINCT RECENT k FROM a [RANGE TUMBLING 6]", "DistinctByEnd",
     "a row and a spare one per value, calendar queue"),
    ("SELECT DISTINCT RECENT k FROM a [ROWS 6]", "DistinctByCount", "rows by number"),
    ("SELECT k FROM a [RANGE 5] WHERE EXISTS (SELECT * FROM b [RANGE 5] WHERE b.k = a.k)", "Existence",
     "chains by key"),
    ("SELECT k FROM a [RANGE 5] WHERE EXISTS (SELECT * FROM b [RANGE 5] WHERE b.v < a.v)", "ExistenceOfPairs",
     "chains by key"),
], ids=["delta*", "last end", "law 4", "tumbling", "counters", "exists", "exists by pairs"])
def test_kernels_and_their_state_go_together(text: str, kernel: str, held: str) -> None:
    assert str(state_of(plan_of(text)[0], kernel)) == held


@pytest.mark.parametrize(("text", "held"), [
    ("SELECT * FROM a [RANGE 5]", "not kept"), ("SELECT DISTINCT k FROM a [RANGE 5]", "not kept"),
    ("SELECT DISTINCT RECENT k FROM a [RANGE 5]", "rows by number"),
    ("SELECT k FROM a [RANGE 5] EXCEPT ALL SELECT k FROM b [RANGE 5]", "calendar queue"),
    ("SELECT * FROM a [ROWS 5], b [RANGE 5] WHERE a.k = b.k AND a.v < b.v", "not kept"),
    ("SELECT a.v + b.v AS w FROM a [ROWS 5], b [ROWS 5] WHERE a.k = b.k", "not kept"),
    ("SELECT a.k, count(*) AS n FROM a [ROWS 5], b [ROWS 5] WHERE a.k = b.k GROUP BY a.k", "rows by number"),
    ("SELECT a.k FROM a [ROWS 5], b [ROWS 5] WHERE a.k = b.k LIFETIME 100", "rows by number"),
    ("SELECT k FROM a [RANGE 5] WHERE NOT EXISTS (SELECT * FROM b [RANGE 5] WHERE b.k = a.k)", "not kept"),
    ("SELECT k FROM a [ROWS 5] WHERE EXISTS (SELECT * FROM b [RANGE 5] WHERE b.k = a.k) AND v > 1", "not kept"),
    ("SELECT k FROM a [RANGE 5] WHERE NOT EXISTS (SELECT * FROM b [RANGE 5] WHERE b.v < a.v)", "calendar queue"),
    ("SELECT Wstream(*) [RANGE 9] FROM a [RANGE 5], b [RANGE 5] WHERE a.k = b.k", "not kept"),
    ("SELECT Wstream(*) [ROWS 9] FROM a [RANGE 5], b [RANGE 5] WHERE a.k = b.k", "rows by number"),
])
def test_results_that_say_when_they_leave_are_not_kept(text: str, held: str) -> None:
    assert str(plan_of(text)[0].result) == held


def test_pairs_above_announced_ends_are_named_all_the_same() -> None:
    plan = parse("SELECT n.k FROM (SELECT * FROM a [RANGE 5] WHERE NOT EXISTS (SELECT * FROM b [RANGE 5] "
                 "WHERE b.k = a.k)) AS n, b [RANGE 9] AS m WHERE n.k = m.k", CATALOG)
    negation = next(node for node in plan.walk() if isinstance(node, AntiJoin))
    known = declared_relations({"a": {"rows_per_second": 10}, "b": {"rows_per_second": 10},
                                "premature": {str(negation.predicate): 0.999}})
    chosen = relation_plan(plan, known=known, generous=True)
    assert "AnnouncedEnds" in {node.kernel for node in chosen.walk()}, "nearly all results of the negation leave early"
    assert assert_held(open_plan(plan, decided=chosen)).form == "NamedChangesForm"


@pytest.mark.parametrize(("windows", "held"), [
    ("a [ROWS 5], b [ROWS 5]", "catalogues of a, b"), ("a [RANGE 5], b [RANGE 5]", "not kept"),
    ("a [RANGE 5], b [PARTITION BY v ROWS 5]", "calendar queue by time, catalogue of b by v")])
def test_of_windows_joined_at_once_nobody_names_who_leaves(windows: str, held: str) -> None:
    text = f"SELECT a.k FROM {windows} WHERE a.k = b.k"
    assert str(plan_of(text, joins="at once")[0].result) == held
    _, _, shown = explain_streams(parse(text, CATALOG), options=RunOptions(joins="at once")).partition("as it runs")
    assert f"result    {held}" in shown


def catalogues(query: Any) -> Iterator[int]:
    """How many order components every store of a running query has catalogues for, where there are any."""
    for stage in query.relation.root.walk():
        operator = stage.operator
        inner = (getattr(operator, name, None) for name in ("contents", "_net", "_rows"))
        kept = [part for inside in (operator, *inner) for part in vars(inside or object).values()
                if isinstance(part, AliveRows)]
        if isinstance(operator, WindowJoin):
            kept += [operator._pairing.left, operator._pairing.right]
        yield from (len(part._catalogues) for part in kept if len(part._catalogues))


TIME, COUNT, PER_V = "[RANGE 5]", "[ROWS 5]", "[PARTITION BY v ROWS 5]"


@pytest.mark.parametrize(("one", "other", "held"), [
    (COUNT, COUNT, "catalogues of a, b"), (TIME, COUNT, "calendar queue by time, catalogue of b"),
    (PER_V, PER_V, "catalogues of a by v, b by v"), (PER_V, TIME, "calendar queue by time, catalogue of a by v"),
    ("[UNBOUNDED]", COUNT, "catalogue of b")])
@pytest.mark.parametrize(("consumer", "kernel"), [
    ("SELECT k, count(*) AS n FROM ({}) AS p GROUP BY k", "GroupAggregate"),
    ("SELECT DISTINCT k FROM ({})", "DistinctByCount"), ("SELECT Istream(k) FROM ({})", "ChangesAsStream")])
def test_every_component_of_an_expiry_vector_has_a_structure(one: str, other: str, held: str, consumer: str,
                                                             kernel: str) -> None:
    plan, query = plan_of(consumer.format(f"SELECT a.k FROM a {one}, b {other} WHERE a.k = b.k"))
    assert str(state_of(plan, kernel)) == held
    for name in "ab":
        query.push(name, pa.table({"ts": [1], "k": ["x"], "v": [1]}))
    query.push("a", pw.Punctuation.below("ts", 3))
    query.push("b", pw.Punctuation.below("ts", 3))
    assert list(catalogues(query)) == [2 - [one, other].count(TIME) - [one, other].count("[UNBOUNDED]")]


def test_a_join_above_a_mixed_join_has_a_catalogue_for_each_of_its_windows_by_rows() -> None:
    catalog = Catalog({**CATALOG.sources, "c": CATALOG.sources["a"]})
    plan = parse("SELECT a.k FROM a [ROWS 5], b [RANGE 5], c [ROWS 9] WHERE a.k = b.k AND b.v = c.v", catalog)
    held = {str(state) for node in relation_plan(plan).walk() for state in node.keeps if state is not None}
    assert held == {"chains by key", "chains by key, catalogue of a"}


@pytest.mark.parametrize("style", ["negative", "direct"])
def test_other_styles_send_ends(style: str) -> None:
    text = "SELECT a.k, count(*) AS n FROM a [RANGE 5], b [ROWS 5] WHERE a.k = b.k GROUP BY a.k"
    plan, _ = plan_of(text, strategy=style)
    told = next(node.departures for node in plan.walk() if node.kernel == "WindowJoin")
    assert (str(state_of(plan, "GroupAggregate")), told) == {
        "negative": ("rows by number", Departures.ALL),
        "direct": ("list in order of arrival", Departures.EARLY)}[style]


@pytest.mark.parametrize(("strategy", "runs"), [
    ("auto", "delta*"), ("negative", "counters"), ("direct", "search")])
def test_explain_speaks_of_the_style_that_was_asked_for(strategy: str, runs: str) -> None:
    assert f"runs      {runs}" in pw.explain("SELECT DISTINCT k FROM a [RANGE 5]", strategy=strategy)
