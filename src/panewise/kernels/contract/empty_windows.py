"""Empty windows on request: a group that is silent for a window has the result of no rows there.

Results normally exist where rows are. Here every group that has been seen has one for each window from its own first to
the newest closed window that has rows of any group: a count of 0, a sum of null. What comes out does not depend on what
was promised when; windows after the last row of the stream exist no more than those before the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.aggregates.base import Codes
from panewise.core.arrays import of_each
from panewise.core.columns import int_columns
from panewise.core.errors import TooManyWindowsError, UnsupportedError
from panewise.core.ordinals import Ordinals
from panewise.kernels.contract.kernel import Arguments, Mask, WindowKernel
from panewise.kernels.contract.wrapping import WrappingKernel
from panewise.kernels.groups.key_table import KeyTable, by_number
from panewise.kernels.panes.pane_tables import WINDOW_ID
from panewise.kernels.positions.numbered import NumberedKernel
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import NO_BOUND
from panewise.windows.base import MOST_WINDOWS, Clock, ContextClass

NEXT = "<next>"


class EmptyWindows(WrappingKernel):
    """Around the kernel of a context-free window: fills its results up.

    State is one row per group seen: the window it has not been given yet. A closing looks at all groups, since all of
    them get a result.
    """

    name = "empty-windows"

    def __init__(self, inner: WindowKernel) -> None:
        spec = inner.spec
        by_position = isinstance(inner, NumberedKernel) or spec.clock in (Clock.ORDER, Clock.PARTITION_ORDER)
        if spec.context_class is not ContextClass.CF or by_position:
            raise UnsupportedError(f"{spec.kind} windows follow from their rows, so none of them is empty: leave out "
                                   "empty_windows, or use a window on values such as RANGE 1 minute SLIDE 1 minute")
        super().__init__(inner)
        self.bounds = inner.bounds
        self._groups = KeyTable(self.keys)
        self._next = np.empty(0, np.int64)
        self._newest = NO_BOUND
        self._of_no_rows = [pa.scalar(a.function.finish(a.function.init()), a.result_field.type)
                            for a in self.aggregates]

    # -- rows in

    def process(self, values: Ordinals, keys: pa.Table, arguments: Arguments, *,
                bounds: Ordinals | None = None, **tags: Any) -> Mask:
        """As the kernel inside."""
        return self.inner.process(values, keys, arguments, bounds=bounds, **tags)

    def ripe(self) -> pa.Table:
        """As the kernel inside; windows that rows close may leave others empty."""
        results = self.inner.ripe()
        return self._filled(results) if results.num_rows else results

    # -- progress in, results out

    def advance(self, punctuation: Punctuation) -> pa.Table:
        """Results of the kernel inside, and those of no rows."""
        return self._filled(self.inner.advance(punctuation))

    def _filled(self, results: pa.Table) -> pa.Table:
        if not results.num_rows and self._newest < int(self._next.min(initial=np.iinfo(np.int64).max)):
            return results
        wids: Ordinals = results.column(WINDOW_ID).to_numpy()
        codes = self._learn(results, wids)
        self._newest = max(self._newest, int(wids.max(initial=NO_BOUND)))
        stop = np.maximum(self._stops(), self._next)
        missing = stop - self._next
        total = int(missing.sum())
        if total > MOST_WINDOWS:
            raise TooManyWindowsError(f"{total:,} windows of {len(missing):,} groups would be shown as empty, at most "
                                      f"{MOST_WINDOWS:,} are: choose a longer SLIDE, or leave out empty_windows")
        begins = np.cumsum(missing) - missing
        empty = np.ones(total, np.bool_)
        empty[begins[codes] + wids - self._next[codes]] = False  # these have rows
        groups = np.repeat(np.arange(len(missing)), missing)
        new_wids = (self._next[groups] + np.arange(total) - begins[groups])[empty]
        self._next = stop
        if not len(new_wids):
            return results
        keys = self._groups.columns(groups[empty])
        nothing = [pa.repeat(value, len(new_wids)) for value in self._of_no_rows]
        added = pa.table([pa.array(new_wids), *keys, *nothing], schema=self.result_schema)
        return pa.concat_tables([results, added]).sort_by(WINDOW_ID)

    def _learn(self, results: pa.Table, wids: Ordinals) -> Codes:
        """The place of each result's group; new groups begin with their first window."""
        known = len(self._next)
        codes = self._groups.codes(results.select(self.keys.names), len(wids))
        begins = np.full(len(self._groups), np.iinfo(np.int64).max)
        np.minimum.at(begins, codes, wids)
        self._next = np.concatenate([self._next, begins[known:]])
        return codes

    def _stops(self) -> Ordinals:
        """For every group the first window that is open or has no rows of any group yet."""
        groups = self._groups.table()
        bounds = self.bounds.bounds_for({n: groups.column(n) for n in self.keys.names}, len(self._next))
        return np.minimum(of_each(self._closed_below, bounds), min(self._newest, np.iinfo(np.int64).max - 1) + 1)

    # -- saving

    def _saved(self) -> tuple[dict[str, Any], dict[str, pa.Table]]:
        header, tables = self._inner_saved()
        own = {"groups": self._groups.table(), "next": pa.table({NEXT: self._next})}
        return {"newest": self._newest, **header}, own | tables

    def _load(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        self._newest = header["newest"]
        (following,) = int_columns(tables["next"])
        self._next = by_number(following, self._groups.load(tables["groups"], len(following)))
        self._load_inner(header, tables)
