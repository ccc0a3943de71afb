"""P7 and P12: a join is its predicate whatever the order; boxes are never later than slabs."""

from __future__ import annotations

from collections import Counter
from itertools import count
from random import Random

from hypothesis import example, given, settings
from hypothesis import strategies as st

from kernels.joining import (
    LEFT,
    RIGHT,
    Arriving,
    by_definition,
    meets,
    promised,
    random_pairing,
    random_streams,
    run,
    spec_of,
)
from panewise.kernels.joins.oa_join import OAJoin
from panewise.kernels.joins.pairing import Band, Pairing
from panewise.kernels.joins.progress import JoinProgress
from panewise.windows.base import Rows
from panewise.windows.sliding import SlidingWindow

randoms = st.randoms(use_true_random=False)


@settings(max_examples=100, deadline=None)
@given(randoms, st.booleans(), st.booleans())
def test_p7_oa_join_is_the_predicate_for_any_skew_and_disorder_each_pair_once(random: Random, keyed: bool,
                                                                             residual: bool) -> None:
    spec = spec_of(random_pairing(random), keyed=keyed, residual=residual)
    arriving = random_streams(random, grouped=keyed)
    numbers = count()
    named = [Arriving(a.side, tuple((t, k, v + 10 * next(numbers)) if spec.residual is None else (t, k, v)
                                    for t, k, v in a.rows), a.promise) for a in arriving]
    found = Counter(run(OAJoin(spec), named))
    assert found == by_definition(spec, named)
    if spec.residual is None:  # rows are told apart by their value: none is paired twice
        assert all(times == 1 for times in found.values())
    assert all(meets(spec, row[:3], row[3:]) for row in found)


@settings(max_examples=75, deadline=None)
@given(randoms, st.integers(1, 6), st.integers(1, 6))
def test_p7_a_strict_band_is_the_join_of_windows_that_move_by_one(random: Random, left: int, right: int) -> None:
    spec = spec_of(Band.of_ranges(left, right, "strict"))
    arriving = random_streams(random)
    windows = (SlidingWindow(left, 1), SlidingWindow(right, 1))
    rows: tuple[list[tuple], list[tuple]] = ([], [])
    for item in arriving:
        rows[item.side].extend(item.rows)
    members = [spec.wids(Rows.of([row[0] for row in side])) for spec, side in zip(windows, rows, strict=True)]
    by_windows: Counter[tuple] = Counter()
    for i, one in enumerate(rows[LEFT]):
        for j, other in enumerate(rows[RIGHT]):
            shared = min(members[LEFT][1][i], members[RIGHT][1][j]) - max(members[LEFT][0][i], members[RIGHT][0][j])
            if shared > 0 and one[1] is not None and one[1] == other[1]:  # however many windows a pair shares
                by_windows[one + other] += 1
    assert Counter(run(OAJoin(spec), arriving)) == by_windows


steps = st.lists(st.tuples(st.sampled_from((LEFT, RIGHT)), st.integers(0, 4)), max_size=20)


@settings(max_examples=150, deadline=None)
@given(randoms, steps)
@example(Random(1), [(LEFT, 1), (RIGHT, 1), (LEFT, 1), (RIGHT, 1), (LEFT, 1)])
def test_p12_an_unfiltered_box_is_never_later_than_a_slab_and_slabs_cover_what_the_filter_keeps_back(
        random: Random, moves: list[tuple[int, int]]) -> None:
    pairing = random_pairing(random)
    progress = JoinProgress(pairing, ("l", "r"))
    bounds, told = [-5, -5], set()
    groups = [(x, y) for x in range(-12, 30) for y in range(-12, 30) if pairing.joins(x, y)]
    slabbed: set[tuple[int, int]] = set()
    known: set[tuple[int, int]] = set()
    for side, move in moves:
        bounds[side] += move
        told.add(side)
        for p in promised(progress, side, bounds[side]):
            covered = {g for g in groups if p.matches({"l": g[0], "r": g[1]})}
            known |= covered
            slabbed |= covered if len(p.patterns) == 1 else set()
        boxed = {(x, y) for x, y in groups if len(told) == 2 and x < bounds[LEFT] and y < bounds[RIGHT]}
        assert slabbed <= known <= boxed


def test_p12_progress_never_stops_where_boxes_are_kept_back() -> None:
    pairing: Pairing = Band(-2, 2)
    progress = JoinProgress(pairing, ("l", "r"))
    promised(progress, LEFT, 100)
    news = [str(p) for bound in range(0, 90, 10) for p in promised(progress, RIGHT, bound)]
    assert not any("," in text for text in news)
    assert news[-2:] == ["(l < 78)", "(r < 80)"]
