"""Rows that wait, the order in which they are released, and the calendar of those that leave, by definition."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from panewise.kernels.groups.key_table import IntegerCodes
from panewise.kernels.relations.edges.delta import FOREVER, Lives, Uids, by_age
from panewise.kernels.relations.edges.runs import StreamRun, joined
from panewise.kernels.relations.edges.waiting import SourceRows
from panewise.kernels.relations.stores.queues import Calendar, Scanned
from panewise.progress.generators import behind

SCHEMA = pa.schema({"x": pa.int64()})
FEW = st.lists(st.tuples(*[st.integers(0, 3)] * 3), max_size=12)


def lives_of(rows: list[tuple[int, int, int]]) -> Lives:
    born, first, second = np.array(rows, np.int64).reshape(-1, 3).T
    places = np.arange(len(rows))
    return Lives(pa.table({"x": places}), places, born.copy(), np.full(len(rows), FOREVER), np.stack([first, second]))


@settings(deadline=None)
@given(FEW)
def test_order_of_birth_and_what_is_known_of_it(rows: list[tuple[int, int, int]]) -> None:
    lives = lives_of(rows)
    found = lives.by_birth()
    assert found.table.column("x").to_pylist() == sorted(range(len(rows)), key=lambda i: (*rows[i], i))
    strict = all(one < other for one, other in pairwise(rows))
    assert found.aged == strict
    order = by_age(lives.born, lives.age)
    assert (order is None) == (rows == sorted(rows))
    kept = found.filter(found.uid % 2 == 0)
    assert kept.aged == found.aged
    left = [*zip(kept.born, *kept.age, strict=True)]
    assert not kept.aged or left == sorted(set(left))


@settings(deadline=None)
@given(st.lists(FEW, min_size=1, max_size=4), st.booleans(), st.integers(0, 4), st.booleans())
def test_rows_of_a_stream_are_released_by_instant_then_by_age(parts: list[list[tuple[int, int, int]]], own_due: bool,
                                                              bound: int, saved: bool) -> None:
    rows = SourceRows(SCHEMA, Uids())
    known, place = [], 0
    for part in parts:
        times, due, _ = np.array(part, np.int64).reshape(-1, 3).T.copy()
        due = due if own_due else times
        arrivals = np.arange(place, place + len(part))
        rows.arrive(pa.table({"x": arrivals}), due, times, arrivals)
        known += [(int(d), int(t), int(a)) for d, t, a in zip(due, times, arrivals, strict=True)]
        place += len(part)
    found: list[int] = []
    for upto in (bound, FOREVER):
        if saved:
            header, tables = rows.snapshot()
            uids = Uids()
            uids.next = rows._uids.next
            rows = SourceRows(SCHEMA, uids)
            rows.restore(header, tables)
        lives = rows.step([], upto).lives
        assert lives.born.tolist() == lives.age[0].tolist()
        assert (lives.expires == FOREVER).all()
        assert (np.diff(lives.uid) == 1).all()
        found += lives.table.column("x").to_pylist()
    assert found == [a for d, t, a in sorted(known) if d < bound] + [a for d, t, a in sorted(known) if d >= bound]


def test_runs_that_come_from_different_numbers_of_rows_are_put_together() -> None:
    one, two = np.arange(2), np.arange(2, 5)
    due, lives = joined([StreamRun(pa.table({"x": one}), one, one, (one,)),
                         StreamRun(pa.table({"x": two}), two + 1, two, (two, two))])
    assert due.tolist() == [0, 1, 3, 4, 5]
    assert lives.born.tolist() == lives.table.column("x").to_pylist() == [0, 1, 2, 3, 4]
    assert lives.age.shape == (3, 5)


@settings(deadline=None)
@given(st.lists(st.tuples(st.lists(st.sampled_from([0, 1, 2, 9, 70, 5000, FOREVER]), max_size=8), st.integers(0, 30)),
                max_size=12), st.booleans())
@example([([0, 5000], 0), ([1, 1], 3), ([70, 70, 5000, FOREVER], 30)], True)
def test_a_calendar_tells_who_leaves_as_a_search_does(steps: list[tuple[list[int], int]], long_gone: bool) -> None:
    calendar, searched, now, slot = Calendar(), Scanned(), 0, 0
    if long_gone:  # rows that left long before the queue is made anew
        for queue in (calendar, searched):
            queue.rebuild(np.array([-100_000, 3, -5, 10]), now)
        slot = 4
    for ends, further in steps:
        slots = np.arange(slot, slot + len(ends))
        expires = np.array([end if end == FOREVER else now + end for end in ends], np.int64)
        slot += len(ends)
        for queue in (calendar, searched):
            queue.insert(slots, expires, now)
        now += further
        assert sorted(calendar.due(now)) == sorted(searched.due(now))
    held = {(s, e) for s, e in zip(*searched.entries(), strict=True) if e != FOREVER}
    assert {*zip(*calendar.entries(), strict=True)} == held


@settings(deadline=None)
@given(st.lists(st.integers(0, 20), max_size=12), st.booleans(), st.integers(-5, 20), st.integers(0, 5),
       st.integers(-5, 20))
def test_rows_behind_a_bound_that_follows_them(values: list[int], ascending: bool, first: int, delay: int,
                                               reached: int) -> None:
    values = sorted(values) if ascending else values
    expected = [value < max(first, reached, *(v - delay for v in values[:i])) for i, value in enumerate(values)]
    assert behind(np.array(values, np.int64), first, delay, reached).tolist() == expected


EXTREMES = st.sampled_from([-(2**63), -(2**62), -1, 0, 1, 65_535, 65_536, 2**62, 2**63 - 1])


@settings(deadline=None)
@given(st.lists(st.lists(EXTREMES | st.integers(-3, 70_000), max_size=9), max_size=4))
def test_codes_of_integers_near_and_far(batches: list[list[int]]) -> None:
    codes, known = IntegerCodes(), dict[int, int]()
    for batch in batches:
        expected = [known.setdefault(key, len(known)) for key in batch]
        assert codes.codes(np.array(batch, np.int64)).tolist() == expected
    assert codes.known.tolist() == [*known]
