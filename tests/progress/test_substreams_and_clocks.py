"""Substreams, the wall clock, and silence."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.core.errors import ProgressError, SchemaError
from panewise.progress.clocks import Heartbeat, IdleSource, Timer
from panewise.progress.jumps import JumpGuard
from panewise.progress.lateness import Ordered, RowsLate, TimeLate
from panewise.progress.meld import Meld
from panewise.progress.substreams import PerSubstream
from panewise.progress.watermarks import NO_BOUND


def keyed(rows: list[tuple[Any, int]]) -> tuple[np.ndarray[Any, Any], dict[str, pa.Array]]:
    return np.array([v for _, v in rows], np.int64), {"k": pa.array([k for k, _ in rows])}


class TestSubstreams:
    @given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 40)), min_size=1, max_size=25))
    def test_the_stream_is_bounded_by_its_slowest_substream(self, rows: list[tuple[str, int]]) -> None:
        seen = PerSubstream("k", "abc").observe(*keyed(rows))
        assert seen.own is not None
        known = dict.fromkeys("abc", NO_BOUND)
        for (key, value), before, own in zip(rows, seen.before.tolist(), seen.own.tolist(), strict=True):
            assert before == min(known.values())
            assert own == known[key]
            known[key] = max(known[key], value)
        assert seen.after == min(known.values())

    def test_nothing_is_promised_before_every_registered_substream_has_spoken(self) -> None:
        roads = PerSubstream("k", ["a", "b"])
        assert roads.observe(*keyed([("a", 10), ("a", 50)])).after == NO_BOUND
        assert roads.group_bounds() == [({"k": "a"}, 50)]
        assert roads.observe(*keyed([("b", 20)])).after == 20

    def test_an_unregistered_substream_is_an_error_that_names_it(self) -> None:
        with pytest.raises(ProgressError, match="substream 'z' of 'k' is not registered; registered are a, b"):
            PerSubstream("k", ["a", "b"]).observe(*keyed([("a", 1), ("z", 2)]))
        with pytest.raises(SchemaError, match="column 'k', which the rows do not have"):
            PerSubstream("k", ["a", "b"]).observe(np.array([1]))

    def test_substreams_may_be_numbers(self) -> None:
        assert PerSubstream("k", [1, 2]).observe(*keyed([(1, 10), (2, 20)])).after == 10


class TestTimer:
    def test_p17_in_a_lull_the_bound_follows_the_clock_at_a_distance(self) -> None:
        timer = Timer(Ordered(), interval=1, lull=30)
        timer.observe(np.array([100]))
        assert [timer.tick(now) for now in (101, 130, 131, 160)] == [100, 100, 101, 130]

    def test_p17_a_lull_on_one_input_of_a_union_no_longer_stalls_the_other(self) -> None:
        busy, quiet, meld = Ordered(), Timer(Ordered(), lull=30), Meld(["busy", "quiet"])
        meld.advance("quiet", quiet.observe(np.array([10])).after)
        meld.advance("busy", busy.observe(np.array([10, 100])).after)
        assert meld.bound == 10
        assert meld.advance("quiet", quiet.tick(100)) == 70
        assert meld.advance("quiet", quiet.tick(140)) == 100, "now the busy input is the slower one"

    def test_a_timer_publishes_only_at_its_interval(self) -> None:
        timer = Timer(Ordered(), interval=10)
        timer.observe(np.array([5]))
        assert timer.tick(1000) == 5
        assert timer.observe(np.array([6, 7])).before.tolist() == [5, 5]
        assert (timer.tick(1009), timer.tick(1010)) == (5, 7)

    def test_rows_in_time_end_a_lull_and_older_ones_are_below_the_bound(self) -> None:
        timer = Timer(Ordered(), lull=30)
        timer.observe(np.array([100]))
        timer.tick(200)
        seen = timer.observe(np.array([150, 180]))
        assert (seen.before.tolist(), timer.tick(201)) == ([170, 170], 180)

    def test_a_clock_set_back_takes_nothing_back(self) -> None:
        timer = Timer(Ordered(), lull=30)
        assert (timer.tick(200), timer.tick(100), timer.tick(210)) == (170, 170, 180)

    def test_a_poison_row_does_not_hide_a_lull_from_a_guarded_source(self) -> None:
        timer = Timer(TimeLate(0, guard=JumpGuard(50)), lull=30)
        timer.observe(np.array([100, 9_999]))
        assert timer.tick(200) == 170

    def test_substreams_stay_visible_behind_a_timer(self) -> None:
        timer = Timer(PerSubstream("k", ["a", "b"]), lull=30)
        seen = timer.observe(*keyed([("a", 10), ("a", 12), ("b", 11)]))
        assert seen.own is not None
        assert seen.own.tolist() == [NO_BOUND, 10, NO_BOUND]
        assert timer.group_bounds() == [({"k": "a"}, 12), ({"k": "b"}, 11)]


class TestHeartbeat:
    def test_it_follows_the_clock_at_its_distance(self) -> None:
        beat = Heartbeat(6)
        assert beat.observe(np.array([50])).before.tolist() == [NO_BOUND]
        assert (beat.tick(100), beat.tick(90)) == (94, 94)
        assert beat.observe(np.array([93, 95])).before.tolist() == [94, 94]

    def test_a_source_may_send_its_own(self) -> None:
        assert Heartbeat(10).supply(123) == 123


class TestIdleSource:
    def test_a_source_without_rows_for_the_timeout_is_idle_until_its_next_row(self) -> None:
        source = IdleSource(RowsLate(0), timeout=10)
        source.tick(0)
        assert not source.idle
        source.observe(np.array([5]))
        source.tick(8)
        source.tick(17)
        assert not source.idle
        source.tick(18)
        assert source.idle
        source.observe(np.array([], np.int64))
        assert source.idle, "an empty batch is no sign of life"
        source.observe(np.array([6]))
        assert not source.idle

    def test_a_source_that_never_spoke_becomes_idle_too(self) -> None:
        source = IdleSource(Ordered(), timeout=10)
        source.tick(100)
        source.tick(110)
        assert (source.idle, source.bound) == (True, NO_BOUND)

    def test_a_promise_of_the_source_is_a_sign_of_life(self) -> None:
        source = IdleSource(Ordered(), timeout=10)
        source.tick(0)
        source.tick(10)
        assert source.supply(7) == 7
        assert not source.idle

    def test_an_idle_input_no_longer_holds_back_a_meld_and_is_waited_for_again_after_it_woke_up(self) -> None:
        sources = {"a": IdleSource(Ordered(), timeout=10), "b": IdleSource(Ordered(), timeout=10)}
        meld = Meld(sources)
        for name, source in sources.items():
            meld.advance(name, source.observe(np.array([5])).after)
            source.tick(0)
        meld.advance("a", sources["a"].observe(np.array([50])).after)
        for source in sources.values():
            source.tick(10)
        assert [str(p) for p in meld.set_idle("b", sources["b"].idle)] == ["(ts < 50)"]
        meld.advance("b", sources["b"].observe(np.array([40])).after)
        assert meld.set_idle("b", sources["b"].idle) == []
        assert meld.advance("a", 90) is None
        assert meld.advance("b", 60) == 60
