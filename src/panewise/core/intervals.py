"""Half-open integer intervals, the only kind of interval in this project (rule U1)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """All values ``start <= v < end``; ``None`` means unbounded on that side.

    >>> Interval(0, 10).contains(9), Interval(0, 10).contains(10), Interval(None, 3).contains(-5)
    (True, False, True)
    >>> str(Interval(5, None))
    '[5, ∞)'
    """

    start: int | None
    end: int | None

    def contains(self, value: int) -> bool:
        """Whether the value lies inside."""
        return (self.start is None or value >= self.start) and (self.end is None or value < self.end)

    @property
    def empty(self) -> bool:
        """Whether no value lies inside."""
        return self.start is not None and self.end is not None and self.start >= self.end

    def intersect(self, other: Interval) -> Interval:
        """The values in both."""
        starts = [i for i in (self.start, other.start) if i is not None]
        ends = [i for i in (self.end, other.end) if i is not None]
        return Interval(max(starts) if starts else None, min(ends) if ends else None)

    def __str__(self) -> str:
        left = "(-∞" if self.start is None else f"[{self.start}"
        right = "∞)" if self.end is None else f"{self.end})"
        return f"{left}, {right}"
