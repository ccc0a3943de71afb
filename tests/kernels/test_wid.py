"""The WID kernel gives what the extents say, for any order, any cut into batches, any punctuation and late policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kernels.tiny import CountRows, InOrder
from panewise.core.errors import CheckpointError, UnsupportedError
from panewise.kernels.contract.partials import bind
from panewise.kernels.contract.state_file import encode_state, table_bytes
from panewise.kernels.window_ids.wid import WidKernel
from panewise.progress.punctuation import END, Punctuation
from panewise.storage.sealed import seal, unseal
from panewise.windows.base import Rows
from panewise.windows.calendar import CalendarWindow
from panewise.windows.count import CountWindow
from panewise.windows.landmark import LandmarkWindow
from panewise.windows.rows import RowWindow
from panewise.windows.session import SessionWindow
from panewise.windows.sliding import SlidingWindow

KEYS = pa.schema({"k": pa.string(), "g": pa.int64()})
AGGREGATES = bind([("n", CountRows()), ("seen", InOrder())], [(), (pa.int64(),)])
POLICIES = ["drop", "side", "generous", "consistent"]


@dataclass(frozen=True)
class Row:
    ts: int
    k: str | None
    g: int

    @property
    def group(self) -> tuple[str | None, int]:
        return self.k, self.g


Item = Row | Punctuation
Results = dict[tuple[int, str | None, int], list[int]]


def kernel(spec: SlidingWindow, late: str = "drop") -> WidKernel:
    return WidKernel(spec, KEYS, AGGREGATES, late=late)


def feed(target: WidKernel, rows: Sequence[Row], start: int) -> list[int]:
    """Process rows as one batch; the positions of late rows."""
    keys = pa.table({"k": pa.array([r.k for r in rows], pa.string()), "g": pa.array([r.g for r in rows], pa.int64())})
    positions = pa.array(range(start, start + len(rows)), pa.int64())
    late = target.process(np.array([r.ts for r in rows], np.int64), keys, [[], [positions]])
    return [start + int(i) for i in np.flatnonzero(late)]


def note(results: Results, table: pa.Table) -> None:
    for row in table.to_pylist():
        at = (row["wid"], row["k"], row["g"])
        assert at not in results, "a window of a group must be output once"
        assert row["n"] == len(row["seen"])
        results[at] = sorted(row["seen"])


def run(target: WidKernel, items: Sequence[Item], cuts: frozenset[int] = frozenset(),
        saves: frozenset[int] = frozenset()) -> tuple[Results, list[int]]:
    """Everything the kernel puts out, and the positions of late rows; batches end at punctuation and at the cuts."""
    results: Results = {}
    late: list[int] = []
    batch: list[Row] = []
    for i, item in enumerate([*items, END]):
        if batch and (i in cuts or isinstance(item, Punctuation)):
            late += feed(target, batch, i - len(batch))
            batch = []
        if i in saves:
            saved = target.snapshot()
            target = WidKernel(target.spec, target.keys, target.aggregates, late=target.late)
            target.restore(saved)
        if isinstance(item, Punctuation):
            note(results, target.advance(item))
        else:
            batch.append(item)
    assert target.counters()["partials"] == 0, "nothing is left when all windows are closed"
    return results, late


def by_definition(spec: SlidingWindow, items: Sequence[Item], policy: str) -> tuple[Results, list[int]]:
    results: Results = {}
    late: list[int] = []
    promises: list[Punctuation] = []
    for position, item in enumerate(items):
        if isinstance(item, Punctuation):
            promises.append(item)
            continue
        covering = [p for p in promises if all(pattern.matches({"k": item.k, "g": item.g}[a])
                                               for a, pattern in p.patterns if a != "ts")]
        bound = max((b for p in covering if (b := p.closes_below("ts")) is not None), default=-(10**9))
        windows = [w for w in range(-90, 90) if spec.extent(w).contains(item.ts)]
        open_windows = [w for w in windows if (spec.extent(w).end or 0) > bound]
        if item.ts < bound:
            if policy in ("drop", "side"):
                windows, missed = [], True
            elif policy == "generous":
                windows, missed = open_windows, open_windows != windows
            else:
                missed = open_windows != windows
                windows = [] if missed else windows
            if missed:
                late.append(position)
        for wid in windows:
            results.setdefault((wid, item.k, item.g), []).append(position)
    return results, late


specs = st.builds(SlidingWindow, st.integers(1, 12), st.integers(1, 12), st.integers(-9, 9), st.integers(0, 7))
rows = st.builds(Row, st.integers(-25, 25), st.sampled_from(["a", "b", None]), st.integers(0, 1))
constants = st.fixed_dictionaries({}, optional={"k": st.sampled_from(["a", "b", None]), "g": st.integers(0, 1)})
punctuation = st.builds(lambda bound, c: Punctuation.below("ts", bound, **c), st.integers(-20, 25), constants)
endings = constants.filter(bool).map(lambda c: Punctuation.of(dict(Punctuation.below("x", 0, **c).patterns[:-1])))
streams = st.lists(st.one_of(rows, rows, rows, punctuation, endings), max_size=25)
places = st.frozensets(st.integers(0, 25), max_size=6)


@settings(deadline=None, max_examples=75)
@given(specs, streams, st.sampled_from(POLICIES), places, places)
@example(SlidingWindow(5, 3), [Row(0, "a", 0), Punctuation.below("ts", 4, k="a"), Row(1, "a", 0), Row(1, "b", 0)],
         "generous", frozenset({1}), frozenset({2}))
@example(SlidingWindow(1, 1), [Punctuation.below("ts", 0), Row(-1, "a", 0)], "drop", frozenset(), frozenset())
def test_results_and_late_rows_are_those_of_the_definition(
        spec: SlidingWindow, items: list[Item], policy: str, cuts: frozenset[int], saves: frozenset[int]) -> None:
    assert run(kernel(spec, policy), items, cuts, saves) == by_definition(spec, items, policy)


@settings(deadline=None, max_examples=30)
@given(specs, st.lists(rows, max_size=20), st.data())
def test_permutations_and_punctuation_that_agree_with_each_other_never_change_results(
        spec: SlidingWindow, some: list[Row], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(list(enumerate(some))))
    items: list[Item] = []
    origin: dict[int, int] = {}
    for done, (position, row) in enumerate(shuffled):
        origin[len(items)] = position
        items.append(row)
        ahead = [later for _, later in shuffled[done + 1 :]]
        if ahead and data.draw(st.booleans()):
            group = data.draw(st.sampled_from([None, *{r.k for r in ahead}]))
            mine = [r.ts for r in ahead if group is None or r.k == group]
            items.append(Punctuation.below("ts", min(mine), **({} if group is None else {"k": group})))
    expected, nothing = run(kernel(spec), some)
    found, late = run(kernel(spec), items)
    assert nothing == late == []
    assert {at: sorted(origin[p] for p in seen) for at, seen in found.items()} == expected


@settings(deadline=None, max_examples=30)
@given(specs, streams)
def test_a_window_comes_out_with_the_first_punctuation_that_covers_its_end_and_not_before(
        spec: SlidingWindow, items: list[Item]) -> None:
    target = kernel(spec)
    promised: list[Punctuation] = []
    before = target.closed_below
    for position, item in enumerate(items):
        if isinstance(item, Row):
            feed(target, [item], position)
            continue
        promised.append(item)
        for row in target.advance(item).to_pylist():
            end = spec.extent(row["wid"]).end or 0
            covers = [p for p in promised if all(q.matches(row[a]) for a, q in p.patterns if a != "ts")
                      and ("ts" not in p.attributes or (p.bound("ts") or 0) >= end)]
            assert covers == [item], "closed by this punctuation and by none before"
        assert target.closed_below >= before
        before = target.closed_below


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 40), st.integers(1, 12), st.lists(st.integers(0, 3), min_size=1, max_size=40))
def test_ordered_input_needs_at_most_range_over_slide_partials_per_group(
        window: int, slide: int, steps: list[int]) -> None:
    spec = SlidingWindow(window, slide)
    target = kernel(spec)
    for position, ts in enumerate(np.cumsum(steps).tolist()):
        feed(target, [Row(ts, "a", 0), Row(ts, "b", 0)], position)
        target.advance(Punctuation.below("ts", ts))
        counters = target.counters()
        assert counters["window_groups"] <= 2 * spec.ratio
        assert counters["partials"] <= counters["window_groups"]


def test_w4_a_row_is_in_ten_windows_and_a_punctuation_completes_window_ten() -> None:
    noon, minute = 12 * 3600, 60
    spec = SlidingWindow(10 * minute, minute, origin=noon)
    target = kernel(spec)
    feed(target, [Row(noon + 10 * minute + 7, "a", 0)], 0)
    assert target.open_windows() == list(range(10, 20))
    results = target.advance(Punctuation.below("ts", noon + 11 * minute))
    assert (results.column("wid").to_pylist(), target.closed_below) == ([10], 11)


def test_w5_disordered_packets_of_two_minutes() -> None:
    start, minute = -120, 60  # 11:58 PM; midnight is 0
    packets = [("202.1.3.0", -37), ("102.3.2.7", -120), ("202.1.3.0", -7), ("202.6.9.2", -5)]
    target = kernel(SlidingWindow(minute, minute, origin=start))
    feed(target, [Row(ts, ip, 0) for ip, ts in packets], 0)
    results = target.advance(Punctuation.below("ts", 0)).to_pylist()
    assert Counter({(r["wid"], r["k"]): r["n"] for r in results}) == Counter(
        {(0, "102.3.2.7"): 1, (1, "202.1.3.0"): 2, (1, "202.6.9.2"): 1})
    assert feed(target, [Row(23, "211.1.3.0", 0), Row(53, "202.3.1.1", 0)], 4) == []
    assert target.open_windows() == [2]


def test_w6_an_hour_by_five_minutes_is_twelve_partials_per_group() -> None:
    minute = 60
    target = kernel(SlidingWindow(60 * minute, 5 * minute))
    for second in range(0, 120 * minute, 20):
        feed(target, [Row(second, "a", 0)], second)
        target.advance(Punctuation.below("ts", second))
    assert target.counters()["window_groups"] == 12
    one = kernel(SlidingWindow(5 * minute, minute))
    feed(one, [Row(17 * minute, "a", 0)], 0)
    counters = one.counters()
    assert (counters["window_groups"], counters["partials"], counters["open_windows"]) == (5, 1, 5)


def test_pf8_a_group_wise_punctuation_closes_the_windows_of_its_group_only() -> None:
    minute = 60
    target = kernel(SlidingWindow(5 * minute, minute))
    feed(target, [Row(10, "s1", 0), Row(40, "s1", 0), Row(50, "s2", 0)], 0)
    assert target.open_windows() == [0, 1, 2, 3, 4]
    results = target.advance(Punctuation.below("ts", minute, k="s1")).to_pylist()
    assert [(r["wid"], r["k"], r["seen"]) for r in results] == [(0, "s1", [0, 1])]
    assert target.open_windows() == [0, 1, 2, 3, 4]
    assert target.counters()["window_groups"] == 9


def test_punctuation_on_a_column_that_is_no_key_closes_nothing() -> None:
    target = kernel(SlidingWindow(5, 5))
    feed(target, [Row(1, "a", 0)], 0)
    assert target.advance(Punctuation.below("ts", 9, colour="red")).num_rows == 0
    assert feed(target, [Row(2, "a", 0)], 1) == []


def test_rows_in_a_gap_are_in_no_window() -> None:
    target = kernel(SlidingWindow(3, 10))
    feed(target, [Row(ts, "a", 0) for ts in range(20)], 0)
    results = target.advance(END).to_pylist()
    assert [(r["wid"], sorted(r["seen"])) for r in results] == [(0, [7, 8, 9]), (1, [17, 18, 19])]


@pytest.mark.parametrize(("policy", "expected"), [
    ("drop", {0: [0], 1: [0], 2: [1], 3: [1]}),
    ("generous", {0: [0], 1: [0], 2: [1, 3], 3: [1]}),
    ("consistent", {0: [0], 1: [0], 2: [1], 3: [1]}),
])
def test_bounds_made_row_by_row_inside_a_batch_are_respected(policy: str, expected: dict[int, list[int]]) -> None:
    target = kernel(SlidingWindow(10, 5), policy)
    keys = pa.table({"k": ["a"] * 4, "g": [0] * 4})
    late = target.process(np.array([1, 12, 2, 8]), keys, [[], [pa.array([0, 1, 2, 3])]],
                          bounds=np.array([-(2**63), 1, 12, 12]))
    assert late.tolist() == [False, False, True, True]
    assert {r["wid"]: sorted(r["seen"]) for r in target.advance(END).to_pylist()} == expected


def test_a_saved_state_of_another_query_is_refused() -> None:
    saved = kernel(SlidingWindow(10, 5)).snapshot()
    with pytest.raises(CheckpointError, match="another query"):
        kernel(SlidingWindow(10, 2)).restore(saved)
    with pytest.raises(CheckpointError, match="another query"):
        WidKernel(SlidingWindow(10, 5), KEYS, AGGREGATES[:1]).restore(saved)


@pytest.mark.parametrize("data", [b"", b"not arrow", b"\xff" * 64])
def test_damaged_state_is_refused(data: bytes) -> None:
    with pytest.raises(CheckpointError):
        kernel(SlidingWindow(10, 5)).restore(data)


def test_a_truncated_snapshot_is_refused() -> None:
    target = kernel(SlidingWindow(10, 5))
    feed(target, [Row(1, "a", 0)], 0)
    saved = target.snapshot()
    with pytest.raises(CheckpointError):
        kernel(SlidingWindow(10, 5)).restore(saved[: len(saved) // 2])


def test_the_state_of_many_batches_stays_as_small_as_the_open_windows() -> None:
    target = kernel(SlidingWindow(60, 10))
    rng = np.random.default_rng(3)
    for step in range(60):
        values = np.arange(step * 10, step * 10 + 10)
        keys = pa.table({"k": pa.array(rng.choice(["a", "b"], 10)), "g": pa.array(rng.integers(0, 2, 10))})
        target.process(values, keys, [[], [pa.array(values)]])
        target.advance(Punctuation.below("ts", step * 10))
    counters = target.counters()
    assert counters["partials"] <= 4 * 7
    assert counters["rows"] == 600
    assert counters["bytes"] < 20_000


def test_keys_that_went_away_do_not_stay_in_memory() -> None:
    target = WidKernel(SlidingWindow(10, 10), pa.schema({"k": pa.string()}), AGGREGATES[:1])
    for step in range(40):
        keys = pa.table({"k": [f"{'key' * 20}-{step}-{i}" for i in range(50)]})
        target.process(np.full(50, step * 10), keys, [[]])
        target.advance(Punctuation.below("ts", step * 10))
    assert target.counters()["partials"] == 50
    assert target.counters()["bytes"] < 50 * 400


def test_text_keys_come_back_as_they_came() -> None:
    schema = pa.schema({"s": pa.large_string(), "b": pa.binary(), "d": pa.dictionary(pa.int8(), pa.string())})
    target = WidKernel(SlidingWindow(10, 10), schema, AGGREGATES[:1])
    keys = pa.table({"s": ["x", None, "x"], "b": [b"1"] * 3, "d": pa.array(["u"] * 3).dictionary_encode()})
    target.process(np.array([1, 2, 3]), keys.cast(schema), [[]])
    results = target.advance(END)
    assert results.schema.field("s").type == pa.large_string()
    assert sorted(map(str, results.to_pylist())) == sorted(map(str, [
        {"wid": 0, "s": "x", "b": b"1", "d": "u", "n": 2}, {"wid": 0, "s": None, "b": b"1", "d": "u", "n": 1}]))


def test_a_state_of_another_version_or_kind_is_refused() -> None:
    saved = kernel(SlidingWindow(10, 5)).snapshot()
    before = b"".join(seal(*unseal(saved, "state"), version=5))
    with pytest.raises(CheckpointError, match="was made by version 5 of panewise's state, this is version 6"):
        kernel(SlidingWindow(10, 5)).restore(before)
    with pytest.raises(CheckpointError, match="expected"):
        kernel(SlidingWindow(10, 5)).restore(encode_state("other", {}, {}))
    plain = table_bytes(pa.table({"a": [1]}))
    with pytest.raises(CheckpointError, match="it has no seal"):
        kernel(SlidingWindow(10, 5)).restore(plain)


def test_windows_that_need_more_than_the_row_are_refused() -> None:
    for spec in (SessionWindow(5), RowWindow(5, 1), CountWindow(5), LandmarkWindow(5)):
        with pytest.raises(UnsupportedError, match="do not follow from the row alone or never let go of it"):
            WidKernel(spec, KEYS, AGGREGATES)


def test_state_is_counted_without_listing_windows() -> None:
    target = kernel(SlidingWindow(86_400, 1))
    feed(target, [Row(t, k, 0) for t in range(0, 86_400, 10) for k in ("a", "b")], 0)
    feed(target, [Row(0, "c", 0)], 17_280)
    counters = target.counters()
    assert counters["open_windows"] == 86_390 + 86_400
    assert counters["window_groups"] == 2 * counters["open_windows"] + 86_400


def test_a_bound_near_the_end_of_time_closes_everything_and_does_not_wrap_round() -> None:
    target = kernel(SlidingWindow(10, 5, origin=-7, lag=3))
    feed(target, [Row(0, "a", 0)], 0)
    assert target.advance(Punctuation.below("ts", 2**63 - 2)).num_rows == 2
    assert target.counters()["partials"] == 0


def test_calendar_windows_run_too() -> None:
    hour = 3600 * 1_000_000
    spec = CalendarWindow("day", timezone="Europe/Berlin")
    values = np.array([0, 22 * hour, 23 * hour, 47 * hour])
    target = WidKernel(spec, KEYS, AGGREGATES)
    target.process(values, pa.table({"k": ["a"] * 4, "g": [0] * 4}), [[], [pa.array([0, 1, 2, 3])]])
    found = {r["wid"]: r["seen"] for r in target.advance(END).to_pylist()}
    assert found == {w: [i for i, v in enumerate(values) if spec.extent(w).contains(int(v))] for w in found}
    assert sorted(p for seen in found.values() for p in seen) == [0, 1, 2, 3]
    assert len(found) == 3


def test_rows_of_windows_agree_with_the_specification() -> None:
    spec = SlidingWindow(7, 3, origin=2, lag=1)
    first, end = spec.wids(Rows.of([0, 5]))
    target = kernel(spec)
    feed(target, [Row(0, "a", 0), Row(5, "a", 0)], 0)
    assert target.open_windows() == sorted(set(range(first[0], end[0])) | set(range(first[1], end[1])))
