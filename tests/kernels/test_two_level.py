"""Two-level aggregation gives what the extents say for any table size, flush, m and i."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kernels.definition import (
    AGGREGATES,
    KEYS,
    POLICIES,
    Item,
    Row,
    by_definition,
    feed,
    places,
    rising_bounds,
    run,
    specs,
    streams,
)
from panewise.aggregates.registry import resolve
from panewise.core.errors import LateRowError, UnsupportedError
from panewise.kernels.baselines.slots import MODES, Flush, Hashes, SlotTable, hash_columns
from panewise.kernels.baselines.two_level import TwoLevelKernel
from panewise.kernels.contract.partials import bind
from panewise.kernels.window_ids.wid import WidKernel
from panewise.progress.punctuation import END, Punctuation
from panewise.windows.session import SessionWindow
from panewise.windows.sliding import SlidingWindow

NUMBER = pa.schema({"k": pa.int64()})
COUNT = bind([("n", resolve("count"))], [[]])


@settings(deadline=None, max_examples=75)
@given(specs, streams, st.sampled_from(POLICIES), places, places, st.integers(1, 9), st.sampled_from(MODES),
       st.integers(0, 4), st.integers(1, 5))
@example(SlidingWindow(5, 3), [Row(0, "a", 0), Punctuation.below("ts", 4, k="a"), Row(1, "a", 0), Row(1, "b", 0)],
         "generous", frozenset({1}), frozenset({2}), 1, "iop", 0, 1)
def test_results_and_late_rows_are_those_of_the_definition(
        spec: SlidingWindow, items: list[Item], policy: str, cuts: frozenset[int], saves: frozenset[int], slots: int,
        flush: Flush, m: int, i: int) -> None:
    def made() -> TwoLevelKernel:
        return TwoLevelKernel(spec, KEYS, AGGREGATES, late=policy, slots=slots, flush=flush, m=m, i=i)

    assert run(made, items, cuts, saves) == by_definition(spec, items, policy)


@settings(deadline=None, max_examples=25)
@given(specs, streams, st.sampled_from(POLICIES), places, st.integers(0, 8))
def test_bounds_made_row_by_row_are_respected(spec: SlidingWindow, items: list[Item], policy: str,
                                              cuts: frozenset[int], lag: int) -> None:
    bounds = rising_bounds(items, lag)
    assert run(lambda: TwoLevelKernel(spec, KEYS, AGGREGATES, late=policy, slots=3), items, cuts,
               source_bounds=bounds) == by_definition(spec, items, policy, bounds)


def table(slots: int, flush: Flush, m: int = 2, i: int = 160) -> SlotTable:
    return SlotTable(NUMBER, COUNT, slots=slots, flush=flush, m=m, i=i)


def add(target: SlotTable, wids: list[int], groups: list[int]) -> list[tuple[int, int, int]]:
    """Feed rows of tumbling windows; (window, group, count) of what is put out."""
    first = np.array(wids, np.int64)
    out = target.add(first, first + 1, pa.table({"k": pa.array(groups, pa.int64())}), [[]]).to_pylist()
    return [(row["wid.first"], row["k"], row["n.count"]) for row in out]


def test_a_slot_holds_one_group_and_a_collision_puts_out_the_resident() -> None:
    target = table(1, "lazy")
    assert add(target, [0, 0, 0, 0], [7, 7, 8, 7]) == [(0, 7, 2), (0, 8, 1)]
    assert target.table.to_pylist() == [{"wid.end": 1, "wid.first": 0, "k": 7, "n.count": 1}]
    assert target.oldest == 0


def test_the_lazy_flush_keeps_m_windows_behind_the_newest() -> None:
    target = table(1000, "lazy", m=2)
    assert add(target, [0, 1, 2], [1, 2, 3]) == []
    assert add(target, [3], [4]) == [(0, 1, 1)]
    assert sorted(add(target, [9], [5])) == [(1, 2, 1), (2, 3, 1), (3, 4, 1)]
    assert target.table.num_rows == 1


def test_the_slow_flush_puts_out_one_older_slot_every_i_rows() -> None:
    target = table(1000, "slow", m=100, i=2)
    assert add(target, [0, 0, 0], [1, 2, 3]) == []
    put_out = [len(add(target, [1], [9])) for _ in range(8)]
    assert sum(put_out) == 3
    assert max(put_out) == 1
    assert target.table.num_rows == 1, "the newest window stays"


def test_e12_the_ordered_slow_flush_examines_a_slot_per_row_and_forgets_none() -> None:
    target = table(4, "iop")
    out = add(target, [0, 0, 0], [1, 2, 3])
    out += add(target, [1] * 8, [9] * 8)
    assert sorted(group for wid, group, _ in out if wid == 0) == [1, 2, 3], "after as many rows as slots all are out"
    assert [wid for wid, _, _ in out] == sorted(wid for wid, _, _ in out)


def test_memory_below_is_bounded_whatever_the_number_of_groups() -> None:
    target = TwoLevelKernel(SlidingWindow(10, 10), NUMBER, COUNT, slots=64)
    for step in range(5):
        target.process(np.full(1000, step), pa.table({"k": np.arange(1000) + 1000 * step}), [[]])
        counters = target.counters()
        assert counters["slots"] <= 64
        assert counters["slot_bytes"] <= 64 * 32
    assert counters["put_out"] + counters["slots"] == 5000
    assert target.advance(END).num_rows == 5000


def test_few_groups_and_enough_slots_put_out_one_partial_per_window_and_group() -> None:
    target = TwoLevelKernel(SlidingWindow(10, 10), NUMBER, COUNT, slots=1 << 12)
    rng = np.random.default_rng(1)
    for step in range(50):
        target.process(step * 2 + rng.integers(0, 2, 100), pa.table({"k": rng.integers(0, 5, 100)}), [[]])
    target.advance(END)
    assert target.counters()["put_out"] == 5 * 10


def test_text_and_other_keys_find_their_slot_again() -> None:
    schema = pa.schema({"s": pa.string(), "f": pa.float64(), "t": pa.timestamp("us"), "b": pa.bool_()})
    functions = bind([("n", resolve("count")), ("m", resolve("median"))], [[], [pa.float64()]])
    batch = pa.table({"s": ["x", None, "y", "x"], "f": [0.0, float("nan"), None, -0.0], "t": [1, 2, None, 1],
                      "b": [True, None, False, True]}, schema=schema)
    outputs = []
    for target in (TwoLevelKernel(SlidingWindow(9, 3), schema, functions, slots=1 << 10),
                   WidKernel(SlidingWindow(9, 3), schema, functions)):
        for _ in range(3):
            target.process(np.array([1, 2, 3, 1]), batch, [[], [pa.array([1.0, 2.0, None, 4.0])]])
        if isinstance(target, TwoLevelKernel):
            assert target.counters()["slots"] == 3
        outputs.append(sorted(map(str, target.advance(END).to_pylist())))
    assert outputs[0] == outputs[1]


def test_hashes_depend_on_values_and_not_on_their_batch() -> None:
    whole = pa.chunked_array([pa.array(["a", "b", None, "a"]).dictionary_encode()])
    part = pa.chunked_array([pa.array([None, "a"]).dictionary_encode()])
    assert hash_columns([whole])[2:].tolist() == hash_columns([part]).tolist()
    assert len(set(hash_columns([whole]).tolist())) == 3


class Clumsy(SlotTable):
    """Hashes that many items share."""

    def _hashes(self, items: pa.Table) -> Hashes:
        return hash_columns(items.columns) % np.uint64(self.modulus)

    modulus = 3


@settings(deadline=None, max_examples=30)
@given(specs, streams, places, st.integers(1, 9), st.integers(1, 40))
def test_items_that_share_a_hash_are_not_mixed_up(spec: SlidingWindow, items: list[Item], cuts: frozenset[int],
                                                  slots: int, modulus: int) -> None:
    def made() -> TwoLevelKernel:
        target = TwoLevelKernel(spec, KEYS, AGGREGATES, slots=slots)
        target.low = Clumsy(KEYS, AGGREGATES, slots=slots, flush="lazy", m=2, i=1)
        target.low.modulus = modulus
        return target

    assert run(made, items, cuts) == by_definition(spec, items, "drop")


def test_parameters_that_make_no_sense_are_refused() -> None:
    for options in ({"slots": 0}, {"m": -1}, {"i": 0}):
        with pytest.raises(UnsupportedError, match="there must be a slot"):
            TwoLevelKernel(SlidingWindow(5, 5), NUMBER, COUNT, **options)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match="use lazy, slow, iop"):
        TwoLevelKernel(SlidingWindow(5, 5), NUMBER, COUNT, flush="eager")  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match="two-level"):
        TwoLevelKernel(SessionWindow(5), NUMBER, COUNT)


def test_a_late_row_stops_the_run_when_the_policy_says_so() -> None:
    target = TwoLevelKernel(SlidingWindow(5, 5), KEYS, AGGREGATES, late="error")
    target.advance(Punctuation.below("ts", 9))
    with pytest.raises(LateRowError):
        feed(target, [Row(3, "a", 0)], 0)


def test_peeking_changes_nothing() -> None:
    target = TwoLevelKernel(SlidingWindow(10, 5), KEYS, AGGREGATES, slots=2)
    feed(target, [Row(ts, "a", ts % 3) for ts in range(8)], 0)
    seen = target.peek()
    assert sorted(map(str, target.advance(END).to_pylist())) == sorted(map(str, seen.to_pylist()))
