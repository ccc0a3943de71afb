"""A hash table of a fixed number of slots, each with one partial: aggregation in bounded memory (Li 8, Gigascope).

A slot holds one item: a group and the range of windows its rows are in. When two items meet in a slot the resident one
is put out; whoever takes the partials in merges those of the same item. Three ways to put out older windows:

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
from panewise.kernels.base import Arguments, Mask
from panewise.kernels.grouping import group_codes
from panewise.kernels.partials import BoundAggregate, partial_schema
from panewise.kernels.range_state import END, FIRST, encode, encoded_keys
from panewise.kernels.row_buffer import trimmed
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
        self.table = self.schema.empty_table()
        """The residents."""
        self._slots: Ordinals = np.empty(0, np.int64)
        self._old: Mask = np.empty(0, np.bool_)
        self._registers = np.array([NO_BOUND, FINISHED, 0, 0, 0], np.int64)

    def add(self, first: Ordinals, end: Ordinals, keys: pa.Table, arguments: Arguments) -> pa.Table:
        """Fold rows in, one after the other; the partials that were put out meanwhile, in that order."""
        if not len(first):
            return self.schema.empty_table()
        from panewise.kernels import slots_numba as loops

        held = self.table.num_rows
        columns = [pa.array(end), pa.array(first), *encode(keys, self.keys).columns]
        both = pa.concat_tables([self.table.select(self.schema.names[: len(columns)]),
                                 pa.table(columns, names=self.schema.names[: len(columns)])])
        items, some = group_codes(both.columns)
        distinct = both.take(pa.array(some))
        slots = (hash_columns(distinct.columns) % np.uint64(self.size)).astype(np.int64)
        ends: Ordinals = distinct.column(END).to_numpy()
        resident = np.full(self.size, loops.EMPTY, np.int64)
        instance = np.zeros(self.size, np.int64)
        old = np.zeros(self.size, np.bool_)
        resident[self._slots], instance[self._slots], old[self._slots] = items[:held], np.arange(held), self._old
        placed = np.empty(len(first), np.int64)
        out = np.empty(held + len(first), np.int64)
        count, written = loops.place_rows(items[held:], slots, np.ascontiguousarray(ends), resident, instance, old,
                                          self._registers, MODES.index(self.flush), self.m, self.i, held, placed, out)
        states = self._instances(both, placed, arguments, count)
        self._slots = np.flatnonzero(resident != loops.EMPTY)
        self._old = old[self._slots]
        self.table = trimmed(states.take(pa.array(instance[self._slots])))
        return states.take(pa.array(out[:written]))

    def _instances(self, items: pa.Table, placed: Ordinals, arguments: Arguments, count: int) -> pa.Table:
        """The partial of every instance: the residents there were, with the rows that came."""
        held = self.table.num_rows
        codes = np.concatenate([np.arange(held), placed])
        some = np.empty(count, np.int64)
        some[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
        touched, dense = np.unique(placed, return_inverse=True)
        states: list[pa.Array] = []
        for aggregate, columns in zip(self.aggregates, arguments, strict=True):
            fresh = aggregate.function.partials(list(columns), dense.astype(np.int64), len(touched), aggregate.inputs)
            before = [self.table.column(f.name).combine_chunks() for f in aggregate.state_schema]
            joined = [pa.concat_arrays([b, f.cast(b.type)]) for b, f in zip(before, fresh, strict=True)]
            states += aggregate.function.combine(joined, np.concatenate([np.arange(held), touched]), count,
                                                 aggregate.inputs)
        chosen = items.take(pa.array(some))
        return pa.table([*chosen.columns, *states], schema=self.schema)

    def take_out(self, wanted: Mask) -> pa.Table:
        """Put out some residents, ascending by window."""
        leaving = self.table.filter(pa.array(wanted))
        self.table = trimmed(self.table.filter(pa.array(~wanted)))
        self._slots, self._old = self._slots[~wanted], self._old[~wanted]
        order = np.argsort(leaving.column(END).to_numpy(), kind="stable")
        return leaving.take(pa.array(order))

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
