"""One representative per value: a loop compiled by numba on first use and cached on disk."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

compiled = numba.njit(cache=True, nogil=True)

NOBODY = np.iinfo(np.int64).min


@compiled
def represent(codes: Ints, born: Ints, expires: Ints, leaving: Ints, current: Ints, spare: Ints, spare_end: Ints,
              upto: int, touched: Ints, rows: Ints, since: Ints, until: Ints) -> tuple[int, int]:
    """Delta* over the rows of a step in the order of birth and age; how many representatives and values it touched.

    ``current`` is by code the end of the representative, ``spare`` which row follows it: a row of the step, or one of
    before as -slot - 2; -1 for none. ``leaving`` are codes whose representative may leave in the step. ``touched`` gets
    the codes, each once.
    """
    found, values = 0, 0
    seen = np.zeros(len(current), np.bool_)
    for code in leaving:
        if not seen[code]:
            seen[code] = True
            touched[values] = code
            values += 1
    for row in range(len(codes)):
        code = codes[row]
        if not seen[code]:
            seen[code] = True
            touched[values] = code
            values += 1
        end, other, other_end = current[code], spare[code], spare_end[code]
        # rows that leave do so before others come: the spare one follows if it stays longer (erratum E8)
        while end != NOBODY and end <= born[row]:
            if other != -1 and other_end > end:
                rows[found], since[found], until[found] = other, end, other_end
                found += 1
                end = other_end
            else:
                end = NOBODY
            other = -1
        if end == NOBODY:
            rows[found], since[found], until[found] = row, born[row], expires[row]
            found += 1
            end = expires[row]
        elif expires[row] > end and (other == -1 or expires[row] >= other_end):  # of equal ends the youngest
            other, other_end = row, expires[row]
        current[code], spare[code], spare_end[code] = end, other, other_end
    for i in range(values):
        code = touched[i]
        end = current[code]
        while end != NOBODY and end < upto:
            if spare[code] != -1 and spare_end[code] > end:
                rows[found], since[found], until[found] = spare[code], end, spare_end[code]
                found += 1
                end = spare_end[code]
            else:
                end = NOBODY
            spare[code] = -1
        current[code] = end
    return found, values
