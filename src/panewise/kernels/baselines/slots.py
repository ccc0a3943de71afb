"""A hash table of a fixed number of slots, each with one partial: aggregation in bounded memory (Li 8, Gigascope).

A slot holds one item: a group and the range of windows its rows are in. When two items meet in a slot the resident one
is put out; what takes the partials in merges those of the same item. Three ways to put out older windows:

- ``lazy``: when a newer window begins, whatever is more than ``m`` windows behind it.
- ``slow``: besides that, one older slot every ``i`` rows, so that work is spread evenly.
- ``iop``: for ordered input, in the order of windows (the baseline, Figure 8-6 with erratum E12): one slot per row, and
  all older ones before a collision puts out a new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.errors import UnsupportedError
from panewise.core.ordinals import Ordinals
from panewise.kernels.baselines import slots_numba as loops
from panewise.kernels.baselines.row_buffer import trimmed
from panewise.kernels.contract.kernel import Arguments, Mask
from panewise.kernels.contract.partials import BoundAggregate, partial_schema
from panewise.kernels.groups.grouping import group_codes
from panewise.kernels.window_ids.range_state import END, FIRST, encode, encoded_keys
from panewise.progress.watermarks import FINISHED, NO_BOUND

Flush = Literal["lazy", "slow", "iop"]
MODES: tuple[Flush, ...] = ("lazy", "slow", "iop")

Hashes = npt.NDArray[np.uint64]
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class SlotTable:
    """Partials of some items, at most one per slot."""

    def __init__(self, keys: pa.Schema, aggregates: Sequence[BoundAggregate], *, slots: int, flush: Flush, m: int,
                 i: int) -> None:
        if slots < 1 or m < 0 or i < 1:
            raise UnsupportedError(f"slots={slots}, m={m}, i={i}: there must be a slot, m is a number of windows (0 or "
                                   "more) and i a number of rows (1 or more)")
        if flush not in MODES:
            raise UnsupportedError(f"no flush {flush!r}: use {', '.join(MODES)}")
        self.size, self.flush, self.m, self.i = slots, flush, m, i
        self.keys = encoded_keys(keys)
        self.aggregates = list(aggregates)
        self.schema = partial_schema(pa.schema([pa.field(FIRST, pa.int64()), *self.keys]), aggregates, id_name=END)
        self.clear()

    def clear(self) -> None:
        """Empty every slot and forget which windows came."""
        self._log = self.schema.empty_table()
        """Partials in the order they were made; those of residents are pointed at, the others wait for ``_tidy``."""
        self._names, self._ends = np.zeros(self.size, np.int64), np.zeros(self.size, np.int64)
        self._rows = np.full(self.size, -1, np.int64)
        self._old = np.zeros(self.size, np.bool_)
        self._registers = np.array([NO_BOUND, FINISHED, 0, 0, 0], np.int64)

    @property
    def table(self) -> pa.Table:
        """The residents, in the order of their slots."""
        self._tidy()
        return self._log

    def add(self, first: Ordinals, end: Ordinals, keys: pa.Table, arguments: Arguments) -> pa.Table:
        """Fold rows in, one after the other; the partials that were put out meanwhile, in that order.

        Costs what the batch costs, not what the table holds.
        """
        if not len(first):
            return self.schema.empty_table()
        columns = [pa.array(end), pa.array(first), *encode(keys, self.keys).columns]
        rows = pa.table(columns, names=self._item_names)
        items, some = group_codes(rows.columns)
        distinct = rows.take(pa.array(some))
        hashes = self._hashes(distinct)
        slots, names = (hashes % np.uint64(self.size)).astype(np.int64), hashes.view(np.int64)
        if not self._named_well(distinct, names, slots):  # two items of one hash: the batch goes up as it is
            fresh = self._states(arguments, items, len(some))
            return pa.concat_tables([self.take_out(np.ones(self.table.num_rows, np.bool_)),
                                     pa.table([*distinct.columns, *fresh], schema=self.schema)])
        log = self._log.num_rows
        placed, carried = np.empty(len(items), np.int64), np.empty(len(items), np.int64)
        out = np.empty(int((self._rows >= 0).sum()) + len(items), np.int64)
        count, written = loops.place_rows(
            items, names, slots, np.ascontiguousarray(end[some]), self._names, self._ends, self._rows, self._old,
            self._registers, MODES.index(self.flush), self.m, self.i, log, placed, carried, out)
        self._log = pa.concat_tables([self._log, self._instances(rows, placed, carried[:count], arguments)])
        leaving = self._log.take(pa.array(out[:written])) if written else self.schema.empty_table()
        if self._log.num_rows > 2 * self.size + len(items):
            self._tidy()
        return leaving

    @property
    def _item_names(self) -> list[str]:
        return [END, FIRST, *self.keys.names]

    def _hashes(self, items: pa.Table) -> Hashes:
        return hash_columns(items.columns)

    def _named_well(self, distinct: pa.Table, names: Ordinals, slots: Ordinals) -> bool:
        """Whether equal hashes mean equal items, in the batch and where an item meets itself in its slot."""
        if len(np.unique(names)) < len(names):
            return False
        meets = (self._rows[slots] >= 0) & (self._names[slots] == names)
        if not meets.any():
            return True
        there = self._log.select(self._item_names).take(pa.array(self._rows[slots[meets]]))
        codes = group_codes(pa.concat_tables([there, distinct.filter(pa.array(meets))]).columns)[0]
        return bool((codes[: len(codes) // 2] == codes[len(codes) // 2 :]).all())

    def _states(self, arguments: Arguments, codes: Ordinals, count: int) -> list[pa.Array]:
        states: list[pa.Array] = []
        for aggregate, columns in zip(self.aggregates, arguments, strict=True):
            states += aggregate.function.partials(list(columns), codes, count, aggregate.inputs)
        return states

    def _instances(self, rows: pa.Table, placed: Ordinals, carried: Ordinals, arguments: Arguments) -> pa.Table:
        """The partial of every instance: its rows, and what the item had in its slot before."""
        count = len(carried)
        states = self._states(arguments, placed, count)
        going_on = np.flatnonzero(carried >= 0)
        if len(going_on):
            before = self._log.take(pa.array(carried[going_on]))
            codes = np.concatenate([going_on, np.arange(count)])
            merged: list[pa.Array] = []
            for aggregate in self.aggregates:
                fields = aggregate.state_schema
                fresh, states = states[: len(fields)], states[len(fields) :]
                joined = [pa.concat_arrays([*before.column(field.name).chunks, new.cast(field.type)])
                          for field, new in zip(fields, fresh, strict=True)]
                merged += aggregate.function.combine(joined, codes, count, aggregate.inputs)
            states = merged
        some = np.empty(count, np.int64)
        some[placed[::-1]] = np.arange(len(placed) - 1, -1, -1)
        return pa.table([*rows.take(pa.array(some)).columns, *states], schema=self.schema)

    def _tidy(self) -> None:
        """Keep nothing but the residents."""
        occupied = np.flatnonzero(self._rows >= 0)
        if self._log.num_rows == len(occupied) and self._log.column(0).num_chunks <= 1:
            return
        self._log = trimmed(self._log.take(pa.array(self._rows[occupied])).combine_chunks())
        self._rows[occupied] = np.arange(len(occupied))

    def take_out(self, wanted: Mask) -> pa.Table:
        """Put out some of the residents in ``table``, ascending by window."""
        table, occupied = self.table, np.flatnonzero(self._rows >= 0)
        chosen = self._rows[occupied]
        leaving = wanted[chosen]
        self._rows[occupied[leaving]] = -1
        order = np.argsort(self._ends[occupied[leaving]], kind="stable")
        out = table.take(pa.array(chosen[leaving][order]))
        self._tidy()
        return out

    @property
    def oldest(self) -> int:
        """No resident counts in a window before this one: partials of earlier windows have all left the table."""
        first = self.table.column(FIRST).to_numpy()
        return int(first.min()) if len(first) else FINISHED


def hash_columns(columns: Sequence[pa.ChunkedArray]) -> Hashes:
    """A hash of every row that depends on its values only, whatever batch they come in."""
    total = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        total = _mixed(total * GOLDEN + _hashes(column.combine_chunks()))
    return total


def _hashes(column: pa.Array) -> Hashes:
    if pa.types.is_dictionary(column.type):
        values = np.append(_hashes(column.dictionary), GOLDEN)  # null is the last
        indices = column.indices.fill_null(len(column.dictionary)).to_numpy(zero_copy_only=False)
        hashes: Hashes = values[indices]
        return hashes
    if pa.types.is_temporal(column.type) and column.type.bit_width in (32, 64):
        column = column.view(pa.int64() if column.type.bit_width == 64 else pa.int32())
    if pa.types.is_integer(column.type) and column.type != pa.uint64():
        numbers: npt.NDArray[Any] = column.fill_null(0).to_numpy(zero_copy_only=False)
        return numbers.astype(np.int64).view(np.uint64)
    from pandas.util import hash_array

    if pa.types.is_floating(column.type):
        column = pa.array(column.to_numpy(zero_copy_only=False) + 0.0)  # -0.0 is 0.0
    texts = np.array([repr(value) for value in column.to_pylist()], dtype=object)
    return hash_array(texts, categorize=False) if len(texts) else np.empty(0, np.uint64)


def _mixed(bits: Hashes) -> Hashes:
    """Every bit depends on every bit (the finaliser of splitmix64)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
