"""Late rows of session windows: the open session that a row behind the bound touches, the closed one that it missed.

A session is closed for a row when the bound that was in force at the row's arrival had passed the session's end. A late
row counts when it touches a session that is open for it, or when a session of its own would still be open. Where it
would have joined a closed session to the one it counts in, it is reported, and its session begins just behind the
closed one: sessions that were put out are never touched again, however the rows are cut into batches.

Rows are judged one by one, in the order they came, but only those of partitions that have late rows.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.kernels.groups.grouping import groups_of
from panewise.progress.patterns import Mask

CLOSED = "session.closed"
"""The value of the newest row of the sessions of a partition that are closed."""
PENDING = 1_000
"""So many partitions are noted before those that no late row can reach any more are looked for."""


class Sessions:
    """The sessions of one partition that are not closed by the kernel, ascending, and the last one that is."""

    def __init__(self, gap: int) -> None:
        self.gap = gap
        self.starts: list[int] = []
        self.lasts: list[int] = []
        self.closed: int | None = None

    def add(self, value: int) -> None:
        """A row that counts: it joins all sessions within a gap of it."""
        low, high = bisect_left(self.lasts, value - self.gap), bisect_right(self.starts, value + self.gap)
        start, last = (min(value, self.starts[low]), max(value, self.lasts[high - 1])) if low < high else (value, value)
        self.starts[low:high], self.lasts[low:high] = [start], [last]

    def missed(self, value: int, bound: int) -> tuple[bool, int | None]:
        """Whether a late row counts nowhere; else the last row of the closed session it would have joined."""
        opened = bisect_left(self.lasts, bound - self.gap)
        at = bisect_left(self.lasts, value - self.gap, lo=opened)
        touches = at < len(self.lasts) and self.starts[at] - self.gap <= value
        if not touches and value + self.gap < bound:
            return True, None
        before = [last for last in (self.closed, self.lasts[opened - 1] if opened else None) if last is not None]
        closed = max(before, default=None)
        return False, closed if closed is not None and value - closed <= self.gap else None


def judged(values: Ordinals, bounds: Ordinals, codes: Ordinals, sessions: dict[int, Sessions], *,
           consistent: bool) -> tuple[Ordinals, Mask, Mask]:
    """For every row the value it counts at, whether it counts, and whether it is late.

    ``sessions`` are those of the partitions that have late rows, by code; they take in the rows. Under the policy
    *consistent* a row that would have joined a closed session counts nowhere.
    """
    at, counted, late = values.copy(), np.ones(len(values), np.bool_), np.zeros(len(values), np.bool_)
    for i in np.flatnonzero(np.isin(codes, list(sessions))).tolist():
        own, value, bound = sessions[int(codes[i])], int(values[i]), int(bounds[i])
        if value < bound:
            nowhere, closed = own.missed(value, bound)
            late[i] = nowhere or closed is not None
            if nowhere or (consistent and closed is not None):
                counted[i] = False
                continue
            if closed is not None:
                value = at[i] = closed + own.gap + 1
        own.add(value)
    return at, counted, late


class ClosedSessions:
    """For every partition the value of the newest row of its closed sessions, as long as a late row may be near it."""

    def __init__(self, gap: int, partition: pa.Schema) -> None:
        self.gap = gap
        self.schema = partition.append(pa.field(CLOSED, pa.int64()))
        self._tables: list[pa.Table] = []
        self._room = PENDING

    def note(self, partitions: pa.Table, lasts: pa.ChunkedArray, bound: int, opened: Callable[[], pa.Table]) -> None:
        """Sessions were closed; ``opened`` gives those that are not."""
        names = self.schema.names[:-1]
        columns = [*(partitions.column(name) for name in names), lasts]
        self._tables.append(pa.table(columns, schema=self.schema))
        if sum(t.num_rows for t in self._tables) > self._room:
            self._forget(bound, opened())

    def table(self) -> pa.Table:
        """One row per partition."""
        if len(self._tables) != 1:
            self._tables = [pa.concat_tables([self.schema.empty_table(), *self._tables]).combine_chunks()]
        table = self._tables[0]
        codes, first = groups_of(table, self.schema.names[:-1])
        if len(first) < table.num_rows:
            newest = np.full(len(first), np.iinfo(np.int64).min)
            np.maximum.at(newest, codes, table.column(CLOSED).to_numpy())
            table = table.take(pa.array(first)).drop_columns([CLOSED]).append_column(CLOSED, pa.array(newest)) \
                if len(self.schema) > 1 else pa.table({CLOSED: newest})
            self._tables = [table]
        return table

    def load(self, table: pa.Table) -> None:
        """Become what ``table`` gave."""
        self._tables = [table.cast(self.schema)]

    def _forget(self, bound: int, opened: pa.Table) -> None:
        """Late rows may carry an open session back to a closed one; a new one begins at most a gap before the bound."""
        table, names = self.table(), self.schema.names[:-1]
        near = table.column(CLOSED).to_numpy() >= max(bound - 2 * self.gap, np.iinfo(np.int64).min)
        if names:
            codes = groups_of(pa.concat_tables([table.select(names), opened.select(names)]), names)[0]
            has_open = np.zeros(int(codes.max(initial=-1)) + 1, np.bool_)
            has_open[codes[table.num_rows :]] = True
            near |= has_open[codes[: table.num_rows]]
        else:
            near |= opened.num_rows > 0
        self._tables = [table.filter(pa.array(near))]
        self._room = max(PENDING, 2 * self._tables[0].num_rows)
