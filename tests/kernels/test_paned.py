"""The paned kernel gives what the WID kernel gives, after every step, in either form of its state."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from panewise.aggregates.registry import resolve
from panewise.kernels.contract.partials import BoundAggregate
from panewise.kernels.groups.key_table import KeyTable
from panewise.kernels.panes import pane_arrays as dense_panes
from panewise.kernels.panes.pane_kernel import PanedKernel
from panewise.kernels.window_ids.wid import WidKernel
from panewise.progress.punctuation import END, Punctuation
from panewise.windows.sliding import SlidingWindow

KEYS = pa.schema([("k", pa.string()), ("n", pa.int32())])
AGGREGATES = [
    BoundAggregate("rows", resolve("count")),
    BoundAggregate("some", resolve("count"), (pa.float64(),)),
    BoundAggregate("whole", resolve("sum"), (pa.int64(),)),
    BoundAggregate("total", resolve("sum"), (pa.float64(),)),
    BoundAggregate("mean", resolve("avg"), (pa.float64(),)),
    BoundAggregate("low", resolve("min"), (pa.int64(),)),
    BoundAggregate("high", resolve("max"), (pa.float64(),)),
    BoundAggregate("least", resolve("min"), (pa.float64(),)),
    BoundAggregate("latest", resolve("max"), (pa.date32(),)),
]
Row = tuple[int, str | None, int | None, int | None, float | None]


class EarlyDense(PanedKernel):
    """Moves its state to dense arrays at once."""

    dense_after = 3


def batch(rows: Sequence[Row]) -> tuple[np.ndarray, pa.Table, list[list[pa.Array]]]:
    values = np.array([r[0] for r in rows], np.int64)
    keys = pa.table([[r[1] for r in rows], [r[2] for r in rows]], schema=KEYS)
    whole = pa.array([r[3] for r in rows], pa.int64())
    part = pa.array([r[4] for r in rows], pa.float64())
    days = pa.array([None if r[3] is None else date.fromordinal(1000 + r[3] % 50) for r in rows], pa.date32())
    return values, keys, [[], [part], [whole], [part], [part], [whole], [part], [part], [days]]


def comparable(table: pa.Table) -> list[tuple[Any, ...]]:
    def plain(value: Any) -> Any:
        return "nan" if isinstance(value, float) and value != value else value  # noqa: PLR0124
    return sorted((tuple(map(plain, row.values())) for row in table.to_pylist()), key=repr)


rows = st.tuples(
    st.integers(-12, 40), st.sampled_from(["a", "b", "", None]), st.sampled_from([1, 2, None]),
    st.one_of(st.none(), st.integers(-(2**62), 2**62), st.integers(-3, 3)),
    st.one_of(st.none(), st.sampled_from([0.0, -0.0, 1.5, -2.25, 1e16, -1e16, float("inf"), float("nan")])),
)
promises = st.one_of(
    st.builds(lambda b: Punctuation.below("ts", b), st.integers(-10, 45)),
    st.builds(lambda b, k: Punctuation.below("ts", b, k=k), st.integers(-10, 45), st.sampled_from(["a", "b"])),
    st.builds(lambda b, k, n: Punctuation.below("ts", b, k=k, n=n), st.integers(-10, 45),
              st.sampled_from(["a", "b"]), st.sampled_from([1, 2])),
)
steps = st.lists(st.one_of(st.lists(rows, max_size=6), promises, st.just("restore")), max_size=14)
specs = st.builds(SlidingWindow, st.integers(1, 17), st.integers(1, 8), st.integers(-3, 3), st.integers(0, 3))


@settings(deadline=None, max_examples=50)
@given(specs, steps, st.sampled_from(["drop", "consistent", "generous"]))
@example(SlidingWindow(4, 2),
         [[(1, "a", 1, 5, 1.5)] * 4, Punctuation.below("ts", 4), [(5, "b", 1, 2, None)], "restore"], "drop")
@example(SlidingWindow(3, 7), [[(t, "a", 1, 1, 1.0) for t in range(20)], Punctuation.below("ts", 9, k="a")], "drop")
@example(SlidingWindow(1, 1),
         [[(9, "a", 1, 1, 1.0)] * 3, Punctuation.below("ts", 2), [(4, "a", 1, 1, 1.0)], Punctuation.below("ts", 20)],
         "drop")
def test_every_step_gives_what_the_wid_kernel_gives(spec: SlidingWindow, items: list[Any], late: str) -> None:
    paned, wid = (kind(spec, KEYS, AGGREGATES, late=late) for kind in (EarlyDense, WidKernel))
    for item in [*items, END]:
        if item == "restore":
            saved = paned.snapshot()
            paned = EarlyDense(spec, KEYS, AGGREGATES, late=late)
            paned.restore(saved)
        elif isinstance(item, Punctuation):
            assert comparable(paned.advance(item)) == comparable(wid.advance(item))
        else:
            assert paned.process(*batch(item)).tolist() == wid.process(*batch(item)).tolist()
        assert paned.open_windows() == wid.open_windows()
        assert paned.counters()["window_groups"] == wid.counters()["window_groups"]
    assert paned.counters()["partials"] == 0
    assert (paned.rows, paned.late_rows) == (wid.rows, wid.late_rows)


@settings(deadline=None, max_examples=15)
@given(st.integers(1, 400), st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_long_streams_in_many_batches(length: int, slide: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    spec = SlidingWindow(length, slide)
    paned, wid = (kind(spec, KEYS, AGGREGATES) for kind in (EarlyDense, WidKernel))
    found: list[list[tuple[Any, ...]]] = [[], []]
    for step in range(25):
        data = [(int(t), f"k{random.integers(5 + step)}", int(random.integers(3)), int(random.integers(1000)),
                 float(random.normal())) for t in step * 40 + random.integers(0, 60, 30)]
        for kernel, results in zip((paned, wid), found, strict=True):
            kernel.process(*batch(data))
            results.extend(comparable(kernel.advance(Punctuation.below("ts", step * 40))))
    for kernel, results in zip((paned, wid), found, strict=True):
        results.extend(comparable(kernel.advance(END)))
    assert len(found[0]) == len(found[1])
    for ours, theirs in zip(*map(sorted, found), strict=True):
        assert ours == theirs


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 2**32 - 1),
       st.sampled_from(["drop", "consistent", "generous"]))
@example(1, 1, 5102, "drop")  # the first bound lies below the first pane
def test_integer_keys_with_bounds_on_every_row(length: int, slide: int, seed: int, late: str) -> None:
    random = np.random.default_rng(seed)
    keys, aggregates = pa.schema([("n", pa.int64())]), AGGREGATES[:4]
    paned, wid = (kind(SlidingWindow(length, slide), keys, aggregates, late=late) for kind in (EarlyDense, WidKernel))
    highest = np.int64(0)
    for step in range(12):
        values = step * 10 + random.integers(-8, 12, 20)
        numbers = random.choice([1, 2, 3, 10**12, -(10**15), None] if step > 8 else [1, 2, 3], 20)
        maxima = np.maximum.accumulate(np.append(highest, values))
        bounds, highest = maxima[:-1] - 9, maxima[-1]
        part = pa.array(random.normal(size=20))
        arguments = [[], [part], [pa.array(values)], [part]]
        table = pa.table([pa.array(numbers.tolist(), pa.int64())], schema=keys)
        masks = [kernel.process(values, table, arguments, bounds=bounds).tolist() for kernel in (paned, wid)]
        assert masks[0] == masks[1]
        found = [kernel.advance(Punctuation.below("ts", int(highest) - 9)) for kernel in (paned, wid)]
        assert_close(*found)
    assert_close(*(kernel.advance(END) for kernel in (paned, wid)))


def assert_close(ours: pa.Table, theirs: pa.Table) -> None:
    for a, b in zip(comparable(ours), comparable(theirs), strict=True):
        assert a == b


def test_a_stream_that_jumps_far_ahead_goes_on_without_arrays() -> None:
    spec = SlidingWindow(10, 2)
    paned, wid = (kind(spec, KEYS, AGGREGATES) for kind in (EarlyDense, WidKernel))
    for value in (0, 4, 10**12, 10**12 + 3, 7):
        for kernel in (paned, wid):
            kernel.process(*batch([(value, "a", 1, 1, 1.0)] * 3))
    assert comparable(paned.advance(END)) == comparable(wid.advance(END))


def test_groups_spread_thin_over_panes_leave_the_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense_panes, "ALWAYS_DENSE", 1 << 12)
    paned, wid = (kind(SlidingWindow(8, 4), KEYS, AGGREGATES) for kind in (EarlyDense, WidKernel))
    for step in range(40):
        data = batch([(4 * step, f"group {step} {i}", 1, i, 0.5) for i in range(5)])
        for kernel in (paned, wid):
            kernel.process(*data)
    assert paned.counters()["bytes"] == wid.counters()["bytes"]  # the same form
    assert comparable(paned.advance(END)) == comparable(wid.advance(END))


def test_groups_that_went_away_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("panewise.kernels.panes.pane_kernel.FEW_KEYS", 64)
    paned = EarlyDense(SlidingWindow(8, 4), KEYS, AGGREGATES)
    paned._look_at_keys = 64
    for step in range(60):
        paned.process(*batch([(4 * step, f"group {step} {i}", 1, i, 0.5) for i in range(5)]))
        paned.advance(Punctuation.below("ts", 4 * step))
    assert len(paned._numbers) < 150


@pytest.mark.parametrize(("data_type", "values"), [
    (pa.int8(), [1, -1, None, 1]), (pa.bool_(), [True, None, False, True]), (pa.float64(), [0.0, -0.0, None, 2.5]),
    (pa.float32(), [1.5, float("nan"), float("nan"), None]), (pa.date32(), [date(2020, 1, 1), None, date(1960, 1, 1)]),
    (pa.timestamp("us"), [datetime(2020, 1, 1), None]), (pa.string(), ["", None, "ä", ""]), (pa.binary(), [b"", b"a"]),
    (pa.uint64(), [2**64 - 1, 0, None]), (pa.dictionary(pa.int8(), pa.string()), ["x", "y", None, "x"]),
])
def test_keys_of_any_type_come_back(data_type: pa.DataType, values: list[Any]) -> None:
    keys = KeyTable(pa.schema([("k", data_type), ("also", pa.int64())]))
    for part in (values, values[::-1], values * 3):
        table = pa.table([pa.array(part, data_type), list(range(len(part)))], schema=keys.schema)
        codes = keys.codes(table, len(part))
        back = pa.table(keys.columns(codes), names=["k", "also"]).to_pylist()
        assert repr(back).replace("-0.0", "0.0") == repr(table.to_pylist()).replace("-0.0", "0.0")
        assert codes.max() < len(keys)
