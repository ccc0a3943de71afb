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
from panewise.progress.patterns import Pattern
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
        self.aside = RangeState(keys, aggregates)
        """Late rows that count from a later window than the others of their pane (the policy *generous*).

        They are kept apart so that panes stay whole: a window is put together from panes, then gets its late rows.
        """

    def _two_stacks(self) -> TableStacks | None:
        """For windows of many panes whose states are more than numbers.

        Where SLIDE does not divide RANGE the state merges panes that end together, so that what is stacked and what is
        new could not be told apart.
        """
        numbers = all(a.function.elementwise(a.inputs) is not None for a in self.aggregates)
        if numbers or not isinstance(self.spec, SlidingWindow):
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
        if late.any() and (counted & late).any():
            self.add(self.aside, counted & late, first, end, keys, arguments)
            counted &= ~late
        self.add(self.ranges, counted, first, end, keys, arguments)
        return late

    def add(self, state: RangeState, chosen: Mask, first: Ordinals, end: Ordinals, keys: pa.Table,
             arguments: Arguments) -> None:
        """Some rows of a batch into a state."""
        if not chosen.all():
            first, end = first[chosen], end[chosen]
            rows = pa.array(chosen)
            keys = keys.filter(rows) if keys.num_columns else keys
            arguments = [[column.filter(rows) for column in columns] for columns in arguments]
        ranged = pa.table([pa.array(first), *encode(keys, state.keys).columns], names=state.key_names)
        state.add(partial_table(end, ranged, arguments, self.aggregates, id_name=END))

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
            parts = self._stacked(due, closed) if together else self._rolled(due, closed)
            parts += close_aside(self.aside, closed)
            self.ranges.close(closed)
            return self._finished(parts)
        if self._stacks is not None:
            self._stacks.forget()
        self._ahead = max(self._ahead, closed)
        patterns = [(a, p) for a, p in punctuation.patterns if a != self.attribute]
        due, masks = self.ranges.due_some(closed, patterns)
        parts = self._rolled(due, closed) + close_aside(self.aside, closed, patterns)
        self.ranges.close_some(closed, masks)
        return self._finished(parts)

    def _finished(self, parts: list[pa.Table]) -> pa.Table:
        """Results from partial tables by window id; one alone has every window and group once."""
        if not parts:
            return self.nothing
        names = self.keys.names
        table = parts[0] if len(parts) == 1 else combine_partials(pa.concat_tables(parts), names, self.aggregates,
                                                                  id_name=WINDOW_ID)
        return finish_partials(table, names, self.aggregates, id_name=WINDOW_ID).cast(self.result_schema)

    def _settle(self, closed: int) -> None:
        """Panes that end with a window below ``closed`` are complete; the last closing has settled those before."""
        assert isinstance(self.spec, SlidingWindow)
        self.ranges.settle(closed, max(self.ranges.closed, -LIMIT) + self.spec.range // self.spec.slide)

    def _rolled(self, due: pa.Table, closed: int) -> list[pa.Table]:
        """The windows below ``closed`` that are not closed yet, as one partial table by window id, if any."""
        if due.num_rows == 0:
            return []
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
        if len(parts) == 1 and regular is not None:
            return parts
        return [combine_partials(pa.concat_tables(parts), names, self.aggregates, id_name=WINDOW_ID)]

    def _stacked(self, due: pa.Table, closed: int) -> list[pa.Table]:
        """The same of all groups, from the two stacks."""
        assert self._stacks is not None
        assert isinstance(self.spec, SlidingWindow)
        if due.num_rows == 0 and self._stacks.empty:
            return []
        panes = due.column(END).to_numpy() - self.spec.ratio  # a range that was cut short began before: its end tells
        rows = due.drop_columns([FIRST]).set_column(0, PANE_ID, pa.array(panes))
        start = int(panes.min()) if self.ranges.closed == NO_BOUND else self.ranges.closed
        return [self._stacks.windows(rows, start, closed)]

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
        return [int(w) for w in ids_in_ranges(*self._all_ranges())]

    def _all_ranges(self) -> tuple[Ordinals, Ordinals]:
        first, end = zip(self.ranges.ranges(), self.aside.ranges(), strict=True)
        return np.concatenate(first), np.concatenate(end)

    def counters(self) -> dict[str, int]:
        """How much state there is: partials held, (window, group) pairs they stand for, bytes, open windows."""
        tables = [self.ranges.compact(), self.aside.compact()]
        table = tables[0] if not tables[1].num_rows else pa.concat_tables(tables).unify_dictionaries()
        first, end = self._all_ranges()
        codes = group_codes([table.column(n) for n in self.keys.names])[0] if self.keys.names else None
        open_windows, pairs = (int(disjoint_ranges(first, end, c)[1].sum()) for c in (None, codes))
        return {"rows": self.rows, "late": self.late_rows, "buffered": 0, "partials": table.num_rows,
                "window_groups": pairs, "bytes": table.nbytes, "open_windows": open_windows}

    # -- saving

    def _saved(self) -> tuple[dict[str, Any], dict[str, pa.Table]]:
        return {"closed": self.ranges.closed}, {"state": self.ranges.compact(), "aside": self.aside.compact()}

    def _load(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        self._ahead = max(map(self._closed_below, self.bounds.ahead()), default=NO_BOUND)
        self.ranges, self.aside = (self._state(table, header["closed"]) for table in (tables["state"], tables["aside"]))

    def _state(self, table: pa.Table, closed: int) -> RangeState:
        state = RangeState(self.keys, self.aggregates)
        state.closed = closed
        state.add(table.cast(state.schema))
        return state


def close_aside(aside: RangeState, closed: int, patterns: Sequence[tuple[str, Pattern]] = ()) -> list[pa.Table]:
    """What late rows add to the windows below ``closed``, by window id, of all groups or of some; it is forgotten."""
    if not aside.runs:
        aside.close(closed if not patterns else aside.closed)
        return []
    due, masks = aside.due_some(closed, patterns) if patterns else (aside.due(closed), [])
    first, end = np.maximum(due.column(FIRST).to_numpy(), aside.closed), due.column(END).to_numpy()
    parts = [explode(due.drop_columns([FIRST]), first, np.minimum(end, closed))] if due.num_rows else []
    if patterns:
        aside.close_some(closed, masks)
    else:
        aside.close(closed)
    # several late rows may be in one window of one group
    return [combine_partials(part, aside.key_names[1:], aside.aggregates, id_name=WINDOW_ID) for part in parts]


def _rows(values: Ordinals) -> Rows:
    """Context-free windows look at nothing but the value."""
    nothing = np.broadcast_to(np.int64(0), len(values))
    return Rows(values, nothing, nothing)
