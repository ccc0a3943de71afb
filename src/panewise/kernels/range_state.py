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

from panewise.core.ordinals import Ordinals
from panewise.kernels.partials import BoundAggregate, combine_partials, partial_schema, settled
from panewise.progress.patterns import Mask, Pattern
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
        self.runs: list[Run] = []
        self.looked_at = 0
        """How many partials closings have looked at so far."""
        self.closed = NO_BOUND
        """Windows below this are closed for every group; ranges that begin earlier are read as beginning here."""

    def add(self, table: pa.Table) -> None:
        """Take in a partial table (ascending by end)."""
        if table.num_rows:
            self.runs.append(Run.of(table))
            self._balance()

    def begin(self, table: pa.Table) -> None:
        """Hold exactly these partials, of which several may be of one range and group."""
        self.runs = [self._merge([Run.of(table)])] if table.num_rows else []

    def due(self, closed: int) -> pa.Table:
        """All partials that reach a window below ``closed``; the ranges still as stored."""
        parts = [self.schema.empty_table()]
        for run in self.runs:
            head = run.begun(closed)
            self.looked_at += head
            begun = run.first[:head] < closed
            table = run.table.slice(0, head)
            parts.append(table if begun.all() else table.filter(pa.array(begun)))
        return pa.concat_tables(parts)

    def due_some(self, closed: int, patterns: Sequence[tuple[str, Pattern]]) -> tuple[pa.Table, list[Mask]]:
        """The same of the groups that match; also which rows at the head of each run do, for ``close_some``."""
        parts, masks = [self.schema.empty_table()], []
        for run in self.runs:
            head = run.begun(closed)
            self.looked_at += head
            table = run.table.slice(0, head)
            mask: Mask = np.logical_and.reduce([p.mask(table.column(a)) for a, p in patterns])
            masks.append(mask & (run.first[:head] < closed))
            parts.append(table.filter(pa.array(masks[-1])))
        return pa.concat_tables(parts), masks

    def settle(self, closed: int, least_end: int) -> None:
        """Make states smaller to which nothing more can come: of ranges that begin below ``closed``.

        Those that end below ``least_end`` were settled before.
        """
        done, kept = [self.schema.empty_table()], []
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

    def close(self, closed: int) -> None:
        """Forget windows below ``closed``, of all groups."""
        self.closed = max(self.closed, closed)
        self.runs = [kept for run in self.runs if (kept := run.after(self.closed)).table.num_rows]

    def close_some(self, closed: int, selected: Sequence[Mask]) -> None:
        """Forget windows below ``closed`` of the selected rows; one mask per run, of its head or of all its rows."""
        kept: list[Run] = []
        for run, mask in zip(self.runs, selected, strict=True):
            head = len(mask)
            touched = mask & (run.first[:head] < closed)
            if not touched.any():
                kept.append(run)
                continue
            clipped = run.first.copy()
            clipped[:head][touched] = closed
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
        return self.runs[0].table if self.runs else self.schema.empty_table()

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

    def _balance(self) -> None:
        """Keep every run at least twice as long as the next, by merging neighbours."""
        at = len(self.runs)
        while at >= 2 and self.runs[at - 2].table.num_rows < 2 * self.runs[at - 1].table.num_rows:
            self.runs[at - 2 :] = [self._merge(self.runs[at - 2 :])]
            at -= 1

    def _stale(self, run: Run) -> bool:
        return bool(run.least[0] < self.closed)

    def _merge(self, runs: Sequence[Run]) -> Run:
        table = pa.concat_tables([run.table for run in runs])
        first = np.maximum(np.concatenate([run.first for run in runs]), self.closed)
        at = self.schema.get_field_index(FIRST)
        table = table.set_column(at, self.schema.field(at), pa.array(first))
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
