"""Random plans up to four operators deep over windows of any kind, however rows come, in every style.

How many of them have results, and with which operators, is counted in ``test_what_is_drawn``.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice, pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.core.errors import PlanError
from panewise.plan.nodes import Node, RelationToStream
from panewise.planner.facts.ages_known import check_counted
from panewise.planner.facts.labels import UpdatePattern, label
from panewise.planner.facts.result_forms import CHANGE, EXPIRES_AT, VALID_FROM
from panewise.planner.rewrites.closure import steps
from relations.instants import assert_like_the_oracle_at_every_instant
from relations.plans import PLACES
from relations.random_plans import EVERYTHING, STREAM_KINDS, cases, every_operator
from relations.running import assert_like_the_oracle, run_relation

everything = pytest.mark.parametrize("operator", EVERYTHING)


@everything
@settings(max_examples=7, deadline=None)
@given(st.data(), PLACES, PLACES)
def test_every_plan_equals_its_definition_at_every_instant(operator: str, data: st.DataObject, cuts: frozenset[int],
                                                           saves: frozenset[int]) -> None:
    plan, timeline = data.draw(cases(operator, calendar=True, tables=True, again=True))
    assert_like_the_oracle_at_every_instant(plan, timeline, cuts, saves)


@every_operator
@settings(max_examples=5, deadline=None)
@given(st.data(), STREAM_KINDS, PLACES, PLACES)
def test_every_plan_as_a_stream(operator: str, data: st.DataObject, kind: Any, cuts: frozenset[int],
                                saves: frozenset[int]) -> None:
    plan, timeline = data.draw(cases(operator, depths=st.integers(1, 3), calendar=True, tables=True, again=True))
    assert_like_the_oracle(RelationToStream(plan, kind), timeline, cuts, saves)


def value_of(row: dict[str, Any]) -> str:
    """The columns of the plan, without what says when they hold."""
    return repr([value for name, value in row.items() if name not in {VALID_FROM, EXPIRES_AT, CHANGE}])


def net(rows: list[dict[str, Any]]) -> dict[tuple[str, Any], int]:
    """Copies that came and went by value and instant: which row represents a value may differ between styles."""
    found: Counter[tuple[str, Any]] = Counter()
    for row in rows:
        value = value_of(row)
        found[value, row.get("valid_from", 0)] += row.get("change", 1)
        if row.get("expires_at") is not None:
            found[value, row["expires_at"]] -= 1
    return {key: count for key, count in found.items() if count}


@everything
@settings(max_examples=6, deadline=None)
@given(st.data(), PLACES, PLACES)
def test_all_styles_agree(operator: str, data: st.DataObject, cuts: frozenset[int], saves: frozenset[int]) -> None:
    """Property 2 of Golab's list: negative tuples, direct and by update pattern put out the same."""
    plan, timeline = data.draw(cases(operator, calendar=True, tables=True, again=True))
    expected = net(run_relation(plan, timeline)[0])
    for style in ("direct", "negative") if _counts_will_do(plan) else ("direct",):
        assert net(run_relation(plan, timeline, cuts, saves, style=style)[0]) == expected


def _counts_will_do(plan: Node) -> bool:
    """Whether nobody asks how old a value of DISTINCT is, which negative tuples do not keep."""
    try:
        check_counted(plan)
    except PlanError:
        return False
    return True


@everything
@settings(max_examples=4, deadline=None)
@given(st.data(), PLACES)
def test_equivalent_plans_put_out_the_same(operator: str, data: st.DataObject, cuts: frozenset[int]) -> None:
    """Property 4, however rows come: one step of every rule that applies."""
    plan, timeline = data.draw(cases(operator, depths=st.integers(2, 4), calendar=True, tables=True, again=True))
    expected = net(run_relation(plan, timeline)[0])
    for step in islice(steps(plan), 4):
        assert net(run_relation(step.plan, timeline, cuts)[0]) == expected, step.by


@everything
@settings(max_examples=6, deadline=None)
@given(st.data())
def test_results_leave_as_their_label_says_and_only_strict_edges_send_ends(operator: str,
                                                                           data: st.DataObject) -> None:
    """Property 3: equal lives and first in, first out where promised; where ends are known, none is sent."""
    plan, timeline = data.draw(cases(operator, tables=True, again=True))
    found, query = run_relation(plan, timeline)
    for stage in query.relation.root.walk():
        assert stage.told.ends == 0 or stage.plan.departures.strict
    assert_as_promised(plan, found)


def assert_as_promised(plan: Node, found: list[dict[str, Any]]) -> None:
    promised = label(plan).output.downgrade()
    lives = sorted((row["valid_from"], row["expires_at"]) for row in found if "expires_at" in row
                   and row["expires_at"] is not None)
    if promised.pattern is UpdatePattern.MON:
        assert not lives
    if promised.pattern is UpdatePattern.WKS:
        assert all(one[1] <= other[1] for one, other in pairwise(lives))
        if promised.lifetime is not None:
            assert {end - since for since, end in lives} <= {promised.lifetime}
    assert promised.pattern is UpdatePattern.STR or not any("change" in row for row in found)

