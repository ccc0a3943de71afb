"""One representative per value: a loop compiled by numba on first use and cached on disk."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from panewise.core.compiling import compiled

Ints = npt.NDArray[np.int64]


NOBODY = np.iinfo(np.int64).min
CURRENT, SPARE, AGE = 0, 1, 2
"""What stands where in a line: the end of the representative, that of the spare row, and the age of the spare row."""


@compiled
def represent(codes: Ints, born: Ints, expires: Ints, age: Ints, leaving: Ints, lines: Ints, upto: int, named: Ints,
              since: Ints, until: Ints, ages: Ints) -> int:
    """Delta* over the rows of a step in the order of birth and age; how many representatives were named.

    ``lines`` are by code; all rows of a code are equal, so nothing but ends and the age of a spare row is needed.
    ``leaving`` are codes whose representative may leave in the step.
    """
    found = 0
    for row in range(len(codes)):
        code = np.uint64(codes[row])  # never negative: no look whether to count from the end
        if lines[code, CURRENT] <= born[row]:  # rows that leave do so before others come
            found = _followers(codes[row], born[row] + 1, lines, found, named, since, until, ages)
            if lines[code, CURRENT] == NOBODY:
                lines[code, CURRENT] = expires[row]
                named[found], since[found], until[found] = codes[row], born[row], expires[row]
                for part in range(len(age)):
                    ages[part, found] = age[part, row]
                found += 1
                continue
        end = expires[row]
        if end > lines[code, CURRENT] and end >= lines[code, SPARE]:  # of equal ends the youngest
            lines[code, SPARE] = end
            for part in range(len(age)):
                lines[code, AGE + part] = age[part, row]
    for code in leaving:
        found = _followers(code, upto, lines, found, named, since, until, ages)
    place = 0
    while place < found:
        found = _followers(named[place], upto, lines, found, named, since, until, ages)
        place += 1
    return found


@compiled
def _followers(code: int, before: int, lines: Ints, found: int, named: Ints, since: Ints, until: Ints,
               ages: Ints) -> int:
    """Who follows a representative that leaves before an instant: the spare row, if it stays longer (erratum E8)."""
    while NOBODY < lines[code, CURRENT] < before:
        end = lines[code, CURRENT]
        if lines[code, SPARE] > end:
            named[found], since[found], until[found] = code, end, lines[code, SPARE]
            for part in range(len(ages)):
                ages[part, found] = lines[code, AGE + part]
            found += 1
            lines[code, CURRENT] = lines[code, SPARE]
        else:
            lines[code, CURRENT] = NOBODY
        lines[code, SPARE] = NOBODY
    return found


@compiled
def ending(lines: Ints, upto: int) -> Ints:
    """The codes whose representative leaves before an instant."""
    found = np.empty(len(lines), np.int64)
    count = 0
    for code in range(len(lines)):
        found[count] = code
        count += NOBODY < lines[code, CURRENT] < upto
    return found[:count]


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
