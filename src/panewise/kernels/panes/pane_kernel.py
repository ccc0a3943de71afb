"""Paned-WID: rows are folded into panes, windows are put together from panes (Li 6.2), dense and compiled.

A query begins with the state of the WID kernel, ranges of window ids, which suits few rows. After some thousand rows
its panes move into dense arrays (``DensePanes``): one compiled step per row, and a constant number of merges per pane
and group however many panes a window has. Should panes or groups turn out too sparse for arrays, the state moves back.
Late rows that count from a later window than their pane (the policy *generous*) stay beside the arrays, as ranges of
window ids. Both forms are saved as the same tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from panewise.aggregates.compiled_form import CompiledForm, compiled_form
from panewise.core.columns import INT64, as_column, flat
from panewise.core.ordinals import OrdinalKind, Ordinals
from panewise.kernels.contract.finishing import Finish, columns_of, finisher, fitted, states_of
from panewise.kernels.contract.kernel import Arguments, Closing, Mask
from panewise.kernels.contract.partials import BoundAggregate, combine_partials, finish_partials
from panewise.kernels.groups.key_table import KeyTable
from panewise.kernels.panes.cells_numba import any_below
from panewise.kernels.panes.pane_arrays import DensePanes, Found, TooSparse
from panewise.kernels.panes.pane_tables import WINDOW_ID
from panewise.kernels.window_ids.context_free import Wids
from panewise.kernels.window_ids.range_state import END, FIRST, RangeState
from panewise.kernels.window_ids.wid import WidKernel, close_aside
from panewise.progress.generators import Bounds, bound_array
from panewise.windows.sliding import SlidingWindow

MOST_DIGITS = 16
"""Sums of floats that need more integers each, because values differ by 100 orders of magnitude, are not dense."""
FEW_KEYS = 1 << 14
"""So many groups are never worth forgetting."""


class PanedKernel(WidKernel):
    """Panes of a sliding window on values, for aggregates with a compiled form."""

    name = "panes"
    dense_after: ClassVar[int] = 50_000
    """Rows after which dense arrays are worth the time it takes to load the compiled loops."""

    def _prepare(self) -> None:
        super()._prepare()
        assert isinstance(self.spec, SlidingWindow)
        self._window = self.spec
        self._forms = forms_of(self.aggregates)
        self._dense: DensePanes | None = None
        self._numbers: KeyTable
        self._finishers: list[tuple[Finish, int, int]] = []
        self._summing = any(form.digits is not None for form in self._forms or ())
        self._may_be_dense = self._forms is not None
        self._look_at_keys = FEW_KEYS

    # -- rows in

    def process(self, values: Ordinals, keys: pa.Table, arguments: Arguments, *, bounds: Bounds | None = None,
                wids: Wids | None = None) -> Mask:
        """Fold a batch into its panes, which compiled loops find themselves."""
        del wids
        if self._dense is not None and self._summing:
            self._fit(self._dense.fitted(arguments))
        late = self._fold(values, keys, arguments, bounds)
        if self._dense is None and self._may_be_dense and self.rows >= self.dense_after:
            self._to_dense()
        return late

    def merge(self, partials: pa.Table, attribute: str, kind: OrdinalKind) -> Mask:
        """Take in partials of panes, made elsewhere: few beside their rows, so that they stay ranges of window ids."""
        if self._dense is not None:
            self._to_ranges()
        return super().merge(partials, attribute, kind)

    def _fit(self, forms: list[CompiledForm] | None) -> None:
        """Have room for floats of other sizes than before, as digits of their sums."""
        if forms is None:
            return
        assert self._dense is not None
        self._forms = forms
        if too_wide(forms):
            self._to_ranges()
            self._may_be_dense = False
        else:
            self._dense.refit(forms)
            self._finishers = self._with_places()

    def _fold(self, values: Ordinals, keys: pa.Table, arguments: Arguments, before: Bounds | None) -> Mask:
        late = np.zeros(len(values), np.bool_)
        if self._fold_usual(values, keys, arguments, before):
            self.rows += len(values)
            return late
        bounds = None if before is None else bound_array(before)
        if self._dense is None:
            return super().process(values, keys, arguments, bounds=bounds)
        if self._some_late(values, keys, bounds) or self._window.range < self._window.slide:
            rows = self._in_time(self._admit(values, keys, arguments, bounds))
            values, keys, arguments, late = rows.values, rows.keys, rows.arguments, rows.late
        else:
            self.rows += len(values)
        self._fold_dense(values, keys, arguments)
        return late

    def _fold_usual(self, values: Ordinals, keys: pa.Table, arguments: Arguments, bounds: Bounds | None) -> bool:
        """Rows in one pass where nothing is unusual about them; False when something is, and nothing was folded."""
        if self._dense is None or self.bounds.groups or self.bounds.selections or \
                self._window.range < self._window.slide:
            return False
        found = self._numbers.near(keys)
        if found is None:
            return False
        slots = self._dense.admitted(values, bounds, self.bounds.linear, *found)
        if slots is None:
            return False
        self._dense.fold_at(slots, arguments)
        return True

    def _some_late(self, values: Ordinals, keys: pa.Table, bounds: Ordinals | None) -> bool:
        if len(values) == 0:
            return False
        if self.bounds.groups or self.bounds.selections:
            in_force = self._in_force(keys, len(values), bounds)
            return in_force is not None and bool((values < in_force).any())
        if bounds is None:
            return int(values.min()) < self.bounds.linear
        return bool(any_below(values, bounds, self.bounds.linear))

    def _fold_dense(self, values: Ordinals, keys: pa.Table, arguments: Arguments) -> None:
        assert self._dense is not None
        codes = self._numbers.codes(keys, len(values))
        try:
            self._dense.reserve_groups(len(self._numbers))
            self._dense.fold(values, codes, arguments)
        except TooSparse:  # nothing of the batch is folded yet
            self._to_ranges()
            self._may_be_dense = False
            self._add(self.ranges, *self._window.wids_of(values), keys, arguments)

    # -- progress in, results out

    def _closed(self, closing: Closing) -> pa.Table:
        """Put together the windows that close."""
        if self._dense is None:
            return super()._closed(closing)
        if closing.linear:
            if closing.below <= self._dense.state[0]:
                return self.nothing
            results = self._together(self._dense.close(closing.below), close_aside(self.aside, closing))
            self._tidy()
            return results
        chosen = np.flatnonzero(closing.covers(self._numbers.table()))
        results = self._together(self._dense.close_groups(closing.below, chosen), close_aside(self.aside, closing))
        self._dense.forget_closed()
        return results.sort_by(results.column_names[0]) if len(chosen) > 1 else results

    def _together(self, found: Iterable[Found], aside: list[pa.Table]) -> pa.Table:
        """Results of closed windows from dense states, and from what late rows add to them."""
        if not aside:
            parts = [self._table(part) for part in found]
            return parts[0] if len(parts) == 1 else pa.concat_tables(parts) if parts else self.nothing
        names, schema = self.keys.names, aside[0].schema
        partials = [self._partials(part).cast(schema) for part in found]
        merged = combine_partials(pa.concat_tables([*partials, *aside]), names, self.aggregates, id_name=WINDOW_ID)
        return finish_partials(merged, names, self.aggregates, id_name=WINDOW_ID).cast(self.result_schema)

    def _partials(self, found: Found) -> pa.Table:
        """What was found as a partial table by window id."""
        names = [WINDOW_ID, *self.keys.names, *(f.name for a in self.aggregates for f in a.state_schema)]
        keys = [_encoded(c, f.type) for c, f in zip(self._numbers.columns(found.groups), self.ranges.keys, strict=True)]
        assert self._dense is not None
        states = states_of(self._dense.forms, [s.copy() for s in found.states])
        return pa.Table.from_arrays([pa.array(found.wids), *keys, *states], names=names)

    def _table(self, found: Found) -> pa.Table:
        columns = [as_column(found.wids.copy(), INT64), *self._numbers.columns(found.groups)]
        columns += [finish(found.states[first:end]) for finish, first, end in self._finishers]
        return pa.Table.from_arrays(columns, schema=self.result_schema)

    def _tidy(self) -> None:
        """Number groups anew when most of those that were ever seen have no rows any more."""
        if len(self._numbers) < self._look_at_keys:
            return
        assert self._dense is not None
        live = int(np.count_nonzero((self._dense.ints[0, self._dense.rows] > 0).any(axis=0)))
        if 4 * live < len(self._numbers):
            self._to_ranges()
            self._to_dense()
        self._look_at_keys = max(FEW_KEYS, 2 * (len(self._numbers) if self._dense is not None else 0))

    # -- between the two forms

    def _to_dense(self) -> None:
        assert self._forms is not None
        state = self.ranges
        table = state.compact()
        first, end = np.maximum(table.column(FIRST).to_numpy(), state.closed), table.column(END).to_numpy()
        panes, is_pane = self._panes_of(first, end, state.closed)
        cut = table.filter(pa.array(~is_pane))
        if not is_pane.all():
            table, panes = table.filter(pa.array(is_pane)), panes[is_pane]
        states = [flat(table.column(f.name)) for a in self.aggregates for f in a.state_schema]
        self._forms = fitted(self._forms, states)
        if too_wide(self._forms):
            self._may_be_dense = False
            return
        numbers, dense = KeyTable(self.keys), DensePanes(self._window, self._forms)
        keys = pa.table([_decoded(table.column(f.name), f.type) for f in self.keys], schema=self.keys) \
            if self.keys.names else pa.table({})
        groups = numbers.codes(keys, len(panes))
        columns = columns_of(self._forms, states)
        counts = np.ones(len(panes), np.int64)
        at = 0
        for form in self._forms:
            if form.fold == "rows":
                counts = columns[at]
            at += len(form.columns)
        try:
            dense.reserve_groups(len(numbers))
            dense.take_ranges(panes, groups, counts, columns, state.closed)
        except TooSparse:
            self._may_be_dense = False
            return
        if self.bounds.groups or self.bounds.selections:
            self._close_ahead(numbers, dense)
        self._numbers, self._dense, self._finishers = numbers, dense, self._with_places()
        self.aside.add(cut)
        self.aside.closed = state.closed
        self.ranges = RangeState(self.keys, self.aggregates)

    def _with_places(self) -> list[tuple[Finish, int, int]]:
        """How each aggregate is finished, and from which state columns."""
        ends = list(accumulate(len(form.columns) for form in self._forms or ()))
        return [(finisher(aggregate, form), end - len(form.columns), end)
                for aggregate, form, end in zip(self.aggregates, self._forms or (), ends, strict=True)]

    def _panes_of(self, first: Ordinals, end: Ordinals, closed: int) -> tuple[Ordinals, Mask]:
        """The pane each range stands for, and for which ranges there is one: others were cut short or are merges."""
        whole, rest = divmod(self._window.range, self._window.slide)
        length = end - first
        # a range that begins where windows are closed already may have been longer: only its end matters
        natural = (length == whole) | ((length == whole + 1) & bool(rest))
        panes = end - whole if not rest else np.where(natural, first + end - whole, 2 * (end - whole) - 1)
        return panes, natural | (first <= closed)

    def _close_ahead(self, numbers: KeyTable, dense: DensePanes) -> None:
        """What was put out for single groups is not put out again."""
        keys = numbers.table()
        bounds = self.bounds.bounds_for({n: keys.column(n) for n in keys.column_names}, len(numbers))
        distinct, places = np.unique(bounds, return_inverse=True)
        answers = np.array([self._closed_below(b) for b in distinct.tolist()], np.int64)
        dense.closed[: len(numbers)] = answers[places]

    def _to_ranges(self) -> None:
        self.ranges, self._dense = self._state_ranges(), None

    def _state_ranges(self) -> RangeState:
        if self._dense is None:
            return self.ranges
        first, end, groups, states = self._dense.ranges()
        state = RangeState(self.keys, self.aggregates)
        order = np.argsort(end, kind="stable")
        keys = [_encoded(c, f.type) for c, f in zip(self._numbers.columns(groups[order]), state.keys, strict=True)]
        columns = [pa.array(end[order]), pa.array(first[order]), *keys,
                   *states_of(self._dense.forms, [s[order] for s in states])]
        state.closed = int(self._dense.state[0])
        state.begin(pa.Table.from_arrays(columns, schema=state.schema))
        return state

    # -- counters and saving

    def counters(self) -> dict[str, int]:
        """As the WID kernel counts them; bytes are those of the arrays, used or not."""
        counters = super().counters()
        if self._dense is not None:
            counters["partials"] = int(np.count_nonzero(self._dense.ints[0, self._dense.rows]))
            counters["bytes"] = self._dense.nbytes
        return counters

    def _load(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        self._dense = None
        super()._load(header, tables)


def forms_of(aggregates: Sequence[BoundAggregate]) -> list[CompiledForm] | None:
    """The compiled forms of all aggregates, or None when one has none."""
    forms = [compiled_form(a.function, a.inputs) for a in aggregates]
    return None if None in forms else [form for form in forms if form is not None]


def too_wide(forms: Sequence[CompiledForm]) -> bool:
    """Whether a sum of floats has more digits than dense arrays should hold."""
    return any(form.digits is not None and form.digits.width > MOST_DIGITS for form in forms)


def _decoded(column: pa.ChunkedArray, data_type: pa.DataType) -> pa.ChunkedArray:
    return column if column.type == data_type else column.cast(data_type)


def _encoded(column: pa.Array, data_type: pa.DataType) -> pa.Array:
    return column.dictionary_encode() if pa.types.is_dictionary(data_type) else column
