"""Describe: promise only what consumers can use, at the granularity they need (Tucker; Li 8.1).

A window operator acts on the ends of its windows, so a bound between two of them moves nothing. Rolling bounds up to
those ends, and dropping what did not move, makes punctuation as rare as it can be without delaying any result. Whether
a row is late is decided by the bound *before* it is rolled up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from panewise.core.errors import ProgressError
from panewise.core.ordinals import Ordinals
from panewise.progress.bounds import BoundTable
from panewise.progress.patterns import Below
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import FINISHED, NO_BOUND
from panewise.windows.base import WindowSpec
from panewise.windows.sliding import SlidingWindow


@dataclass(frozen=True, slots=True)
class Grid:
    """The points ``origin + k·slide`` at which a consumer acts.

    >>> Grid(60, origin=10).floor(np.array([129, 130, 5])).tolist()
    [70, 130, -50]
    """

    slide: int
    origin: int = 0

    def __post_init__(self) -> None:
        if self.slide <= 0:
            raise ProgressError(f"a slide must be positive to roll bounds up to it, not {self.slide}")

    @classmethod
    def of(cls, spec: WindowSpec) -> Grid:
        """The ends of a window's extents; kinds whose ends are anywhere keep every bound."""
        return cls(spec.slide, spec.origin - spec.lag) if isinstance(spec, SlidingWindow) else cls(1)

    def floor(self, bounds: Ordinals) -> Ordinals:
        """The largest points at or below; the two infinities stay, and so does what has no point below it."""
        infinite = (bounds == NO_BOUND) | (bounds == FINISHED)
        rest = np.where(infinite, 0, (bounds - self.origin) % self.slide)
        return bounds - rest


class Describe:
    """Rolls punctuation up for consumers that act on some grids and group by some attributes.

    >>> by_minute = Describe("ts", [Grid(60)])
    >>> [str(by_minute.punctuate(Punctuation.below("ts", b))) for b in (61, 100, 125)]
    ['(ts < 60)', 'None', '(ts < 120)']
    """

    def __init__(self, attribute: str, grids: Iterable[Grid], *, grouping: Collection[str] | None = None) -> None:
        self.attribute = attribute
        self.grids = tuple(dict.fromkeys(grids))
        if not self.grids:
            raise ProgressError("nobody to describe progress to: give at least one grid")
        self.grouping = None if grouping is None else frozenset(grouping)
        self.sent = BoundTable(attribute)

    @classmethod
    def for_windows(cls, attribute: str, specs: Iterable[WindowSpec], *,
                    grouping: Collection[str] | None = None) -> Describe:
        """For the windows that read the stream."""
        return cls(attribute, [Grid.of(spec) for spec in specs], grouping=grouping)

    def roll_up(self, bounds: Ordinals) -> Ordinals:
        """Each bound as the largest point of any consumer's grid at or below it."""
        best: Ordinals = np.maximum.reduce([grid.floor(bounds) for grid in self.grids])
        return best

    def punctuate(self, punctuation: Punctuation) -> Punctuation | None:
        """The punctuation consumers need, or nothing when it tells them nothing new.

        Dropped are promises about attributes nobody groups by, promises that bound nothing, and repetitions.
        """
        bound = punctuation.closes_below(self.attribute)
        others = punctuation.attributes - {self.attribute}
        if bound is None or (self.grouping is not None and not others <= self.grouping):
            return None
        if bound != FINISHED:
            point = int(self.roll_up(np.array([bound], np.int64))[0])
            patterns = {**dict(punctuation.patterns), self.attribute: Below(point)}
            punctuation = Punctuation.of(patterns)
        return punctuation if self.sent.advance(punctuation) else None

    def snapshot(self) -> dict[str, Any]:
        """The state as data that JSON can hold."""
        return self.sent.snapshot()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Become what ``snapshot`` saved."""
        self.sent.restore(state)
