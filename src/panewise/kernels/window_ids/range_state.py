"""Partial aggregates of open windows, kept as ranges of window ids (the range-valued wid of Li 6.1.3).

A row says: these keys have this partial in every window of [first, end). Rows that fall between the same window
boundaries share one partial, so a row of the input is merged once and not RANGE/SLIDE times; the windows are put
together when they close.

The rows live in a few runs of falling size, each ascending by ``end``. Runs of similar size are merged, so a partial is
copied O(log n) times; dropping closed windows cuts a prefix off every run. Each run also knows the smallest ``first``
from every place on, so what reaches a window that closes is found in a prefix too: closing costs what it closes,
however many windows are open behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from panewise.core.arrays import balance
from panewise.core.ordinals import Ordinals
from panewise.kernels.contract.kernel import Closing, Mask
from panewise.kernels.contract.partials import BoundAggregate, combine_partials, partial_schema, settled
from panewise.progress.watermarks import NO_BOUND

END = "wid.end"
FIRST = "wid.first"


@dataclass(frozen=True)
class Run:
    """Some partials, ascending by end; the ids also as arrays."""

    table: pa.Table
    first: Ordinals
    end: Ordinals
    allocated: int
    """How many rows the memory behind the table holds; slices keep it alive."""
    least: Ordinals
    """The smallest first from each place to the end; ascending."""

    @classmethod
    def of(cls, table: pa.Table) -> Run:
        """A table that owns its memory."""
        first: Ordinals = table.column(FIRST).to_numpy()
        least = np.minimum.accumulate(first[::-1])[::-1]
        return cls(table, first, table.column(END).to_numpy(), table.num_rows, least)

    def begun(self, closed: int) -> int:
        """How many rows at the head hold everything that reaches a window below ``closed``.

        Where ends ascend with firsts, as windows do in time, these are exactly the rows that do.
        """
        return int(np.searchsorted(self.least, closed))

    def after(self, closed: int) -> Run:
        """Only what reaches a window that is still open."""
        at = int(np.searchsorted(self.end, closed, side="right"))
        if at == 0:
            return self
        table = self.table.slice(at)
        if 2 * table.num_rows < self.allocated:
            return Run.of(table.take(pa.array(np.arange(table.num_rows))))
        return Run(table, self.first[at:], self.end[at:], self.allocated, self.least[at:])

    def filter(self, keep: Mask) -> Run:
        """Only these rows."""
        return self if keep.all() else Run.of(self.table.filter(pa.array(keep)))


class RangeState:
    """All open partials of one window aggregate."""

    def __init__(self, keys: pa.Schema, aggregates: Sequence[BoundAggregate]) -> None:
        self.keys = encoded_keys(keys)
        self.aggregates = list(aggregates)
        self.key_names = [FIRST, *keys.names]
        self.schema = partial_schema(pa.schema([pa.field(FIRST, pa.int64()), *self.keys]), aggregates, id_name=END)
        self.nothing = self.schema.empty_table()
        self.runs: list[Run] = []
        self.looked_at = 0
        """How many partials closings have looked at so far."""
        self.closed = NO_BOUND
        """Windows below this are closed for every group; ranges that begin earlier are read as beginning here."""

    def add(self, table: pa.Table) -> None:
        """Take in a partial table (ascending by end)."""
        if table.num_rows:
            self.runs.append(Run.of(table))
            balance(self.runs, lambda run: len(run.end), self._merge)

    def begin(self, table: pa.Table) -> None:
        """Hold exactly these partials, of which several may be of one range and group."""
        self.runs = [self._merge([Run.of(table)])] if table.num_rows else []

    def due(self, closing: Closing) -> tuple[pa.Table, list[Mask]]:
        """The partials that reach a closing window, cut to what is open; and which rows at the head of each run do."""
        parts, masks = [self.nothing], []
        for run in self.runs:
            head = run.begun(closing.below)
            self.looked_at += head
            table = run.table.slice(0, head)
            masks.append(closing.covers(table) & (run.first[:head] < closing.below))
            parts.append(table if masks[-1].all() else table.filter(pa.array(masks[-1])))
        return self._cut(pa.concat_tables(parts)), masks

    def _cut(self, table: pa.Table) -> pa.Table:
        """Ranges without windows that are closed for every group."""
        first = np.maximum(table.column(FIRST).to_numpy(), self.closed)
        at = self.schema.get_field_index(FIRST)
        return table.set_column(at, self.schema.field(at), pa.array(first))

    def settle(self, closed: int, least_end: int) -> None:
        """Make states smaller to which nothing more can come: of ranges that begin below ``closed``.

        Those that end below ``least_end`` were settled before.
        """
        done, kept = [self.nothing], []
        for run in self.runs:
            head = run.begun(closed)
            ripe = np.zeros(len(run.end), np.bool_)
            ripe[:head] = (run.first[:head] < closed) & (run.end[:head] >= least_end)
            done.append(run.table.filter(pa.array(ripe)))
            if not ripe.all():
                kept.append(run.filter(~ripe))
        merged = combine_partials(pa.concat_tables(done), self.key_names, self.aggregates, id_name=END)
        self.runs = kept
        self.add(settled(merged, self.aggregates))

    def close(self, closing: Closing, selected: Sequence[Mask]) -> None:
        """Forget windows that close; ``selected`` are the rows at the head of each run that ``due`` found."""
        if closing.linear:
            self.closed = max(self.closed, closing.below)
            self.runs = [rest for run in self.runs if (rest := run.after(self.closed)).table.num_rows]
            return
        kept: list[Run] = []
        for run, mask in zip(self.runs, selected, strict=True):
            if not mask.any():
                kept.append(run)
                continue
            clipped = run.first.copy()
            clipped[: len(mask)][mask] = closing.below
            at = self.schema.get_field_index(FIRST)
            moved = Run.of(run.table.set_column(at, self.schema.field(at), pa.array(clipped)))
            moved = moved.filter(moved.first < moved.end)
            if moved.table.num_rows:
                kept.append(moved)
        self.runs = kept

    def compact(self) -> pa.Table:
        """One run with one row per range and group; returns it."""
        if len(self.runs) > 1 or any(self._stale(run) for run in self.runs):
            self.runs = [self._merge(self.runs)]
        return self.runs[0].table if self.runs else self.nothing

    @property
    def rows(self) -> int:
        """Partials held now; those of equal range and group may wait to be merged."""
        return sum(run.table.num_rows for run in self.runs)

    @property
    def nbytes(self) -> int:
        """Bytes of the partials."""
        return sum(run.table.nbytes for run in self.runs)

    def ranges(self) -> tuple[Ordinals, Ordinals]:
        """First and end of every partial, as they are read."""
        if not self.runs:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        first = np.concatenate([run.first for run in self.runs])
        return np.maximum(first, self.closed), np.concatenate([run.end for run in self.runs])

    def _stale(self, run: Run) -> bool:
        return bool(run.least[0] < self.closed)

    def _merge(self, runs: Sequence[Run]) -> Run:
        table = self._cut(pa.concat_tables([run.table for run in runs]))
        return Run.of(self._trimmed(combine_partials(table, self.key_names, self.aggregates, id_name=END)))

    def _trimmed(self, table: pa.Table) -> pa.Table:
        """Forget dictionary entries of keys that have no row any more, before they outnumber the rows."""
        for i, field in enumerate(table.schema):
            if pa.types.is_dictionary(field.type):
                column = table.column(i).combine_chunks()
                if len(column.dictionary) > 2 * len(column) + 64:
                    table = table.set_column(i, field, column.dictionary_decode().dictionary_encode())
        return table


def encoded_keys(keys: pa.Schema) -> pa.Schema:
    """How keys are kept: texts as dictionary codes, so that they are hashed once, when their row comes."""
    return pa.schema([pa.field(f.name, pa.dictionary(pa.int32(), f.type)) if _is_text(f.type) else f for f in keys])


def encode(keys: pa.Table, schema: pa.Schema) -> pa.Table:
    """Key columns as they are kept."""
    columns = []
    for column, field in zip(keys.columns, schema, strict=True):
        if pa.types.is_dictionary(field.type):
            columns.append(column.combine_chunks().dictionary_encode())
        else:
            columns.append(column)
    return pa.table(columns, schema=schema)


def _is_text(data_type: pa.DataType) -> bool:
    return bool(pa.types.is_string(data_type) or pa.types.is_large_string(data_type) or pa.types.is_binary(data_type))
