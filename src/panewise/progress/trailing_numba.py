"""Rows behind a bound that follows the rows themselves: a loop compiled by numba on first use and cached on disk."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from panewise.core.compiling import compiled


@compiled
def _ascending(values: npt.NDArray[np.int64]) -> bool:
    """Without a branch, several rows at a time: as rows mostly come, and then none is late."""
    descents = 0
    for row in range(1, len(values)):
        descents += values[row] < values[row - 1]
    return descents == 0


@compiled
def behind(values: npt.NDArray[np.int64], first: int, delay: int, reached: int) -> npt.NDArray[np.bool_]:
    """Which values are below ``reached``, or more than the delay below the largest before them."""
    late = np.zeros(len(values), np.bool_)
    bound = max(first, reached)
    if delay >= 0 and (not len(values) or values[0] >= bound) and _ascending(values):
        return late
    for row in range(len(values)):
        value = values[row]
        late[row] = value < bound
        bound = max(bound, value - delay)
    return late
