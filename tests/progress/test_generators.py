"""Generators of progress: each against its definition, and all of them blind to how rows were cut into batches."""

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.core.errors import CheckpointError, ProgressError, SchemaError
from panewise.core.ordinals import OrdinalKind
from panewise.progress.clocks import Heartbeat, IdleSource, Timer
from panewise.progress.generators import Generator, Observed, SourceSupplied
from panewise.progress.jumps import JumpGuard
from panewise.progress.lateness import ColumnSupplied, Ordered, RowsLate, TimeLate
from panewise.progress.punctuation import Punctuation
from panewise.progress.substreams import PerSubstream
from panewise.progress.timeline import timeline
from panewise.progress.watermarks import FINISHED, NO_BOUND
from progress.grammar import is_grammatical, low_watermarks

VALUES = st.lists(st.integers(-50, 50), max_size=25)
MAKERS: dict[str, Callable[[], Generator]] = {
    "source": SourceSupplied,
    "ordered": Ordered,
    "late": lambda: TimeLate(7),
    "rows": lambda: RowsLate(3),
    "no rows": lambda: RowsLate(0),
    "column": lambda: ColumnSupplied("wm", OrdinalKind.INTEGER),
    "substream": lambda: PerSubstream("k", ["a", "b", "c"]),
    "guarded": lambda: TimeLate(7, guard=JumpGuard(10, patience=3)),
    "guarded rows": lambda: RowsLate(2, guard=JumpGuard(10, patience=2)),
    "guarded column": lambda: ColumnSupplied("wm", OrdinalKind.INTEGER, guard=JumpGuard(10, patience=2)),
    "guarded substream": lambda: PerSubstream("k", ["a", "b", "c"], guard=JumpGuard(10, patience=2)),
    "timer": lambda: Timer(Ordered(), interval=5, lull=20),
    "lull": lambda: Timer(TimeLate(3), lull=20),
    "idle": lambda: IdleSource(RowsLate(1), timeout=10),
    "heartbeat": lambda: Heartbeat(4),
}
EVENTS = st.lists(st.one_of(
    st.tuples(st.integers(-50, 50), st.sampled_from("abc"), st.none() | st.integers(-50, 50)),
    st.tuples(st.integers(-50, 50), st.sampled_from("abc"), st.none() | st.integers(-50, 50)),
    st.integers(-20, 80),
), max_size=25)
"""Rows (value, substream, column) and readings of the wall clock."""


def rows_into(generator: Generator, rows: list[Any]) -> Observed:
    extra = {"k": pa.array([r[1] for r in rows], pa.string()), "wm": pa.array([r[2] for r in rows], pa.int64())}
    values = np.array([r[0] for r in rows], np.int64)
    return generator.observe(values, {c: extra[c] for c in generator.columns})


def run(generator: Generator, events: list[Any], cuts: set[int]) -> tuple[list[int], list[int], list[int]]:
    """All bounds before rows (of the stream, of the substream), and the bound after every tick and at the end."""
    before: list[int] = []
    own: list[int] = []
    after: list[int] = []
    batch: list[Any] = []

    def flush() -> None:
        seen = rows_into(generator, batch)
        assert seen.after == generator.bound
        before.extend(seen.before.tolist())
        own.extend([] if seen.own is None else seen.own.tolist())
        batch.clear()

    for i, event in enumerate(events):
        if isinstance(event, int):
            flush()
            after.append(generator.tick(event))
        else:
            batch.append(event)
        if i in cuts:
            flush()
    flush()
    return before, own, [*after, generator.bound]


@pytest.mark.parametrize("name", MAKERS)
@settings(max_examples=20)
@given(EVENTS, st.sets(st.integers(0, 24)))
def test_batch_cuts_never_change_what_is_observed(name: str, events: list[Any], cuts: set[int]) -> None:
    assert run(MAKERS[name](), events, cuts) == run(MAKERS[name](), events, set())


@pytest.mark.parametrize("name", MAKERS)
@settings(max_examples=20)
@given(EVENTS)
def test_bounds_never_go_back(name: str, events: list[Any]) -> None:
    before, _, after = run(MAKERS[name](), events, set(range(25)))
    assert all(a <= b for a, b in pairwise(before))
    assert all(a <= b for a, b in pairwise(after))


@pytest.mark.parametrize("name", MAKERS)
@settings(max_examples=20)
@given(EVENTS, EVENTS)
def test_a_restored_generator_goes_on_as_the_saved_one(name: str, first: list[Any], second: list[Any]) -> None:
    saved, copy = MAKERS[name](), MAKERS[name]()
    saved.supply(-40)
    run(saved, first, set())
    copy.restore(json.loads(json.dumps(saved.snapshot())))
    assert (copy.bound, copy.idle, copy.group_bounds()) == (saved.bound, saved.idle, saved.group_bounds())
    assert run(copy, second, set()) == run(saved, second, set())


@given(VALUES, st.integers(0, 6))
def test_each_kind_keeps_its_definition(values: list[int], n: int) -> None:
    rows = np.array(values, np.int64)
    prefixes = [values[:i] for i in range(len(values))]
    largest = [max(p, default=NO_BOUND) for p in prefixes]
    assert Ordered().observe(rows).before.tolist() == largest
    assert TimeLate(n).observe(rows).before.tolist() == [b if b == NO_BOUND else b - n for b in largest]
    but_the_last_n = [max(p[: max(len(p) - n, 0)], default=NO_BOUND) for p in prefixes]
    assert RowsLate(n).observe(rows).before.tolist() == but_the_last_n


@given(st.lists(st.integers(0, 100), max_size=30), st.integers(0, 10), st.randoms())
def test_a_stream_as_late_as_declared_has_no_late_rows(values: list[int], slack: int, random: Any) -> None:
    in_time = sorted(values, key=lambda v: v + random.uniform(0, slack))
    rows = np.array(in_time, np.int64)
    assert (TimeLate(slack).observe(rows).before <= rows).all()
    rows_late = max((i - j for i, v in enumerate(in_time) for j, w in enumerate(in_time[:i]) if w > v), default=0)
    assert (RowsLate(rows_late).observe(rows).before <= rows).all()
    if rows_late:
        assert (RowsLate(rows_late - 1).observe(rows).before > rows).any()


def test_equal_values_in_an_ordered_stream_are_not_late() -> None:
    rows = np.array([5, 5, 6])
    assert (Ordered().observe(rows).before <= rows).all()


def test_every_generator_honours_what_its_source_supplies() -> None:
    generator = TimeLate(10)
    generator.observe(np.array([100]))
    assert generator.supply(95) == 95
    assert generator.supply(80) == 95
    seen = generator.observe(np.array([110, 120]))
    assert (seen.before.tolist(), seen.after) == ([95, 100], 110)
    assert generator.finish() == FINISHED


def test_bounds_near_the_ends_of_the_integers_do_not_wrap_round() -> None:
    generator = TimeLate(10)
    seen = generator.observe(np.array([NO_BOUND + 3, FINISHED - 1]))
    assert (seen.before.tolist(), seen.after) == ([NO_BOUND, NO_BOUND], FINISHED - 11)
    assert JumpGuard(FINISHED).believed(np.array([0, FINISHED])).tolist() == [0, FINISHED]


class TestColumn:
    def test_timestamps_come_as_the_windowing_attribute_does(self) -> None:
        generator = ColumnSupplied("wm", OrdinalKind.TIMESTAMP)
        column = pa.chunked_array([pa.array([1, None], pa.timestamp("s")), pa.array([2], pa.timestamp("s"))])
        assert generator.observe(np.array([0, 0, 0]), {"wm": column}).before.tolist() == [NO_BOUND, 10**6, 10**6]
        assert generator.bound == 2 * 10**6

    def test_a_missing_or_unfit_column_is_named(self) -> None:
        generator = ColumnSupplied("wm", OrdinalKind.TIMESTAMP)
        with pytest.raises(SchemaError, match="the column 'wm', which the rows do not have"):
            generator.observe(np.array([1]))
        with pytest.raises(SchemaError, match="'wm' is int64, but the windowing attribute is a timestamp"):
            generator.observe(np.array([1]), {"wm": pa.array([1])})
        with pytest.raises(SchemaError, match="string and cannot order"):
            generator.observe(np.array([1]), {"wm": pa.array(["x"])})


class TestJumps:
    def test_one_row_from_the_future_does_not_make_the_others_late(self) -> None:
        values = np.array([10, 11, 9_000, 12, 13])
        assert TimeLate(0).observe(values).before.tolist()[3:] == [9_000, 9_000]
        guarded = TimeLate(0, guard=JumpGuard(100)).observe(values)
        assert guarded.before.tolist() == [NO_BOUND, 10, 11, 11, 12]
        assert guarded.after == 13

    def test_a_stream_that_really_jumped_is_believed_after_some_rows(self) -> None:
        generator = TimeLate(0, guard=JumpGuard(100, patience=3))
        seen = generator.observe(np.array([10, 5_002, 5_000, 5_001, 5_003]))
        assert seen.before.tolist() == [NO_BOUND, 10, 10, 10, 5_000]
        assert seen.after == 5_003

    def test_good_rows_in_between_show_that_the_stream_did_not_jump(self) -> None:
        generator = TimeLate(0, guard=JumpGuard(100, patience=2))
        assert generator.observe(np.array([10, 5_000, 11, 5_001, 12, 5_002])).after == 12

    @given(VALUES, st.integers(1, 30))
    def test_a_guard_that_nothing_exceeds_changes_nothing(self, values: list[int], slack: int) -> None:
        rows = np.array(values, np.int64)
        assert JumpGuard(101).believed(rows).tolist() == values
        believed = JumpGuard(slack, patience=1000).believed(rows)
        highest = None
        for value, answer in zip(values, believed.tolist(), strict=True):
            if highest is not None and value > highest + slack:
                assert answer == NO_BOUND
            else:
                assert answer == value
                highest = value if highest is None else max(highest, value)

    def test_nonsense_is_refused(self) -> None:
        with pytest.raises(ProgressError, match="max_jump must be positive, not 0"):
            JumpGuard(0)
        with pytest.raises(ProgressError, match="patience must be a positive number of rows"):
            JumpGuard(1, patience=0)


class TestSavedState:
    def test_state_of_another_policy_is_refused(self) -> None:
        with pytest.raises(CheckpointError, match="of the policy 'late', this run has 'rows'"):
            RowsLate(3).restore(TimeLate(3).snapshot())
        with pytest.raises(CheckpointError, match="for 3 late rows, this run has 4"):
            RowsLate(4).restore(RowsLate(3).snapshot())
        with pytest.raises(CheckpointError, match="differ in max_jump"):
            TimeLate(3).restore(TimeLate(3, guard=JumpGuard(5)).snapshot())
        with pytest.raises(CheckpointError, match=r"substreams \['b'\] were not registered"):
            PerSubstream("k", ["a", "b"]).restore(PerSubstream("k", ["a"]).snapshot())

    def test_the_state_of_many_late_rows_is_small_when_maxima_are_rare(self) -> None:
        generator = RowsLate(10_000)
        generator.observe(np.arange(20_000) // 5_000)
        assert len(json.dumps(generator.snapshot())) < 200


@pytest.mark.parametrize(("make", "problem"), [
    (lambda: TimeLate(-1), "delay must be a non-negative"), (lambda: RowsLate(-1), "must not be negative"),
    (lambda: Timer(Ordered(), interval=-1), "interval must not be negative"),
    (lambda: Timer(Ordered(), lull=-1), "lull threshold must not be negative"),
    (lambda: Heartbeat(-1), "distance of a heartbeat"), (lambda: IdleSource(Ordered(), timeout=0), "must be positive"),
    (lambda: PerSubstream("k", []), "no substream of 'k' is registered"),
])
def test_parameters_that_make_no_sense_are_refused(make: Callable[[], Generator], problem: str) -> None:
    with pytest.raises(ProgressError, match=problem):
        make()


def test_long_batches_with_jumps_are_believed_row_by_row_as_short_ones() -> None:
    rows = np.arange(5_000, dtype=np.int64)
    rows[[1_500, 1_501, 3_100]] = 10**9
    rows[4_000:] += 10**6
    whole, cut = JumpGuard(50, patience=30), JumpGuard(50, patience=30)
    at_once = whole.believed(rows)
    assert at_once.tolist() == np.concatenate([cut.believed(rows[i : i + 7]) for i in range(0, 5_000, 7)]).tolist()
    assert np.flatnonzero(at_once == NO_BOUND).tolist() == [1_500, 1_501, 3_100, *range(4_000, 4_029)]


@given(VALUES)
def test_p13_a_stream_is_grammatical_exactly_when_its_bounds_stay_at_or_below_the_low_watermark(
        values: list[int]) -> None:
    rows = np.array(values, np.int64)
    bounds = Ordered().observe(rows).before
    items: list[Any] = []
    for value, bound in zip(values, bounds.tolist(), strict=True):
        items += [Punctuation.below("ts", bound), {"ts": value}]
    assert is_grammatical(timeline(s=items)) == bool((bounds <= low_watermarks(rows)[:-1]).all())
