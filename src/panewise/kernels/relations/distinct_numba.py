"""One representative per value: a loop compiled by numba on first use and cached on disk."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

compiled = numba.njit(cache=True, nogil=True)

NOBODY = np.iinfo(np.int64).min


@compiled
def represent(codes: Ints, born: Ints, expires: Ints, age: Ints, leaving: Ints, current: Ints, spare: Ints,
              spare_row: Ints, spare_age: Ints, upto: int, named: Ints, since: Ints, until: Ints, ages: Ints) -> int:
    """Delta* over the rows of a step in the order of birth and age; how many representatives were named.

    ``current`` is by code the end of the representative, ``spare`` the end of the row that follows it, and
    ``spare_age`` that row's age; all rows of a code are equal, so nothing else of them is needed. Most rows take the
    place of the spare row, so in the step only their places are noted, in ``spare_row``: -1 before it and after it.
    ``leaving`` are codes whose representative may leave in the step.
    """
    found = 0
    for row in range(len(codes)):
        code = np.uint64(codes[row])  # never negative: no look whether to count from the end
        if current[code] > born[row]:
            end = expires[row]
            if end > current[code] and end >= spare[code]:  # of equal ends the youngest
                spare[code], spare_row[code] = end, row
        else:  # rows that leave do so before others come
            found = _followers(codes[row], born[row] + 1, current, spare, spare_row, spare_age, age, found, named,
                               since, until, ages)
            found = _welcome(row, codes[row], born[row], expires[row], current, spare, spare_row, age, found, named,
                             since, until, ages)
    for code in leaving:
        found = _followers(code, upto, current, spare, spare_row, spare_age, age, found, named, since, until, ages)
    place = 0
    while place < found:
        found = _followers(named[place], upto, current, spare, spare_row, spare_age, age, found, named, since, until,
                           ages)
        place += 1
    _write_down(codes, age, spare_row, spare_age)
    return found


@compiled
def _welcome(row: int, code: int, birth: int, end: int, current: Ints, spare: Ints, spare_row: Ints, age: Ints,
             found: int, named: Ints, since: Ints, until: Ints, ages: Ints) -> int:
    """A row whose value may have lost its representative."""
    if current[code] == NOBODY:
        named[found], since[found], until[found] = code, birth, end
        _copy(age, row, ages, found)
        current[code] = end
        return found + 1
    if end > current[code] and end >= spare[code]:
        spare[code], spare_row[code] = end, row
    return found


@compiled
def _followers(code: int, before: int, current: Ints, spare: Ints, spare_row: Ints, spare_age: Ints, age: Ints,
               found: int, named: Ints, since: Ints, until: Ints, ages: Ints) -> int:
    """Who follows a representative that leaves before an instant: the spare row, if it stays longer (erratum E8)."""
    while NOBODY < current[code] < before:
        end = current[code]
        if spare[code] > end:
            named[found], since[found], until[found] = code, end, spare[code]
            if spare_row[code] >= 0:
                _copy(age, spare_row[code], ages, found)
            else:
                _copy(spare_age, code, ages, found)
            found += 1
            current[code] = spare[code]
        else:
            current[code] = NOBODY
        spare[code], spare_row[code] = NOBODY, -1
    return found


@compiled
def _write_down(codes: Ints, age: Ints, spare_row: Ints, spare_age: Ints) -> None:
    """The ages of spare rows of the step that is over; codes or rows are looked through, whichever are fewer."""
    by_code = len(spare_row) < len(codes)
    for at in range(len(spare_row) if by_code else len(codes)):
        code = at if by_code else codes[at]
        if spare_row[code] >= 0:
            _copy(age, spare_row[code], spare_age, code)
            spare_row[code] = -1


@numba.njit(inline="always")
def _copy(ages: Ints, at: int, to: Ints, place: int) -> None:
    for part in range(len(ages)):
        to[part, place] = ages[part, at]


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
