"""What the theses claim of costs beyond the formulas that the planner uses: when one way is cheaper than another."""

from __future__ import annotations

from collections.abc import Sequence

from panewise.planner.cost import formulas as cost


def unpaned_differential(row: float, *, T: float, RANGE: float, SLIDE: float) -> float:
    """A buffer whose rows enter and leave a running window (Li 6.4): ``2·a'·SLIDE·T/RANGE``.

    >>> unpaned_differential(1, T=100, RANGE=10, SLIDE=2)
    40.0
    """
    return 2 * row * SLIDE * (T / RANGE)


def panes_win(a: float, b: float, c: float, row: float, *, T: float, P: float, G: float,
              panes_per_slide: float = 1) -> bool:
    """Whether 6.1 is below 6.3. It is not with one pane per window, nor with about one row per group and pane.

    >>> panes_win(1, 1, 1, 1, T=100, P=5, G=1), panes_win(1, 1, 1, 1, T=100, P=1, G=1)
    (True, False)
    """
    return cost.paned(a, b, c, T=T, P=P, G=G, panes_per_slide=panes_per_slide) < cost.unpaned(row, T=T)


def eager_above(aggr: float, tup: float, *, wed: float, SLIDE: float,
                sources: Sequence[tuple[float, float]] = ()) -> float:
    """The volume of a window above which partials are smaller than rows (condition 6.9, its right side).

    >>> eager_above(16, 40, wed=60, SLIDE=5)
    4.8
    """
    return aggr * wed / (tup * SLIDE) + sum(part * offset for part, offset in sources)


def prefers_eager(aggr: float, tup: float, *, vol: float, wed: float, SLIDE: float,
                  sources: Sequence[tuple[float, float]] = ()) -> bool:
    """Condition 6.9: partials take less memory than rows.

    >>> prefers_eager(16, 40, vol=0.1, wed=60, SLIDE=5), prefers_eager(16, 40, vol=0.05, wed=60, SLIDE=5)
    (True, False)
    """
    return vol * wed > eager_above(aggr, tup, wed=wed, SLIDE=SLIDE, sources=sources)
