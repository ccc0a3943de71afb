"""One representative per value: a loop compiled by numba on first use and cached on disk."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

compiled = numba.njit(cache=True, nogil=True)

NOBODY = np.iinfo(np.int64).min


@compiled
def represent(touched: Ints, starts: Ints, born: Ints, expires: Ints, current: Ints, spare: Ints, spare_end: Ints,
              upto: int, rows: Ints, since: Ints, until: Ints) -> int:
    """Delta* over the rows of a step, by value, then birth and age; how many representatives it named.

    ``current`` is by code the end of the representative, ``spare`` which row follows it: a row of the step, or one of
    before as -slot - 2; -1 for none. Rows of the value ``touched[i]`` are ``starts[i]`` to ``starts[i + 1]``.
    """
    found = 0
    for i in range(len(touched)):
        code = touched[i]
        end, other, other_end = current[code], spare[code], spare_end[code]
        for row in range(starts[i], starts[i + 1] + 1):
            last = row == starts[i + 1]
            # rows that leave do so before others come: the spare one follows if it stays longer (erratum E8)
            while end != NOBODY and ((end < upto) if last else (end <= born[row])):
                if other != -1 and other_end > end:
                    rows[found], since[found], until[found] = other, end, other_end
                    found += 1
                    end = other_end
                else:
                    end = NOBODY
                other = -1
            if last:
                break
            if end == NOBODY:
                rows[found], since[found], until[found] = row, born[row], expires[row]
                found += 1
                end = expires[row]
            elif expires[row] > end and (other == -1 or expires[row] > other_end):
                other, other_end = row, expires[row]
        current[code], spare[code], spare_end[code] = end, other, other_end
    return found
