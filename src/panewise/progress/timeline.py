"""What arrived, in the order it arrived: rows and punctuation of one or several streams.

The order of the list *is* the arrival order of the system; it fixes row positions and what counts as late.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from panewise.progress.punctuation import Punctuation

Row = Mapping[str, Any]
Item = Row | Punctuation


@dataclass(frozen=True)
class Arrival:
    """One item of one stream."""

    stream: str
    item: Item

    @property
    def is_row(self) -> bool:
        """A data row, not a punctuation."""
        return not isinstance(self.item, Punctuation)


Timeline = list[Arrival]


def timeline(**streams: Iterable[Item]) -> Timeline:
    """Arrivals of several streams, one after the other (the order between streams rarely matters; say it if it does).

    >>> [a.stream for a in timeline(s=[{"ts": 1}], t=[{"ts": 2}])]
    ['s', 't']
    """
    return [Arrival(name, item) for name, items in streams.items() for item in items]
