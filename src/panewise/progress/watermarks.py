"""Low- and high-watermarks of a stream whose future is known, and the two bounds that stand for infinity (Li 4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from panewise.core.ordinals import Ordinals

NO_BOUND: int = int(np.iinfo(np.int64).min)
"""The bound before anything was promised: every value may still come."""
FINISHED: int = int(np.iinfo(np.int64).max)
"""The bound of a stream, or of a group, that has ended: nothing can come any more."""


def low_watermarks(values: Any) -> Ordinals:
    """Equation 4.1 for every prefix: entry n is the smallest value that comes after the first n rows.

    Only a test or a replay can know it, since it looks ahead; every bound a source promises must stay at or below it.

    >>> low_watermarks([3, 1, 2]).tolist()[:3]
    [1, 1, 2]
    """
    ahead = np.asarray(values, dtype=np.int64)
    return np.minimum.accumulate(np.append(ahead, FINISHED)[::-1])[::-1]


def low_watermark(n: int, values: Any) -> int:
    """The smallest value still to come after the first n rows; ``FINISHED`` when none comes (Eq. 4.1).

    >>> low_watermark(1, [3, 1, 2]), low_watermark(3, [3, 1, 2]) == FINISHED
    (1, True)
    """
    return int(low_watermarks(np.asarray(values, dtype=np.int64)[n:])[0])


def high_watermarks(values: Any) -> Ordinals:
    """Entry n is the largest value among the first n rows; ``NO_BOUND`` before the first (Li 6.3.1).

    >>> high_watermarks([3, 1, 5]).tolist()[1:]
    [3, 3, 5]
    """
    seen = np.asarray(values, dtype=np.int64)
    return np.maximum.accumulate(np.concatenate((np.array([NO_BOUND], np.int64), seen)))


def high_watermark(n: int, values: Any) -> int:
    """The largest value among the first n rows."""
    return int(high_watermarks(np.asarray(values, dtype=np.int64)[:n])[-1])


def offset(left: Any, right: Any) -> int:
    """How far the left source is ahead of the right one: the difference of their high-watermarks (Li 6.3.1).

    >>> offset([1, 9], [4, 2])
    5
    """
    return high_watermark(len(left), left) - high_watermark(len(right), right)
