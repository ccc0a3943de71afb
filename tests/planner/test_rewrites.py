"""Every rewrite of a random plan gives the same relation at every instant (Golab, property 4)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from panewise.plan import nodes as n
from panewise.planner.legal.legality import problems
from panewise.planner.rewrites import RULES, Role
from panewise.planner.rewrites.closure import closure, simplified, steps
from panewise.planner.rewrites.never import moved_above
from panewise.progress.timeline import Timeline
from planner.laws import LAWS
from planner.random_plans import equal, plans, timelines
from planner.rule_shapes import SHAPES, shaped

ALL = (*RULES, *LAWS)
BY_NAME = {rule.name: rule for rule in ALL}
WITH_TABLES = {"selection below table join", "negation above table join"}  # in test_rewrites_with_tables


def test_every_rule_is_under_test_here():
    assert set(SHAPES) | WITH_TABLES == set(BY_NAME)


@pytest.mark.parametrize("name", SHAPES)
@settings(max_examples=12, deadline=None)
@given(data=st.data(), items=timelines)
def test_a_rule_gives_the_same_relation_at_every_instant(name: str, data: st.DataObject, items: Timeline):
    plan = data.draw(shaped(name))
    found = BY_NAME[name].apply(plan)
    assert found
    for rewritten in found:
        assert rewritten.columns == plan.columns
        assert rewritten != plan
        assert equal(plan, rewritten, items)


@settings(max_examples=20, deadline=None)
@given(plans(), timelines)
def test_every_step_from_a_random_plan_is_the_same_relation_at_every_instant(plan: n.Node, items: Timeline):
    for step in steps(plan, ALL):
        assert step.plan.columns == plan.columns, step.by
        assert equal(plan, step.plan, items), step.by


@settings(max_examples=12, deadline=None)
@given(plans(3), timelines, st.sets(st.sampled_from("abc"), min_size=1))
def test_so_is_every_step_where_windows_are_internal(plan: n.Node, items: Timeline, streams: set[str]):
    plan = with_internal_windows(plan, streams)
    assume(not list(problems(plan)))
    for step in steps(plan, ALL):
        assert equal(plan, step.plan, items), step.by


def with_internal_windows(plan: n.Node, streams: set[str]) -> n.Node:
    """The windows of these streams made internal."""
    if isinstance(plan, n.Window):
        internal = isinstance(plan.input, n.Source) and plan.input.name in streams
        return replace(plan, clause=replace(plan.clause, internal=internal))
    return plan.with_inputs(*(with_internal_windows(below, streams) for below in plan.inputs)) if plan.inputs else plan


@settings(max_examples=15, deadline=None)
@given(plans(3), timelines)
def test_so_is_every_plan_of_the_closure(plan: n.Node, items: Timeline):
    for found in closure(plan, limit=12):
        narrow = simplified(found.plan, Role.NARROW)
        assert narrow.plan.columns == plan.columns
        assert equal(plan, narrow.plan, items), (*found.by, *narrow.by)


@settings(max_examples=30, deadline=None)
@given(plans())
def test_rewrites_of_a_legal_plan_are_legal_and_move_no_window_up(plan: n.Node):
    for found in closure(plan, limit=30):
        assert not list(problems(found.plan))
        assert not moved_above(plan, found.plan)


@settings(max_examples=15, deadline=None)
@given(plans())
def test_simplifying_ends(plan: n.Node):
    once = simplified(plan).plan
    assert simplified(once).plan == once
