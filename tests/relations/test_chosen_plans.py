"""A relation runs as the optimizer leaves it: other plans, the same results."""

from __future__ import annotations

from hypothesis import given, settings

from panewise.core.schema import Catalog, SourceSchema
from panewise.dataflow import Query, open_plan
from panewise.plan.nodes import Filter, Join, Project, Source
from panewise.progress.timeline import Timeline
from panewise.sql import parse
from relations.plans import COLUMNS, PLACES, timelines
from relations.running import assert_like_the_oracle

CATALOG = Catalog({name: SourceSchema(dict(COLUMNS), time="ts") for name in ("a", "b", "c")})
THREE = "SELECT a.v, c.ts FROM a [RANGE 9], b [RANGE 7], c [RANGE 5] WHERE a.k = b.k AND b.k = c.k AND a.v > 0"
STATS = {"a.rows_per_second": 1000, "b.rows_per_second": 1000, "c.rows_per_second": 1,
         "a.k": 10, "b.k": 10, "c.k": 1000}


def joins(query: Query) -> list[set[str]]:
    """The streams below every join, from the top."""
    return [{below.name for below in node.walk() if isinstance(below, Source)}
            for node in query.relation.physical.running.walk() if isinstance(node, Join)]


def test_without_statistics_only_what_is_always_better_is_done() -> None:
    query = open_plan(parse(THREE, CATALOG))
    assert joins(query) == [{"a", "b", "c"}, {"a", "b"}]
    below = [node for node in query.relation.physical.running.walk() if isinstance(node, Join)][-1].left
    assert any(isinstance(node, Filter) for node in below.walk())  # the selection has moved under the join
    assert any(isinstance(node, Project) and "a.ts" not in node.columns for node in below.walk())


def test_statistics_choose_another_order_which_a_checkpoint_remembers() -> None:
    plan = parse(THREE, CATALOG)
    known = open_plan(plan, stats=STATS)
    assert joins(known)[-1] != {"a", "b"}
    assert known.fingerprint != open_plan(plan).fingerprint


@settings(max_examples=30, deadline=None)
@given(items=timelines(("a", "b", "c"), rows=24), cuts=PLACES, saves=PLACES)
def test_the_chosen_plan_gives_the_oracles_answer(items: Timeline, cuts: frozenset[int],
                                                  saves: frozenset[int]) -> None:
    assert_like_the_oracle(parse(THREE, CATALOG), items, cuts, saves)


@settings(max_examples=30, deadline=None)
@given(items=timelines(("a", "b", "c"), rows=24), cuts=PLACES)
def test_and_so_does_the_one_by_statistics(items: Timeline, cuts: frozenset[int]) -> None:
    assert_like_the_oracle(parse(THREE, CATALOG), items, cuts, stats=STATS)
