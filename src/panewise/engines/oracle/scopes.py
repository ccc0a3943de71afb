"""From the scope of a window alone: what is inside at an instant, when a value enters and when it leaves.

The ends of a scope never move back, otherwise expired rows would return (Patroumpas and Sellis 3.2). So the instant at
which a value enters or leaves is found by doubling and halving, whatever the kind of window.
"""

from __future__ import annotations

from panewise.windows.base import WindowSpec
from panewise.windows.refreshing import first_instant, moves_in_steps


def visible(spec: WindowSpec, value: int, born: int) -> tuple[int, int | None] | None:
    """When a value with this birth can first be seen and when it is gone (None: never); None if it is never seen.

    >>> from panewise.windows.sliding import SlidingWindow
    >>> [visible(SlidingWindow.scoped(10, 4), v, v) for v in (3, 4, 5)]
    [(4, 16), (4, 16), (8, 16)]
    >>> visible(SlidingWindow.scoped(2, 5), 2, 2) is None
    True
    """
    enter = first_instant(lambda tau: _passed(spec.scope(tau).end, value), born)
    if enter is None or not spec.scope(enter).contains(value):
        return None
    return enter, first_instant(lambda tau: not spec.scope(tau).contains(value), enter)


def next_move(spec: WindowSpec, tau: int) -> int | None:
    """The first instant after tau with another scope than at tau; None if it never moves again.

    >>> from panewise.windows.sliding import SlidingWindow
    >>> next_move(SlidingWindow.scoped(10, 4), 5)
    8
    """
    now = spec.scope(tau)
    return first_instant(lambda t: spec.scope(t) != now, tau + 1)


def next_refresh(spec: WindowSpec, tau: int) -> int:
    """The first instant from tau on at which a window that moves in steps does; others show what comes at once.

    >>> from panewise.windows.sliding import SlidingWindow
    >>> [next_refresh(SlidingWindow.scoped(10, slide), 6) for slide in (4, 1)]
    [8, 6]
    """
    if not moves_in_steps(spec):
        return tau
    move = next_move(spec, tau - 1)
    return tau if move is None else move


def _passed(end: int | None, value: int) -> bool:
    return end is None or end > value
