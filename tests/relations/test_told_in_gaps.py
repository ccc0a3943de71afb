"""Snapshots leave before the bound passes them, also where windows are empty or let nothing go (docs/relations.md)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import panewise as pw
from oracle.questions import Oracle
from panewise.core.beginning import ALWAYS
from panewise.dataflow import open_plan
from panewise.plan.nodes import Node, RelationToStream
from panewise.plan.nodes import RelationToStreamKind as Kind
from panewise.planner.facts.result_forms import exposed_windows
from panewise.progress.timeline import Timeline
from panewise.progress.watermarks import NO_BOUND
from panewise.windows.base import Clock, WindowSpec
from panewise.windows.landmark import LandmarkWindow
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tumbling import NowWindow, TumblingWindow
from relations.plans import PLACES, columns, source, window
from relations.positive_plans import internal, with_windows
from relations.random_plans import Drawn, is_legal
from relations.running import bag
from relations.total_plans import ABOVE, cases, sparse, totals

ROWS = [{"ts": 3}, {"ts": 20}]
TEXTS = {
    "Rstream": ("SELECT Rstream(count(*) AS n) FROM s [RANGE 5 SLIDE 5]", [(1, 5), (0, 10)], [(1, 20), (0, 25)]),
    "INTERNAL": ("SELECT count(*) AS n FROM s [RANGE 5 SLIDE 5 INTERNAL]", [(1, 5), (0, 10)], [(1, 20), (0, 25)]),
    "restore": ("SELECT Rstream-restore(count(*) AS n) FROM s [RANGE 6 SLIDE 5]", [(1, 5), (0, 10)],
                [(1, 20), (1, 25), (0, 30)]),
    "landmark": ("SELECT Rstream(ts) FROM s [RANGE ALL, SLIDE 5, WA ts]", [(3, 4)], [(3, 24), (20, 24)]),
}
every_text = pytest.mark.parametrize("name", TEXTS)


def specs(steps: st.SearchStrategy[int]) -> st.SearchStrategy[WindowSpec]:
    """Windows that move in steps of these lengths, all at the same instants."""
    start = st.just(-1)  # as scopes have it
    return st.one_of(st.builds(LandmarkWindow, steps, start), st.builds(SlidingWindow.scoped, st.integers(1, 7), steps),
                     st.builds(TumblingWindow, steps, start), st.builds(NowWindow, steps, start))


def short(rows: Any) -> list[tuple[Any, ...]]:
    """The first column and the instant."""
    return [(*row.values(),)[:2] for row in rows]


@every_text
def test_a_snapshot_of_nothing_leaves_with_the_bound_and_what_follows_with_its_own(name: str) -> None:
    text, before, after = TEXTS[name]
    query = pw.open_query(text, s={"ts": "int64"})
    query.push("s", [ROWS[0]])
    assert short(query.push("s", pw.Punctuation.below("ts", 15)).to_pylist()) == before
    assert query.push("s", pw.Punctuation.below("ts", 19)).num_rows == 0
    query.push("s", [ROWS[1]])
    assert short(query.finish().to_pylist()) == after
    assert short(pw.sql(text, engine="oracle", s=ROWS)) == before + after


@every_text
def test_nothing_that_comes_later_says_whether_an_empty_window_was_refreshed(name: str) -> None:
    """A pause of thirty years is told no slower than one of a minute."""
    text, before, after = TEXTS[name]
    far = 10**15
    for last in ([], [{"ts": far + ROWS[1]["ts"]}]):
        found = short(pw.sql(text, s=[ROWS[0], *last]))
        assert found == before + [(n if n != 20 else n + far, at + far) for n, at in after if last]


@st.composite
def refreshed(draw: st.DrawFn) -> Drawn:
    """Windows that move in steps, of one or two inputs, mostly under an aggregate of all rows; told at refreshes."""
    restore = draw(st.booleans())  # which needs one SLIDE
    kinds = specs(st.just(draw(st.integers(2, 4))) if restore else st.integers(2, 4))
    plan: Node = columns(window(source("s"), draw(kinds)), "k", "v")
    if draw(st.booleans()):
        plan, timeline = draw(cases(draw(st.sampled_from(ABOVE))))
        plan = with_windows(plan, lambda w: replace(w, clause=replace(w.clause, spec=draw(kinds)))
                            if w.clause.spec.clock is Clock.TIME else w)
    else:
        timeline = draw(sparse(("s",)))
        plan = draw(totals(plan)) if draw(st.integers(0, 3)) else plan
    made = [RelationToStream(plan, Kind.RSTREAM, restore=restore), *([] if restore else [internal(plan)])]
    plan = draw(st.sampled_from(made))
    assume(not restore or any(w.clause.spec.clock is Clock.TIME for w in exposed_windows(plan.inputs[0])))
    assume(is_legal(plan))
    return Drawn(plan, timeline)


def assert_told_in_time(plan: Node, timeline: Timeline, saves: frozenset[int]) -> None:
    """After every item exactly that is told which happened below the bound."""
    expected = Oracle(plan, timeline).results()
    query, found = open_plan(plan), Counter[str]()
    for place, arrival in enumerate(timeline):
        if place in saves:
            saved, query = query.snapshot(), open_plan(plan)
            query.restore(saved)
        if arrival.stream not in query.streams:
            continue
        found += bag(query.push(arrival.stream, [arrival.item] if arrival.is_row else arrival.item).to_pylist())
        reached = query.watermark
        due = [row for row in expected if (ALWAYS if row["valid_from"] is None else row["valid_from"]) < reached]
        assert (place, found) == (place, bag(due) if reached != NO_BOUND else Counter())
    assert found + bag(query.finish().to_pylist()) == bag(expected)


@settings(max_examples=60, deadline=None)
@given(refreshed(), PLACES)
def test_refreshes_are_told_when_the_bound_passes_them(case: Drawn, saves: frozenset[int]) -> None:
    assert_told_in_time(*case, saves)
