"""Session windows: open sessions as intervals of partial states, joined when a row bridges two.

A session is final when a punctuation has passed its end, strictly: a row at the very end still prolongs it. State is
one partial per open session and group, never rows; for late rows also where the last closed session of a partition
ended (``late_sessions``).

Open sessions live in a few runs of falling size, each ascending by the last row's value; sessions of one run are
disjoint, sessions of two runs may touch. Runs of similar size are merged, so a session is copied O(log n) times, and a
punctuation that closes nothing looks at the head of each run only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.arrays import balance, highest_so_far
from panewise.core.errors import UnsupportedError
from panewise.core.ordinals import Ordinals
from panewise.kernels.contract.kernel import WINDOW_END, Arguments, Closing, Mask, WindowKernel, chosen_rows
from panewise.kernels.contract.partials import (
    BoundAggregate,
    combine_partials,
    finish_partials,
    partial_schema,
    partial_table,
)
from panewise.kernels.groups.grouping import group_codes, groups_of
from panewise.kernels.growing.late_sessions import CLOSED, ClosedSessions, Sessions, judged
from panewise.kernels.panes.pane_tables import WINDOW_ID
from panewise.progress.late import LatePolicy
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import FINISHED, NO_BOUND
from panewise.windows.base import Rows
from panewise.windows.session import SessionWindow

START = "session.start"
LAST = "session.last"
"""The value of the newest row; the session ends a gap later."""


class SessionKernel(WindowKernel):
    """Open sessions of each partition, with a partial for each group that has rows in them."""

    name = "session"

    def _prepare(self) -> None:
        if not isinstance(self.spec, SessionWindow):
            raise UnsupportedError(f"{self.spec.kind} windows are no sessions; the kernel runs sessions only")
        self.gap, self._session = self.spec.gap, self.spec
        self._state = SessionState(self.gap, self.keys, self.aggregates, self.partition)
        self._closed = self._no_closed()

    def _no_closed(self) -> ClosedSessions | None:
        """What is known of closed sessions, where late rows may count."""
        if not self.late.has_slack:
            return None
        return ClosedSessions(self.gap, pa.schema([self.keys.field(name) for name in self.partition]))

    @cached_property
    def result_schema(self) -> pa.Schema:
        """The columns of results: start, end, the keys, the aggregates."""
        return pa.schema([pa.field(WINDOW_ID, pa.int64()), pa.field(WINDOW_END, pa.int64()), *self.keys,
                          *(a.result_field for a in self.aggregates)])

    # -- rows in

    def process(self, values: Ordinals, keys: pa.Table, arguments: Arguments, *,
                bounds: Ordinals | None = None) -> Mask:
        """Cut a batch into sessions of its own; they meet the open ones when it matters."""
        in_force = self._in_force(keys, len(values), bounds)
        if in_force is not None and self._closed is not None and (values < in_force).any():
            values, counted, late = self._judged(values, keys, in_force)
            self.late_rows += int(np.count_nonzero(late))
        else:
            late = self._lateness(values, keys, np.zeros_like(values), np.ones_like(values), bounds).late
            counted = ~late
        self.rows += len(values)
        values = values[counted]
        keys, arguments = chosen_rows(counted, keys, arguments)
        if len(values):
            codes = groups_of(keys, self.partition)[0] if self.partition else np.zeros(len(values), np.int64)
            start, end = self._session.spans(Rows(values, codes, codes))
            spans = pa.table([pa.array(start), *keys.columns], names=self._state.key_names)
            self._state.add(partial_table(end - self.gap, spans, arguments, self.aggregates, id_name=LAST))
        return late

    def _judged(self, values: Ordinals, keys: pa.Table, bounds: Ordinals) -> tuple[Ordinals, Mask, Mask]:
        """Where each row counts, whether it does, and whether it is late, by the sessions that are open for it."""
        assert self._closed is not None
        run, closed, names = self._state.compact(), self._closed.table(), list(self.partition)
        parts = [run.table.num_rows, closed.num_rows, len(values)]
        codes = np.zeros(sum(parts), np.int64)
        if names:
            schema = pa.schema([self.keys.field(name) for name in names])
            tables = [table.select(names).cast(schema) for table in (run.table, closed, keys)]
            codes = groups_of(pa.concat_tables(tables), names)[0]
        held, ended, came = np.split(codes, np.cumsum(parts)[:-1])
        sessions = {code: Sessions(self.gap) for code in np.unique(came[values < bounds]).tolist()}
        wanted = np.flatnonzero(np.isin(held, list(sessions)))
        for at in wanted[np.lexsort((run.start[wanted], held[wanted]))].tolist():
            own = sessions[int(held[at])]
            if not own.starts or own.starts[-1] != run.start[at]:  # a row for each group of the session
                own.starts.append(int(run.start[at]))
                own.lasts.append(int(run.last[at]))
        for code, last in zip(ended.tolist(), closed.column(CLOSED).to_pylist(), strict=True):
            if code in sessions:
                sessions[code].closed = last
        return judged(values, bounds, came, sessions, consistent=self.late is LatePolicy.CONSISTENT)

    # -- progress in, results out

    def advance(self, punctuation: Punctuation) -> pa.Table:
        """The sessions it has passed.

        A promise about some groups of a partition closes nothing: other groups may still prolong the session.
        """
        closing = self._promised(punctuation)
        if closing is None or not {a for a, _ in closing.patterns} <= set(self.partition):
            return self.nothing
        closed = self._state.close(closing)
        if closed.num_rows == 0:
            return self.nothing
        if self._closed is not None:
            self._closed.note(closed, closed.column(LAST), self.bounds.linear, lambda: self._state.compact().table)
        closed = closed.take(pa.array(np.argsort(closed.column(START).to_numpy(), kind="stable")))
        ends = closed.column(LAST).to_numpy() + self.gap
        finished = finish_partials(closed, self._state.key_names, self.aggregates, id_name=LAST)
        columns = {WINDOW_ID: finished.column(START), WINDOW_END: pa.chunked_array([pa.array(ends)]),
                   **{n: finished.column(n) for n in self.result_schema.names[2:]}}
        return pa.table(columns).cast(self.result_schema)

    # -- counters

    @property
    def closed_below(self) -> int:
        """Sessions that start below this and are not open are closed for every group: the bound of all rows."""
        return self.bounds.linear

    def open_windows(self) -> list[int]:
        """The starts of the open sessions."""
        return [int(w) for w in np.unique(self._state.compact().start)]

    def counters(self) -> dict[str, int]:
        """How much state there is."""
        run = self._state.compact()
        sessions = group_codes([run.start, *(run.table.column(n) for n in self.partition)])[1]
        return {"rows": self.rows, "late": self.late_rows, "buffered": 0, "partials": run.table.num_rows,
                "window_groups": run.table.num_rows, "bytes": run.table.nbytes, "open_windows": len(sessions)}

    # -- saving

    def _saved(self) -> tuple[dict[str, Any], dict[str, pa.Table]]:
        tables = {"state": self._state.compact().table}
        return {}, tables if self._closed is None else tables | {"closed": self._closed.table()}

    def _load(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        self._state = SessionState(self.gap, self.keys, self.aggregates, self.partition)
        self._state.add(tables["state"].cast(self._state.schema))
        self._closed = self._no_closed()
        if self._closed is not None:
            self._closed.load(tables["closed"])


@dataclass(frozen=True)
class SessionRun:
    """Some sessions, ascending by their last value; the ends also as arrays."""

    table: pa.Table
    start: Ordinals
    last: Ordinals

    @classmethod
    def of(cls, table: pa.Table) -> SessionRun:
        """From a partial table."""
        return cls(table, table.column(START).to_numpy(), table.column(LAST).to_numpy())

    def filter(self, keep: Mask) -> SessionRun:
        """Only these sessions."""
        return self if keep.all() else SessionRun.of(self.table.filter(pa.array(keep)))


class SessionState:
    """All open sessions of one window aggregate."""

    def __init__(self, gap: int, keys: pa.Schema, aggregates: Sequence[BoundAggregate],
                 partition: Sequence[str]) -> None:
        self.gap, self.partition, self.aggregates = gap, tuple(partition), list(aggregates)
        self.key_names = [START, *keys.names]
        self.schema = partial_schema(pa.schema([pa.field(START, pa.int64()), *keys]), aggregates, id_name=LAST)
        self.runs: list[SessionRun] = []

    def add(self, table: pa.Table) -> None:
        """Take in a partial table of sessions (ascending by last value) that are disjoint among themselves."""
        if table.num_rows:
            self.runs.append(SessionRun.of(table.cast(self.schema)))
            self._balance()

    def close(self, closing: Closing) -> pa.Table:
        """Take out the sessions that end below the bound, of all partitions or of those that are named."""
        bound = closing.bound
        limit = FINISHED if bound == FINISHED else max(bound - self.gap, NO_BOUND + 1)
        heads = [int(np.searchsorted(run.last, limit)) if bound != FINISHED else len(run.last) for run in self.runs]
        if not any(heads):
            return self.schema.empty_table()
        if len(self.runs) == 1 and closing.linear:  # nothing else can touch them
            run, at = self.runs[0], heads[0]
            self.runs = [SessionRun(run.table.slice(at), run.start[at:], run.last[at:])] if at < len(run.last) else []
            return run.table.slice(0, at)
        taken: list[SessionRun] = []
        left: list[SessionRun] = []
        for run in self.runs:  # whatever touches a session that ends below the bound begins below it
            begun = closing.covers(run.table) & ((run.start < bound) | (bound == FINISHED))
            taken.append(run.filter(begun))
            left.append(run.filter(~begun))
        merged = self._merge(taken)
        at = int(np.searchsorted(merged.last, limit)) if bound != FINISHED else len(merged.last)
        kept = SessionRun.of(merged.table.slice(at))
        runs = [run for run in (*left, kept) if run.table.num_rows]
        self.runs = sorted(runs, key=lambda run: run.table.num_rows, reverse=True)
        self._balance()
        return merged.table.slice(0, at)

    def compact(self) -> SessionRun:
        """All sessions as one run."""
        if len(self.runs) != 1:
            merged = self._merge(self.runs)
            self.runs = [merged] if merged.table.num_rows else []
            return merged
        return self.runs[0]

    def _balance(self) -> None:
        balance(self.runs, lambda run: len(run.last), self._merge)

    def _merge(self, runs: Sequence[SessionRun]) -> SessionRun:
        """Join sessions of one partition that touch, and the partials of their groups."""
        table = pa.concat_tables([self.schema.empty_table(), *(run.table for run in runs)]).combine_chunks()
        if len(runs) < 2 or table.num_rows == 0:
            return SessionRun.of(table)
        start, last = (np.concatenate(parts) for parts in zip(*((r.start, r.last) for r in runs), strict=True))
        start, last = joined(start, last, groups_of(table, self.partition)[0], self.gap)
        for name, column in ((START, start), (LAST, last)):
            at = self.schema.get_field_index(name)
            table = table.set_column(at, self.schema.field(at), pa.array(column))
        return SessionRun.of(combine_partials(table, self.key_names, self.aggregates, id_name=LAST))


def joined(start: Ordinals, last: Ordinals, partition: Ordinals, gap: int) -> tuple[Ordinals, Ordinals]:
    """For every interval of values the one it is part of when intervals no more than a gap apart are joined.

    >>> [a.tolist() for a in joined(np.array([0, 9, 5]), np.array([1, 9, 6]), np.zeros(3, np.int64), 3)]
    [[0, 5, 5], [1, 9, 9]]
    """
    order = np.lexsort((start, partition))
    start, last, partition = start[order], last[order], partition[order]
    reached = highest_so_far(last, partition)
    begins = np.ones(len(start), np.bool_)
    begins[1:] = (partition[1:] != partition[:-1]) | (start[1:] - reached[:-1] > gap)
    first = np.flatnonzero(begins)
    sizes = np.diff(first, append=len(start))
    whole_start, whole_last = np.empty((2, len(start)), np.int64)
    whole_start[order] = np.repeat(start[first], sizes)
    whole_last[order] = np.repeat(reached[first + sizes - 1], sizes)
    return whole_start, whole_last
