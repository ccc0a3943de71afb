"""The cost formulas against values computed by hand, and the cases the panes paper calls a gain and no gain."""

from __future__ import annotations

import pytest

from panewise.planner.cost import formulas as cost
from planner import cost_claims as claims


@pytest.mark.parametrize(("T", "P", "G", "m", "expected"), [
    (100, 5, 1, 1, 2 * 20 + 3 * 1 + 5 * 5),
    (900, 9, 4, 1, 2 * 100 + 3 * 4 + 5 * 9 * 4),
    (900, 3, 4, 2, 2 * (2 * 300 + 3 * 4) + 5 * 3 * 4),  # RANGE 9, SLIDE 6: two panes fill per slide (E19)
])
def test_6_1_panes_merged_for_every_window(T: float, P: float, G: float, m: float, expected: float) -> None:
    assert cost.paned(2, 3, 5, T=T, P=P, G=G, panes_per_slide=m) == expected


@pytest.mark.parametrize(("T", "P", "G", "m", "expected"), [
    (100, 5, 1, 1, 2 * 20 + 3 + 2 * 5),
    (900, 3, 4, 2, 2 * (2 * 300 + 3 * 4 + 2 * 5 * 4)),
])
def test_6_2_panes_enter_and_leave(T: float, P: float, G: float, m: float, expected: float) -> None:
    assert cost.paned_differential(2, 3, 5, T=T, P=P, G=G, panes_per_slide=m) == expected


def test_6_3_and_6_4_without_panes() -> None:
    assert cost.unpaned(2, T=900) == 1800
    assert claims.unpaned_differential(2, T=900, RANGE=9, SLIDE=6) == 2 * 2 * 6 * 100
    assert claims.unpaned_differential(2, T=900, RANGE=9, SLIDE=9) == 2 * cost.unpaned(2, T=900)


def test_the_filling_of_panes_costs_the_same_however_small_the_panes_are() -> None:
    """Erratum E19: without the factor, halving the pane would halve the cost of taking rows in."""
    whole = cost.paned(1, 0, 0, T=600, P=10, G=1, panes_per_slide=1)
    halves = cost.paned(1, 0, 0, T=600, P=20, G=1, panes_per_slide=2)
    assert whole == halves == 60


def test_twenty_rows_per_pane_and_five_panes_per_window_cost_about_a_third() -> None:
    """The panes paper measured 0.30; equal constants give 0.26, dearer merging comes nearer."""
    assert cost.paned(1, 1, 1, T=100, P=5, G=1) / cost.unpaned(1, T=100) == pytest.approx(0.26)
    assert cost.paned(1, 5 / 3, 5 / 3, T=100, P=5, G=1) / cost.unpaned(1, T=100) == pytest.approx(0.30)
    assert claims.panes_win(1, 1, 1, 1, T=100, P=5, G=1)


@pytest.mark.parametrize(("what", "T", "P", "G"), [
    ("one pane per window", 100, 1, 1),
    ("one row per group and pane", 500, 5, 100),
    ("a group for every row", 100, 10, 10),
    ("mostly empty panes", 5, 50, 0.1 * 50),
])
def test_panes_gain_nothing_with(what: str, T: float, P: float, G: float) -> None:
    assert not claims.panes_win(1, 1, 1, 1, T=T, P=P, G=G), what


def test_an_extent_stays_open_for_its_range_and_the_lag() -> None:
    assert cost.time_open(600, 0) == 600
    assert cost.time_open(600, 30) == 630
    assert cost.time_open(600, 30, since="low") == 660  # the printed alternative (E13)


def test_an_hour_sliding_by_five_minutes_has_twelve_partials_per_group() -> None:
    assert cost.eager_bytes(1, wed=60, SLIDE=5) == 12


def test_rows_held_count_what_slow_sources_have_not_sent_yet() -> None:
    assert cost.rows_held(8, wed=10) == 80
    assert cost.rows_held(8, wed=10, sources=[(4, 0), (3, 2), (1, 5)]) == 80 - 6 - 5
    assert cost.lazy_bytes(40, vol=8, wed=10, sources=[(4, 0), (3, 2), (1, 5)]) == 40 * 69


@pytest.mark.parametrize("sources", [[], [(0.5, 0), (0.5, 4)], [(0.2, 3), (0.8, 0)]])
@pytest.mark.parametrize("aggr", [8, 16, 48, 200])
@pytest.mark.parametrize("slide", [1, 5, 10])
def test_condition_6_9_is_6_5_against_6_8(sources: list[tuple[float, float]], aggr: float, slide: float) -> None:
    eager = cost.eager_bytes(aggr, wed=13, SLIDE=slide)
    lazy = cost.lazy_bytes(40, vol=1.0, wed=13, sources=sources)
    assert claims.prefers_eager(aggr, 40, vol=1.0, wed=13, SLIDE=slide, sources=sources) == (eager < lazy)


def test_a_tumbling_group_is_worth_a_partial_from_its_second_row_on() -> None:
    """Partial as large as a row, tumbling, no lag: one row is the break-even."""
    assert claims.eager_above(40, 40, wed=1, SLIDE=1) == 1
    assert not claims.prefers_eager(40, 40, vol=1, wed=1, SLIDE=1)
    assert claims.prefers_eager(40, 40, vol=2, wed=1, SLIDE=1)


def test_four_panes_of_one_group_are_four_partials() -> None:
    assert cost.pane_bytes(8, G=1, P=4) == 32
