"""A guard against poison rows: one row stamped far in the future must not declare everything else late."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from panewise.core.errors import ProgressError
from panewise.core.ordinals import Ordinals
from panewise.progress.watermarks import NO_BOUND

BLOCK = 1024
"""How many rows one jump can slow down."""


class JumpGuard:
    """Rows further than ``max_jump`` ahead of the highest believed value do not count for progress.

    A stream may also really jump, after a pause. So a jump is believed once ``patience`` rows in a row lie beyond the
    limit; the smallest of them is then the new highest value. The first row has nothing to be compared with and is
    always believed.

    >>> JumpGuard(10).believed(np.array([1, 5, 900, 6])).tolist() == [1, 5, NO_BOUND, 6]
    True
    """

    def __init__(self, max_jump: int, patience: int = 100) -> None:
        if max_jump <= 0:
            raise ProgressError(f"max_jump must be positive, not {max_jump}")
        if patience <= 0:
            raise ProgressError(f"patience must be a positive number of rows, not {patience}")
        self.max_jump, self.patience = max_jump, patience
        self.highest = NO_BOUND
        self.streak = 0
        self.streak_low = NO_BOUND

    def believed(self, values: Ordinals) -> Ordinals:
        """The values with those that are not believed replaced by ``NO_BOUND``; a jump that ends a streak by its low.

        One pass of array arithmetic while nothing jumps; only the block of rows around a jump is walked row by row.
        """
        if not len(values) or self._nothing_jumps(values):
            return values
        blocks = [values[i : i + BLOCK] for i in range(0, len(values), BLOCK)]
        return np.concatenate([b if self._nothing_jumps(b) else self._walk(b) for b in blocks])

    def _nothing_jumps(self, values: Ordinals) -> bool:
        """Whether all of these can be believed; then they are."""
        if self.streak:
            return False
        start = values[0] if self.highest == NO_BOUND else self.highest
        highs = np.maximum.accumulate(np.concatenate((np.array([start], np.int64), values)))
        if np.any(highs[1:] > _plus(highs[:-1], self.max_jump)):
            return False
        self.highest = int(highs[-1])
        return True

    def _walk(self, values: Ordinals) -> Ordinals:
        return np.array([self._next(v) for v in values.tolist()], np.int64)

    def _next(self, value: int) -> int:
        if self.highest == NO_BOUND or value <= self.highest + self.max_jump:
            self.highest = max(self.highest, value)
            self.streak = 0
            return value
        self.streak_low = min(value, self.streak_low) if self.streak else value
        self.streak += 1
        if self.streak < self.patience:
            return NO_BOUND
        self.highest, self.streak = self.streak_low, 0
        return self.highest

    def snapshot(self) -> dict[str, Any]:
        """State as data that JSON can hold."""
        return {"highest": self.highest, "streak": self.streak, "streak_low": self.streak_low}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Become what ``snapshot`` saved."""
        self.highest, self.streak, self.streak_low = (int(state[k]) for k in ("highest", "streak", "streak_low"))


def _plus(values: Ordinals, amount: int) -> Ordinals:
    """Sums that stop at the largest integer instead of wrapping round."""
    top = np.iinfo(np.int64).max
    return np.where(values > top - amount, top, values + min(amount, top))
