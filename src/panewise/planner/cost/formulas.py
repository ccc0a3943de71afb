"""What a sliding window aggregate costs: time (Li 6.1 to 6.4) and memory (Li 6.5 to 6.9), one function per formula.

Letters are those of the thesis. Per window there are T rows, P = RANGE/GCD(RANGE, SLIDE) panes and, per pane, G groups;
``a`` is what a row costs on its way into a pane, ``b`` what a pane's partial costs on its way out, ``c`` what it costs
to merge one partial into a window, and ``a'`` (here ``row``) what a row costs on its way into a window. Costs are per
window in whatever unit the constants are in; sizes are bytes per group.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal


def paned(a: float, b: float, c: float, *, T: float, P: float, G: float, panes_per_slide: float = 1) -> float:
    """Panes merged anew for every window (Li 6.1): ``m·(a·T/P + b·G) + c·P·G`` with m = SLIDE/GCD panes per slide.

    The printed formula has no m: it counts the filling of one pane per window, which is all that happens only when the
    slide is one pane (erratum E19).

    >>> paned(1, 1, 1, T=100, P=5, G=1)
    26.0
    """
    return panes_per_slide * (a * T / P + b * G) + c * P * G


def paned_differential(a: float, b: float, c: float, *, T: float, P: float, G: float,
                       panes_per_slide: float = 1) -> float:
    """Panes that enter and leave a running window (Li 6.2): ``m·(a·T/P + b·G) + 2·c·G·m`` (erratum E19).

    >>> paned_differential(1, 1, 1, T=100, P=5, G=1)
    23.0
    """
    return panes_per_slide * (a * T / P + b * G + 2 * c * G)


def unpaned(row: float, *, T: float) -> float:
    """Every row into every window it is in: WID, or a buffer that is scanned for each window (Li 6.3): ``a'·T``.

    >>> unpaned(1, T=100)
    100
    """
    return row * T


# -- memory


def time_open(RANGE: float, lag: float, *, since: Literal["high", "low"] = "high") -> float:
    """How long an extent stays open (``wed``), in steps of the windowing attribute, when a stream lags by ``lag``.

    Counted from the high watermark when the extent began, which gives the number of open extents, (RANGE+lag)/SLIDE.
    The thesis also counts from the low watermark, which adds the lag once more (erratum E13).

    >>> time_open(60, 5), time_open(60, 5, since="low")
    (65, 70)
    """
    return RANGE + lag if since == "high" else RANGE + 2 * lag


def eager_bytes(aggr: float, *, wed: float, SLIDE: float) -> float:
    """Partials of one group's open extents (Li 6.5): ``aggr·wed/SLIDE``.

    >>> eager_bytes(16, wed=60, SLIDE=5)
    192.0
    """
    return aggr * wed / SLIDE


def lazy_bytes(tup: float, *, vol: float, wed: float, sources: Sequence[tuple[float, float]] = ()) -> float:
    """Rows of one group held until their extents close (Li 6.6; with several sources 6.8).

    >>> lazy_bytes(40, vol=2, wed=60), lazy_bytes(40, vol=2, wed=60, sources=[(1.5, 0), (0.5, 20)])
    (4800, 4400.0)
    """
    return tup * rows_held(vol, wed=wed, sources=sources)


def rows_held(vol: float, *, wed: float, sources: Sequence[tuple[float, float]] = ()) -> float:
    """Rows between the beginning and the end of an extent (Li 6.7): ``vol·wed - Σ vol_K·offset_K``.

    ``sources`` are (vol, offset) pairs: a source that lags behind the earliest one by its offset has sent so much less.

    >>> rows_held(2, wed=60, sources=[(1.5, 0), (0.5, 20)])
    110.0
    """
    return vol * wed - sum(part * offset for part, offset in sources)


def pane_bytes(aggr: float, *, G: float, P: float) -> float:
    """The panes a window is put together from, one partial per group and pane (Li, panes paper): ``P·G·aggr``.

    >>> pane_bytes(8, G=1, P=4)
    32
    """
    return P * G * aggr
