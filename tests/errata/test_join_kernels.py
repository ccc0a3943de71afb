"""The errata of window joins on the kernel itself: what the printed rule does to a stream, and what OA-Join does."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from errata.algorithms import band_by_definition, band_join, tumbling_join
from kernels.joining import promise, promised, spec_of, stored, table_of
from panewise.core.join_kinds import LEFT, RIGHT
from panewise.kernels.joins.oa_join import OAJoin
from panewise.kernels.joins.pairing import Band, Buckets
from panewise.kernels.joins.progress import JoinProgress
from panewise.progress.watermarks import NO_BOUND

Events = list[tuple[int, str, int]]
"""Side, row or bound, time: the form of the published algorithms."""

# a row of each stream far apart in time, and a promise that lets go of it by the printed reading
BETWEEN: Events = [(LEFT, "row", 10), (RIGHT, "below", 12), (RIGHT, "row", 13)]


def kept(random_rows: list[tuple[int, int]], cuts: list[int]) -> Events:
    """Rows with promises between them that hold: after a cut no row of that side is below what is still to come."""
    events: Events = []
    for i, (side, ts) in enumerate(random_rows):
        events.append((side, "row", ts))
        for other in (LEFT, RIGHT):
            ahead = [t for s, t in random_rows[i + 1 :] if s == other]
            if i in cuts and ahead:
                events.append((other, "below", min(ahead)))
    return events


rows = st.lists(st.tuples(st.sampled_from((LEFT, RIGHT)), st.integers(0, 30)), max_size=20)
cuts = st.lists(st.integers(0, 20), max_size=8)


def through(join: OAJoin, events: Events) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for side, what, ts in events:
        if what == "row":
            table = join.process(side, *table_of(side, [(ts, "a", 0)]))
            found += zip(table.column("l.ts").to_pylist(), table.column("r.ts").to_pylist(), strict=True)
        else:
            join.advance(side, promise(side, ts))
    return found


def test_e8_by_the_printed_band_the_state_rules_let_go_of_a_row_that_has_a_partner() -> None:
    ranges = (1, 3)  # left rows stay joinable for 1, yet the printed band reaches 3 ahead of them
    printed = band_join(BETWEEN, ranges, printed=True)
    assert Counter(printed.pairs) != band_by_definition(BETWEEN, ranges, printed=True)
    assert Counter(through(OAJoin(spec_of(Band.of_ranges(*ranges))), BETWEEN)) == band_by_definition(
        BETWEEN, ranges, printed=False)


@settings(max_examples=100, deadline=None)
@given(rows, cuts, st.integers(0, 5), st.integers(0, 5))
def test_e8_the_kernel_is_the_canonical_band(drawn: list[tuple[int, int]], at: list[int], left: int,
                                             right: int) -> None:
    events = kept(drawn, at)
    join = OAJoin(spec_of(Band.of_ranges(left, right)))
    assert Counter(through(join, events)) == band_by_definition(events, (left, right), printed=False)


def test_e9_times_against_bucket_numbers_keep_rows_that_bucket_numbers_let_go() -> None:
    events: Events = [(LEFT, "row", 15), (RIGHT, "below", 40), (LEFT, "row", 16)]
    printed = tumbling_join(events, 10, printed_state=True)
    assert printed.stored[LEFT] == [15, 16]  # 15 is not below 40 / 10
    join = OAJoin(spec_of(Buckets(10)))
    through(join, events)
    assert stored(join) == 0


def test_e10_the_printed_ceiling_promises_away_a_pair_that_still_comes() -> None:
    before: Events = [(RIGHT, "row", 11), (RIGHT, "below", 50), (LEFT, "below", 12)]
    assert tumbling_join(before, 10, printed_promise=True).promises[-1][1:] == (RIGHT, 20)
    join = OAJoin(spec_of(Buckets(10)))
    through(join, before)
    assert join.progress.individual(RIGHT) == 10
    assert through(join, [(LEFT, "row", 12)]) == [(12, 11)]  # right time 11: below 20, not below 10


def test_e11_joined_by_or_every_box_passes_and_joined_by_and_only_those_within_reach() -> None:
    ranges, boxes = (2, 3), {True: 0, False: 0}
    for left in range(20):
        for right in range(20):
            near = left - right <= ranges[1], right - left <= ranges[0]
            assert near[0] or near[1]  # as printed: no bounds are ever kept back
            progress = JoinProgress(Band.of_ranges(*ranges), ("l", "r"))
            promised(progress, LEFT, left)
            put_out = any(len(p.patterns) == 2 for p in promised(progress, RIGHT, right))
            assert put_out == (near[0] and near[1])
            boxes[put_out] += 1
    assert boxes[True] > 0
    assert boxes[False] > 0


def test_e20_one_promise_is_enough_for_the_later_time_and_not_for_the_earlier() -> None:
    join = OAJoin(spec_of(Band(-10, 10)))
    through(join, [(LEFT, "row", 3), (RIGHT, "row", 4), (LEFT, "below", 20), (RIGHT, "below", 9)])
    assert join.progress.individual(RIGHT) == 9
    assert join.progress.individual(LEFT) == -1
    # as printed the earlier time would be 9, too, and a pair with 3 may still come
    assert through(join, [(RIGHT, "row", 9)]) == [(3, 9)]
    assert OAJoin(spec_of(Band(0, 0))).progress.individual(LEFT) == NO_BOUND
