"""The worked examples of window joins: punctuation (W10), skew (W11), state (W12), order (W13)."""

from __future__ import annotations

from collections import Counter

import pytest
from in_order_joins import InputBufferedJoin, OutputBufferedJoin

from kernels.global_order import held_behind_its_own_newest, purged_by_the_other
from kernels.joining import Arriving, Row, by_definition, promise, promised, run, spec_of, table_of
from panewise.core.join_kinds import LEFT, RIGHT
from panewise.kernels.joins.oa_join import OAJoin
from panewise.kernels.joins.pairing import Band, Buckets
from panewise.kernels.joins.progress import JoinProgress
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import NO_BOUND

SECOND, MINUTE = 1, 60


def clock(text: str) -> int:
    hours, minutes, seconds = map(int, text.split(":"))
    return (hours * 60 + minutes) * 60 + seconds


# -- W10 -------------------------------------------------------------------------------------------------------------

STEPS = [(LEFT, 1), (RIGHT, 1), (LEFT, 2), (RIGHT, 2), (LEFT, 3)]


def test_w10_boxes_and_slabs_step_by_step() -> None:
    progress = JoinProgress(Band.of_ranges(2, 2), ("S0", "S1"))
    individual, boxes = [], []
    for side, bound in STEPS:
        news = promised(progress, side, bound)
        individual.append((progress.individual(LEFT), progress.individual(RIGHT)))
        boxes.append([str(p) for p in news if len(p.patterns) == 2])
    assert individual == [(NO_BOUND, NO_BOUND), (-1, -1), (-1, 0), (0, 0), (0, 1)]
    assert boxes == [[], ["(S0 < 1, S1 < 1)"], ["(S0 < 2, S1 < 1)"], ["(S0 < 2, S1 < 2)"], ["(S0 < 3, S1 < 2)"]]


@pytest.mark.parametrize(("joint", "step"), [(True, 3), (False, 5)], ids=["box", "slab"])
def test_w10_the_group_of_one_and_zero_is_complete_with_the_third_promise_or_only_with_the_fifth(joint: bool,
                                                                                               step: int) -> None:
    progress = JoinProgress(Band.of_ranges(2, 2), ("S0", "S1"))
    group = {"S0": 1, "S1": 0}
    closed = [any(p.matches(group) for p in promised(progress, side, bound) if (len(p.patterns) == 2) == joint)
              for side, bound in STEPS]
    assert closed.index(True) == step - 1


def test_a_box_is_kept_back_while_its_bounds_are_outside_each_others_window() -> None:
    usual = JoinProgress(Band.of_ranges(2, 3), ("l", "r"))
    promised(usual, LEFT, 10)
    assert [str(p) for p in promised(usual, RIGHT, 6)] == ["(l < 4)", "(r < 6)"]
    assert str(promised(usual, RIGHT, 7)[-1]) == "(l < 10, r < 7)"
    assert "r < 13" not in str(promised(usual, RIGHT, 13)[-1])


def test_buckets_promise_no_further_than_the_bucket_of_the_bound() -> None:
    progress = JoinProgress(Buckets(10), ("l", "r"))
    promised(progress, LEFT, 12)
    assert [str(p) for p in promised(progress, RIGHT, 19)] == ["(l < 10)", "(r < 10)", "(l < 12, r < 19)"]
    assert [str(p) for p in promised(progress, RIGHT, 20)] == ["(l < 12)"]  # 12 and 20: not in one bucket


# -- W11 -------------------------------------------------------------------------------------------------------------


def test_w11_with_main2_a_minute_late_the_global_order_loses_pairs() -> None:
    times = [t * 30 for t in range(40)]
    arriving: list[Arriving] = []
    for t in times:  # Main2 comes a minute after Main1
        arriving.append(Arriving(LEFT, ((t, "a", 0),)))
        arriving.append(Arriving(RIGHT, ((t - MINUTE, "a", 0),)))
    ranges = (3 * MINUTE, 2 * MINUTE)
    spec = spec_of(Band.of_ranges(*ranges, "strict"))
    expected = by_definition(spec, arriving)
    assert Counter(run(OAJoin(spec), arriving)) == expected
    found = Counter(left + right for left, right in held_behind_its_own_newest(arriving, ranges))
    lost = [(left, right) for left, _, _, right, _, _ in expected - found]
    assert lost
    assert all(2 * MINUTE <= right - left < 3 * MINUTE for left, right in lost)  # partners in (s.ts - 3, s.ts - 2]


def test_w11_with_main1_five_minutes_late_the_global_order_joins_what_is_eight_minutes_apart() -> None:
    early, late = (clock("10:03:00"), "a", 0), (clock("10:10:59"), "a", 0)
    held: list[Row] = [(clock("10:05:59"), "b", 0), early]
    arriving = [Arriving(LEFT, tuple(held)), Arriving(RIGHT, (late,))]
    ranges = (3 * MINUTE, 2 * MINUTE)
    assert held_behind_its_own_newest(arriving, ranges) == [(early, late)]
    spec = spec_of(Band.of_ranges(*ranges))
    assert run(OAJoin(spec), arriving) == []


def test_w11_letting_go_by_the_other_sides_newest_row_loses_rows_that_come_late() -> None:
    arriving = [Arriving(RIGHT, ((0, "a", 0),)), Arriving(LEFT, ((500, "b", 0),)), Arriving(LEFT, ((10, "a", 0),))]
    ranges = (100, 100)
    assert purged_by_the_other(arriving, ranges) == []
    assert run(OAJoin(spec_of(Band.of_ranges(*ranges, "strict"))), arriving) == [(10, "a", 0, 0, "a", 0)]


# -- W12 -------------------------------------------------------------------------------------------------------------


def test_w12_a_late_side_makes_the_other_keep_seven_minutes_and_itself_two() -> None:
    join = OAJoin(spec_of(Band.of_ranges(2 * MINUTE, 2 * MINUTE)))
    now = 60 * MINUTE
    for t in range(0, now, SECOND * 10):
        join.process(RIGHT, *table_of(RIGHT, [(t, "a", 0)]))
        join.advance(RIGHT, promise(RIGHT, t))  # in order
        if t >= 5 * MINUTE:
            join.process(LEFT, *table_of(LEFT, [(t - 5 * MINUTE, "a", 0)]))
            join.process(LEFT, *table_of(LEFT, [(t, "a", 0)]))  # and up to five minutes late
        join.advance(LEFT, promise(LEFT, t - 5 * MINUTE))
    newest = now - 10
    alive = {side: join.stores[side].times[[highs >= join.progress.bounds[1 - side].linear
                                            for highs in join.pairing.partners(side, join.stores[side].times)[1]]]
             for side in (LEFT, RIGHT)}
    assert newest - alive[RIGHT].min() == 7 * MINUTE
    assert newest - alive[LEFT].min() == 2 * MINUTE


# -- W13 -------------------------------------------------------------------------------------------------------------


def at_six(join: OAJoin | OutputBufferedJoin | InputBufferedJoin) -> list[int]:
    """Both sides up to time 6 and promised so; the left times that have come out."""
    times = []
    for t in range(7):
        for side in (LEFT, RIGHT):
            found = [join.process(side, *table_of(side, [(t, "a", 0)])), join.advance(side, promise(side, t))[0]]
            times += [time for table in found for time in table.column("l.ts").to_pylist()]
    return times


def test_w13_ordered_output_holds_the_results_from_three_on_and_oa_join_holds_none() -> None:
    spec = spec_of(Band.of_ranges(3, 2))
    output, inputs = OutputBufferedJoin(spec), InputBufferedJoin(spec)
    assert max(at_six(output)) == 2  # 3 to 6 wait; by the printed predicate 4 to 6 would
    assert output.held == sum(1 for left in range(3, 7) for right in range(7) if -2 <= right - left <= 3)
    assert max(at_six(inputs)) == 2
    assert inputs.held == 4
    assert max(at_six(OAJoin(spec))) == 6


def test_slabs_of_a_join_are_what_its_ordered_forms_wait_for() -> None:
    spec = spec_of(Band.of_ranges(3, 2))
    join = OAJoin(spec)
    join.advance(LEFT, promise(LEFT, 6))
    assert Punctuation.below("l.ts", 3) in join.advance(RIGHT, promise(RIGHT, 6))[1]
