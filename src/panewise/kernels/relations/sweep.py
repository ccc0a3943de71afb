"""What happens to many counters at many instants of a step, all at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.delta import FOREVER, integers


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
        return np.flatnonzero(np.r_[True, self.code[1:] != self.code[:-1]]) if len(self) else integers()

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


def turns_of(cells: Cells, after: Ordinals, base: Ordinals) -> Turns:
    """Where counters become positive, or stop being so."""
    before = integers(len(cells))
    before[1:] = after[:-1]
    starts = cells.starts
    before[starts] = base[cells.code[starts]]
    turned = (before > 0) != (after > 0)
    return Turns(cells.code[turned], cells.at[turned], after[turned] > 0)
