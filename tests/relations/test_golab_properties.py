"""Properties of continuous queries (Golab) that hold between queries, whatever an oracle says."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceKind
from panewise.kernels.relations.delta import FOREVER
from panewise.kernels.relations.stores.queues import Calendar, ExpiryQueue, Fifo, Scanned
from panewise.plan.nodes import (
    Filter,
    Join,
    Node,
    Qualify,
    RelationToStream,
    RelationToStreamKind,
    TableJoin,
    Window,
    WindowClause,
)
from panewise.progress.timeline import Arrival, Timeline
from panewise.windows.sliding import SlidingWindow
from relations.plans import columns, source, timelines, window
from relations.running import run_relation
from relations.test_tables import table

Rows = list[dict[str, Any]]


def joined(left: Window, right: Window) -> Node:
    pairs = Join(Qualify(columns(left, "k", "v"), "l"), Qualify(columns(right, "k", "v"), "r"),
                 Scalar.parse("`l.k` = `r.k`"))
    return columns(pairs, "l.k", "l.v", "r.v")


def values(rows: Rows) -> Counter[str]:
    return Counter(repr([v for name, v in row.items() if name not in {"valid_from", "expires_at"}]) for row in rows)


LENGTHS = st.integers(1, 8)
BATCHES = st.lists(st.tuples(st.lists(st.integers(1, 30), max_size=6), st.integers(0, 8)), max_size=8)


@given(BATCHES, st.sampled_from([Calendar, Scanned]))
def test_property_6_a_queue_gives_out_every_row_at_its_time_and_none_before(
        batches: list[tuple[list[int], int]], kind: type[ExpiryQueue]) -> None:
    queue, now, slots, waiting = kind(), 0, 0, {}
    for lives, forward in batches:
        expires = np.array([now + life if life < 30 else FOREVER for life in lives], np.int64)
        queue.insert(np.arange(slots, slots + len(lives)), expires, now)
        waiting |= dict(zip(range(slots, slots + len(lives)), expires.tolist(), strict=True))
        slots, now = slots + len(lives), now + forward
        due = {slot for slot, end in waiting.items() if end < now}
        assert set(queue.due(now).tolist()) == due
        waiting = {slot: end for slot, end in waiting.items() if slot not in due}


@given(BATCHES)
def test_property_20_first_in_first_out(batches: list[tuple[list[int], int]]) -> None:
    queue, now, slots, last, given_out = Fifo(), 0, 0, 0, 0
    for lives, forward in batches:
        ends = np.maximum.accumulate(np.array([last, *(now + life for life in lives)], np.int64))[1:]
        queue.insert(np.arange(slots, slots + len(lives)), ends, now)
        slots, now, last = slots + len(lives), now + forward, int(ends[-1]) if len(ends) else last
        due = queue.due(now).tolist()
        assert due == list(range(given_out, given_out + len(due)))
        given_out += len(due)


@settings(max_examples=20, deadline=None)
@given(LENGTHS, LENGTHS, st.integers(2, 4), timelines(("s", "t"), rows=18))
def test_property_7_restore_puts_out_what_continuous_evaluation_does(one: int, other: int, slide: int,
                                                                     timeline: Timeline) -> None:
    def came(slide: int, *, restore: bool) -> Rows:
        plan = joined(*(window(source(s), SlidingWindow(n, slide, 1 - slide)) for s, n in (("s", one), ("t", other))))
        return run_relation(RelationToStream(plan, RelationToStreamKind.ISTREAM, restore=restore), timeline)[0]

    eager = came(1, restore=False)
    restored = came(slide, restore=True)
    assert values(restored) == values(eager)
    assert all(row["valid_from"] % slide == 0 for row in restored)
    assert values(came(slide, restore=False)) <= values(eager)


@settings(max_examples=20, deadline=None)
@given(LENGTHS, LENGTHS, timelines(("s", "t"), rows=18))
def test_property_10_internal_windows_keep_all_that_external_ones_ever_put_out(one: int, other: int,
                                                                              timeline: Timeline) -> None:
    left, right = window(source("s"), SlidingWindow(one, 1)), window(source("t"), SlidingWindow(other, 1))
    external, _ = run_relation(joined(left, right), timeline)
    internal, _ = run_relation(joined(*(replace(w, clause=replace(w.clause, internal=True)) for w in (left, right))),
                               timeline)
    assert [row for row in internal if row["expires_at"] is not None] == []
    assert values(internal) == values(external)
    assert Counter(row["valid_from"] for row in internal) == Counter(row["valid_from"] for row in external)


@settings(max_examples=20, deadline=None)
@given(LENGTHS, timelines(("s", "t"), rows=18))
def test_property_11_an_output_window_shows_at_least_what_is_there(length: int, timeline: Timeline) -> None:
    spec = SlidingWindow(length, 1)
    left, right = (Window(source(s), WindowClause(spec, "ts", OrdinalKind.INTEGER)) for s in ("s", "t"))
    inside = [replace(w, clause=replace(w.clause, internal=True)) for w in (left, right)]
    clause = WindowClause(spec, "valid_from", OrdinalKind.INTEGER)

    def shown(plan: Node) -> Counter[tuple[str, int]]:
        rows, _ = run_relation(plan, timeline)
        return Counter((repr(list(row.values())[:-2]), at) for row in rows
                       for at in range(row["valid_from"], row["expires_at"]))

    kept = RelationToStream(joined(*inside), RelationToStreamKind.WSTREAM, output_window=clause)
    assert shown(joined(left, right)) <= shown(kept)
    one = RelationToStream(Filter(inside[0], Scalar.parse("v > 0")), RelationToStreamKind.WSTREAM, output_window=clause)
    assert shown(Filter(left, Scalar.parse("v > 0"))) == shown(one)


@settings(max_examples=20, deadline=None)
@given(LENGTHS, timelines(("s",)), st.lists(st.tuples(st.integers(-2, 14), st.sampled_from("ab")), max_size=4),
       st.integers(0, 14))
def test_property_12_an_update_of_an_nrr_never_changes_past_results(length: int, timeline: Timeline,
                                                                    rows: list[tuple[int, str]], at: int) -> None:
    plan = TableJoin(Qualify(window(source(), SlidingWindow(length, 1)), "s"), table(SourceKind.NRR, timed=True),
                     Scalar.parse("`s.k` = `t.k`"))
    known = [Arrival("t", {"at": when, "k": key, "w": 1}) for when, key in rows]
    update = Arrival("t", {"at": at, "k": "a", "w": 2})
    before, _ = run_relation(plan, [*known, *timeline])
    after, _ = run_relation(plan, [*known, update, *timeline])
    past = [row for row in after if row["valid_from"] <= at]
    assert values(past) == values([row for row in before if row["valid_from"] <= at])
