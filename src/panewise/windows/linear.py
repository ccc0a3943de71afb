"""Windows given by a linear extent; what a row belongs to is derived from it (Li 5.1.5).

``extent`` of most window kinds is linear in the id. Its inverse, ``wids``, then follows mechanically, so that a new
kind can be declared by its extent alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, lcm
from typing import ClassVar

import numpy as np

from panewise.core.errors import WindowSpecError
from panewise.core.intervals import Interval
from panewise.core.ordinals import Ordinals
from panewise.windows.base import UNBOUNDED, Rows, WindowSpec, ids_in_ranges

Coefficient = int | Fraction


def derive_wids(alpha: Coefficient, beta: Coefficient, gamma: Coefficient, delta: Coefficient,
                values: Ordinals) -> tuple[Ordinals, Ordinals]:
    """For every value t the ids w with ``α·w + β <= t < γ·w + δ``: the first, and the end (exclusive).

    Other bounds come to this form on integers: ``x < t`` is ``x + 1 <= t``. With α = 0 the lower end is fixed and the
    ids of a row have no end. The start must not fall and the end must rise with the id, else there is no first id.

    >>> derive_wids(60, -540, 60, 60, np.array([5, 605]))  # RANGE 600, SLIDE 60
    (array([ 0, 10]), array([10, 20]))
    """
    if alpha < 0 or gamma <= 0:
        raise WindowSpecError(
            f"a row of the windows [{alpha}·w + {beta}, {gamma}·w + {delta}) has no first window: "
            "the start must not fall and the end must rise with w"
        )
    # Multiplied by the common denominator both inequalities are between integers, where floor division is exact.
    scale = lcm(*(Fraction(c).denominator for c in (alpha, beta, gamma, delta)))
    a, b, c, d = (int(Fraction(x) * scale) for x in (alpha, beta, gamma, delta))
    t = values * scale
    first = (t - d) // c + 1
    end = (t - b) // a + 1 if a else np.where(t >= b, UNBOUNDED, first)
    return first, np.maximum(first, end)


@dataclass(frozen=True)
class LinearWindow(WindowSpec):
    """Window ``w`` is ``[α·w + β, γ·w + δ)``; coefficients are integers or fractions.

    >>> growing = LinearWindow(1, 0, 2, 0)  # [w, 2w)
    >>> str(growing.extent(5)), growing.wids(Rows.of([5]))
    ('[5, 10)', (array([3]), array([6])))
    """

    alpha: Coefficient
    beta: Coefficient
    gamma: Coefficient
    delta: Coefficient

    kind: ClassVar[str] = "linear"

    def __post_init__(self) -> None:
        derive_wids(self.alpha, self.beta, self.gamma, self.delta, np.empty(0, np.int64))

    def windows(self, rows: Rows) -> Ordinals:
        """All ids from any row's range; where these have no end, up to the first window that holds all rows."""
        first, last = self.wids(rows)
        if self.alpha == 0 and len(first):
            last = np.minimum(last, np.maximum(first, first[last > first].max(initial=first.min()) + 1))
        return ids_in_ranges(first, last)

    def extent(self, wid: int, rows: Rows | None = None) -> Interval:
        """The integers of the linear extent."""
        return Interval(ceil(self.alpha * wid + self.beta), ceil(self.gamma * wid + self.delta))

    def wids(self, rows: Rows) -> tuple[Ordinals, Ordinals]:
        """Derived."""
        return derive_wids(self.alpha, self.beta, self.gamma, self.delta, rows.values)

    def closed_below(self, bound: int) -> int:
        """Window w is complete when its end is at or below the bound."""
        return int((bound - self.delta) // self.gamma) + 1

    def describe(self) -> str:
        """The extent."""
        return f"[{self.alpha}·w + {self.beta}, {self.gamma}·w + {self.delta})"
