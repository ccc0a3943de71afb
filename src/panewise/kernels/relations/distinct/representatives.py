"""What delta* keeps of a value: the end of its representative, the end of a spare row, and how old that is."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from panewise.core.ages import NOBODY
from panewise.core.arrays import Ints
from panewise.core.compiling import compiled
from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.edges.delta import stacked

ROOM = 64
CURRENT, SPARE, AGE = 0, 1, 2
"""What stands where in a line: the end of the representative, that of the spare row, and the age of the spare row."""


class Representatives:
    """One line of integers by number of a value: a row of the value reads them all, and finds them near each other."""

    def __init__(self) -> None:
        self.count = 0
        self._room = np.full((ROOM, AGE + 1), NOBODY, np.int64)

    @property
    def lines(self) -> npt.NDArray[np.int64]:
        """All of them; writing to it changes them."""
        return self._room[: self.count]

    @property
    def shown(self) -> Ordinals:
        """The values that have a representative."""
        return np.flatnonzero(self.lines[:, CURRENT] != NOBODY)

    @property
    def spares(self) -> int:
        """How many have a spare row."""
        return int(np.count_nonzero(self.lines[:, SPARE] != NOBODY))

    @property
    def nbytes(self) -> int:
        """Bytes of the values there are."""
        return int(self.lines.nbytes)

    def fitted(self, age: npt.NDArray[np.int64], count: int) -> npt.NDArray[np.int64]:
        """Make room for so many values, with rows of ages like these; these as deep as the room is."""
        held, width = self._room.shape
        if count > held or AGE + len(age) > width:
            room = np.full((max(2 * held, count) if count > held else held, max(width, AGE + len(age))), NOBODY,
                           np.int64)
            room[: self.count, :width] = self.lines
            self._room = room
        self.count = max(count, self.count)
        depth = self._room.shape[1] - AGE
        return age if len(age) == depth else stacked([age, np.empty((depth, 0), np.int64)])

    def begin(self, lines: npt.NDArray[np.int64], numbers: Ordinals) -> None:
        """Hold these, whose values have these numbers now."""
        self.count = len(numbers)
        self._room = np.full((max(ROOM, len(lines)), lines.shape[1]), NOBODY, np.int64)
        self._room[numbers] = lines

    def forget(self, numbers: Ordinals) -> None:
        """Nothing is kept of these values."""
        self._room[numbers] = NOBODY


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
    """What follows a representative that leaves before an instant: the spare row, if it stays longer (erratum E8)."""
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
