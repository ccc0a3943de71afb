"""Errata of Golab's thesis about update patterns: results of the printed class do what it forbids (G-E2, G-E24)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle.building import by_time, source
from oracle.questions import Oracle
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.plan.nodes import (
    Join,
    Node,
    Qualify,
    RelationToStream,
    RelationToStreamKind,
    Union,
    Window,
    WindowClause,
)
from panewise.planner.facts.labels import UpdatePattern, label
from panewise.progress.timeline import Timeline
from panewise.windows.sliding import SlidingWindow

STREAMS = tuple(source(name, v=pa.string()) for name in "ab")
few = settings(max_examples=25)
times = st.lists(st.integers(0, 15), max_size=5)
lengths = st.integers(1, 8)


def clause(length: int) -> WindowClause:
    return WindowClause(SlidingWindow.scoped(length), "ts", OrdinalKind.INTEGER)


def arriving(*streams: list[int]) -> Timeline:
    rows = [[{"ts": ts, "v": "x"} for ts in sorted(stream)] for stream in streams]
    return by_time(**dict(zip("ab", rows, strict=False)))


def lives(plan: Node, timeline: Timeline) -> list[tuple[int, int]]:
    """Births and ends of all results, by birth."""
    return sorted((row["valid_from"], row["expires_at"]) for row in Oracle(plan, timeline).results())


def is_weakest(found: list[tuple[int, int]]) -> bool:
    """The definition (3.2.1): one constant life for all results, so that they leave in the order they came."""
    return len({end - born for born, end in found}) <= 1 and all(one[1] <= two[1] for one, two in pairwise(found))


# -- G-E2: a union of weakest inputs -----------------------------------------------------------------------------------


def united(one: int, two: int) -> Union:
    return Union(tuple(Window(stream, clause(length)) for stream, length in zip(STREAMS, (one, two), strict=True)))


def test_g_e2_a_union_of_two_weakest_inputs_has_two_lifetimes_and_its_rows_overtake_each_other() -> None:
    """Rule 2 as printed: the output of an operator with two weakest inputs is weakest."""
    plan, timeline = united(4, 9), arriving([3], [1])
    assert all(is_weakest(lives(part, timeline)) for part in plan.parts)
    assert {label(part).output.pattern for part in plan.parts} == {UpdatePattern.WKS}
    assert lives(plan, timeline) == [(1, 10), (3, 7)]
    assert not is_weakest(lives(plan, timeline))


@few
@given(times, times, lengths, lengths)
def test_g_e2_only_windows_of_one_length_make_a_weakest_union(one: list[int], two: list[int], first: int,
                                                              second: int) -> None:
    plan = united(first, second)
    promised = label(plan).output.pattern
    assert promised is (UpdatePattern.WKS if first == second else UpdatePattern.WK)
    assert promised is UpdatePattern.WK or is_weakest(lives(plan, arriving(one, two)))


# -- G-E24: an output window and the results it stands for -------------------------------------------------------------


def shown_for(relation: Node, length: int) -> RelationToStream:
    """The results that were produced in the last so many instants."""
    return RelationToStream(relation, RelationToStreamKind.WSTREAM, output_window=clause(length))


def relation(length: int, *, both: bool, internal: bool = False) -> Node:
    """A window, or a join of two; over results that stay (``internal``) an output window can be put."""
    windows = [Window(stream, replace(clause(length), internal=internal)) for stream in STREAMS]
    if not both:
        return windows[0]
    return Join(Qualify(windows[0], "l"), Qualify(windows[1], "r"), Scalar.parse("`l.v` = `r.v`"))


def test_g_e24_over_a_weak_plan_an_output_window_shows_results_that_are_gone() -> None:
    """As printed, weak results have equal lifetimes, and so an output window of that length would change nothing."""
    timeline, length = arriving([1], [4]), 5
    weak = relation(length, both=True)
    assert label(weak).output.pattern is UpdatePattern.WK
    assert lives(weak, timeline) == [(4, 6)]
    assert lives(shown_for(relation(length, both=True, internal=True), length), timeline) == [(4, 9)]


@few
@given(times, times, lengths, st.booleans())
def test_g_e24_over_a_weakest_plan_it_shows_the_plan_itself_and_over_a_weak_one_never_less(
        one: list[int], two: list[int], length: int, both: bool) -> None:
    timeline, plan = arriving(one, two), relation(length, both=both)
    windowed = shown_for(relation(length, both=both, internal=True), length)
    for instant in range(25):
        there, shown = (Oracle(p, timeline).relation_at(instant) for p in (plan, windowed))
        assert len(there) <= len(shown)
        assert both or there == shown


@pytest.mark.parametrize("both", [False, True])
def test_g_e24_an_output_window_is_itself_weakest(both: bool) -> None:
    windowed = shown_for(relation(5, both=both, internal=True), 5)
    assert label(windowed).output.pattern is UpdatePattern.WKS
    assert is_weakest(lives(windowed, arriving([1, 2, 6], [1, 4])))
