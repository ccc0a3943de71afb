"""When a window over time moves: the instants at which its scope is another than just before."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from panewise.core.arrays import counted_up
from panewise.core.ordinals import Ordinals
from panewise.windows.base import WindowSpec

FAR = 2**61
"""No time column reaches this far: what has not happened by then never does."""
ON_A_GRID = frozenset({"sliding", "tumbling", "now", "landmark", "varying"})


def moves_in_steps(spec: WindowSpec) -> bool:
    """Whether the window stands still between refreshes, rather than moving with every instant.

    >>> from panewise.windows.sliding import SlidingWindow
    >>> moves_in_steps(SlidingWindow(10, 5)), moves_in_steps(SlidingWindow(10, 1))
    (True, False)
    """
    spec = spec.plain
    if spec.kind == "calendar":
        return True
    return _grid(spec) is not None and getattr(spec, "slide", 1) > 1


def next_move(spec: WindowSpec, tau: int) -> int | None:
    """The first instant after tau with another scope than at tau; None if it never moves again.

    >>> from panewise.windows.sliding import SlidingWindow
    >>> next_move(SlidingWindow.scoped(10, 4), 5)
    8
    """
    spec = spec.plain
    grid = _grid(spec)
    if grid is not None:
        origin, slide = grid
        return tau + slide - (tau + 1 - origin) % slide
    now = spec.scope(tau)
    return first_instant(lambda t: spec.scope(t) != now, tau + 1)


def refreshes_at_or_after(spec: WindowSpec, instants: Ordinals) -> Ordinals:
    """For each instant the first refresh that can report something of it."""
    spec = spec.plain
    grid = _grid(spec)
    if grid is not None:
        origin, slide = grid
        found: Ordinals = instants + (-(instants + 1 - origin)) % slide
        return found
    moves = [next_move(spec, int(t) - 1) for t in instants]
    return np.array([t if move is None else move for t, move in zip(instants.tolist(), moves, strict=True)], np.int64)


def next_refreshes(spec: WindowSpec, instants: Ordinals) -> Ordinals:
    """For each instant when the window shows what came at it: at its next refresh, or at once if it has no steps."""
    return refreshes_at_or_after(spec, instants) if moves_in_steps(spec) else instants


def refreshes_within(spec: WindowSpec, since: Ordinals, until: Ordinals) -> Ordinals:
    """The moves within each of some periods, both ends included.

    >>> from panewise.windows.sliding import SlidingWindow
    >>> refreshes_within(SlidingWindow.scoped(10, 4), np.array([3, 21]), np.array([12, 23]))
    array([ 4,  8, 12])
    """
    spec = spec.plain
    grid = _grid(spec)
    if grid is not None:
        slide = grid[1]
        first = refreshes_at_or_after(spec, since)
        many = np.maximum((until - first) // slide + 1, 0)
        return np.repeat(first, many) + counted_up(np.zeros_like(many), many) * slide
    moves: list[int] = []
    for start, end in zip(since.tolist(), until.tolist(), strict=True):
        tau = next_move(spec, start - 1)
        while tau is not None and tau <= end:
            moves.append(tau)
            tau = next_move(spec, tau)
    return np.array(moves, np.int64)


def _grid(spec: WindowSpec) -> tuple[int, int] | None:
    """Origin and slide of windows that are moved by their SLIDE alone; not those that grow in between."""
    if spec.kind not in ON_A_GRID or getattr(getattr(spec, "disclosure", None), "value", "") == "growing":
        return None
    return int(getattr(spec, "origin", 0)), int(getattr(spec, "slide", 1))


def first_instant(happened: Callable[[int], bool], start: int) -> int | None:
    """The first instant from ``start`` on at which something that stays true is true; None if it never is.

    >>> first_instant(lambda tau: tau * tau > 50, 0), first_instant(lambda tau: False, 0)
    (8, None)
    """
    if happened(start):
        return start
    step = 1
    while not happened(start + step):
        step *= 2
        if step > FAR:
            return None
    low, high = start + step // 2, start + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if happened(middle) else (middle, high)
    return high
