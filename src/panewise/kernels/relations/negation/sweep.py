"""What happens to many counters at many instants of a step, all at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from panewise.core.arrays import Ints, Mask, run_starts
from panewise.core.compiling import compiled
from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.edges.delta import FOREVER, Lives, integers


@dataclass(frozen=True)
class Cells:
    """The instants at which anything happens to each code, by code, then instant."""

    code: Ordinals
    at: Ordinals
    of_event: Ordinals
    """The cell of every event."""

    def __len__(self) -> int:
        return len(self.code)

    @property
    def starts(self) -> Ordinals:
        """The first cell of every code that has any."""
        return run_starts(self.code)

    def running(self, change: Ordinals, base: Ordinals) -> Ordinals:
        """Per cell a counter after its instant, from the changes of all cells and the counters by code before."""
        if not len(self):
            return integers()
        total = np.cumsum(change)
        starts = self.starts
        before = np.repeat(total[starts] - change[starts], np.diff(np.r_[starts, len(self)]))
        return total - before + base[self.code]


def cells_of(code: Ordinals, at: Ordinals) -> Cells:
    """Cells of events."""
    if not len(code):
        return Cells(integers(), integers(), integers())
    order = np.lexsort((at, code))
    sorted_code, sorted_at = code[order], at[order]
    new = np.r_[True, (sorted_code[1:] != sorted_code[:-1]) | (sorted_at[1:] != sorted_at[:-1])]
    of_event = integers(len(order))
    of_event[order] = np.cumsum(new) - 1
    return Cells(sorted_code[new], sorted_at[new], of_event)


def signs(came: int, went: int) -> Ordinals:
    """+1 for events that come, -1 for those behind them that go."""
    return np.repeat(np.array([1, -1], np.int64), np.array([came, went]))


def starts_of(codes: Ordinals, wanted: Ordinals) -> Ordinals:
    """Where the rows of each wanted code begin among rows by code, and where the last end."""
    found: Ordinals = np.searchsorted(codes, np.append(wanted, FOREVER)).astype(np.int64, copy=False)
    return found


def summed(cells: Cells, change: Ordinals) -> Ordinals:
    """Changes of events added up by cell."""
    total = np.zeros(len(cells), np.int64)
    np.add.at(total, cells.of_event, change)
    return total


@dataclass(frozen=True)
class Turns:
    """Where a state of each code turns on or off, by code, then instant; on and off alternate."""

    code: Ordinals
    at: Ordinals
    on: np.ndarray[tuple[int], np.dtype[np.bool_]]

    def ends(self) -> Ordinals:
        """For every turn the instant of the next turn of its code, or ``FOREVER``."""
        following = np.full(len(self.code), FOREVER, np.int64)
        same = self.code[1:] == self.code[:-1]
        following[:-1][same] = self.at[1:][same]
        return following

    def codes(self) -> Ordinals:
        """Every code that turns, once, ascending."""
        return self.code[run_starts(self.code)]


def turns_of(codes: Ordinals, lives: Lives, gone: tuple[Ordinals, Ordinals], upto: int, counts: Ordinals) -> Turns:
    """Where numbers of rows by code become positive, or stop being so; the numbers move on.

    Rows come with these codes, some of them for less than the step; of rows that are gone, codes and instants.
    """
    brief = lives.expires < upto
    code = np.concatenate([codes, codes[brief], gone[0]])
    at = np.concatenate([lives.born, lives.expires[brief], gone[1]])
    order = np.argsort(at, kind="stable")  # mostly a few runs that are in order already
    sign = signs(len(codes), len(code) - len(codes))
    turned, turned_at, on = integers(len(code)), integers(len(code)), np.empty(len(code), np.bool_)
    room = np.zeros(len(counts), np.int64)
    found = _count_on(code[order], at[order], sign[order], counts, room, turned, turned_at, on)
    order = np.argsort(turned[:found], kind="stable")
    return Turns(turned[order], turned_at[order], on[order])


@compiled
def _count_on(codes: Ints, at: Ints, signs: Ints, counts: Ints, change: Ints, turned: Ints, turned_at: Ints,
             on: Mask) -> int:
    """Let counters by code go through events, which are by instant; where they turn positive, or stop being so.

    What comes and goes at one instant is seen together. ``change`` is room by code, all zero before and after.
    """
    found, first = 0, 0
    while first < len(codes):
        end = first
        while end < len(codes) and at[end] == at[first]:
            change[codes[end]] += signs[end]
            end += 1
        for event in range(first, end):
            code = codes[event]
            before = counts[code]
            counts[code] += change[code]
            change[code] = 0  # so that other events of the code at this instant find nothing left to do
            if (before > 0) != (counts[code] > 0):
                turned[found], turned_at[found], on[found] = code, at[event], counts[code] > 0
                found += 1
        first = end
    return found
