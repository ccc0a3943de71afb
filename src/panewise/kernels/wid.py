"""Window aggregates by window ids, for windows whose ids follow from the row alone (Bucket and Aggregate, Li 6.1.3).

Rows may come in any order and in batches of any size. The state is partial aggregates of the windows that are still
open, never rows; a punctuation closes windows, of all groups or of the groups it names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.errors import UnsupportedError
from panewise.core.ordinals import LIMIT, Ordinals
from panewise.kernels.base import Arguments, Mask, WindowKernel
from panewise.kernels.grouping import group_codes
from panewise.kernels.landmark import endless
from panewise.kernels.panes import PANE_ID, WINDOW_ID, explode, panes_per_slide, panes_per_window, roll_up
from panewise.kernels.partials import BoundAggregate, combine_partials, finish_partials, partial_table
from panewise.kernels.range_state import END, FIRST, RangeState, encode
from panewise.kernels.table_stacks import TableStacks
from panewise.progress.late import LatePolicy, decide
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import NO_BOUND
from panewise.windows.base import Clock, ContextClass, Rows, WindowSpec, disjoint_ranges, ids_in_ranges
from panewise.windows.sliding import SlidingWindow

FEW_PANES = 4
"""Windows of so few panes are put together by merging all of them."""


class WidKernel(WindowKernel):
    """Partials of open windows, kept as ranges of window ids."""

    name = "wid"

    def __init__(self, spec: WindowSpec, keys: pa.Schema, aggregates: Sequence[BoundAggregate], *,
                 attribute: str = "ts", late: str | LatePolicy = LatePolicy.DROP,
                 partition: Sequence[str] = ()) -> None:
        if spec.context_class is not ContextClass.CF:
            raise UnsupportedError(f"{spec.kind} windows are {spec.context_class.value}: a row's window ids do not "
                                   "follow from the row alone; the oracle runs them")
        if spec.clock in (Clock.ORDER, Clock.PARTITION_ORDER):
            raise UnsupportedError(f"{spec.kind} windows count arrivals, and the kernel sees values only; the oracle "
                                   "runs them")
        if endless(spec):
            raise UnsupportedError(f"a row never leaves {spec.kind} windows, so its ids have no end; the landmark "
                                   "kernel runs them")
        super().__init__(spec, keys, aggregates, attribute=attribute, late=late, partition=partition)
        self._stacks = self._two_stacks()
        self._settles = self.late is not LatePolicy.GENEROUS and isinstance(spec, SlidingWindow) and \
            any(a.function.settles for a in self.aggregates)
        self._ahead = NO_BOUND  # windows below this may be closed for single groups
        self.ranges = RangeState(keys, aggregates)

    def _two_stacks(self) -> TableStacks | None:
        """For windows of many panes whose states are more than numbers.

        Slack could change a pane once it is stacked; and where SLIDE does not divide RANGE the state merges panes that
        end together, so that what is stacked and what is new could not be told apart.
        """
        numbers = all(a.function.elementwise(a.inputs) is not None for a in self.aggregates)
        if numbers or not isinstance(self.spec, SlidingWindow) or self.late is LatePolicy.GENEROUS:
            return None
        panes, rest = divmod(self.spec.range, self.spec.slide)
        return TableStacks(self.keys.names, self.aggregates, panes) if panes > FEW_PANES and not rest else None

    # -- rows in

    def process(self, values: Ordinals, keys: pa.Table, arguments: Arguments, *,
                bounds: Ordinals | None = None) -> Mask:
        """Fold a batch into the partials of its windows."""
        first, end = self.spec.wids(_rows(values))
        in_force = self._in_force(keys, len(values), bounds)
        late = np.zeros(len(values), np.bool_)
        if in_force is not None:
            decision = decide(self.late, first, end, values, in_force, self._closed_below, attribute=self.attribute)
            first, end, late = decision.first, decision.last, decision.late
            self.late_rows += decision.late_rows
        self.rows += len(values)
        counted = first < end
        if not counted.all():
            first, end = first[counted], end[counted]
            chosen = pa.array(counted)
            keys = keys.filter(chosen) if keys.num_columns else keys
            arguments = [[column.filter(chosen) for column in columns] for columns in arguments]
        ranged = pa.table([pa.array(first), *encode(keys, self.ranges.keys).columns], names=self.ranges.key_names)
        self.ranges.add(partial_table(end, ranged, arguments, self.aggregates, id_name=END))
        return late

    # -- progress in, results out

    def advance(self, punctuation: Punctuation) -> pa.Table:
        """Put together the windows it closes."""
        others = punctuation.attributes - {self.attribute}
        if not others <= set(self.keys.names) or not self.bounds.advance(punctuation):
            return self.nothing
        bound = punctuation.closes_below(self.attribute)
        assert bound is not None  # the bound table took it
        closed = self._closed_below(bound)
        if not others:
            if closed <= self.ranges.closed:  # finer than the slide: nothing new is complete
                return self.nothing
            if self._settles:
                self._settle(closed)
            due = self.ranges.due(closed)
            together = self._stacks is not None and self.ranges.closed >= self._ahead  # no group has closed more
            results = self._stacked(due, closed) if together else self._results(due, closed)
            self.ranges.close(closed)
            return results
        if self._stacks is not None:
            self._stacks.forget()
        self._ahead = max(self._ahead, closed)
        patterns = [(a, p) for a, p in punctuation.patterns if a != self.attribute]
        due, masks = self.ranges.due_some(closed, patterns)
        results = self._results(due, closed)
        self.ranges.close_some(closed, masks)
        return results

    def _settle(self, closed: int) -> None:
        """Panes that end with a window below ``closed`` are complete; the last closing has settled those before."""
        assert isinstance(self.spec, SlidingWindow)
        self.ranges.settle(closed, max(self.ranges.closed, -LIMIT) + self.spec.range // self.spec.slide)

    def _results(self, due: pa.Table, closed: int) -> pa.Table:
        if due.num_rows == 0:
            return self.nothing
        names = self.keys.names
        due_first = np.maximum(due.column(FIRST).to_numpy(), self.ranges.closed)
        due_end = due.column(END).to_numpy()
        due = due.drop_columns([FIRST])
        parts: list[pa.Table] = []
        regular = self._pane_ids(due_first, due_end)
        if regular is not None:
            assert isinstance(self.spec, SlidingWindow)
            panes, is_pane = regular
            rows = due.set_column(0, PANE_ID, pa.array(panes))
            rows = rows if is_pane.all() else rows.filter(pa.array(is_pane))
            stop = min(closed, int(due_end.max()))
            parts.append(roll_up(rows, names, self.aggregates, panes_per_window=panes_per_window(self.spec),
                                 panes_per_slide=panes_per_slide(self.spec), first_wid=int(due_first.min()),
                                 end_wid=stop))
            rest = ~is_pane
            due, due_first, due_end = due.filter(pa.array(rest)), due_first[rest], due_end[rest]
        if due.num_rows:
            parts.append(explode(due, due_first, np.minimum(due_end, closed)))
        table = parts[0]
        if len(parts) > 1 or regular is None:
            table = combine_partials(pa.concat_tables(parts), names, self.aggregates, id_name=WINDOW_ID)
        return finish_partials(table, names, self.aggregates, id_name=WINDOW_ID).cast(self.result_schema)

    def _stacked(self, due: pa.Table, closed: int) -> pa.Table:
        """The windows below ``closed`` that are not closed yet, of all groups, from the two stacks."""
        assert self._stacks is not None
        assert isinstance(self.spec, SlidingWindow)
        if due.num_rows == 0 and self._stacks.empty:
            return self.nothing
        panes = due.column(END).to_numpy() - self.spec.ratio  # a range that was cut short began before: its end tells
        rows = due.drop_columns([FIRST]).set_column(0, PANE_ID, pa.array(panes))
        start = int(panes.min()) if self.ranges.closed == NO_BOUND else self.ranges.closed
        table = self._stacks.windows(rows, start, closed)
        return finish_partials(table, self.keys.names, self.aggregates, id_name=WINDOW_ID).cast(self.result_schema)

    def _pane_ids(self, first: Ordinals, end: Ordinals) -> tuple[Ordinals, Mask] | None:
        """Ranges of sliding windows as panes, and which of them are: a late or group-wise cut makes others."""
        if not isinstance(self.spec, SlidingWindow):
            return None
        whole, rest = divmod(self.spec.range, self.spec.slide)
        lowest = int(first.min())
        cut = first == lowest  # begun before: only its end matters
        if not rest:
            return end - whole, cut | (end - first == whole)
        length = end - first
        panes = np.where(cut, 2 * (end - whole) - 1, first + end - whole)
        return panes, cut | (length == whole) | (length == whole + 1)

    # -- counters

    @property
    def closed_below(self) -> int:
        """Windows with smaller ids are closed for every group."""
        return self.ranges.closed

    def open_windows(self) -> list[int]:
        """The ids of windows that hold rows and are not closed."""
        return [int(w) for w in ids_in_ranges(*self.ranges.ranges())]

    def counters(self) -> dict[str, int]:
        """How much state there is: partials held, (window, group) pairs they stand for, bytes, open windows."""
        table = self.ranges.compact()
        first, end = self.ranges.ranges()
        codes = group_codes([table.column(n) for n in self.keys.names])[0] if self.keys.names else None
        open_windows, pairs = (int(disjoint_ranges(first, end, c)[1].sum()) for c in (None, codes))
        return {"rows": self.rows, "late": self.late_rows, "buffered": 0, "partials": table.num_rows,
                "window_groups": pairs, "bytes": table.nbytes, "open_windows": open_windows}

    # -- saving

    def _saved(self) -> tuple[dict[str, Any], dict[str, pa.Table]]:
        return {"closed": self.ranges.closed}, {"state": self.ranges.compact()}

    def _load(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        self.ranges = RangeState(self.keys, self.aggregates)
        self.ranges.closed = header["closed"]
        self._ahead = max(map(self._closed_below, self.bounds.ahead()), default=NO_BOUND)
        self.ranges.add(tables["state"].cast(self.ranges.schema))


def _rows(values: Ordinals) -> Rows:
    """Context-free windows look at nothing but the value."""
    nothing = np.broadcast_to(np.int64(0), len(values))
    return Rows(values, nothing, nothing)
