"""Properties 7 and 8 of Golab's list: what a periodic query reports of results that live between two refreshes.

They speak of rows that come on time, so late ones are dropped.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from panewise.core.scalar import Scalar
from panewise.plan.nodes import Join, Node, Qualify, RelationToStream, Window
from panewise.plan.nodes import RelationToStreamKind as Kind
from panewise.planner.facts.labels import UpdatePattern, label
from panewise.progress.timeline import Arrival, Timeline
from panewise.windows.sliding import SlidingWindow
from relations.plans import columns, source, window
from relations.positive_plans import KINDS, every_kind, positive_cases, with_windows
from relations.random_plans import cases, every_operator
from relations.running import run_relation
from relations.test_random_plans import net, value_of

LATEST = 32
LEAST = 5
SLIDES, LENGTHS = st.integers(2, LEAST - 1), st.integers(LEAST, 9)
"""Refreshes come more often than any window is long (3.3.4)."""
Bag = Counter[tuple[str, int]]


def with_slide(plan: Node, slide: int) -> Node:
    """All windows refreshed together."""
    return with_windows(plan, lambda w: replace(w, clause=replace(w.clause, spec=SlidingWindow.scoped(
        w.clause.spec.range, slide))))  # type: ignore[attr-defined]


def scoped(stream: str, least: int = LEAST) -> st.SearchStrategy[Window]:
    return st.integers(least, 9).map(lambda length: window(source(stream), SlidingWindow.scoped(length)))


def came(plan: Node, timeline: Timeline, *, restore: bool) -> Bag:
    """What Istream puts out, by value and instant."""
    rows, _ = run_relation(RelationToStream(plan, Kind.ISTREAM, restore=restore), timeline, late="drop")
    return Counter((value_of(row), row["valid_from"]) for row in rows)


def refresh(at: int, slide: int) -> int:
    """The first at or after an instant."""
    return -(-at // slide) * slide


def states(plan: Node, timeline: Timeline, slide: int) -> dict[int, Counter[str]]:
    """What continuous evaluation shows at every refresh, from the one before all rows on.

    What has no instant was always there.
    """
    changes = net(run_relation(plan, timeline, late="drop")[0])
    return {at: Counter({value: copies for value in {v for v, _ in changes}
                         if (copies := sum(n for (v, since), n in changes.items()
                                           if v == value and (since is None or since <= at)))})
            for at in range(-slide, LATEST, slide)}


REFRESHED = st.builds(SlidingWindow.scoped, LENGTHS)


@every_operator
@settings(max_examples=5, deadline=None)
@given(st.data(), SLIDES)
def test_property_7_restore_puts_out_what_continuous_evaluation_does_and_no_restore_what_a_refresh_sees(
        operator: str, data: st.DataObject, slide: int) -> None:
    plan, timeline = data.draw(cases(operator, kinds=REFRESHED, bare=False, times=14))
    eager = came(plan, timeline, restore=False)
    at_refreshes: Bag = Counter()
    for (value, at), copies in eager.items():
        at_refreshes[value, refresh(at, slide)] += copies
    periodic = with_slide(plan, slide)
    restored, plain = came(periodic, timeline, restore=True), came(periodic, timeline, restore=False)
    assert restored == at_refreshes
    seen = states(plan, timeline, slide)
    new = {at: state - seen[at - slide] for at, state in seen.items() if at >= 0}
    assert plain == Counter({(value, at): copies for at, bag in new.items() for value, copies in bag.items()})
    assert plain <= restored


@every_kind
@settings(max_examples=7, deadline=None)
@given(st.data(), SLIDES)
def test_property_7_no_restore_is_restore_without_the_results_dead_at_the_refresh(kind: str, data: st.DataObject,
                                                                                 slide: int) -> None:
    plan, timeline = data.draw(positive_cases(scoped, top=kind))
    numbered = with_numbers(timeline)
    lives, _ = run_relation(plan, numbered, late="drop")
    names = Counter(row["v"] for row in lives)
    assume(max(names.values(), default=1) == 1)  # each result has a value of its own
    restored: Bag = Counter()
    plain: Bag = Counter()
    for row in lives:
        at, value = refresh(row["valid_from"], slide), value_of(row)
        restored[value, at] += 1
        plain[value, at] += row["expires_at"] > at
    periodic = with_slide(plan, slide)
    assert came(periodic, numbered, restore=True) == restored
    assert came(periodic, numbered, restore=False) == +plain


@pytest.mark.parametrize("kind", KINDS[:3])
@settings(max_examples=8, deadline=None)
@given(st.data(), st.integers(3, 9), st.integers(1, 6))
def test_property_7_where_results_leave_in_order_no_restore_loses_nothing(kind: str, data: st.DataObject, length: int,
                                                                         shorter: int) -> None:
    slide = max(length - shorter, 2)  # shorter than the lives of results
    spec = SlidingWindow.scoped(length)
    plan, timeline = data.draw(positive_cases(lambda stream: st.just(window(source(stream), spec)), joins=False,
                                              top=kind))
    numbered = with_numbers(timeline)
    assert label(plan).output.pattern is UpdatePattern.WKS
    periodic = with_slide(plan, slide)
    plain = came(periodic, numbered, restore=False)
    assert plain == came(periodic, numbered, restore=True)
    assert sum(plain.values()) == len(run_relation(plan, numbered, late="drop")[0])


def with_numbers(timeline: Timeline) -> Timeline:
    """Rows that can be told apart, also where two of them are added."""
    return [replace(a, item={**a.item, "v": 5 ** place}) if a.is_row else a  # type: ignore[dict-item]
            for place, a in enumerate(timeline, 1)]


@settings(max_examples=8, deadline=None)
@given(st.integers(40, 80), st.integers(8, 16), st.integers(0, 2**32))
def test_property_8_no_restore_loses_about_the_slide_over_twice_the_range(length: int, slide: int, seed: int) -> None:
    """Uniform lives, in whole ticks: a life of n < slide is missed with probability (slide - n) / slide."""
    random = Random(seed)
    times = sorted((random.randrange(12 * length), name) for name in "st" for _ in range(500))
    rows = [Arrival(name, {"ts": at, "k": "a", "v": 5 * place}) for place, (at, name) in enumerate(times)]
    pairs = Join(*(Qualify(columns(window(source(name), SlidingWindow.scoped(length, slide)), "v"), name)
                   for name in "st"), Scalar.parse("`s.v` <> `t.v`"))

    def reported(*, restore: bool) -> int:
        return len(run_relation(RelationToStream(pairs, Kind.ISTREAM, restore=restore), rows)[0])

    found: Any = reported(restore=True)
    lost = 1 - reported(restore=False) / found
    assert found > 10_000
    assert abs(lost / ((slide - 1) / (2 * length - 1)) - 1) < 0.2
    assert abs(lost / (slide / (2 * length)) - 1) < 0.35
    assert lost < slide / length  # the share of lives shorter than the slide: the printed estimate is a bound
