"""How much has arrived at a dataflow, of all its streams together."""

from __future__ import annotations

from dataclasses import dataclass, field

from panewise.dataflow.origins import Origins


@dataclass
class Arrivals:
    """What numbers rows that have no other order."""

    rows: int = 0
    place: int = 0
    """Rows and punctuation so far; the end of an input is none."""
    mark: int = 0
    """The place of what is arriving now: of its first row, or behind it if it is a punctuation."""
    origins: Origins = field(default_factory=Origins)
    """Where the rows stood in their streams, for messages."""

    def count(self, rows: int) -> None:
        """Rows arrive."""
        self.mark = self.place
        self.rows, self.place = self.rows + rows, self.place + rows

    def promised(self, *, end: bool) -> None:
        """A punctuation arrives, or the end of an input."""
        self.place += not end
        self.mark = self.place
