"""The structures that know which row of an edge leaves next, by the names that plans and explain give them."""

from __future__ import annotations

from enum import Enum

from panewise.kernels.relations.stores.codes import CodesByEnd, CodesByNumber, LeavingCodes
from panewise.kernels.relations.stores.queues import Calendar, ExpiryQueue, Fifo, Scanned, Unqueued


class Structure(Enum):
    """What is asked which row leaves next."""

    GROWING = "list that only grows"
    FIFO = "queue"
    CALENDAR = "calendar queue"
    NUMBERS = "rows by number"
    LIST = "list in order of arrival"

    @property
    def kind(self) -> type[ExpiryQueue]:
        """The class that holds it."""
        return KINDS[self]

    def queue(self) -> ExpiryQueue:
        """An empty one."""
        return self.kind()

    def codes(self, *, strict: bool) -> LeavingCodes:
        """For rows of which only their value counts: found by number where they may leave before they said."""
        return (CodesByNumber if strict else CodesByEnd)(self.queue())


KINDS: dict[Structure, type[ExpiryQueue]] = {
    Structure.GROWING: Fifo, Structure.FIFO: Fifo, Structure.CALENDAR: Calendar, Structure.NUMBERS: Unqueued,
    Structure.LIST: Scanned}
