"""Random plans with explode anywhere in them: over windows, under joins, DISTINCT, aggregates and windows by rows."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.plan.nodes import Explode, Node, RelationToStream
from relations.instants import assert_like_the_oracle_at_every_instant
from relations.plans import PLACES
from relations.random_plans import OPERATORS, STREAM_KINDS, Drawn, cases
from relations.running import assert_like_the_oracle, run_relation
from relations.test_random_plans import _counts_will_do, net

TOPS = ("explode", "join", "distinct", "groups", "except", "exists", "stream")
tops = pytest.mark.parametrize("top", TOPS)


def explodes(plan: Node) -> bool:
    return any(isinstance(node, Explode) for node in plan.walk())


def drawn(top: str, depth: int = 4) -> st.SearchStrategy[Drawn]:
    """Plans in which something is exploded, at the top or below it."""
    return cases(top, depths=st.integers(1 if top == "explode" else 2, depth), again=True, only=explodes,
                 operators=(*OPERATORS, *["explode"] * len(OPERATORS)))


@tops
@settings(max_examples=8, deadline=None)
@given(st.data(), PLACES, PLACES)
def test_exploded_plans_equal_their_definition_at_every_instant(top: str, data: st.DataObject, cuts: frozenset[int],
                                                                saves: frozenset[int]) -> None:
    plan, timeline = data.draw(drawn(top))
    assert_like_the_oracle_at_every_instant(plan, timeline, cuts, saves)


@settings(max_examples=12, deadline=None)
@given(st.data(), STREAM_KINDS, PLACES, PLACES)
def test_exploded_plans_as_streams(data: st.DataObject, kind: object, cuts: frozenset[int],
                                   saves: frozenset[int]) -> None:
    plan, timeline = data.draw(drawn("explode", 3))
    assert_like_the_oracle(RelationToStream(plan, kind), timeline, cuts, saves)  # type: ignore[arg-type]


@tops
@settings(max_examples=5, deadline=None)
@given(st.data(), PLACES, PLACES)
def test_all_styles_agree_on_exploded_plans(top: str, data: st.DataObject, cuts: frozenset[int],
                                            saves: frozenset[int]) -> None:
    plan, timeline = data.draw(drawn(top, 3))
    expected = net(run_relation(plan, timeline)[0])
    for style in ("direct", "negative") if _counts_will_do(plan) else ("direct",):
        assert net(run_relation(plan, timeline, cuts, saves, style=style)[0]) == expected
