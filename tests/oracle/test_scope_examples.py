"""The fixtures PF1 to PF9 of Patroumpas and Sellis and of the SIGMOD and panes papers."""

from __future__ import annotations

import pyarrow as pa
import pytest

from oracle.building import (
    arrivals,
    by_time,
    call,
    clause,
    grouped,
    joined,
    last,
    over_rows,
    per_window,
    project,
    rows,
    source,
    window,
)
from oracle.questions import Oracle
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceSchema
from panewise.core.time import MINUTE, SECOND
from panewise.plan.nodes import BagDifference, Distinct, Filter, Node, Source, Union, Window, WindowClause
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import timeline
from panewise.windows.count import CountWindow, PartitionedCountWindow
from panewise.windows.landmark import BandWindow
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tumbling import Disclosure, NowWindow, TumblingWindow

A, B = (source(name, v=pa.string()) for name in "ab")
TICKS = by_time(a=rows(*((t, str(t)) for t in range(40))))


def times(plan: Node, tau: int, items: list[object] | None = None) -> list[int]:
    return [row["ts"] for row in Oracle(plan, items or TICKS, registered_at=0).relation_at(tau)]


def lives(plan: Node, items: list[object]) -> dict[int, tuple[int, int]]:
    return {row["ts"]: (row["valid_from"], row["expires_at"]) for row in Oracle(plan, items).results()}


@pytest.mark.parametrize(("tau", "first", "final"), [
    (0, 0, 0), (3, 0, 0), (4, 0, 4), (9, 0, 8), (12, 3, 12), (15, 3, 12)])
def test_pf1_a_scope_of_ten_every_four_is_frozen_between_its_refreshes(tau: int, first: int, final: int):
    assert times(Window(A, last(10, 4)), tau) == list(range(first, final + 1))


def test_pf1_rows_become_visible_and_expire_at_refreshes():
    found = lives(Window(A, last(10, 4)), by_time(a=rows((3, "x"), (4, "y"), (5, "z"))))
    assert found == {3: (4, 16), 4: (4, 16), 5: (8, 16)}


def test_pf2_disclosed_tumbling_windows_show_the_last_closed_batch():
    plan = Window(A, clause(TumblingWindow.registered(5)))
    first, second = [1, 2, 3, 4, 5], [6, 7, 8, 9, 10]
    assert [times(plan, tau) for tau in (0, 4, 5, 9, 10)] == [[0], [0], first, first, second]


def test_a_growing_tumbling_window_piles_up_and_drops_together():
    plan = Window(A, clause(TumblingWindow(5, disclosure=Disclosure.GROWING)))
    assert [times(plan, tau) for tau in (4, 5, 7)] == [[0, 1, 2, 3, 4], [5], [5, 6, 7]]


@pytest.mark.parametrize("stamps", [(1, 1, 2, 2), (2, 2, 2, 2)])
def test_pf3_a_count_window_has_its_n_rows_whatever_the_timestamps(stamps: tuple[int, ...]):
    items = by_time(a=rows(*((t, str(i)) for i, t in enumerate(stamps))))
    held = Oracle(Window(A, over_rows(CountWindow(3))), items).relation_at(2)
    assert [row["v"] for row in held] == ["1", "2", "3"]


def test_pf4_a_representative_leaves_a_count_window_when_its_successor_by_n_is_admitted():
    items = by_time(a=rows(*((rho, "dup" if rho in {25, 30} else f"v{rho}") for rho in range(1, 50))))
    held = Window(A, over_rows(CountWindow(17)))
    distinct = Oracle(Distinct(project(held, "v")), items)
    keys = {tau: {t.key for t in distinct._definition.relation(distinct.plan, tau) if t.values["v"] == "dup"}
            for tau in range(25, 48)}
    representative = keys[25]
    assert [tau for tau in keys if keys[tau] == representative] == list(range(25, 42))
    assert [tau for tau in keys if keys[tau]] == list(range(25, 47))  # the copy at 30 stands in until 47


def test_pf5_of_two_results_the_later_born_can_die_first():
    arriving = ["aa", "bb", "ba", "ac", "ab", "bx", "by", "bz", "aq"]  # stream, value
    items = arrivals(*((name, {"ts": at, "v": v}) for at, (name, v) in enumerate(arriving, start=1)))
    plan = joined(Window(A, over_rows(CountWindow(3))), Window(B, over_rows(CountWindow(4))), "`l.v` = `r.v`")
    found = [(c.sign, c.row["l.v"], c.tau) for c in Oracle(plan, items).changes()]
    assert found == [(1, "a", 3), (1, "b", 5), (-1, "b", 8), (-1, "a", 9)]


def test_pf6_difference_over_landmark_windows_takes_back_what_the_other_stream_brings():
    since_start = clause(BandWindow.since(0))
    plan = BagDifference(project(Window(A, since_start), "v"), project(Window(B, since_start), "v"))
    items = by_time(a=rows((1, "c"), (2, "m")), b=rows((3, "m"), (4, "c")))
    assert [(c.sign, c.row["v"]) for c in Oracle(plan, items).changes()] == [(1, "c"), (1, "m"), (-1, "m"), (-1, "c")]


def test_pf7_groups_vanish_when_only_the_clock_moves():
    plan = grouped(window(A, 3), call("n", "count"), keys=["v"])
    oracle = Oracle(plan, by_time(a=rows((1, "g1"), (2, "g2"))))
    assert [(c.tau, c.sign, c.row["v"]) for c in oracle.changes()] == [
        (1, 1, "g1"), (2, 1, "g2"), (4, -1, "g1"), (5, -1, "g2")]
    assert oracle.relation_at(5) == []


def test_pf8_a_group_wise_punctuation_closes_the_windows_of_its_group_only():
    clock = OrdinalKind.TIMESTAMP
    noon = clock.parse("2026-01-01T12:00:00Z")
    types = {"seg": pa.string(), "speed": pa.int64(), "ts": pa.timestamp("us", tz="UTC")}
    traffic = Source("s", SourceSchema(types, "ts"))
    bracket = WindowClause(SlidingWindow(5 * MINUTE, MINUTE, noon), "ts", clock)
    plan = per_window(traffic, bracket, call("hi", "max", "speed"), call("lo", "min", "speed"), keys=["seg"])
    data = rows(("s1", 55, noon + 10 * SECOND), ("s1", 62, noon + 40 * SECOND), ("s2", 50, noon + 50 * SECOND),
                columns="seg speed ts")
    oracle = Oracle(plan, timeline(s=[*data, Punctuation.below("ts", noon + MINUTE, seg="s1")]))
    first = oracle.results_after(3)
    assert [(row["seg"], row["hi"], row["lo"]) for row in first] == [("s1", 62, 55)]
    assert first[0]["window"]["end"] == clock.present(noon + MINUTE)
    assert [sum(row["seg"] == seg for row in oracle.results()) for seg in ("s1", "s2")] == [5, 5]
    assert {c.place for c in oracle.closings() if c.row["seg"] == "s2"} == {4}


def test_pf9_three_panes_of_three_make_a_window_of_nine_every_six():
    numbers = source("a", v=pa.int64())
    items = by_time(a=rows(*((t, t * t % 17) for t in range(0, 60))))
    panes = {row["window"]["end"]: row["m"] for row in Oracle(
        per_window(numbers, clause(SlidingWindow(3, 3)), call("m", "max", "v")), items).results()}
    for row in Oracle(per_window(numbers, clause(SlidingWindow(9, 6)), call("m", "max", "v")), items).results():
        end = row["window"]["end"]
        assert row["m"] == max(panes[e] for e in (end - 6, end - 3, end) if e in panes)


# -- PF9: the counter-examples to the algebraic laws ---------------------------------------------------------------


def test_l2_selection_does_not_move_through_a_count_window():
    numbers, two = source("a", v=pa.int64()), over_rows(CountWindow(2))
    items, large = by_time(a=rows((1, 5), (2, 1), (3, 2))), Scalar.parse("v > 3")
    assert Oracle(Filter(Window(numbers, two), large), items).relation_at(3) == []
    assert Oracle(Window(Filter(numbers, large), two), items).relation_at(3) == [{"ts": 1, "v": 5}]
    inside = over_rows(CountWindow(2), predicate=large)
    assert Oracle(Window(numbers, inside), items).relation_at(3) == [{"ts": 1, "v": 5}]


def test_l2_selection_moves_through_a_time_window_whatever_its_slide():
    numbers, large = source("a", v=pa.int64()), Scalar.parse("v > 3")
    items = by_time(a=rows(*((t, t * 5 % 7) for t in range(20))))
    outside, below = (Oracle(plan, items) for plan in (
        Filter(Window(numbers, last(6, 4)), large), Window(Filter(numbers, large), last(6, 4))))
    assert [outside.relation_at(t) for t in range(30)] == [below.relation_at(t) for t in range(30)]


def test_l3_a_count_window_of_a_union_is_smaller_than_the_union_of_count_windows():
    two = over_rows(CountWindow(2))
    items = by_time(a=rows((1, "x"), (2, "x")), b=rows((3, "y"), (4, "y")))
    assert len(Oracle(Window(Union((A, B)), two), items).relation_at(4)) == 2
    assert len(Oracle(Union((Window(A, two), Window(B, two))), items).relation_at(4)) == 4


def test_l4_a_window_over_first_occurrences_loses_what_a_duplicate_kept_alive():
    items = by_time(a=rows((1, "a"), (5, "a")))
    assert Oracle(Distinct(project(window(A, 5), "v")), items).relation_at(7) == [{"v": "a"}]
    assert Oracle(window(Distinct(project(A, "v")), 5), items).relation_at(7) == []


def test_l6_windowing_an_intermediate_join_again_keeps_pairs_that_are_dead():
    c = source("c", v=pa.string())
    items = by_time(a=rows((1, "k")), b=rows((8, "k")), c=rows((12, "k")))
    pair = joined(window(A, 10), window(B, 10), "`l.v` = `r.v`")
    right = joined(pair, window(c, 10), "`p.l.v` = `c.v`", "p c")
    wrong = joined(window(pair, 10), window(c, 10), "`p.l.v` = `c.v`", "p c")
    assert Oracle(right, items).changes() == []
    assert [(change.tau, change.sign) for change in Oracle(wrong, items).changes()] == [(12, 1), (18, -1)]


def test_l11_difference_does_not_commute_with_the_window():
    items = by_time(a=rows((1, "a"), (6, "a")), b=rows((2, "a")))
    of_windows = BagDifference(project(window(A, 5), "v"), project(window(B, 5), "v"))
    of_streams = window(BagDifference(project(A, "v"), project(B, "v")), 5)
    assert Oracle(of_windows, items).relation_at(6) == []
    assert Oracle(of_streams, items).relation_at(6) == [{"v": "a"}]


# -- the other scopes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("spec", "at", "expected"), [
    (NowWindow(), 7, [7]),
    (NowWindow.registered(5), 7, [5]),
    (SlidingWindow.scoped(3, 1, lag=2), 9, [5, 6, 7]),
    (BandWindow.since(6), 5, []),
    (BandWindow.since(6), 8, [6, 7, 8]),
    (BandWindow.until(3), 30, [0, 1, 2, 3]),
    (BandWindow(4, 6), 5, [4, 5]),
    (BandWindow(4, 6), 30, [4, 5, 6]),
    (SlidingWindow.scoped(2, 5), 13, [9, 10]),
])
def test_scopes(spec: SlidingWindow, at: int, expected: list[int]):
    assert times(Window(A, clause(spec)), at) == expected


def test_a_partitioned_count_window_holds_the_newest_rows_of_each_partition():
    items = by_time(a=rows((1, "x"), (2, "x"), (3, "y"), (4, "x"), (5, "x")))
    plan = Window(A, over_rows(PartitionedCountWindow(2), "v"))
    assert times(plan, 5, items) == [3, 4, 5]


def test_a_jumping_count_window_moves_after_every_second_row():
    plan = Window(A, over_rows(CountWindow(3, 2)))
    assert [times(plan, tau) for tau in (0, 1, 4, 5)] == [[], [0, 1], [1, 2, 3], [3, 4, 5]]


def test_rows_before_the_registration_are_not_seen():
    assert [row["ts"] for row in Oracle(window(A, 5), TICKS, registered_at=10).relation_at(11)] == [10, 11]
