"""The worked examples W1 to W15 of Li's thesis, as far as they are answers of queries."""

from __future__ import annotations

import random
from itertools import product

import pyarrow as pa
import pytest

from oracle.building import arrivals, call, clause, columns, per_window, rows, source
from oracle.questions import Oracle
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceSchema
from panewise.core.time import MINUTE
from panewise.engines.oracle.closing import bounds_of
from panewise.engines.oracle.definition import Definition
from panewise.plan.nodes import BandJoin, Filter, Qualify, Source, Union, WindowAggregate, WindowClause
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import timeline
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tuple_slide import TupleSlideWindow

COUNT = call("n", "count")
STREAM = source(v=pa.int64())


def count_by_end(spec: SlidingWindow, *times: int) -> dict[int, int]:
    found = Oracle(per_window(STREAM, clause(spec), COUNT), timeline(s=rows(*((t, 0) for t in times)))).results()
    return {row["window"]["end"]: row["n"] for row in found}


def test_w1_the_first_nine_windows_of_ten_minutes_every_minute_are_partial():
    ten_minutes = SlidingWindow(600, 60)
    counts = count_by_end(ten_minutes, *(60 * minute for minute in range(15)))
    assert [counts[60 * (wid + 1)] for wid in range(15)] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10, 10, 10]
    assert [str(ten_minutes.extent(wid)) for wid in (9, 10, 14)] == ["[0, 600)", "[60, 660)", "[300, 900)"]


@pytest.mark.parametrize("origin", [0, 36_000])
def test_w2_a_row_five_seconds_after_the_origin_is_in_windows_0_to_9(origin: int):
    ends = count_by_end(SlidingWindow(600, 60, origin), origin + 5)
    assert [(end - origin) // 60 - 1 for end in ends] == list(range(10))


def test_w3_window_10_holds_exactly_the_times_from_minute_1_to_minute_11():
    counts = count_by_end(SlidingWindow(600, 60), 59, 60, 659, 660)
    assert counts[660] == 2


def test_w4_a_row_of_minute_10_updates_ten_windows_and_punctuation_at_minute_11_closes_window_10():
    plan = per_window(STREAM, clause(SlidingWindow(600, 60)), COUNT)
    items = timeline(s=[*rows((600, 0), (659, 0)), Punctuation.below("ts", 660)])
    oracle = Oracle(plan, items)
    assert [row["window"]["end"] // 60 - 1 for row in oracle.results()] == list(range(10, 20))
    assert [row["window"]["end"] // 60 - 1 for row in oracle.results_after(2)] == [10]
    assert oracle.results_after(1) == []


def test_w5_the_disordered_packets_are_complete_at_the_midnight_punctuation():
    types = {"srcIP": pa.string(), "len": pa.int64(), "ts": pa.timestamp("us", tz="UTC")}
    packets = Source("s", SourceSchema(types, "ts"))
    clock = OrdinalKind.TIMESTAMP
    origin, midnight = (clock.parse(f"2026-01-0{day}T{time}Z") for day, time in ((1, "23:58:00"), (2, "00:00:00")))
    data = [("202.1.3.0", 102, "1T23:59:23"), ("102.3.2.7", 200, "1T23:58:00"), ("202.1.3.0", 111, "1T23:59:53"),
            ("202.6.9.2", 300, "1T23:59:55"), ("211.1.3.0", 100, "2T00:00:23"), ("202.3.1.1", 210, "2T00:00:53")]
    items: list[object] = [{"srcIP": ip, "len": size, "ts": f"2026-01-0{ts}Z"} for ip, size, ts in data]
    items.insert(4, Punctuation.below("ts", midnight))
    minute = WindowClause(SlidingWindow(MINUTE, MINUTE, origin), "ts", clock)

    counted = Oracle(per_window(packets, minute, COUNT), timeline(s=items))
    assert [row["n"] for row in counted.results()] == [1, 3, 2]
    assert [row["n"] for row in counted.results_after(4)] == [1, 3]
    assert counted.late_rows() == []

    by_ip = Oracle(per_window(packets, minute, COUNT, keys=["srcIP"]), timeline(s=items)).results_after(4)
    in_window_1 = {row["srcIP"]: row["n"] for row in by_ip if row["window"]["end"] == clock.present(midnight)}
    assert in_window_1 == {"202.1.3.0": 2, "202.6.9.2": 1}


def test_w6_an_hour_every_five_minutes_puts_a_row_into_twelve_windows():
    assert len(count_by_end(SlidingWindow(3600, 300), 1234)) == 12


def test_w7_slide_by_tuple_counts_after_a_punctuation_and_at_the_end():
    plan = per_window(STREAM, clause(TupleSlideWindow(100)), COUNT)
    data = rows(*((t, 0) for t in (10, 30, 50, 125, 20)))
    oracle = Oracle(plan, timeline(s=[*data, Punctuation.below("ts", 31)]))
    assert [(r["wid"], r["n"]) for r in oracle.results_after(5)] == [(10, 1), (20, 2), (30, 3)]
    assert [(r["wid"], r["n"]) for r in oracle.results()] == [(10, 1), (20, 2), (30, 3), (50, 4), (125, 3)]


def test_w8_windows_are_made_of_panes():
    chance = random.Random(8)
    times = [chance.randrange(0, 600) for _ in range(200)]
    panes, windows = count_by_end(SlidingWindow(60, 60), *times), count_by_end(SlidingWindow(240, 60), *times)
    for wid in range(3, 9):
        assert windows[60 * (wid + 1)] == sum(panes[60 * (p + 1)] for p in range(wid - 3, wid + 1))
        assert windows[60 * (wid + 1)] == windows[60 * wid] - panes.get(60 * (wid - 3), 0) + panes[60 * (wid + 1)]
    nine_by_six = SlidingWindow(9, 6)
    assert (nine_by_six.pane, nine_by_six.range // nine_by_six.pane, nine_by_six.slide // nine_by_six.pane) == (3, 3, 2)


def test_w10_bounds_of_a_join_come_from_both_inputs():
    left, right = (Qualify(source(name), name) for name in ("S0", "S1"))
    join = BandJoin(left, right, "S0.ts", "S1.ts", 2, 2)
    said = [("S0", 1), ("S1", 1), ("S0", 2), ("S1", 2), ("S0", 3)]
    d = Definition(arrivals(*((name, Punctuation.below("ts", bound)) for name, bound in said)))
    assert bounds_of(d, join, "S1.ts", {})[1:] == [-1, 0, 0, 1]
    assert bounds_of(d, join, "S0.ts", {})[1:] == [-1, -1, 0, 0]


def band(left_range: int, right_range: int, bounds: str = "strict") -> BandJoin:
    left, right = (Qualify(source(name), name) for name in ("m1", "m2"))
    return BandJoin(left, right, "m1.ts", "m2.ts", left_range, right_range, bounds=bounds)


def by_global_order(arriving: list[tuple[str, int]], ranges: dict[str, int], *,
                    purge_by_other: bool) -> set[tuple[int, int]]:
    """The naive joins that trust the order of arrival: no test of timestamps, only of what is held."""
    held: dict[str, list[int]] = {"m1": [], "m2": []}
    found: set[tuple[int, int]] = set()
    for name, ts in arriving:
        other = "m2" if name == "m1" else "m1"
        held[name].append(ts)
        purged, newest = (other, ts) if purge_by_other else (name, max(held[name]))
        held[purged] = [t for t in held[purged] if t > newest - ranges[purged]]
        found |= {(ts, t) if name == "m1" else (t, ts) for t in held[other]}
    return found


def declared(join: BandJoin, arriving: list[tuple[str, int]]) -> set[tuple[int, int]]:
    answer = Oracle(join, arrivals(*((name, {"ts": ts}) for name, ts in arriving))).results()
    return {(row["m1.ts"], row["m2.ts"]) for row in answer}


def test_w11_a_join_that_trusts_arrival_loses_partners_when_one_input_is_a_minute_late():
    minutes = range(0, 600, 30)
    arriving = sorted([(t, "m1", t) for t in minutes] + [(t + 60, "m2", t) for t in minutes])
    inputs = [(name, ts) for _, name, ts in arriving]
    wrong = by_global_order(inputs, {"m1": 180, "m2": 120}, purge_by_other=False)
    right = declared(band(180, 120), inputs)
    assert right == {(m1, m2) for m1, m2 in product(minutes, minutes) if m1 - 120 < m2 < m1 + 180}
    lost = {(m1, m2) for m1, m2 in right - wrong if m2 >= 180 and m2 < 540}
    assert lost
    assert all(m2 - 180 < m1 <= m2 - 120 for m1, m2 in lost)


def test_w11_a_join_that_trusts_arrival_joins_rows_eight_minutes_apart_when_one_input_is_five_minutes_late():
    start = 36_000
    seconds = range(start, start + 720)
    arriving = sorted([(t + 300, "m1", t) for t in seconds] + [(t, "m2", t) for t in seconds])
    until = [(name, ts) for at, name, ts in arriving if at <= start + 659]
    early, late = start + 180, start + 659
    wrong = by_global_order(until, {"m1": 180, "m2": 120}, purge_by_other=False)
    assert (early, late) in wrong  # 10:03:00 and 10:10:59
    assert declared(band(180, 120), [("m2", late), ("m1", early)]) == set()


def test_w11_purging_the_other_side_by_the_arriving_row_is_wrong_too():
    arriving = [("m1", 0), ("m2", 200), ("m1", 300), ("m2", 100)]
    wrong = by_global_order(arriving, {"m1": 180, "m2": 120}, purge_by_other=True)
    assert declared(band(180, 120), arriving) == {(0, 100), (300, 200)}
    assert wrong == {(300, 200), (300, 100)}


def test_w14_a_window_with_gaps_holds_only_the_end_of_each_period():
    inside = {d for d in range(40) if count_by_end(SlidingWindow(3, 10), d)}
    assert inside == {d for d in range(40) if d % 10 in {7, 8, 9}}


def test_w14_a_range_that_is_no_multiple_of_the_slide_gives_three_or_four_windows():
    assert [end // 3 - 1 for end in count_by_end(SlidingWindow(10, 3), 0)] == [0, 1, 2]
    assert [end // 3 - 1 for end in count_by_end(SlidingWindow(10, 3), 2)] == [0, 1, 2, 3]


def test_w15_counts_over_a_disordered_union_of_two_filters_are_those_of_one_filter():
    cheap, costly = Scalar.parse("v % 3 = 0"), Scalar.parse("v % 2 = 0")
    rest = Filter(Filter(STREAM, Scalar.parse("NOT v % 3 = 0")), costly)
    split = per_window(Union((Filter(STREAM, cheap), rest)), clause(SlidingWindow(20, 5)), COUNT)
    whole = per_window(Filter(STREAM, Scalar.parse("v % 3 = 0 OR v % 2 = 0")), clause(SlidingWindow(20, 5)), COUNT)
    items = timeline(s=rows(*((t, t * 7 % 11) for t in range(60))))
    assert Oracle(split, items).results() == Oracle(whole, items).results()


def test_q7_2_a_window_over_a_join_goes_by_the_time_of_one_side():
    join = band(2, 2, "both")
    minute = WindowClause(SlidingWindow(10, 10), "m1.ts", OrdinalKind.INTEGER)
    plan = WindowAggregate(join, minute, columns(), (COUNT,))
    data = [("m1", 8), ("m2", 9), ("m2", 11), ("m1", 12), ("m2", 7), ("m1", 25)]
    items = arrivals(*((name, {"ts": ts}) for name, ts in data))
    assert [(row["window"]["end"], row["n"]) for row in Oracle(plan, items).results()] == [(10, 2), (20, 1)]
