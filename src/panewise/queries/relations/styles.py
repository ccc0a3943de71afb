"""Three ways to run one plan (Golab 3.6), and which queue an edge gets in each."""

from __future__ import annotations

from enum import Enum

from panewise.core.errors import PlanError
from panewise.kernels.relations.stores.codes import CodesByEnd, CodesByNumber, LeavingCodes
from panewise.kernels.relations.stores.queues import Calendar, ExpiryQueue, Fifo, Scanned, Unqueued
from panewise.planner.labels import Label, UpdatePattern


class Style(Enum):
    """How expiry travels through a plan."""

    UPA = "upa"            # by update pattern: known ends travel with rows, others are sent
    NEGATIVE = "negative"  # every expiry is sent as a negative tuple, rows are found by their number
    DIRECT = "direct"      # known ends travel with rows, lists by arrival are looked through

    @classmethod
    def parse(cls, text: str | Style) -> Style:
        """By name."""
        try:
            return cls(text)
        except ValueError:
            raise PlanError(f"no execution style {text!r}; there are {', '.join(s.value for s in cls)}") from None


def queue_for(label: Label, style: Style) -> ExpiryQueue:
    """The structure that knows which rows of an edge leave next."""
    if style is Style.NEGATIVE:
        return Unqueued()
    if style is Style.DIRECT:
        return Scanned()
    if label.pattern in {UpdatePattern.MON, UpdatePattern.WKS}:
        return Fifo()
    return Calendar()


def codes_for(label: Label, style: Style) -> LeavingCodes:
    """How rows are kept of which only their value counts: by number where they may leave before they said."""
    kept = CodesByNumber if label.pattern is UpdatePattern.STR else CodesByEnd
    return kept(queue_for(label, style))
