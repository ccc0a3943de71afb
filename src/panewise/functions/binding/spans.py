"""Which fields an interval is declared with: INTERVAL DAY TO HOUR, INTERVAL YEAR, ….

Values of day-time intervals are microseconds, those of year-month intervals months: Arrow has one type for each. The
fields decide what a value is as text or as a number, and whether a date moved by it stays a date. They belong to an
expression (``Bound.span``), not to its column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from panewise.functions.types import INTERVAL_DAYS, INTERVAL_MONTHS

if TYPE_CHECKING:
    from panewise.functions.binding.bound import Bound

DAY_FIELDS = {"DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000}
"""Microseconds of each field, the longest first."""
MONTH_FIELDS = {"YEAR": 12, "MONTH": 1}


@dataclass(frozen=True)
class Span:
    """The first and the last field of an interval type."""

    first: str
    last: str

    @property
    def is_months(self) -> bool:
        """Whether these are fields of a year-month interval."""
        return self.first in MONTH_FIELDS

    @property
    def type(self) -> pa.DataType:
        """The Arrow type of its values."""
        return INTERVAL_MONTHS if self.is_months else INTERVAL_DAYS

    @property
    def unit(self) -> int:
        """The last field in microseconds or months: what a number cast to this type counts."""
        return (MONTH_FIELDS if self.is_months else DAY_FIELDS)[self.last]

    @property
    def fields(self) -> list[tuple[str, int]]:
        """Every field with its size, the longest first."""
        known = list((MONTH_FIELDS if self.is_months else DAY_FIELDS).items())
        names = [name for name, _ in known]
        return known[names.index(self.first):names.index(self.last) + 1]

    def __str__(self) -> str:
        return self.first if self.first == self.last else f"{self.first} TO {self.last}"


YEAR_TO_MONTH, DAY_TO_SECOND, DAY = Span("YEAR", "MONTH"), Span("DAY", "SECOND"), Span("DAY", "DAY")
WIDEST = {INTERVAL_DAYS: DAY_TO_SECOND, INTERVAL_MONTHS: YEAR_TO_MONTH}
"""The fields of an interval of which nothing else is known."""


def span_from_text(text: str) -> Span | None:
    """The fields that are written in a type or a literal; None where there are no such.

    >>> str(span_from_text("day to hour")), span_from_text("month to day")
    ('DAY TO HOUR', None)
    """
    words = text.upper().split(" TO ")
    names = list(MONTH_FIELDS) if words[0] in MONTH_FIELDS else list(DAY_FIELDS)
    if len(words) > 2 or any(word not in names for word in words):
        return None
    span = Span(words[0], words[-1])
    return None if names.index(span.first) > names.index(span.last) else span


def span_of(value: Bound) -> Span:
    """The fields of an interval expression."""
    return value.span or WIDEST[value.type]


def joined(values: Sequence[Bound]) -> Span | None:
    """The fields of a sum, or of branches: from the longest to the shortest of all; None for other types."""
    spans = [span_of(value) for value in values if value.type in WIDEST]
    if not spans or len({span.type for span in spans}) > 1:
        return None
    order = list(MONTH_FIELDS if spans[0].is_months else DAY_FIELDS)
    return Span(min((span.first for span in spans), key=order.index), max((span.last for span in spans),
                                                                         key=order.index))
