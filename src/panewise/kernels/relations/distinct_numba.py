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


@compiled
def represent_by_search(arrived: Ints, leaving: Ints, codes: Ints, born: Ints, expires: Ints, current: Ints, upto: int,
                        rows: Ints, since: Ints, until: Ints) -> int:
    """The same with all rows in a list that is searched; how many representatives.

    ``codes``, ``born`` and ``expires`` are of all rows kept, ``arrived`` those of the step in the order of birth and
    age, ``current`` by code the end of the representative, ``leaving`` the codes whose representative leaves.
    """
    found = 0
    for slot in arrived:
        code = codes[slot]
        # rows that leave do so before others come
        end, found = _followed(code, current[code], born[slot] + 1, codes, born, expires, found, rows, since, until)
        if end == NOBODY:
            rows[found], since[found], until[found] = slot, born[slot], expires[slot]
            end = expires[slot]
            found += 1
        current[code] = end
    for place in range(len(arrived) + len(leaving)):
        code = codes[arrived[place]] if place < len(arrived) else leaving[place - len(arrived)]
        current[code], found = _followed(code, current[code], upto, codes, born, expires, found, rows, since, until)
    return found


@compiled
def _followed(code: int, end: int, before: int, codes: Ints, born: Ints, expires: Ints, found: int, rows: Ints,
              since: Ints, until: Ints) -> tuple[int, int]:
    """Who follows, while representatives leave before an instant: the end of the last, and how many were named."""
    while end != NOBODY and end < before:
        follower = _longest(code, end, codes, born, expires)
        if follower < 0:
            return NOBODY, found
        rows[found], since[found], until[found] = follower, end, expires[follower]
        end = expires[follower]
        found += 1
    return end, found


@compiled
def _longest(code: int, end: int, codes: Ints, born: Ints, expires: Ints) -> int:
    """The row of a value that was there when its representative left and stays longest, the youngest of equals."""
    found, longest = -1, end
    for slot in range(len(codes)):
        if codes[slot] == code and born[slot] < end and expires[slot] >= longest and expires[slot] > end:
            found, longest = slot, expires[slot]
    return found
