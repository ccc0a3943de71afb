"""Window aggregates by window ids, for windows whose ids follow from the row alone (Bucket and Aggregate, Li 6.1.3).

Rows may come in any order and in batches of any size. The state is partial aggregates of the windows that are still
open, never rows; a punctuation closes windows, of all groups or of the groups it names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import LIMIT, OrdinalKind, Ordinals
from panewise.kernels.contract.kernel import Arguments, Closing, Mask
from panewise.kernels.contract.partials import combine_partials, finish_partials, partial_table
from panewise.kernels.panes.pane_tables import (
    PANE_ID,
    SINCE,
    WINDOW_ID,
    explode,
    pane_ends,
    panes_per_slide,
    panes_per_window,
    roll_up,
    window_range,
)
from panewise.kernels.panes.table_stacks import TableStacks
from panewise.kernels.window_ids.context_free import Admitted, ContextFreeKernel, Wids
from panewise.kernels.window_ids.range_state import END, FIRST, RangeState, encode
from panewise.progress.late import LatePolicy, decide
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import NO_BOUND
from panewise.windows.base import disjoint_ranges
from panewise.windows.sliding import SlidingWindow

FEW_PANES = 4
"""Windows of so few panes are put together by merging all of them."""


class WidKernel(ContextFreeKernel):
    """Partials of open windows, kept as ranges of window ids."""

    name = "wid"

    def _prepare(self) -> None:
        super()._prepare()
        self._stacks = self._two_stacks()
        self._settles = self.late is not LatePolicy.GENEROUS and isinstance(self.spec, SlidingWindow) and \
            any(a.function.settles for a in self.aggregates)
        self._ahead = NO_BOUND  # windows below this may be closed for single groups
        self.ranges = RangeState(self.keys, self.aggregates)
        self.aside = RangeState(self.keys, self.aggregates)
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

    def process(self, values: Ordinals, keys: pa.Table, arguments: Arguments, *, bounds: Ordinals | None = None,
                wids: Wids | None = None) -> Mask:
        """Fold a batch into the partials of its windows."""
        rows = self._in_time(self._admit(values, keys, arguments, bounds, wids))
        self._add(self.ranges, rows.first, rows.end, rows.keys, rows.arguments)
        return rows.late

    def _in_time(self, rows: Admitted) -> Admitted:
        """Rows without the late ones, which are put aside."""
        if not rows.tardy.any():
            return rows
        late = rows.pick(rows.tardy)
        self._add(self.aside, late.first, late.end, late.keys, late.arguments)
        return rows.pick(~rows.tardy)

    def _add(self, state: RangeState, first: Ordinals, end: Ordinals, keys: pa.Table, arguments: Arguments) -> None:
        ranged = pa.table([pa.array(first), *encode(keys, state.keys).columns], names=state.key_names)
        state.add(partial_table(end, ranged, arguments, self.aggregates, id_name=END))

    def merge(self, partials: pa.Table, attribute: str, kind: OrdinalKind) -> Mask:
        """Take in partials of panes of a sliding window, made elsewhere; which of them came too late.

        A partial counts from the window ``SINCE`` on. Late rows in it were told apart where it was made; without their
        bounds a pane is late as a whole, when it lies below what was promised here. Errors speak of the ``attribute``.
        """
        assert isinstance(self.spec, SlidingWindow)
        panes: Ordinals = partials.column(PANE_ID).to_numpy()
        natural, end = window_range(panes, panes_per_window=panes_per_window(self.spec),
                                    panes_per_slide=panes_per_slide(self.spec))
        first = np.maximum(natural, partials.column(SINCE).to_numpy())
        late = np.zeros(len(panes), np.bool_)
        in_force = self._in_force(partials.select(self.keys.names), len(panes), None)
        if in_force is not None:
            decision = decide(self.late, natural, end, pane_ends(panes, self.spec) - 1, in_force, self._closed_below,
                              attribute=attribute, kind=kind, panes=True)
            first, late = np.maximum(first, decision.first), decision.late
        whole = first == natural
        for state, chosen in ((self.ranges, whole), (self.aside, ~whole & (first < end))):
            if chosen.any():
                rows = partials.filter(pa.array(chosen))
                ranges = [pa.array(end[chosen]), pa.array(first[chosen])]
                states = [rows.column(f.name) for a in self.aggregates for f in a.state_schema]
                keys = encode(rows.select(self.keys.names), state.keys).columns
                table = pa.Table.from_arrays([*ranges, *keys, *states], schema=state.schema)
                state.add(combine_partials(table, state.key_names, self.aggregates, id_name=END))
        return late

    # -- progress in, results out

    def advance(self, punctuation: Punctuation) -> pa.Table:
        """Put together the windows it closes."""
        closing = self._promised(punctuation)
        return self.nothing if closing is None else self._closed(closing)

    def _closed(self, closing: Closing) -> pa.Table:
        """The results of windows that close."""
        closed, together = closing.below, False
        if not closing.linear:
            self._ahead = max(self._ahead, closed)
            if self._stacks is not None:
                self._stacks.forget()
        elif closed <= self.ranges.closed:  # finer than the slide: nothing new is complete
            return self.nothing
        else:
            together = self._stacks is not None and self.ranges.closed >= self._ahead  # no group has closed more
            if self._settles:
                self._settle(closed)
        due, masks = self.ranges.due(closing)
        parts = self._stacked(due, closed) if together else self._rolled(due, closed)
        parts += close_aside(self.aside, closing)
        self.ranges.close(closing, masks)
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
        due_first, due_end = due.column(FIRST).to_numpy(), due.column(END).to_numpy()
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

    def _state_ranges(self) -> RangeState:
        """The partials of all rows in time, whatever form they have."""
        return self.ranges

    def _held(self) -> pa.Table:
        tables = [self._state_ranges().compact(), self.aside.compact()]
        return tables[0] if not tables[1].num_rows else pa.concat_tables(tables).unify_dictionaries()

    def _held_ranges(self) -> tuple[Ordinals, Ordinals, pa.Table]:
        table = self._held()
        first, end = table.column(FIRST).to_numpy(), table.column(END).to_numpy()
        return np.maximum(first, self._state_ranges().closed), end, table.select(self.keys.names)

    def open_span(self) -> range:
        """From the oldest open window to the newest; those between may hold no rows."""
        runs = [run for state in (self._state_ranges(), self.aside) for run in state.runs]
        if not runs:
            return range(0)
        oldest = min(int(run.least[0]) for run in runs)
        return range(max(self.closed_below, oldest), max(int(run.end[-1]) for run in runs))

    @property
    def stacked(self) -> bool:
        """Whether windows are put together by two stacks of panes."""
        return self._stacks is not None

    def stops(self, size: int) -> Ordinals:
        """Window ids that cut the open windows into pieces whose states take about so many bytes, as they close."""
        first, end, _ = self._held_ranges()
        windows, lengths = disjoint_ranges(first, end)
        before, total = np.cumsum(lengths) - lengths, int(lengths.sum())
        held = self._held().nbytes * int((end - first).sum()) // max(1, len(end))
        piece = max(1, total * size // max(1, held))
        numbers = np.arange(piece, total, piece)
        at = np.searchsorted(before, numbers, side="right") - 1
        return np.asarray(windows[at] + numbers - before[at])

    def counters(self) -> dict[str, int]:
        """How much state there is: partials held, (window, group) pairs they stand for, bytes, open windows."""
        table = self._held()
        return super().counters() | {"buffered": 0, "partials": table.num_rows, "bytes": table.nbytes}

    # -- saving

    def _saved(self) -> tuple[dict[str, Any], dict[str, pa.Table]]:
        state = self._state_ranges()
        return {"closed": state.closed}, {"state": state.compact(), "aside": self.aside.compact()}

    def _load(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        self._ahead = max(map(self._closed_below, self.bounds.ahead()), default=NO_BOUND)
        self.ranges, self.aside = (self._state(table, header["closed"]) for table in (tables["state"], tables["aside"]))

    def _state(self, table: pa.Table, closed: int) -> RangeState:
        state = RangeState(self.keys, self.aggregates)
        state.closed = closed
        state.add(table.cast(state.schema))
        return state


def close_aside(aside: RangeState, closing: Closing) -> list[pa.Table]:
    """What late rows add to the windows that close, by window id; it is forgotten."""
    due, masks = aside.due(closing) if aside.runs else (aside.nothing, [])
    aside.close(closing, masks)
    if not due.num_rows:
        return []
    first, end = due.column(FIRST).to_numpy(), due.column(END).to_numpy()
    windows = explode(due.drop_columns([FIRST]), first, np.minimum(end, closing.below))
    # several late rows may be in one window of one group
    return [combine_partials(windows, aside.key_names[1:], aside.aggregates, id_name=WINDOW_ID)]
