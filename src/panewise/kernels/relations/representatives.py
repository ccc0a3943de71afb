"""What delta* keeps of a value: the end of its representative, the end of a spare row, and how old that is."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.delta import stacked
from panewise.kernels.relations.distinct_numba import AGE, CURRENT, NOBODY, SPARE

ROOM = 64


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
