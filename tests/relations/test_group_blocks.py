"""Trees of blocks beside the definition: whatever came and left, states are those of the rows that are there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from panewise.aggregates.registry import resolve
from panewise.kernels.contract.partials import BoundAggregate
from panewise.kernels.relations import stores
from panewise.kernels.relations.aggregates.merging import Merged, StateRow
from panewise.kernels.relations.edges.delta import FOREVER, Delta, Ends, Lives
from panewise.kernels.relations.stores.alive import AliveRows
from panewise.kernels.relations.stores.blocks import GroupBlocks
from panewise.kernels.relations.stores.queues import Unqueued
from panewise.kernels.relations.stores.states import SPARE_STATES, NumberedStates

ROW = pa.schema({"group": pa.int64(), "v": pa.int64(), "word": pa.string()})
PARTS = [Merged(BoundAggregate("top", resolve("max"), (pa.int64(),)), (1,)),
         Merged(BoundAggregate("word", resolve("min"), (pa.string(),)), (2,)),
         Merged(BoundAggregate("newest", resolve("last"), (pa.int64(),)), (1,))]


def definition(there: dict[int, tuple[int, int, int]], groups: list[int]) -> list[tuple[Any, ...]]:
    """Per group the largest value, the smallest word, the value of the youngest row; ages are those of the rows."""
    found = []
    for group in groups:
        rows = [(age, v) for g, v, age in there.values() if g == group]
        found.append((max(v for _, v in rows), min(f"w{v}" for _, v in rows), max(rows)[1]) if rows else (None,) * 3)
    return found


@pytest.mark.parametrize("in_order", [True, False], ids=["first in, first out", "in any order"])
@pytest.mark.parametrize("share", [0.2, 0.9], ids=["few groups are large", "one is"])
def test_states_are_those_of_the_rows_that_are_there(in_order: bool, share: float,
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores.blocks, "SIZE", 4)
    rng = np.random.default_rng(7)
    row = StateRow(PARTS)
    rows = AliveRows(ROW, Unqueued())
    blocks = GroupBlocks(row, rows)
    there: dict[int, tuple[int, int, int]] = {}
    number = 1
    for step in range(60):
        count = int(rng.integers(1, 120))
        group = np.where(rng.random(count) < share, 0, rng.integers(0, 30, count))
        value, age = rng.integers(0, 1_000, count), rng.permutation(1_000_000)[:count]
        uid = np.arange(number, number + count)
        number += count
        gone = list(there)[: len(there) // 3] if in_order else rng.choice(list(there) or [0], len(there) // 3, False)
        table = pa.table({"group": group, "v": value, "word": [f"w{v}" for v in value]}, schema=ROW)
        delta = Delta(Lives.none(ROW), Ends(np.array(gone, np.int64), np.full(len(gone), step)))
        blocks.left(rows.leave(delta, step).slots)
        slots = rows.enter(Lives(table, uid, np.full(count, step), np.full(count, FOREVER), age[None, :]), step)
        blocks.entered(slots, group, 30)
        if rows.forget() is not None:
            blocks.clear()
            alive = rows.alive()
            blocks.entered(alive, rows.arena.payload.table().column(0).to_numpy()[alive], 30)
        there = {u: row for u, row in there.items() if u not in set(map(int, gone))}
        there |= dict(zip(uid.tolist(), zip(group.tolist(), value.tolist(), age.tolist(), strict=True), strict=True))
        wanted = np.sort(rng.choice(30, 8, replace=False))
        assert states_of(blocks, row, rows, wanted) == definition(there, wanted.tolist())
        of, found = blocks.slots(wanted)
        assert sorted(zip(wanted[of].tolist(), rows.arena.uid[found].tolist(), strict=True)) == \
            sorted((g, u) for u, (g, _, _) in there.items() if g in set(wanted.tolist()))
    assert len(blocks._levels) > 2


def states_of(blocks: GroupBlocks, row: StateRow, rows: AliveRows, groups: Any) -> list[tuple[Any, ...]]:
    of, states = blocks.states(groups)
    assert np.bincount(of, minlength=1).max(initial=0) <= stores.blocks.SIZE
    ages = [rows.arena.ages_at(np.maximum(slots, 0))[0] for slots in row.numbers(states)]
    merged = row.combined(row.with_positions(states, ages), of, len(groups))
    columns = [part.aggregate.function.finish_all(merged[span], part.aggregate.inputs).to_pylist()
               for part, span in zip(row.parts, row.spans, strict=True)]
    return list(zip(*columns, strict=True))


def test_states_that_were_replaced_are_swept_out() -> None:
    """Also where one state is as long as all rows: by bytes, not only by number."""
    schema = pa.schema([pa.field("n", pa.int64(), nullable=False), pa.field("values", pa.list_(pa.int64()))])
    states = NumberedStates(schema)
    for length in range(1, 3 * SPARE_STATES):
        long = pa.array([list(range(length)), [length]], pa.list_(pa.int64()))
        states.put(np.array([5, 2]), [pa.array([length, -length]), long])
    count, values = states.take(np.array([2, 5]))
    assert count.to_pylist() == [-length, length]
    assert values.to_pylist() == [[length], list(range(length))]
    assert states.nbytes < 20 * 8 * length
    states.drop(np.array([2]))
    assert (len(states), states.has(np.array([2, 5, 99])).tolist()) == (1, [False, True, False])
