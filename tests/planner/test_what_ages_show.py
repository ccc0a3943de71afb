"""Where the time of a row is seen, no rule chooses another of several equal rows."""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

import panewise as pw
from oracle.building import call, last
from panewise.core.scalar import Scalar
from panewise.plan import nodes as n
from panewise.planner.legality import problems
from panewise.planner.rewrites import RULES
from panewise.planner.rewrites.closure import simplified, steps
from panewise.progress.timeline import Timeline
from planner.random_plans import STREAMS, equal, plans, timeline_of, timelines

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


@settings(max_examples=25, deadline=None)
@given(plans(3), timelines, st.sampled_from(["first", "last"]), st.data())
def test_first_and_last_over_a_random_plan_are_the_same_after_every_step(
        below: n.Node, items: Timeline, function: str, data: st.DataObject) -> None:
    column = data.draw(st.sampled_from(below.columns))
    plan = n.GroupAggregate(below, (), (call("f", function, f"`{column}`"),))
    assume(not list(problems(plan)))
    for step in (*steps(plan), simplified(plan)):
        assert equal(plan, step.plan, items), step.by
