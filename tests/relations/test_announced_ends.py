"""Negatives for every end of a strict operator, where nearly all of its rows leave early: the same answers."""

from __future__ import annotations

from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.api.query import plan_of
from panewise.plan.nodes import AntiJoin
from panewise.planner.labels import UpdatePattern, label
from panewise.planner.physical import Physical
from panewise.planner.structures import MAY_ANNOUNCE
from panewise.queries.relations import RelationQuery
from relations.plans import PLACES, source
from relations.random_plans import cases, every_operator
from relations.running import assert_like_the_oracle

TEXT = """SELECT k, count(*) AS n FROM (SELECT DISTINCT k, v FROM s [RANGE 5] WHERE NOT EXISTS (
            SELECT * FROM t [RANGE 5] WHERE t.k = s.k)) AS alone GROUP BY k"""


def everywhere(query: RelationQuery, *known: object) -> Physical:
    """As if all rows of every strict operator left early."""
    del known
    return Physical(frozenset(node for node in query.running.walk()
                              if isinstance(node, MAY_ANNOUNCE) and label(node).output.pattern is UpdatePattern.STR))


@every_operator
@settings(max_examples=7, deadline=None)
@given(st.data(), PLACES, PLACES)
def test_whoever_is_told_of_every_end_gives_the_oracles_answer(operator: str, data: st.DataObject,
                                                              cuts: frozenset[int], saves: frozenset[int]) -> None:
    plan, items = data.draw(cases(operator, times=12))
    with mock.patch.object(RelationQuery, "_physical", everywhere):
        assert_like_the_oracle(plan, items, cuts, saves)


def test_the_measured_share_decides_what_runs() -> None:
    plan = plan_of(TEXT, {name: source(name).schema for name in "st"})
    named = {"s": {"rows_per_second": 10}, "t": {"rows_per_second": 10}}
    strict = next(node for node in RelationQuery(plan).running.walk() if isinstance(node, AntiJoin))
    condition = str(strict.predicate)

    def stages(**stats: object) -> list[str]:
        query = RelationQuery(plan, stats={**named, **stats})
        return [counters["operator"] for counters in query.status()["operators"]]

    assert "announced ends" not in stages()
    assert "announced ends" not in stages(premature={condition: 0.4})
    assert "announced ends" in stages(premature={condition: 0.99})
