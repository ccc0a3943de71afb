"""Buffering: rows are kept until their last window is closed, aggregates are computed when it closes (Li 3.1).

The baseline every other kernel is compared with, and the smaller one where groups have few rows and SLIDE is long. It
asks for order no more than the others do: a punctuation closes windows. ``slack`` makes the promise from the rows
themselves, as systems without punctuation do: a window closes when a row at least ``slack`` past its end has come.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.errors import UnsupportedError
from panewise.core.ordinals import Ordinals
from panewise.kernels.baselines.row_buffer import CUT, VALUE, RowBuffer, filtered
from panewise.kernels.contract.kernel import Arguments, Closing, Mask
from panewise.kernels.contract.partials import BoundAggregate, partial_table
from panewise.kernels.panes.differential import RunningAggregate
from panewise.kernels.window_ids.context_free import ContextFreeKernel, Wids, wids_of
from panewise.kernels.window_ids.range_state import END, FIRST
from panewise.progress.late import LatePolicy
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import NO_BOUND
from panewise.windows.base import WindowSpec


class BufferingKernel(ContextFreeKernel):
    """Rows of open windows, scanned at every close.

    ``differential`` keeps the aggregates of the newest closed window too, and goes to the next by subtracting the rows
    that left and adding those that came; only for functions with an exact inverse. ``slack`` (in units of the windowing
    attribute) closes windows by the rows; what is later than that is treated by the late policy, of which
    ``consistent`` and ``generous`` are the two flavours of slack. Windows closed by rows come out of ``ripe``.
    """

    name = "buffering"

    def __init__(self, spec: WindowSpec, keys: pa.Schema, aggregates: Sequence[BoundAggregate], *,
                 attribute: str = "ts", late: str | LatePolicy = LatePolicy.DROP, partition: Sequence[str] = (),
                 differential: bool = False, slack: int | None = None) -> None:
        super().__init__(spec, keys, aggregates, attribute=attribute, late=late, partition=partition)
        stuck = [a.function.name for a in self.aggregates if not a.function.is_invertible(a.inputs)]
        if differential and stuck:
            raise UnsupportedError(f"{', '.join(stuck)} of these arguments cannot be subtracted exactly: use "
                                   "differential=False")
        if slack is not None and slack < 0:
            raise UnsupportedError(f"slack is how late a row may be, 0 or more, not {slack}")
        self.differential, self.slack = differential, slack
        self._high = NO_BOUND
        self._clear()

    def _clear(self) -> None:
        self._rows = RowBuffer(self.keys, self.aggregates)
        self._cut = RowBuffer(self.keys, self.aggregates, [pa.field(CUT, pa.int64())])
        self._counted = RowBuffer(self.keys, self.aggregates)
        """Rows that are part of the running aggregates."""
        self._running = RunningAggregate(self._rows.keys, self.aggregates) if self.differential else None

    # -- rows in

    def process(self, values: Ordinals, keys: pa.Table, arguments: Arguments, *, bounds: Ordinals | None = None,
                wids: Wids | None = None) -> Mask:
        """Keep the rows of a batch."""
        if self.slack is not None and len(values):
            highs = np.maximum.accumulate(np.concatenate([[self._high], values]))
            own = np.where(highs < NO_BOUND + self.slack, NO_BOUND, highs - self.slack)[:-1]
            bounds = own if bounds is None else np.maximum(own, bounds)
        rows = self._admit(values, keys, arguments, bounds, wids)
        if self.slack is not None and len(values):
            self._high = int(highs[-1])
        if rows.tardy.any():
            some = rows.pick(rows.tardy)
            self._cut.add(some.values, some.keys, some.arguments, [some.first])
            rows = rows.pick(~rows.tardy)
        self._rows.add(rows.values, rows.keys, rows.arguments)
        return rows.late

    # -- progress in, results out

    def ripe(self) -> pa.Table:
        """Results of the windows that rows more than the slack past their end have closed."""
        if self.slack is None or self._high < NO_BOUND + self.slack:
            return self.nothing
        return self._close(Punctuation.below(self.attribute, self._high - self.slack))

    def advance(self, punctuation: Punctuation) -> pa.Table:
        """Aggregate the rows of the windows it closes."""
        return pa.concat_tables([self.ripe(), self._close(punctuation)])

    def _close(self, punctuation: Punctuation) -> pa.Table:
        closing = self._closing(punctuation)
        if closing is None:
            return self.nothing
        if self._running is not None and closing.linear:
            results, kept = self._next_windows(self._running, closing.below)
            self.bounds.advance(punctuation)
            for buffer, table in kept:
                buffer.replace(table)
            return results
        results, kept = self._scan(closing)
        if not self.bounds.advance(punctuation):
            return self.nothing
        for buffer, table in kept:
            buffer.replace(table)
        if self._running is not None:  # one group is ahead of the others: begin again with the next window of all
            self._running.clear()
            self._rows.add_table(self._counted.table())
            self._counted.replace(self._counted.schema.empty_table())
        return results

    def _scan(self, closing: Closing) -> tuple[pa.Table, list[tuple[RowBuffer, pa.Table]]]:
        """Results from all rows of the closing windows, and the rows that stay."""
        parts: list[pa.Table] = []
        kept = []
        for buffer in (self._rows, self._cut, self._counted):
            rows = buffer.table()
            first, end = self._ranges(rows)
            covered = closing.covers(rows)
            wanted = covered & (first < closing.below)
            if wanted.any():
                parts.append(self._ranged(buffer, filtered(rows, wanted), first[wanted], end[wanted]))
                kept.append((buffer, filtered(rows, ~(covered & (end <= closing.below)))))
        return (self._results(pa.concat_tables(parts), closing.below) if parts else self.nothing), kept

    def _next_windows(self, running: RunningAggregate, below: int) -> tuple[pa.Table, list[tuple[RowBuffer, pa.Table]]]:
        """Results from the running aggregates, window by window, and the rows that stay."""
        cut = self._cut.table()
        waiting = pa.concat_tables([self._rows.table(), cut.select(self._rows.schema.names)])
        first, end = (np.concatenate(pair) for pair in zip(self._ranges(self._rows.table()), self._ranges(cut),
                                                           strict=True))
        counted = self._counted.table()
        leaving = self._ranges(counted)[1]
        arriving = running.partials(waiting, first, end, self._rows, first < below)
        results = running.windows(arriving, running.partials(counted, leaving, leaving, self._rows, leaving <= below),
                                  below)
        begun, stays = first < below, end > below
        mine = pa.concat_tables([filtered(counted, leaving > below), filtered(waiting, begun & stays)])
        plain = len(first) - cut.num_rows
        kept = [(self._rows, filtered(waiting.slice(0, plain), ~begun[:plain])),
                (self._cut, filtered(cut, ~begun[plain:])), (self._counted, mine.combine_chunks())]
        return results.cast(self.result_schema) if results is not None else self.nothing, kept

    def _ranges(self, rows: pa.Table) -> tuple[Ordinals, Ordinals]:
        """The open windows of held rows, first and end."""
        first, end = wids_of(self.spec, rows.column(VALUE).to_numpy())
        if CUT in rows.column_names:
            first = np.maximum(first, rows.column(CUT).to_numpy())
        return np.maximum(first, self._floor(rows, rows.num_rows)), end

    def _ranged(self, buffer: RowBuffer, rows: pa.Table, first: Ordinals, end: Ordinals) -> pa.Table:
        keys = pa.table([pa.array(first), *buffer.keys_of(rows).columns], names=[FIRST, *self.keys.names])
        return partial_table(end, keys, buffer.arguments_of(rows), self.aggregates, id_name=END)

    # -- counters

    def _held_ranges(self) -> tuple[Ordinals, Ordinals, pa.Table]:
        tables = [buffer.table() for buffer in (self._rows, self._cut, self._counted)]
        ranges = [self._ranges(table) for table in tables]
        keys = pa.concat_tables([self._rows.keys_of(table) for table in tables]) if self.keys.names else pa.table({})
        return np.concatenate([f for f, _ in ranges]), np.concatenate([e for _, e in ranges]), keys

    def counters(self) -> dict[str, int]:
        """How much state there is; ``partials`` are the running aggregates of the differential variant."""
        buffers = (self._rows, self._cut, self._counted)
        running = (0, 0) if self._running is None else (self._running.rows, self._running.nbytes)
        return super().counters() | {"buffered": sum(b.rows for b in buffers), "partials": running[0],
                                     "bytes": sum(b.nbytes for b in buffers) + running[1]}

    # -- saving

    def _saved(self) -> tuple[dict[str, Any], dict[str, pa.Table]]:
        rows = pa.concat_tables([self._counted.table(), self._rows.table()]).combine_chunks()
        return {"high": self._high}, {"rows": rows, "cut": self._cut.table()}

    def _load(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        self._clear()  # running aggregates are made again from the rows
        self._high = header["high"]
        self._rows.add_table(tables["rows"])
        self._cut.add_table(tables["cut"])
