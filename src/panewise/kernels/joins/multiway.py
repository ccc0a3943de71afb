"""Joins of several sliding windows on one key: evaluated at every row or at refreshes (Golab 2.2.3, algorithms 2 to 5).

A row lives from its time up to, not including, its time plus the range of its window. A result is a row of every window
with equal keys that were alive together: the latest time below the first end (erratum E6: that every partner was alive
with the newest row is not enough). Four ways to get there:

- *eager*, windows expired before every probe (J1) or whenever there is time for it (J2);
- *lazy*, at refreshes: new rows of one key probe the other windows together. Either only what still holds at the
  refresh is reported, and rows that will be gone at the next are let go at once (J3), or also what lived only in
  between (J4, *restore*).

Input is in the order of time over all windows; put a Sort before it where it is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from panewise.core.errors import PlanError
from panewise.core.ordinals import LIMIT, Ordinals
from panewise.kernels.joins.columns import Mask
from panewise.kernels.joins.index_numba import Codes32
from panewise.kernels.joins.keys import JoinKeys, common_type
from panewise.kernels.joins.pairing import Band, as_ordinals, slot_bits
from panewise.kernels.joins.store import JoinStore
from panewise.progress.watermarks import NO_BOUND

WHOLE = 62
"""Slots of everything: lazy probes look at all rows of a key."""


@dataclass(frozen=True)
class WindowInput:
    """One window: the columns of its rows, their key, and how long they live."""

    schema: pa.Schema
    key: str
    range: int


@dataclass
class Combined:
    """Results in the making: the row of each window that is joined already, and since when and until when all live."""

    places: dict[int, Ordinals]
    born: Ordinals
    ends: Ordinals

    def where(self, keep: Mask | Ordinals) -> Combined:
        """Only some of them."""
        return Combined({i: p[keep] for i, p in self.places.items()}, self.born[keep], self.ends[keep])


class MultiwayJoin:
    """A join of windows; ``step`` makes it lazy: it is then evaluated by ``refresh`` at steps of this length.

    >>> schema = [pa.schema({f"{s}.k": pa.string()}) for s in "ab"]
    >>> join = MultiwayJoin([WindowInput(schema[0], "a.k", 10), WindowInput(schema[1], "b.k", 10)])
    >>> join.process(0, pa.table({"a.k": ["x"]}), np.array([1])).num_rows
    0
    >>> join.process(1, pa.table({"b.k": ["x", "x"]}), np.array([8, 11])).to_pylist()
    [{'a.k': 'x', 'b.k': 'x', 'valid_from': 8, 'expires_at': 11}]
    """

    def __init__(self, windows: Sequence[WindowInput], *, order: Sequence[int] | None = None, eager_expiry: bool = True,
                 step: int | None = None, restore: bool = False) -> None:
        if len(windows) < 2:
            raise PlanError("a join needs at least two windows")
        if restore and step is None:
            raise PlanError("restore reports what lived between refreshes: give the step between them")
        types = {windows[0].schema.field(windows[0].key).type}
        common = types.pop()
        for window in windows[1:]:
            found = common_type(common, window.schema.field(window.key).type)
            if found is None:
                raise PlanError(f"{windows[0].key!r} and {window.key!r} have values of different kinds and cannot be "
                                "one join key")
            common = found
        self.windows, self.order = list(windows), list(range(len(windows)) if order is None else order)
        if sorted(self.order) != list(range(len(windows))):
            raise PlanError(f"the order {self.order} of a join must name each of its {len(windows)} windows once")
        self.eager_expiry, self.step, self.restore = eager_expiry, step, restore
        self.keys = JoinKeys([common])
        self.stores = [JoinStore(w.schema, WHOLE if step else slot_bits(Band(0, w.range - 1))) for w in windows]
        names = [name for w in windows for name in w.schema.names]
        self.schema = pa.schema([*(f for w in windows for f in w.schema), ("valid_from", pa.int64()),
                                 ("expires_at", pa.int64())])
        if len(set(names)) < len(names):
            raise PlanError("two windows of a join have a column of the same name: give each an alias")
        self.nothing = self.schema.empty_table()
        self.newest = NO_BOUND
        self.probes = 0
        """Look-ups of a key in a window, the cost that lazy evaluation saves."""
        self._new: list[list[tuple[Codes32, Ordinals, pa.Table]]] = [[] for _ in windows]

    # -- rows

    def process(self, window: int, table: pa.Table, times: Ordinals) -> pa.Table:
        """Rows of one window, in order; the results they complete, unless the join is lazy."""
        if not table.num_rows:
            return self.nothing
        times = as_ordinals(times)
        if times[0] < self.newest or np.any(np.diff(times) < 0):
            raise PlanError("a join of windows takes rows in the order of their times over all windows: put a Sort "
                            "before it")
        self.newest = int(times[-1])
        codes = self.keys.codes([_flat(table.column(self.windows[window].key))], len(times))
        if self.step is not None:
            self._new[window].append((codes, times, table))
            return self.nothing
        if self.eager_expiry:
            self.expire(int(times[0]))
        first = self._insert(window, codes, times, table)
        rows = np.arange(first, first + len(times))
        partial = Combined({window: rows}, times, times + self.windows[window].range)
        for other in (w for w in self.order if w != window):
            self.probes += len(partial.born)
            # partners that are alive when the new row comes: all of them are then alive together
            newest = self.stores[window].times[partial.places[window]]
            at, found = self.stores[other].probe(self.stores[window].codes[partial.places[window]],
                                                 newest - self.windows[other].range + 1, newest)
            partial = self._with(partial.where(at), other, found)
        return self._results(partial)

    def refresh(self, now: int) -> pa.Table:
        """Evaluate a lazy join at an instant: rows that came since the last time, window by window."""
        if self.step is None:
            raise PlanError("an eager join has no refreshes: its results leave with their last row")
        parts = []
        for window, arrived in enumerate(self._new):
            self._new[window] = []
            first = self.stores[window].rows
            for codes, times, table in arrived:
                alive = (times + self.windows[window].range > now) | self.restore
                self._insert(window, codes[alive], times[alive], table.filter(pa.array(alive)))
            if first < self.stores[window].rows:
                parts.append(self._evaluate(window, np.arange(first, self.stores[window].rows)))
        results = pa.concat_tables(parts) if parts else self.nothing
        self.expire(now if self.restore else now + self.step)  # rows gone at the next refresh are no use to it
        return results

    def _evaluate(self, window: int, rows: Ordinals) -> pa.Table:
        """New rows of one window with all rows of the others; each key probes once for all its new rows."""
        store = self.stores[window]
        codes = store.codes[rows]
        known, group = np.unique(codes, return_inverse=True)
        everything = np.full(len(known), LIMIT)
        first = np.full(len(known), LIMIT)
        np.minimum.at(first, group, store.times[rows])
        partial = Combined({}, np.full(len(known), -LIMIT), everything)
        keys = np.arange(len(known))
        for other in (w for w in self.order if w != window):
            self.probes += len(keys)
            lows = first[keys] - self.windows[other].range + 1  # a superset of what met any row of the group
            if not self.restore:
                lows = -everything[keys]
            at, found = self.stores[other].probe(known[keys].astype(np.int32), lows, everything[keys])
            partial, keys = self._with(partial.where(at), other, found), keys[at]
        sizes = np.bincount(group, minlength=len(known))
        members, starts = rows[np.argsort(group, kind="stable")], np.concatenate(([0], np.cumsum(sizes)[:-1]))
        times = sizes[keys]
        each = np.repeat(np.arange(len(keys)), times)
        within = np.arange(len(each)) - np.repeat(np.cumsum(times) - times, times)
        partial = self._with(partial.where(each), window, members[starts[keys[each]] + within])
        return self._results(partial.where(partial.born < partial.ends))  # all were alive together

    def _with(self, partial: Combined, window: int, places: Ordinals) -> Combined:
        times = self.stores[window].times[places]
        return Combined({**partial.places, window: places}, np.maximum(partial.born, times),
                        np.minimum(partial.ends, times + self.windows[window].range))

    def _insert(self, window: int, codes: Codes32, times: Ordinals, table: pa.Table) -> int:
        store = self.stores[window]
        first = store.rows
        store.append(codes, times, {name: _flat(table.column(name)) for name in store.schema.names})
        return first

    def _results(self, found: Combined) -> pa.Table:
        columns = [self.stores[w].take(name, found.places[w]) for w in range(len(self.windows))
                   for name in self.stores[w].schema.names]
        return pa.Table.from_arrays([*columns, pa.array(found.born), pa.array(found.ends)], schema=self.schema)

    # -- time

    def expire(self, now: int) -> None:
        """Let go of rows whose life has ended (by its end, erratum E25)."""
        for window, store in zip(self.windows, self.stores, strict=True):
            stay = store.times + window.range > now
            if not stay.all():
                store.keep(stay)

    @property
    def held(self) -> int:
        """Rows in all windows, and those that wait for a refresh."""
        waiting = sum(len(times) for arrived in self._new for _, times, _ in arrived)
        return sum(store.rows for store in self.stores) + waiting


def _flat(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
