"""Which rows a join of two inputs puts out."""

from __future__ import annotations

from enum import Enum

LEFT, RIGHT = 0, 1


class JoinKind(Enum):
    """Which rows come out."""

    INNER = "inner"  # pairs
    LEFT = "left"    # pairs, and left rows without a partner
    RIGHT = "right"  # pairs, and right rows without a partner
    FULL = "full"    # pairs, and rows without a partner
    SEMI = "semi"    # left rows with a partner, each once
    ANTI = "anti"    # left rows without a partner

    @property
    def preserved(self) -> frozenset[int]:
        """The sides whose rows come out when they have no partner."""
        sides = {JoinKind.LEFT: {LEFT}, JoinKind.RIGHT: {RIGHT}, JoinKind.FULL: {LEFT, RIGHT}, JoinKind.ANTI: {LEFT}}
        return frozenset(sides.get(self, ()))

    @property
    def whole(self) -> frozenset[int]:
        """The sides whose columns are never null for want of a partner."""
        missing = {JoinKind.LEFT: {RIGHT}, JoinKind.RIGHT: {LEFT}, JoinKind.FULL: {LEFT, RIGHT}}
        return frozenset({LEFT, RIGHT} - missing.get(self, set())) - ({RIGHT} if self.left_only else set())

    @property
    def left_only(self) -> bool:
        """Whether results are left rows rather than pairs."""
        return self in (JoinKind.SEMI, JoinKind.ANTI)
