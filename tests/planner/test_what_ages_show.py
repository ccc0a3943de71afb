"""Where the time of a row is seen, no rule chooses another of several equal rows."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import panewise as pw
from oracle.building import call, last, table
from oracle.questions import Oracle
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceKind
from panewise.plan import nodes as n
from panewise.planner.choose.optimizer import optimize
from panewise.planner.facts.result_forms import Form, form_of
from panewise.planner.legal.legality import problems
from panewise.planner.rewrites import RULES
from panewise.planner.rewrites.closure import simplified, steps
from panewise.planner.rewrites.distinct import distinct_below_existence, distinct_below_union, distinct_twice
from panewise.progress.timeline import Timeline
from planner.random_plans import STREAMS, WINDOWS, equal, plans, timeline_of, timelines

A, B, C = (STREAMS[name] for name in "abc")
UNITED = "SELECT v FROM a [RANGE 5] UNION ALL SELECT v FROM b [RANGE 5 SLIDE 3]"
STATS = {"a.rows_per_second": 1000, "b.rows_per_second": 1000, "a.v": 2, "b.v": 2}


def values(window: n.WindowClause, stream: n.Source, alias: str = "") -> n.Node:
    shown = n.Project(n.Window(stream, window), (n.NamedScalar.column("v"), n.NamedScalar.column("x")))
    return n.Qualify(shown, alias) if alias else shown


def newest(node: n.Node, column: str) -> n.GroupAggregate:
    return n.GroupAggregate(node, (), (call("f", "last", column),))


def test_last_over_distinct_of_a_union_is_the_newest_that_the_query_shows() -> None:
    a = [{"ts": ts, "v": v} for ts, v in ((2, "q"), (4, "q"), (4, "p"), (5, "q"), (6, "q"))]
    b = [{"ts": ts, "v": v} for ts, v in ((0, "q"), (0, "p"), (7, "p"))]
    text = f"SELECT last(v) AS f FROM (SELECT DISTINCT v FROM ({UNITED}) AS u) AS d"
    found, expected = (sorted(map(str, pw.sql(text, a=a, b=b, **options)))
                       for options in ({"stats": STATS}, {"engine": "oracle"}))
    assert found == expected
    assert "{'f': 'q', 'valid_from': 6, 'change': 1}" in found


def test_last_over_distinct_of_pairs_is_the_newest_that_the_query_shows() -> None:
    pairs = n.Join(values(last(5), A, "a"), values(last(5, 3), B, "b"), Scalar.parse("`a.x` = `b.x`"))
    plan = newest(n.Distinct(pairs), "`a.v`")
    (rule,) = (rule for rule in RULES if rule.name == "distinct below join")
    (moved,) = rule.apply(plan.input)
    items = timeline_of([(1, "q", 0), (2, "q", 0), (3, "p", 0), (5, "q", 0)], [(5, "p", 0), (6, "q", 1), (8, "p", 1)])
    assert not equal(plan, newest(moved, "`a.v`"), items)
    assert not list(steps(plan, [rule]))


def test_last_over_distinct_of_distinct_is_the_newest_that_the_query_shows() -> None:
    """Of the rows of a value the inner one shows the newest, the outer one by itself the oldest."""
    shown = n.Project(n.Window(A, WINDOWS["disclosed"]), (n.NamedScalar.column("v"),))
    plan = newest(n.Distinct(n.Distinct(shown, "recent")), "v")
    assert not list(problems(plan))
    (once,) = distinct_twice.apply(plan.input)
    assert not equal(plan, newest(once, "v"), timeline_of([(0, "p", 1), (0, "q", 1), (2, "p", 1)]))
    assert not list(steps(plan, [distinct_twice]))
    assert simplified(plan).plan == plan


def test_lives_of_distinct_below_exists_are_those_the_query_shows() -> None:
    """Of two rows of a value the one that stays longer is shown, which need not be the first that has a match."""
    left = n.Qualify(n.Project(n.Window(A, WINDOWS["last 5"]), (n.NamedScalar.column("v"),)), "a")
    right = n.Qualify(n.Window(C, WINDOWS["since 3"]), "c")
    plan = n.Distinct(n.SemiJoin(left, right, Scalar.parse("`a.v` = `c.v`")))
    (moved,) = distinct_below_existence.apply(plan)
    items = timeline_of([(2, "q", 0), (4, "q", 1), (6, "q", 1)], [], [(7, "q", 0)])
    assert form_of(plan) is Form.LIVES
    assert Oracle(plan, items).results() != Oracle(moved, items).results()
    assert not list(steps(plan, [distinct_below_existence]))


def test_a_table_met_at_birth_below_a_negation_meets_the_row_that_the_query_shows() -> None:
    """The result is told as changes, so nothing but the table sees when a row was born."""
    one, other = (n.Project(n.Window(stream, window), (n.NamedScalar("a.v", Scalar.column("v")),))
                  for stream, window in ((A, last(5)), (B, last(5, 3))))
    names = n.Qualify(table("t", SourceKind.NRR, v=pa.string(), w=pa.int64()), "t")
    joined = n.TableJoin(n.Distinct(n.Union((one, other))), names, Scalar.parse("`a.v` = `t.v`"))
    plan = n.AntiJoin(joined, n.Qualify(n.Window(C, last(5)), "c"), Scalar.parse("`a.v` = `c.v`"))
    assert form_of(plan) is Form.CHANGES
    assert not list(steps(plan, [distinct_below_union]))
    anytime = n.AntiJoin(joined.input, plan.right, plan.predicate)
    assert list(steps(anytime, [distinct_below_union]))


def test_a_rewriting_that_would_show_results_in_another_form_is_refused() -> None:
    """DISTINCT by the newest row tells changes, by the oldest rows with their lives; the values are the same."""
    shown = n.Project(n.Window(A, last(5)), (n.NamedScalar.column("v"),))
    plan = n.Distinct(n.Distinct(shown, "recent"))
    assert (form_of(plan), form_of(simplified(plan).plan)) == (Form.CHANGES, Form.LIVES)
    found = optimize(plan)
    assert form_of(found.plan) is Form.CHANGES
    assert "would be shown as rows with valid_from, expires_at" in found.refused[0].message


@settings(max_examples=25, deadline=None)
@given(plans(3), timelines, st.sampled_from(["first", "last"]), st.data())
def test_first_and_last_over_a_random_plan_are_the_same_after_every_step(
        below: n.Node, items: Timeline, function: str, data: st.DataObject) -> None:
    column = data.draw(st.sampled_from(below.columns))
    plan = n.GroupAggregate(below, (), (call("f", function, f"`{column}`"),))
    assume(not list(problems(plan)))
    for step in (*steps(plan), simplified(plan)):
        assert equal(plan, step.plan, items), step.by
