"""Keys of joins in few bits: what is packed comes back, whatever comes later, and rows of distinct keys stay small."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from in_order_joins import MergedJoin

from panewise.core.join_kinds import LEFT, RIGHT
from panewise.kernels.joins.keys import BitRange, JoinKeys
from panewise.kernels.joins.oa_join import OAJoin
from panewise.kernels.joins.pairing import Band, Buckets
from panewise.kernels.joins.sides import JoinSide, JoinSpec
from panewise.progress.punctuation import Punctuation

INTEGERS = st.one_of(st.integers(-3, 3), st.integers(0, 2**32 - 1), st.integers(-(2**63), 2**63 - 1))


def holds(known: BitRange, value: int) -> bool:
    return known.bits == 64 or known.base <= value < known.base + 2**known.bits


@given(INTEGERS, INTEGERS)
def test_a_range_holds_what_it_was_made_of_and_costs_at_most_a_bit(one: int, two: int) -> None:
    low, high = sorted((one, two))
    found = BitRange.of(low, high)
    assert holds(found, low)
    assert holds(found, high)
    assert (high - low).bit_length() <= found.bits <= 64
    assert found.bits <= (high - low).bit_length() + 1 or found.bits == 64


@given(st.lists(st.tuples(INTEGERS, INTEGERS, st.integers(0, 9)), min_size=1, max_size=30))
def test_packed_keys_come_back(rows: list[tuple[int, int, int]]) -> None:
    keys, integers = JoinKeys([pa.int64()] * 3), np.array(rows, np.int64)
    keys.fit([integers])
    packed = keys.pack(integers)
    assert keys.unpack(packed).tolist() == integers.tolist()
    assert [keys.column(i, packed, pa.int64()).to_pylist() for i in range(3)] == integers.T.tolist()


@given(st.lists(INTEGERS, min_size=1, max_size=5), INTEGERS, st.integers(1, 2))
def test_only_keys_that_fit_are_packed_and_rows_without_a_key_need_not(known: list[int], other: int,
                                                                       columns: int) -> None:
    keys = JoinKeys([pa.int64()] * columns)
    keys.fit([np.array([known] * columns, np.int64).T])
    integers = np.array([[known[0]] * columns, [known[0]] * (columns - 1) + [other]], np.int64)
    fits = holds(keys.ranges[-1], other)
    packed = keys.packed(integers, np.ones(2, np.bool_))
    assert (packed is not None) == fits
    if packed is not None:
        assert keys.unpack(packed).tolist() == integers.tolist()
    without = keys.packed(integers, np.array([True, False]))
    assert without is not None
    assert keys.unpack(without[:1]).tolist() == integers[:1].tolist()


def spec(pairing: Band | Buckets) -> JoinSpec:
    sides = [JoinSide(pa.schema({f"{s}.ts": pa.int64(), f"{s}.k": pa.int64(), f"{s}.m": pa.int64()}), f"{s}.ts",
                      (f"{s}.k", f"{s}.m")) for s in "lr"]
    return JoinSpec(*sides, pairing)


def rows(side: int, times: list[int], keys: list[int]) -> tuple[pa.Table, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    name = "lr"[side]
    return pa.table({f"{name}.ts": times, f"{name}.k": keys, f"{name}.m": keys}), np.array(times, np.int64)


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from([2, 2**20, 2**34, 2**61]), st.sampled_from([3, 2**33, 2**62]))
def test_keys_and_times_far_apart_meet_as_they_should(random: Random, apart: int, spread: int) -> None:
    times, keys = [0, apart, -apart, 1], [0, 1, -1, spread - 1, -spread]
    join, seen, found = OAJoin(spec(Band(-1, 1))), [[], []], []  # type: ignore[var-annotated]
    expected = 0
    for _ in range(12):
        side = random.choice((LEFT, RIGHT))
        batch = [(random.choice(times), random.choice(keys)) for _ in range(3)]
        expected += sum(key == other and abs(time - at) <= 1 for time, key in batch for at, other in seen[1 - side])
        seen[side] += batch
        given_rows = rows(side, [t for t, _ in batch], [k for _, k in batch])
        if random.random() < 0.3:  # and once more after they were taken back
            join.mark()
            join.process(side, *given_rows)
            join.rollback()
        found += join.process(side, *given_rows).to_pylist()
        if random.random() < 0.3:
            saved, join = join.save(), OAJoin(spec(Band(-1, 1)))
            join.load(*saved)
    assert len(found) == expected
    assert all(row["l.k"] == row["r.k"] == row["l.m"] == row["r.m"] and abs(row["l.ts"] - row["r.ts"]) <= 1
               for row in found)


@pytest.mark.parametrize("repeated", [True, False])
@pytest.mark.parametrize("behind", [0, 20, 50])
def test_one_part_behind_needs_no_more_than_merging_in_order_whatever_the_keys(repeated: bool, behind: int) -> None:
    """X11: two unions, the second part of each behind by some seconds, in buckets of ten."""
    peaks = []
    for make in (OAJoin, MergedJoin):
        random, join, peak = np.random.default_rng(1), make(spec(Buckets(10_000))), 0
        for now in range(500, (behind + 40) * 1000, 500):
            for side in (LEFT, RIGHT):
                for late in (0, behind * 1000):
                    times = random.integers(now - 500 - late, now - late, 250)
                    keys = random.integers(0, 500 if repeated else 2**31, len(times))
                    times, keys = times[times >= 0], keys[times >= 0]
                    join.process(side, *rows(side, times.tolist(), keys.tolist()))
                    peak = max(peak, join.size)
                join.advance(side, Punctuation.below(f"{'lr'[side]}.ts", now - behind * 1000))
                peak = max(peak, join.size)
        peaks.append(peak)
    assert peaks[0] <= peaks[1]


@pytest.mark.parametrize("apart", [1, 2**34])
@pytest.mark.parametrize("step", [0, 1, 2**34])
def test_many_partners_in_any_order_come_as_they_were_stored(step: int, apart: int) -> None:
    """More than are sorted by insertion and more than there is room for at first, in two slots and in disorder.

    Times that are 2³⁴ apart take two words; keys take none, one, or two of which the first is always the same.
    """
    random, join = np.random.default_rng(2), OAJoin(spec(Band(-8 * apart, 8 * apart)))
    counts = 20_000, 500
    times = [random.integers(-200, 200, count) * apart for count in counts]
    # a key with many rows, and so many others that some share a chain and a time
    keys = [np.where(random.random(count) < 0.5, 0, random.integers(0, 2000, count)) * step for count in counts]
    tables = [pa.table({f"{s}.ts": t, f"{s}.k": k, f"{s}.m": np.zeros_like(k)})
              for s, t, k in zip("lr", times, keys, strict=True)]
    join.process(LEFT, tables[0], times[0])
    found = join.process(RIGHT, tables[1], times[1])
    met = [np.flatnonzero((keys[0] == k) & (np.abs(times[0] - t) <= 8 * apart))
           for t, k in zip(times[1], keys[1], strict=True)]
    assert max(map(len, met)) > 24
    assert found.column("l.ts").to_pylist() == times[0][np.concatenate(met)].tolist()
    assert found.column("r.ts").to_pylist() == np.repeat(times[1], [len(places) for places in met]).tolist()
