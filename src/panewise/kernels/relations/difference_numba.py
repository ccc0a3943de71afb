"""The k youngest copies of every value over a step: a loop compiled by numba on first use and cached on disk."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from panewise.core.compiling import compiled

Ints = npt.NDArray[np.int64]


BEFORE = np.iinfo(np.int64).min
HIDDEN = BEFORE + 1


@compiled
def _next_shown(row: int, high: int, alive: Ints, shown: Ints) -> int:
    row += 1
    while row < high and (alive[row] != 1 or shown[row] == HIDDEN):
        row += 1
    return row


@compiled
def youngest(cell_starts: Ints, cell_at: Ints, right_after: Ints, row_starts: Ints, born: Ints, expires: Ints,
             by_birth: Ints, by_end: Ints, shown: Ints, alive: Ints, rows: Ints, since: Ints, until: Ints) -> int:
    """Which rows are among the left's surplus, from when to when; how many such parts.

    Values have cells (instants, with the number of right copies after each) and left rows by age; ``by_birth`` and
    ``by_end`` list the rows of a value in the order they come and go. ``alive`` is 1 for rows of before; ``shown`` is
    ``BEFORE`` where they were in the result, else ``HIDDEN``, and has since when each is shown on the way. Parts end at
    a row's own end unless something hides it before.
    """
    found = 0
    for value in range(len(cell_starts) - 1):
        low, high = row_starts[value], row_starts[value + 1]
        count, shows, oldest = 0, 0, high  # rows, rows shown, the oldest of those
        for row in range(high - 1, low - 1, -1):
            if alive[row] == 1:
                count += 1
                if shown[row] == BEFORE:
                    shows += 1
                    oldest = row
        coming, going = low, low
        for cell in range(cell_starts[value], cell_starts[value + 1]):
            at = cell_at[cell]
            while going < high and expires[by_end[going]] <= at:
                row = by_end[going]
                going += 1
                if alive[row] == 1:
                    alive[row] = 2
                    count -= 1
                    if shown[row] != HIDDEN:
                        rows[found], since[found], until[found] = row, shown[row], expires[row]
                        found += 1
                        shown[row] = HIDDEN
                        shows -= 1
                        if row == oldest:
                            oldest = _next_shown(oldest, high, alive, shown)
            while coming < high and born[by_birth[coming]] <= at:
                row = by_birth[coming]
                coming += 1
                if alive[row] == 0 and expires[row] > at:
                    alive[row] = 1
                    count += 1
                    if row > oldest:
                        shown[row] = at
                        shows += 1
            wanted = max(count - right_after[cell], 0)
            while shows > wanted:
                if shown[oldest] != at:
                    rows[found], since[found], until[found] = oldest, shown[oldest], at
                    found += 1
                shown[oldest] = HIDDEN
                shows -= 1
                oldest = _next_shown(oldest, high, alive, shown)
            while shows < wanted:
                oldest -= 1
                while alive[oldest] != 1:
                    oldest -= 1
                shown[oldest] = at
                shows += 1
        for row in range(low, high):
            if alive[row] == 1 and shown[row] != HIDDEN:
                rows[found], since[found], until[found] = row, shown[row], expires[row]
                found += 1
    return found
