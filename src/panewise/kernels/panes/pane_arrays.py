"""Partial aggregates of panes as dense arrays, state column × pane × group, filled and rolled up by compiled loops.

A pane has a *row* of the arrays while it is in use; rows are recycled. Windows are put together in order, each pane
merged a constant number of times whatever RANGE/SLIDE is: what can be taken away again (counts and sums: floats are
added as integers, see `digits`) by running totals, the rest by two stacks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.aggregates.arrays import as_floats, long_keys, plain, valid_rows
from panewise.aggregates.base import Codes
from panewise.aggregates.compiled_form import ADDED, CompiledForm, StateColumn
from panewise.aggregates.exact_sums import digits_numba
from panewise.aggregates.exact_sums.digits import Digits, digits_of_floats
from panewise.core.ordinals import Ordinals
from panewise.kernels.panes import cells_numba, roll_up_numba
from panewise.kernels.panes.cells_numba import Slots
from panewise.kernels.panes.pane_tables import panes_per_slide, panes_per_window
from panewise.progress.generators import Bounds, Trailing
from panewise.progress.watermarks import NO_BOUND
from panewise.windows.sliding import SlidingWindow

Numbers = npt.NDArray[Any]
"""int64 or float64."""
NOTHING = np.empty(0, np.int64)
MERGES = {name: getattr(roll_up_numba, name.upper()) for name in ("sum", "min", "max")}
FOLDS: dict[tuple[str, str], Callable[..., None]] = {
    ("int", "sum"): cells_numba.fold_int_sum,
    **{("int", merge): cells_numba.fold_int_extreme for merge in ("min", "max")},
    **{("float", merge): cells_numba.fold_float_extreme for merge in ("min", "max")}}
AS_THEY_ARE = {f"{number} {fold}": pa.float64() if number == "float" else pa.int64()
               for number in ("int", "float") for fold in ("sum", "min", "max")}
"""The type of an argument that a loop reads as it is."""
RESULTS_AT_ONCE = 1 << 18
MOST_PANES = 1 << 22
"""Between the first open pane and the last; a stream that jumps further is not dense."""
ALWAYS_DENSE = 1 << 25
"""Bytes of arrays that are never too many."""
SPARSE = 16
"""Arrays this many times larger than what is in them are too sparse."""


class TooSparse(Exception):  # noqa: N818 (not an error: the kernel goes on in another way)
    """The panes or groups in use are so few among those in reach that dense arrays would waste memory."""


@dataclass(frozen=True)
class Found:
    """States of closed windows: window ids, group numbers, and the state columns of all aggregates in order."""

    wids: Ordinals
    groups: Codes
    states: list[Numbers]


class DensePanes:
    """Panes of one window specification for groups 0, 1, 2, …"""

    def __init__(self, spec: SlidingWindow, forms: Sequence[CompiledForm]) -> None:
        self.spec = spec
        self.per_window, self.per_slide = panes_per_window(spec), panes_per_slide(spec)
        self.paired = self.per_slide == 2
        self._lay_out(forms)
        self.panes = np.empty(0, np.int64)
        """Panes in use, ascending, and their rows."""
        self.rows = np.empty(0, np.int64)
        self.closed = np.full(8, NO_BOUND, np.int64)
        """Windows of each group below this were put out already."""
        self.state = np.array([NO_BOUND, 0, 0, 0], np.int64)
        self._first_pane = 0
        self._row_of = np.empty(0, np.int64)
        self._free = np.arange(8)
        self._free_count = np.array([8, 0])
        self._slots_room = np.empty(0, np.uint32)
        self._output_room = self._output(0)
        self._allocate(8, 8)
        cells_numba.load()

    # -- memory

    def _lay_out(self, forms: Sequence[CompiledForm]) -> None:
        """Where the columns of every form are: integers or floats, and which."""
        self.forms = list(forms)
        columns = [ADDED]  # how many rows a cell has: a group without any has no result
        self.places: list[tuple[bool, int]] = []
        counts = {True: 0, False: 1}
        for form in forms:
            for column in form.columns:
                if form.fold == "rows":
                    self.places.append((False, 0))
                    continue
                self.places.append((column.is_float, counts[column.is_float]))
                counts[column.is_float] += 1
                columns.append(column)
        ints, floats = [[c for c in columns if c.is_float is kind] for kind in (False, True)]
        self._int_merges, self._float_merges = _merges(ints), _merges(floats)
        self._int_initial = np.array([c.initial for c in ints], np.int64)
        self._float_initial = np.array([c.initial for c in floats], np.float64)

    def refit(self, forms: Sequence[CompiledForm]) -> None:
        """Have columns for more digits of sums of floats; they are zero in all that is there."""
        former, old_places, old_forms = (self.ints, self._running, self._back_ints), self.places, self.forms
        floats, back_floats = self.floats, self._back_floats
        self._lay_out(forms)
        self._allocate(*self.ints.shape[1:])
        self.floats[:], self._back_floats[:] = floats, back_floats
        moved, at, old_at = {0: 0}, 0, 0
        for form, old in zip(self.forms, old_forms, strict=True):
            for i in range(len(old.columns)):
                is_float, place = self.places[at + _moved(form, old, i)]
                if not is_float:
                    moved[place] = old_places[old_at + i][1]
            at, old_at = at + len(form.columns), old_at + len(old.columns)
        for fresh, before in zip((self.ints, self._running, self._back_ints), former, strict=True):
            fresh[list(moved)] = before[list(moved.values())]
        self._output_room = self._output(0)

    def _flat_columns(self) -> list[Numbers]:
        return [(self.floats if is_float else self.ints)[at].reshape(-1) for is_float, at in self.places]

    def _allocate(self, rows: int, groups: int) -> None:
        self.ints = _filled((len(self._int_initial), rows, groups), self._int_initial)
        self.floats = _filled((len(self._float_initial), rows, groups), self._float_initial)
        self._columns = self._flat_columns()
        self._counts = self.ints[0].reshape(-1)
        self._running = np.zeros((len(self._int_initial), groups), np.int64)
        self._back_ints = _filled((len(self._int_initial), 1, groups), self._int_initial)
        self._back_floats = _filled((len(self._float_initial), 1, groups), self._float_initial)

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return self.ints.nbytes + self.floats.nbytes

    @property
    def groups(self) -> int:
        """Room for so many groups."""
        return int(self.ints.shape[2])

    def reserve_groups(self, groups: int) -> None:
        """Make room for groups."""
        if groups > self.groups:
            self._resize(self.ints.shape[1], 1 << (groups - 1).bit_length())

    def _resize(self, rows: int, groups: int) -> None:
        wanted = self.nbytes // (self.ints.shape[1] * self.groups) * rows * groups
        if wanted > ALWAYS_DENSE:
            used = np.count_nonzero(self.ints[0]) * (len(self._int_initial) + len(self._float_initial)) * 8
            if wanted > SPARSE * used:
                raise TooSparse
        old = self.ints, self.floats, self._running, self._back_ints, self._back_floats
        before_rows, before_groups = self.ints.shape[1:]
        self._allocate(rows, groups)
        new = self.ints, self.floats, self._running, self._back_ints, self._back_floats
        for fresh, former in zip(new, old, strict=True):
            if former.ndim == 3:
                fresh[:, :before_rows, :before_groups] = former
            else:
                fresh[:, :before_groups] = former
        added = np.arange(before_rows, rows)
        self._free = np.concatenate([self._free[: self._free_count[0]], added, np.zeros(before_rows, np.int64)])
        self._free_count[0] += len(added)
        self.closed = np.append(self.closed, np.full(groups - before_groups, NO_BOUND, np.int64))

    # -- rows in

    def fold(self, values: Ordinals, codes: Codes, arguments: Sequence[Sequence[pa.Array]]) -> None:
        """Rows, all in windows that are open, into the cells of their panes."""
        self.fold_at(self._slots(values, codes), arguments)

    def admitted(self, values: Ordinals, bounds: Bounds | None, floor: int, keys: Codes, direct: Codes, low: int) \
            -> Slots | None:
        """The slots of rows with integer keys, if none is late, new or out of reach: the usual case, in one pass."""
        spec = self.spec
        slots = self._slots_for(len(values))
        fresh = np.empty(int(self._free_count[0]), np.int64)
        given, bound, delay = NOTHING, NO_BOUND, -1
        if isinstance(bounds, Trailing):
            bound, delay = bounds.first, bounds.delay
        elif bounds is not None:
            given = bounds
        done = cells_numba.admit(
            values, given, bound, delay, floor, keys, direct, low, spec.origin - spec.lag, spec.range, spec.slide,
            self.paired, self._row_of, self._first_pane, self._free, self._free_count, self.groups, fresh, slots)
        if self._free_count[1]:
            self._note_new(fresh[: self._free_count[1]])
            self._free_count[1] = 0
        return slots if done else None

    def _slots_for(self, rows: int) -> Slots:
        """Room for slots, the same for every batch: new memory would have to come from the system each time."""
        if rows > len(self._slots_room):
            self._slots_room = np.empty(rows, np.uint32)
        return self._slots_room[:rows]

    def fold_at(self, slots: Slots, arguments: Sequence[Sequence[pa.Array]]) -> None:
        """Rows into the cells at these slots."""
        cells_numba.fold_count(self._counts, slots)
        at, last, values = 0, None, np.empty(0)
        for form, columns in zip(self.forms, arguments, strict=True):
            end = at + len(form.columns)
            if form.fold != "rows":
                array = columns[0]
                if array.type == AS_THEY_ARE.get(form.fold) and array.null_count == 0:  # as most: without a copy
                    if array is not last:
                        last, values = array, array.to_numpy()
                    self._fold_values(form, at, slots, values)
                else:
                    self._fold_one(form, at, slots, columns)
            at = end

    def _fold_values(self, form: CompiledForm, at: int, slots: Slots, values: Numbers) -> None:
        """Numbers without nulls into the columns of a form, which begin at one of them."""
        columns = self._columns[at : at + len(form.columns)]
        if form.digits is None:
            number, merge = form.fold.split()
            FOLDS[number, merge](*columns, slots, values, *(() if merge == "sum" else (form.level, merge == "max")))
            return
        first = self.places[at][1] + 1
        digits = self.ints[first : first + form.digits.count].reshape(form.digits.count, -1)
        digits_numba.fold_floats(self._columns[at], digits, form.digits.first, slots, values.view(np.int64))
        if form.digits.special:
            special = ~np.isfinite(values)
            slots, values = slots[special], values[special]
            for column, chosen in zip(self._columns[at + 1 + form.digits.count : at + len(form.columns)],
                                      (np.isnan(values), values == np.inf, values == -np.inf), strict=True):
                cells_numba.fold_count(column, slots[chosen])

    def fitted(self, arguments: Sequence[Sequence[pa.Array]]) -> list[CompiledForm] | None:
        """The forms with the digits that these arguments have too, or None when they have all of them already."""
        found, last, known, changed = list(self.forms), None, Digits(), False
        for i, (form, columns) in enumerate(zip(self.forms, arguments, strict=True)):
            if form.digits is not None:
                if columns[0] is not last:
                    last, known = columns[0], digits_in(columns[0])
                if not form.digits.covers(known):
                    found[i], changed = form.with_digits(form.digits.joined(known)), True
        return found if changed else None

    def _fold_one(self, form: CompiledForm, at: int, slots: Slots, columns: Sequence[pa.Array]) -> None:
        array = columns[0]
        mask = valid_rows(columns)
        if mask is not None:
            slots = slots[mask]
        if form.fold == "count":
            cells_numba.fold_count(self._columns[at], slots)
            return
        array = plain(array)
        if mask is not None:
            array = array.filter(pa.array(mask))
        values = as_floats(array) if form.fold.startswith("float") else long_keys(array)
        self._fold_values(form, at, slots, values)

    def _slots(self, values: Ordinals, codes: Codes) -> Slots:
        slots = self._slots_for(len(values))
        spec = self.spec
        base = spec.origin - spec.lag
        done = 0
        while True:
            fresh = np.empty(int(self._free_count[0]), np.int64)
            done += cells_numba.place(
                values[done:], codes[done:], base, spec.range, spec.slide, self.paired, self._row_of, self._first_pane,
                self._free, self._free_count, self.groups, fresh, slots[done:])
            if self._free_count[1]:
                self._note_new(fresh[: self._free_count[1]])
                self._free_count[1] = 0
            if done == len(values):
                return slots
            pane = self._pane(int(values[done]) - base)
            if not self._first_pane <= pane < self._first_pane + len(self._row_of):
                self._reach(min(pane, self._pane(int(values[done:].min()) - base)), pane)
            else:
                self._resize(2 * self.ints.shape[1], self.groups)

    def _pane(self, distance: int) -> int:
        pane: int = cells_numba.pane_of.py_func(distance, self.spec.range, self.spec.slide, self.paired)
        return pane

    def _note_new(self, fresh: Ordinals) -> None:
        """Panes that got a row; they come after those that windows were already put together from."""
        panes = np.concatenate([self.panes, fresh])
        panes.sort()
        self.panes, self.rows = panes, self._row_of[panes - self._first_pane]

    def _reach(self, low: int, high: int) -> None:
        """Let the map of rows cover these panes too."""
        if len(self.panes):
            low, high = min(low, int(self.panes[0])), max(high, int(self.panes[-1]))
        if high - low > MOST_PANES:
            raise TooSparse
        room = max(64, high - low + 1)
        self._first_pane = low - room // 2
        self._row_of = np.full(2 * room, -1, np.int64)
        self._row_of[self.panes - self._first_pane] = self.rows

    # -- windows out

    def close(self, stop: int) -> Iterator[Found]:
        """Windows below ``stop`` of all groups, ascending; what was put out for a group before is left out.

        What is found lies in memory that the next ones are written to: it must be used, or copied, at once.
        """
        if self.state[0] == NO_BOUND:
            # windows before the first pane may still get rows, unless they are closed now
            self.state[0] = min(int(self.panes[0]) // self.per_slide, stop) if len(self.panes) else stop
        groups = self.groups
        while self.state[0] < stop:
            room = max(groups, min(RESULTS_AT_ONCE, groups * min(64, stop - int(self.state[0]))))
            if room > len(self._output_room[0]):
                self._output_room = self._output(room)
            wids, numbers, ints, floats = self._output_room
            count = roll_up_numba.close_windows(
                self.ints, self.floats, self._int_merges, self._float_merges, self._int_initial, self._float_initial,
                self.panes, self.rows, self._running, self._back_ints, self._back_floats, self.state, self.per_window,
                self.per_slide, stop, self.closed, groups, wids, numbers, ints, floats)
            if count:
                yield self._found(count, wids, numbers, ints, floats)
        self._release(int(self.state[1]))

    def close_groups(self, stop: int, chosen: Codes) -> Iterator[Found]:
        """Windows below ``stop`` of some groups."""
        if len(self.panes):
            at = np.array([0, NO_BOUND])
            start = self.state.copy()
            if start[0] == NO_BOUND:
                start[0] = self.panes[0] // self.per_slide
            at[1] = start[0]
            while at[0] < len(chosen):
                wids, numbers, ints, floats = self._output(min(RESULTS_AT_ONCE, max(64, 4 * len(chosen))))
                count = roll_up_numba.close_groups(
                    self.ints, self.floats, self._int_merges, self._float_merges, self._int_initial,
                    self._float_initial, self.panes, self.rows, start, self.per_window, self.per_slide, stop,
                    self.closed, chosen, at, wids, numbers, ints, floats)
                if count:
                    yield self._found(count, wids, numbers, ints, floats)
        self.closed[chosen] = np.maximum(self.closed[chosen], stop)

    def _output(self, room: int) -> tuple[Ordinals, Codes, npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        return (np.empty(room, np.int64), np.empty(room, np.int64), np.empty((len(self._int_initial), room), np.int64),
                np.empty((len(self._float_initial), room), np.float64))

    def _found(self, count: int, wids: Ordinals, numbers: Codes, ints: npt.NDArray[np.int64],
               floats: npt.NDArray[np.float64]) -> Found:
        states = [(floats if is_float else ints)[at, :count] for is_float, at in self.places]
        return Found(wids[:count], numbers[:count], states)

    def _release(self, head: int) -> None:
        """Rows of panes that no open window reaches, back to the free list."""
        if head:
            self._recycle(self.panes[:head], self.rows[:head])
            self.panes, self.rows = self.panes[head:], self.rows[head:]
            self.state[1:] -= head

    def _recycle(self, panes: Ordinals, rows: Codes) -> None:
        cells_numba.clear_rows(self.ints, self.floats, self._int_initial, self._float_initial, rows)
        self._row_of[panes - self._first_pane] = -1
        count = int(self._free_count[0])
        self._free[count : count + len(rows)] = rows
        self._free_count[0] = count + len(rows)

    def forget_closed(self) -> None:
        """Panes whose groups all were closed one by one: nothing will ask for them."""
        tail = int(self.state[3])
        ends = (self.panes[tail:] + self.per_window) // self.per_slide
        live = (self.ints[0, self.rows[tail:]] > 0) & (self.closed[None, :] < ends[:, None])
        keep = np.ones(len(self.panes), np.bool_)
        keep[tail:] = live.any(axis=1)
        self._recycle(self.panes[~keep], self.rows[~keep])
        self.panes, self.rows = self.panes[keep], self.rows[keep]

    # -- the same state as ranges of window ids

    def ranges(self) -> tuple[Ordinals, Ordinals, Codes, list[Numbers]]:
        """For every state the windows [first, end) it counts in, its group and its columns.

        The front of the two stacks holds merges, so there the columns that can be taken away and the others have
        ranges of their own.
        """
        k, m, (start, head, split, _) = self.per_window, self.per_slide, self.state.tolist()
        parts: list[tuple[Ordinals, Ordinals, Codes, list[Numbers]]] = []
        initial = [(self._float_initial if f else self._int_initial)[at] for f, at in self.places]
        invertible = [not f and self._int_merges[at] == roll_up_numba.SUM for f, at in self.places]
        for j in range(head, len(self.panes)):
            pane, row = int(self.panes[j]), int(self.rows[j])
            end, used = (pane + k) // m, self.ints[0, row] > 0
            first = max(start, pane // m)
            if j >= split:
                parts.append(self._range(first, end, row, np.flatnonzero(used), initial, None))
                continue
            parts.append(self._range(first, end, row, np.flatnonzero(used), initial, invertible))
            # windows that begin after the pane before and not after this one
            begun = first if j == head else max(start, (int(self.panes[j - 1]) + k) // m)
            touched = np.zeros(self.groups, np.bool_)
            for later in self.rows[j:split]:
                touched |= self.ints[0, later] > 0
            if begun < end:
                rest = [not i for i in invertible]
                parts.append(self._range(begun, end, row, np.flatnonzero(touched), initial, rest))
        if not parts:
            none = np.empty(0, np.int64)
            return none, none, none, [np.empty(0, np.float64 if f else np.int64) for f, _ in self.places]
        first_, end_, groups = (np.concatenate([p[i] for p in parts]) for i in range(3))
        states = [np.concatenate([p[3][i] for p in parts]) for i in range(len(self.places))]
        first_ = np.maximum(first_, self.closed[groups])
        keep = first_ < end_
        return first_[keep], end_[keep], groups[keep], [s[keep] for s in states]

    def _range(self, first: int, end: int, row: int, groups: Codes, initial: Sequence[int | float],
               which: Sequence[bool] | None) -> tuple[Ordinals, Ordinals, Codes, list[Numbers]]:
        states = []
        for i, (is_float, at) in enumerate(self.places):
            source = (self.floats if is_float else self.ints)[at, row, groups]
            states.append(source if which is None or which[i] else np.full_like(source, initial[i]))
        return np.full(len(groups), first), np.full(len(groups), end), groups, states

    def take_ranges(self, panes: Ordinals, groups: Codes, counts: Ordinals, states: Sequence[Numbers],
                    start: int) -> None:
        """Begin with states of panes, each pane and group once; nothing was folded yet."""
        self.state[0] = start
        if len(panes) == 0:
            return
        self._reach(int(panes.min()), int(panes.max()))
        distinct = np.unique(panes)
        rows = self.ints.shape[1]
        while rows - self.ints.shape[1] + int(self._free_count[0]) < len(distinct):
            rows *= 2
        if rows > self.ints.shape[1]:
            self._resize(rows, self.groups)
        left = int(self._free_count[0]) - len(distinct)
        taken = self._free[left:left + len(distinct)][::-1].copy()
        self._free_count[0] = left
        self._row_of[distinct - self._first_pane] = taken
        self.panes, self.rows = np.concatenate([self.panes, distinct]), np.concatenate([self.rows, taken])
        slots = self._row_of[panes - self._first_pane] * self.groups + groups
        self.ints[0].reshape(-1)[slots] = counts
        for number, state in enumerate(states):
            self._columns[number][slots] = state


def _moved(form: CompiledForm, old: CompiledForm, place: int) -> int:
    """Which of the columns of a form is one that it had when it had fewer digits."""
    if form.digits is None or old.digits is None or not place:
        return place
    digit = place - 1
    if digit < old.digits.count:
        return 1 + digit + old.digits.first - form.digits.first
    return 1 + digit - old.digits.count + form.digits.count


def digits_in(array: pa.Array) -> Digits:
    """The digits of a column of floats."""
    if array.type == pa.float64() and not array.null_count:
        return digits_of_floats(array.to_numpy())
    return digits_of_floats(as_floats(plain(array).drop_null()))


def _merges(columns: Sequence[StateColumn]) -> npt.NDArray[np.int64]:
    return np.array([MERGES[c.merge] for c in columns], np.int64)


def _filled(shape: tuple[int, ...], initial: Numbers) -> Numbers:
    array = np.empty(shape, initial.dtype)
    array[:] = initial.reshape(-1, *[1] * (len(shape) - 1))
    return array
