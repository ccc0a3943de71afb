"""How the consumer of an edge learns that rows of it are gone: one vocabulary for planner, kernels and explain."""

from __future__ import annotations

from enum import Enum


class Departures(Enum):
    """What an edge says about the ends of its rows, from the simplest to the hardest to follow."""

    NEVER = "nothing leaves"
    IN_ORDER = "ends known at birth, in order"
    ANY_ORDER = "ends known at birth, in any order"
    REPLACED = "a new row of a group replaces the old one"
    EARLY = "ends known at birth, early ones sent"
    ALL = "every end is sent"
    VECTORS = "expiry vectors"
    NAMED = "rows are named when they are gone"

    @property
    def in_order(self) -> bool:
        """Rows leave in the order they came."""
        return self in {Departures.NEVER, Departures.IN_ORDER}

    @property
    def strict(self) -> bool:
        """Rows may leave before they said."""
        return self not in {Departures.NEVER, Departures.IN_ORDER, Departures.ANY_ORDER}
