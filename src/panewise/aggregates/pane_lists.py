"""Frequent values from short lists: of every pane only its most frequent values are known (Golab, Algorithm 6).

A pane is a piece of gcd(RANGE, SLIDE), counted from the windows' origin: of the values of a column, or of the positions
of rows, as the algorithm was printed (N rows, sub-windows of b). Its summary is its k most frequent values. A
value that is on no list can hide at most the last count of every full list, so a window reports the values whose listed
counts add up to more than the sum of those counts. No value is reported that is not that frequent, and no count is too
large; a value may be missing.

Which pane a row is in follows from the row alone, and a state has its counts by pane: states of parts of a pane and of
different panes merge alike, whatever the order of rows. When a pane is complete what its list leaves out is forgotten,
and so is which pane it was: complete panes are one list of summed counts, and the sum of what they may hide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.aggregates.arrays import as_ints, plain, plain_type, present
from panewise.aggregates.base import Codes, Columns, State, Types
from panewise.aggregates.multiset import Ranking, by_count
from panewise.aggregates.values import ValueCounts, is_orderable, ranks_of, sort_key
from panewise.core.errors import AggregateError
from panewise.core.ordinals import OrdinalKind, to_ordinals
from panewise.core.time import parse_timestamp

Counts = npt.NDArray[np.int64]
COMPLETE = 2**63 - 1
"""In place of a pane: the lists of all complete ones."""


@dataclass(frozen=True)
class FrequentItems(Ranking):
    """``frequent_items(x, k)``: values whose counts on the lists of the k most frequent of every pane say so for sure.

    The query adds the windowing attribute, the length of a pane and where panes begin; where it is ``by_rows`` the
    attribute is the position of a row, which the kernel adds.

    >>> a, state = FrequentItems(2, 6), ({}, 0)
    >>> for at, item in enumerate("aaabbcaabbbdaaacce"):
    ...     state = a.add(state, item, at)
    >>> a.finish(state)
    [{'item': 'a', 'count': 8}]
    """

    k: int = 10
    pane: int = 1
    origin: int = 0
    by_rows: bool = False
    name: ClassVar[str] = "frequent_items"
    arity: ClassVar[int] = 2
    of_panes: ClassVar[bool] = True
    settles: ClassVar[bool] = True
    slides: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise AggregateError(f"frequent_items needs a whole number from 1, not {self.k!r}: "
                                 "write frequent_items(x, 10)")

    @property
    def numbered(self) -> bool:
        """Whether panes are panes of rows."""
        return self.by_rows

    def value_type(self, inputs: Types) -> pa.DataType:
        """What is counted: an item of a pane."""
        return pa.struct([pa.field("c0", pa.int64()), pa.field("c1", self._item_type(inputs))])

    def result_type(self, inputs: Types) -> pa.DataType:
        """Items and counts, the most frequent first."""
        return self.list_type(self._item_type(inputs))

    def _item_type(self, inputs: Types) -> pa.DataType:
        self.check_inputs(inputs)
        item, *places = map(plain_type, inputs)
        if not is_orderable(item):
            raise AggregateError(f"{self.name} cannot compare values of type {item}: take a field or cast it")
        for at in places:
            OrdinalKind.of(at)
        return item

    def state_fields(self, inputs: Types) -> list[pa.Field]:
        """Counts by pane and item, and what complete panes may hide."""
        return [*super().state_fields(inputs), pa.field("hidden", pa.int64(), nullable=False)]

    # -- scalar form ---------------------------------------------------------------------------------------------

    def init(self) -> State:
        """No item."""
        return {}, 0

    def add(self, state: State, *values: Any) -> State:
        """Count the item in its pane; null counts nothing."""
        item, at = values
        if item is None or at is None:
            return state
        return (*super().add(state[:1], (_ordinal(at) - self.origin) // self.pane, item), state[1])

    def merge(self, left: State, right: State) -> State:
        """Add counts."""
        return (*super().merge(left[:1], right[:1]), *(a + b for a, b in zip(left[1:], right[1:], strict=True)))

    def inverse(self, whole: State, part: State) -> State:
        """Subtract counts."""
        return (*super().inverse(whole[:1], part[:1]), whole[1] - part[1])

    def pack(self, state: State, inputs: Types) -> State:
        """Two lists, and what is hidden."""
        return (*super().pack(state[:1], self._both(inputs)), state[1])

    def unpack(self, row: State, inputs: Types) -> State:
        """One dictionary, and what is hidden."""
        return (*super().unpack(row[:2], self._both(inputs)), row[2])

    @staticmethod
    def _both(inputs: Types) -> Types:
        """The types with that of the position where it is not among them: a state counts pairs."""
        return [*inputs, pa.int64()][:2]

    def finish(self, state: State) -> list[dict[str, Any]]:
        """The lists of all panes together, without what may be there by chance."""
        panes: dict[int, dict[Any, int]] = {}
        for (pane, item), count in state[0].items():
            panes.setdefault(pane, {})[item] = count
        hidden, listed = state[1], panes.pop(COMPLETE, {})
        for counts in panes.values():
            ranked = sorted(counts, key=lambda v: (-counts[v], sort_key(v)))[: self.k]
            hidden += counts[ranked[-1]] if len(ranked) == self.k else 0
            for item in ranked:
                listed[item] = listed.get(item, 0) + counts[item]
        return self.ranked(({item: count for item, count in listed.items() if count > hidden},))

    # -- columnar form -------------------------------------------------------------------------------------------

    def partials(self, arguments: Sequence[pa.Array], codes: Codes, groups: int, inputs: Types) -> Columns:
        """Count items per group and pane."""
        (items, at), codes = present([plain(a) for a in arguments], codes)
        panes = (to_ordinals(at, "the windowing attribute") - self.origin) // self.pane
        held = ValueCounts.of([pa.array(panes), items], codes, groups)
        return self._with_hidden(held, np.zeros(groups, np.int64), inputs)

    def combine(self, partials: Columns, codes: Codes, groups: int, inputs: Types) -> Columns:
        """Add counts."""
        held, hidden = ValueCounts.from_columns(partials[:2]), np.zeros(groups, np.int64)
        np.add.at(hidden, codes, as_ints(partials[2]))
        return self._with_hidden(ValueCounts.of([held.values], codes[held.owners], groups, held.counts), hidden, inputs)

    def subtract_all(self, whole: Columns, part: Columns, inputs: Types) -> Columns:
        """Subtract counts."""
        left = as_ints(whole[2]) - as_ints(part[2])
        return [*super().subtract_all(whole[:2], part[:2], inputs), pa.array(left)]

    def settle(self, partials: Columns, inputs: Types) -> Columns:
        """Only the lists, added up."""
        held = ValueCounts.from_columns(partials[:2])
        listed, hidden = self._lists_of(held)
        items = self._items(held, listed, inputs)
        panes = pa.array(np.full(len(items), COMPLETE))
        lists = ValueCounts.of([panes, items], held.owners[listed], held.groups, held.counts[listed])
        return self._with_hidden(lists, hidden + as_ints(partials[2]), inputs)

    def finish_all(self, partials: Columns, inputs: Types) -> pa.Array:
        """The same for all groups at once."""
        held = ValueCounts.from_columns(partials[:2])
        listed, hidden = self._lists_of(held)
        hidden += as_ints(partials[2])
        sums = ValueCounts.of([self._items(held, listed, inputs)], held.owners[listed], held.groups,
                              held.counts[listed])
        order = by_count(sums)
        return self.lists(sums, sums.counts[order] > hidden[sums.owners], order, inputs)

    def finish_windows(self, partials: Columns, low: Codes, high: Codes, windows: int, inputs: Types) -> pa.Array:
        """The same for windows over lists of complete panes, each list added once and taken away once."""
        held = ValueCounts.from_columns(partials[:2])
        items = self._items(held, np.ones(len(held.counts), np.bool_), inputs)
        ranks, distinct = ranks_of(items)
        hidden = running(as_ints(partials[2]), low, high, windows)
        owners, ranks, counts = above(ranks, held.counts, low[held.owners], high[held.owners], hidden)
        offsets = np.searchsorted(owners, np.arange(windows + 1)).astype(np.int64)
        sums = ValueCounts(offsets, distinct.take(pa.array(ranks)), counts)
        return self.lists(sums, np.ones(len(counts), np.bool_), by_count(sums), inputs)

    def finish_counts(self, held: ValueCounts, inputs: Types) -> pa.Array:
        """Of panes none of which was complete."""
        return self.finish_all(self._with_hidden(held, np.zeros(held.groups, np.int64), inputs), inputs)

    def _with_hidden(self, held: ValueCounts, hidden: Counts, inputs: Types) -> Columns:
        return [*self._state(held, inputs), pa.array(hidden)]

    def _items(self, held: ValueCounts, listed: npt.NDArray[np.bool_], inputs: Types) -> pa.Array:
        if not len(listed):
            return pa.array([], self._item_type(inputs))
        return held.values.flatten()[1].filter(pa.array(listed))

    def _lists_of(self, held: ValueCounts) -> tuple[npt.NDArray[np.bool_], Counts]:
        """Which entries are on the list of their pane, and per group the sum of the last counts of full lists."""
        hidden = np.zeros(held.groups, np.int64)
        if not len(held.counts):
            return np.zeros(0, np.bool_), hidden
        owners, panes = held.owners, as_ints(held.values.flatten()[0])
        begins = np.r_[True, (owners[1:] != owners[:-1]) | (panes[1:] != panes[:-1])]
        number = np.cumsum(begins) - 1
        order = np.lexsort((-held.counts, number))  # stable: equal counts keep the order of their values
        place = np.arange(len(order)) - np.flatnonzero(begins)[number]
        complete = panes == COMPLETE
        listed = complete.copy()
        listed[order[place < self.k]] = True
        last = order[place == self.k - 1]
        last = last[~complete[last]]
        np.add.at(hidden, owners[last], held.counts[last])
        return listed, hidden


def _ordinal(value: Any) -> int:
    """A value of a windowing attribute as a number."""
    if isinstance(value, date):
        return parse_timestamp(value) if hasattr(value, "hour") else OrdinalKind.DATE.parse(value)
    return int(value)


# -- counts in windows that slide over pieces, without putting any window together


def above(values: Counts, counts: Counts, low: Counts, high: Counts, floor: Counts) -> tuple[Counts, Counts, Counts]:
    """Windows, values and counts where a value's count is above the floor of the window, by window and value.

    ``values`` are small numbers from 0; entry i counts in windows ``low[i]`` to ``high[i]``. No floor is negative.

    >>> above(np.array([0, 1, 0]), np.array([2, 1, 3]), np.array([0, 0, 1]), np.array([2, 2, 3]), np.array([1, 1, 3]))
    (array([0, 1]), array([0, 0]), array([2, 5]))
    """
    windows = len(floor)
    places = np.concatenate([values * (windows + 1) + low, values * (windows + 1) + high])
    steps, at = np.unique(places, return_inverse=True)
    change = np.zeros(len(steps), np.int64)
    np.add.at(change, at, np.concatenate([counts, -counts]))
    reached = np.cumsum(change)  # the last step of every value leads back to nothing
    value, first = np.divmod(steps, windows + 1)
    end = np.r_[first[1:], windows]
    kept = np.flatnonzero(reached > 0)
    kept = kept[reached[kept] > _least(floor, first[kept], end[kept])]
    lengths = end[kept] - first[kept]
    begins = np.cumsum(lengths) - lengths
    window = np.arange(int(lengths.sum())) + np.repeat(first[kept] - begins, lengths)
    value, count = np.repeat(value[kept], lengths), np.repeat(reached[kept], lengths)
    over = count > floor[window]
    window, value, count = window[over], value[over], count[over]
    order = np.lexsort((value, window))
    return window[order], value[order], count[order]


def running(amounts: Counts, low: Counts, high: Counts, windows: int) -> Counts:
    """Per window the sum of the amounts of the pieces in it."""
    change = np.zeros(windows + 1, np.int64)
    np.add.at(change, low, amounts)
    np.add.at(change, high, -amounts)
    summed: Counts = np.cumsum(change)[:-1]
    return summed


def _least(floor: Counts, first: Counts, end: Counts) -> Counts:
    """The smallest floor of each range that is not empty: of the two that cover it, each a power of two long."""
    longest = int((end - first).max(initial=1))
    levels = [floor]
    while 2 ** len(levels) <= longest:
        half = 2 ** (len(levels) - 1)
        levels.append(np.minimum(levels[-1][:-half], levels[-1][half:]))
    found = np.empty(len(first), np.int64)
    level = np.frexp((end - first).astype(np.float64))[1] - 1
    for number, least in enumerate(levels):
        mine = level == number
        found[mine] = np.minimum(least[first[mine]], least[end[mine] - 2**number])
    return found
