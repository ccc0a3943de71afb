"""Which times of two streams meet: a band or a tumbling bucket, and what follows for keeping rows and for progress.

Everything a window join does with time follows from two monotone functions: the range of partner times of a row, and
the smallest time that can still meet a partner at or above a bound. A join that is given these needs no rule of its own
for bands and buckets.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from panewise.core.errors import PlanError
from panewise.core.join_kinds import LEFT
from panewise.core.ordinals import LIMIT, Ordinals
from panewise.progress.watermarks import FINISHED, NO_BOUND

Times = TypeVar("Times", int, Ordinals)

BOUNDS = ("both", "left", "right", "strict")


class Pairing(ABC):
    """The window predicate of a join of two streams."""

    @abstractmethod
    def partners(self, side: int, times: Times) -> tuple[Times, Times]:
        """The first and the last time (both inclusive) at which a row of this side meets one of the other."""

    @abstractmethod
    def needed_from(self, side: int, bound: int) -> int:
        """The smallest time of this side that can meet a row of the other side at or above a bound."""

    @property
    @abstractmethod
    def width(self) -> int:
        """The largest number of different partner times."""

    def joins(self, left: int, right: int) -> bool:
        """Whether two times meet."""
        low, high = self.partners(LEFT, left)
        return bool(low <= right <= high)

    def still_needed(self, side: int, other_bound: int) -> int:
        """``needed_from`` for bounds that may be infinite."""
        if other_bound in (NO_BOUND, FINISHED):
            return other_bound
        return min(max(self.needed_from(side, other_bound), NO_BOUND + 1), FINISHED - 1)


@dataclass(frozen=True)
class Band(Pairing):
    """``lo <= right - left <= hi``.

    With windows declared on both streams a row stays joinable for the range of its own stream (Li 2.8; the printed
    predicate exchanges the two ranges, erratum E8):

    >>> Band.of_ranges(3, 2), Band.of_ranges(3, 2, "strict")
    (Band(lo=-2, hi=3), Band(lo=-1, hi=2))
    """

    lo: int
    hi: int

    def __post_init__(self) -> None:
        if not (-LIMIT <= self.lo <= LIMIT and -LIMIT <= self.hi <= LIMIT):
            raise PlanError(f"a join in the band {self.lo} to {self.hi}: both ends must lie between -{LIMIT} and "
                            f"{LIMIT}; use a shorter RANGE")

    @classmethod
    def of_ranges(cls, left_range: int, right_range: int, bounds: str = "both") -> Band:
        """``left - right_range <= right <= left + left_range``; ``bounds`` says which of the two ends count."""
        if bounds not in BOUNDS:
            raise PlanError(f"no bounds {bounds!r} of a join: use {', '.join(BOUNDS)}")
        return cls(-right_range + (bounds not in {"both", "left"}), left_range - (bounds not in {"both", "right"}))

    def partners(self, side: int, times: Times) -> tuple[Times, Times]:
        """Both ends of the band."""
        return (times + self.lo, times + self.hi) if side == LEFT else (times - self.hi, times - self.lo)

    def needed_from(self, side: int, bound: int) -> int:
        """The end of the band that reaches the bound."""
        return bound - self.hi if side == LEFT else bound + self.lo

    @property
    def width(self) -> int:
        """Of the band."""
        return max(self.hi - self.lo + 1, 1)


@dataclass(frozen=True)
class Buckets(Pairing):
    """Times in the same bucket of a fixed size; buckets begin at multiples of it (Li 2.8), moved by ``origin``.

    >>> Buckets(10).partners(LEFT, 12), Buckets(10, 3).partners(LEFT, 12), Buckets(10).needed_from(LEFT, 12)
    ((10, 19), (3, 12), 10)
    """

    size: int
    origin: int = 0

    def __post_init__(self) -> None:
        if self.size <= 0:
            raise PlanError(f"a tumbling join needs a positive RANGE, not {self.size}")

    def partners(self, side: int, times: Times) -> tuple[Times, Times]:
        """The bucket."""
        del side
        start = times - (times - self.origin) % self.size
        return start, start + (self.size - 1)

    def needed_from(self, side: int, bound: int) -> int:
        """The bucket of the bound is still open: rounded down, not up (erratum E10)."""
        del side
        return bound - (bound - self.origin) % self.size

    @property
    def width(self) -> int:
        """Of a bucket."""
        return self.size


def slot_bits(pairing: Pairing) -> int:
    """How many low bits of a time to drop so that the partners of a row lie in at most two slots.

    >>> slot_bits(Band(-2, 3)), slot_bits(Band(0, 0))
    (3, 0)
    """
    return min(int(pairing.width - 1).bit_length(), 62)


def as_ordinals(values: Ordinals) -> Ordinals:
    """Contiguous 64-bit integers, as compiled code wants them."""
    return np.ascontiguousarray(values, np.int64)
