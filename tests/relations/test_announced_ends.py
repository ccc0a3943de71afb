"""Negatives for every end of a strict operator, where nearly all of its rows leave early: the same answers."""

from __future__ import annotations

from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.api.query import plan_of
from panewise.dataflow import open_plan
from panewise.plan.nodes import AntiJoin
from panewise.plan.physical import PhysicalNode
from panewise.planner.choose.departures import MAY_ANNOUNCE
from panewise.planner.facts.labels import Edge, UpdatePattern
from relations.plans import PLACES, source
from relations.random_plans import cases, every_operator
from relations.running import assert_like_the_oracle

TEXT = """SELECT k, count(*) AS n FROM (SELECT DISTINCT k, v FROM s [RANGE 5] WHERE NOT EXISTS (
            SELECT * FROM t [RANGE 5] WHERE t.k = s.k)) AS alone GROUP BY k"""


def everywhere(found: PhysicalNode, edge: Edge, flow: object) -> float | None:
    """As if all rows of every strict operator left early."""
    del flow
    return 1.0 if isinstance(found.node, MAY_ANNOUNCE) and edge.label.pattern is UpdatePattern.STR else None


@every_operator
@settings(max_examples=7, deadline=None)
@given(st.data(), PLACES, PLACES)
def test_whoever_is_told_of_every_end_gives_the_oracles_answer(operator: str, data: st.DataObject,
                                                              cuts: frozenset[int], saves: frozenset[int]) -> None:
    plan, items = data.draw(cases(operator, times=12))
    with mock.patch("panewise.planner.choose.node_maker.leaving_early", everywhere), \
            mock.patch("panewise.planner.choose.node_maker.prefers_calendar", return_value=False):
        assert_like_the_oracle(plan, items, cuts, saves)


def test_the_measured_share_decides_what_runs() -> None:
    plan = plan_of(TEXT, {name: source(name).schema for name in "st"})
    named = {"s": {"rows_per_second": 10}, "t": {"rows_per_second": 10}}
    strict = next(node for node in open_plan(plan).relation.physical.running.walk() if isinstance(node, AntiJoin))
    condition = str(strict.predicate)

    def stages(**stats: object) -> list[str]:
        query = open_plan(plan, stats={**named, **stats})
        return [counters["operator"] for counters in query.status()["operators"]]

    assert "announced ends" not in stages()
    assert "announced ends" not in stages(premature={condition: 0.4})
    assert "announced ends" in stages(premature={condition: 0.99})
