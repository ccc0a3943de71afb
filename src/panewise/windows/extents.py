"""Where many windows start and end, from their ids."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from panewise.core.ordinals import Ordinals
from panewise.windows.base import WindowSpec
from panewise.windows.sliding import SlidingWindow


def extents(spec: WindowSpec, wids: Ordinals) -> tuple[Ordinals, Ordinals]:
    """Start and end (exclusive) of each window.

    >>> extents(SlidingWindow(10, 5), np.array([0, 3]))
    (array([-5, 10]), array([ 5, 20]))
    """
    if isinstance(spec, SlidingWindow):
        end = spec.origin + (wids + 1) * spec.slide - spec.lag
        return end - spec.range, end
    distinct, code = np.unique(wids, return_inverse=True)
    found: Sequence[tuple[int | None, int | None]] = [(i.start, i.end) for i in map(spec.extent, distinct.tolist())]
    pairs = np.array(found, np.int64).reshape(-1, 2)
    return pairs[code, 0], pairs[code, 1]
