"""The worked examples of the theses and papers that are about progress, under their own names."""

from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import OrdinalKind, to_ordinals
from panewise.core.time import parse_timestamp
from panewise.progress.bounds import BoundTable
from panewise.progress.late import LatePolicy, decide
from panewise.progress.punctuation import Punctuation
from panewise.progress.substreams import PerSubstream
from panewise.progress.timeline import timeline
from panewise.windows.sliding import SlidingWindow
from progress.grammar import is_grammatical, low_watermark

MINUTE = 60_000_000
PACKETS = [
    ("202.1.3.0", "202.2.1.2", 102, "2008-01-01T23:59:23Z"),
    ("102.3.2.7", "211.9.3.6", 200, "2008-01-01T23:58:00Z"),
    ("202.1.3.0", "202.2.1.2", 111, "2008-01-01T23:59:53Z"),
    ("202.6.9.2", "211.7.3.1", 300, "2008-01-01T23:59:55Z"),
    ("211.1.3.0", "202.2.1.2", 100, "2008-01-02T00:00:23Z"),
    ("202.3.1.1", "102.5.0.2", 210, "2008-01-02T00:00:53Z"),
]
MIDNIGHT = "2008-01-02T00:00:00Z"


def packet(srcIP: str, destIP: str, length: int, ts: str) -> dict[str, Any]:
    return {"srcIP": srcIP, "destIP": destIP, "len": length, "ts": parse_timestamp(ts)}


class TestW5:
    """The packet stream of Li Figure 2-1: disordered, with one punctuation at midnight after the fourth packet."""

    ROWS = tuple(packet(*p) for p in PACKETS)
    PROMISE = Punctuation.from_json({"ts": MIDNIGHT}, "ts", OrdinalKind.TIMESTAMP)

    def test_the_stream_is_disordered_and_grammatical(self) -> None:
        times = [row["ts"] for row in self.ROWS]
        assert times != sorted(times)
        assert is_grammatical(timeline(packets=[*self.ROWS[:4], self.PROMISE, *self.ROWS[4:]]))
        assert self.PROMISE.bound("ts") == parse_timestamp(MIDNIGHT) <= low_watermark(4, times)

    def test_any_earlier_place_would_break_the_promise(self) -> None:
        for place in range(4):
            items = [*self.ROWS[:place], self.PROMISE, *self.ROWS[place:]]
            assert not is_grammatical(timeline(packets=items))

    def test_at_midnight_windows_0_and_1_are_complete_with_1_and_3_packets_and_window_2_is_open(self) -> None:
        spec = SlidingWindow(MINUTE, MINUTE, origin=parse_timestamp("2008-01-01T23:58:00Z"))
        times = np.array([row["ts"] for row in self.ROWS])
        first, _ = spec.wids_of(times)
        assert first.tolist() == [1, 0, 1, 1, 2, 2]
        assert spec.closed_below(parse_timestamp(MIDNIGHT)) == 2
        bounds = BoundTable("ts")
        before_it = bounds.bounds_for({}, 4)
        bounds.advance(self.PROMISE)
        before = np.concatenate([before_it, bounds.bounds_for({}, 2)])
        assert decide(LatePolicy.ERROR, *spec.wids_of(times), times, before, spec.closed_below).late_rows == 0


class TestPF8:
    """Each road sensor promises for its own segment: that segment's windows close while others stay open."""

    SPEC = SlidingWindow(5 * MINUTE, MINUTE, origin=parse_timestamp("2005-06-14T12:00:00Z"))
    ROWS = pa.table({
        "seg": ["s1", "s1", "s2"], "speed": [55, 62, 50],
        "ts": pa.array([parse_timestamp(f"2005-06-14T12:00:{s}Z") for s in (10, 40, 50)], pa.int64()),
    })

    def test_the_promise_of_s1_closes_window_0_of_s1_only(self) -> None:
        table = BoundTable("ts")
        line = {"ts": "2005-06-14T12:01:00Z", "seg": "s1"}
        table.advance(Punctuation.from_json(line, "ts", OrdinalKind.TIMESTAMP))
        bounds = table.bounds_for({"seg": self.ROWS["seg"]})
        first, last = self.SPEC.wids_of(to_ordinals(self.ROWS["ts"], "ts"))
        assert (first.tolist(), last.tolist()) == ([0, 0, 0], [5, 5, 5])
        assert self.SPEC.closed_below(table.bound_for({"seg": "s1"})) == 1
        assert self.SPEC.closed_below(max(table.bound_for({"seg": "s2"}), 0)) <= 0
        complete = self.ROWS.filter(pa.array(bounds > to_ordinals(self.ROWS["ts"], "ts")))
        assert complete["speed"].to_pylist() == [55, 62]

    def test_sensors_that_send_in_order_make_the_same_promises_by_themselves(self) -> None:
        sensors = PerSubstream("seg", ["s1", "s2"])
        values = np.append(to_ordinals(self.ROWS["ts"], "ts"), parse_timestamp("2005-06-14T12:01:00Z"))
        sensors.observe(values, {"seg": pa.array(["s1", "s1", "s2", "s1"])})
        closed = {group["seg"]: self.SPEC.closed_below(bound) for group, bound in sensors.group_bounds()}
        assert closed == {"s1": 1, "s2": 0}
        assert self.SPEC.closed_below(sensors.bound) == 0


class TestE2AndE3:
    """Punctuation values are exclusive, on attributes and on window ids alike (also rule U12)."""

    def test_w4_a_punctuation_at_12_11_completes_window_10_and_everything_before(self) -> None:
        origin = parse_timestamp("2008-01-01T12:00:00Z")
        spec = SlidingWindow(10 * MINUTE, MINUTE, origin)
        promise = Punctuation.below("ts", origin + 11 * MINUTE)
        closed = spec.closed_below(promise.bound("ts") or 0)
        assert closed == 11
        ends = [spec.extent(wid).end or 0 for wid in (10, 11)]
        assert [promise.matches({"ts": end - 1}) for end in ends] == [True, False]

    def test_reading_the_value_inclusively_would_close_a_window_that_can_still_change(self) -> None:
        """Bound 60, exclusive: a row at 60 may come. Read as "up to 60" it would be late."""
        rows = [Punctuation.below("ts", 60), {"ts": 60}]
        assert is_grammatical(timeline(s=rows))
        assert not is_grammatical(timeline(s=[Punctuation.up_to("ts", 60), rows[1]]))

    def test_closing_only_the_window_that_equals_the_bound_loses_windows(self) -> None:
        """The printed rule outputs wid = bound; one coarse punctuation closes several windows at once."""
        spec = SlidingWindow(60, 60)
        bound = spec.closed_below(300)
        with_rows = [0, 2, 4, 5]
        printed, ours = [w for w in with_rows if w == bound], [w for w in with_rows if w < bound]
        assert printed == [5], "and window 5 = [300, 360) is not complete at all"
        assert ours == [0, 2, 4]
