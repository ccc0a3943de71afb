"""Plans that are cut where their key changes give the oracle's answer, whatever the shards of either part."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle.questions import Oracle
from panewise.core.schema import Catalog, SourceSchema
from panewise.dataflow import open_plan
from panewise.plan.nodes import Node
from panewise.planner.choose.exchange import exchanged, relayed
from panewise.planner.choose.partitioning import placement
from panewise.progress.timeline import Timeline
from panewise.sql import parse
from relations.plans import COLUMNS, PLACES, timelines
from relations.running import bag
from spark.in_process_queries import Hosted

STREAMS = ("a", "b", "c")
CATALOG = Catalog({name: SourceSchema(dict(COLUMNS), time="ts") for name in STREAMS})

SPLIT_TWICE = {
    "groups of a join": "SELECT b.v, count(*) AS n, sum(a.v) AS total FROM a [RANGE 6], b [RANGE 9 SLIDE 3] "
                        "WHERE a.k = b.k GROUP BY b.v",
    "values of a join by rows": "SELECT DISTINCT a.v FROM a [RANGE 6], b [ROWS 4 PARTITION BY k] WHERE a.k = b.k",
    "a join of a join": "SELECT a.k, c.ts FROM a [RANGE 6], b [RANGE 4], c [RANGE 5] WHERE a.k = b.k AND b.v = c.v",
    "groups of groups": "SELECT most, count(*) AS n FROM (SELECT k, max(v) AS most FROM a [RANGE 5] GROUP BY k) AS g "
                        "GROUP BY most",
    "groups beside a window": "SELECT g.k, c.k, c.v FROM (SELECT k, count(*) AS n FROM a [RANGE 7] GROUP BY k) AS g, "
                              "c [RANGE 5] WHERE g.n = c.v",
    "values without partners": "SELECT DISTINCT v FROM a [RANGE 8] WHERE NOT EXISTS "
                               "(SELECT * FROM b [RANGE 5] WHERE b.k = a.k)",
}
AS_STREAMS = {
    "what came of a join": "SELECT Istream(b.v) FROM a [RANGE 5], b [RANGE 7] WHERE a.k = b.k",
    "what went of a join": "SELECT Dstream(a.v + b.v AS w, b.v) FROM a [RANGE 6 SLIDE 2], b [RANGE 5] WHERE a.k = b.k",
    "what came of a join by rows": "SELECT Istream(b.v) FROM a [RANGE 5], b [ROWS 3 PARTITION BY k] WHERE a.k = b.k",
    "what went of a join by rows": "SELECT Dstream(b.v) FROM a [ROWS 2 PARTITION BY k], b [RANGE 6] WHERE a.k = b.k",
    "values that came": "SELECT Istream(DISTINCT v) FROM a [RANGE 8] WHERE NOT EXISTS "
                        "(SELECT * FROM b [RANGE 5] WHERE b.k = a.k)",
    "groups that came": "SELECT Istream(b.v, count(*) AS n) FROM a [RANGE 6], b [RANGE 4] WHERE a.k = b.k GROUP BY b.v",
}
SPLIT_TWICE |= AS_STREAMS
ONE_ABOVE = {
    "count of a join": "SELECT count(*) AS n FROM a [RANGE 6], b [ROWS 3 PARTITION BY k] WHERE a.k = b.k",
    "counts that came": "SELECT Istream(count(*) AS n) FROM a [RANGE 6], b [RANGE 4] WHERE a.k = b.k",
    "most of values": "SELECT max(v) AS most FROM (SELECT DISTINCT v FROM a [RANGE 6]) AS d",
}
WHOLE = ("SELECT DISTINCT a.v FROM a [RANGE 6], b [RANGE 4] WHERE a.k = b.k",  # shows the first of pairs made at once
         "SELECT * FROM a [RANGE 5], b [RANGE 5] WHERE a.k = b.k", "SELECT max(v) AS m FROM a [RANGE 5]",
         "SELECT first(b.v) AS f FROM a [RANGE 5], b [RANGE 5] WHERE a.k = b.k",
         "SELECT x.v FROM a [RANGE 5] AS x, a [RANGE 5] AS y WHERE x.k = y.v",
         "SELECT Istream(a.k, b.v) FROM a [RANGE 5], b [RANGE 5] WHERE a.k = b.k",
         "SELECT Istream-restore(b.v) FROM a [RANGE 6 SLIDE 2], b [RANGE 6 SLIDE 2] WHERE a.k = b.k",
         "SELECT Rstream(b.v) FROM a [RANGE 5], b [RANGE 5] WHERE a.k = b.k",
         "SELECT Rstream(count(*)) FROM a [RANGE 5], b [RANGE 5] WHERE a.k = b.k",
         "SELECT count(*) AS n FROM a [RANGE 5 INTERNAL], b [RANGE 5 INTERNAL] WHERE a.k = b.k")


def cut(text: str) -> Node:
    plan = parse(text, CATALOG)
    return exchanged(plan, lambda part: {f.name: f.type for f in open_plan(part).nothing().schema})


@pytest.mark.parametrize("text", SPLIT_TWICE.values(), ids=SPLIT_TWICE)
def test_where_the_key_changes_a_plan_is_cut_and_both_parts_are_split(text: str) -> None:
    plan = cut(text)
    assert len(relayed(plan)) == 1
    assert placement(plan) is not None


@pytest.mark.parametrize("text", ONE_ABOVE.values(), ids=ONE_ABOVE)
def test_what_has_no_key_above_is_split_below(text: str) -> None:
    plan = cut(text)
    assert len(relayed(plan)) == 1
    assert placement(plan) is None


@pytest.mark.parametrize("text", WHOLE)
def test_other_plans_stay_whole(text: str) -> None:
    assert cut(text) == parse(text, CATALOG)


@pytest.mark.parametrize("text", [*SPLIT_TWICE.values(), *ONE_ABOVE.values()], ids=[*SPLIT_TWICE, *ONE_ABOVE])
@settings(max_examples=25, deadline=None)
@given(timeline=timelines(STREAMS, rows=20, times=12), cuts=PLACES, shards=st.integers(1, 3), seed=st.integers(0, 9))
def test_a_plan_in_two_parts_gives_the_oracles_answer(text: str, timeline: Timeline, cuts: frozenset[int],
                                                      shards: int, seed: int) -> None:
    plan = parse(text, CATALOG)
    hosted = Hosted(plan, shards, seed=seed)
    assert hosted.below
    oracle = Oracle(plan, timeline)
    assert bag(hosted.run(timeline, cuts)) == bag(oracle.results())
    assert hosted.late == len(oracle.late_rows())
