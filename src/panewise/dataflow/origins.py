"""Where the rows stood that arrived: in which stream, and as which row of it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

import numpy as np

from panewise.core.ages import stream_of
from panewise.core.errors import SourceError
from panewise.core.ordinals import Ordinals

MOST = 4_096
"""How many runs of rows of one stream are remembered; of older rows it is not known any more where they stood."""
SAVED = 256
"""How many of them a checkpoint has."""
Run = tuple[int, int, str, int]
"""Arrivals, from the first to the last; their stream; the number of the first row in it."""


Place = Callable[[int], str]
"""Where a row stands in its files, by its number in its stream."""


def in_words(stream: str, row: int, place: Place | None = None) -> str:
    """A row of a stream: by its place, if something knows that and it is still there, or by its number.

    >>> in_words("s", 2), in_words("s", 2, lambda row: f"s.ndjson:{row}")
    ("stream 's', row 2", "stream 's', s.ndjson:2")
    """
    try:
        return f"stream {stream!r}, {f'row {row}' if place is None else place(row)}"
    except (SourceError, OSError):
        return f"stream {stream!r}, row {row}"


class Origins:
    """Rows by their arrival among all rows of a query.

    >>> origins = Origins()
    >>> origins.came("a", range(1, 4), range(1, 4))
    >>> origins.came("b", range(4, 6), np.array([1, 3]))
    >>> [origins.of(number) for number in (2, 5, 6)]
    ["stream 'a', row 2", "stream 'b', row 3", None]
    """

    def __init__(self) -> None:
        self._runs: list[Run] = []
        self._streams: list[str] | None = None
        self.places: dict[str, Place] = {}
        """Of streams that are read from files."""

    def by_stream(self, names: Sequence[str]) -> None:
        """Arrivals say of which stream a row is, but nobody knows which row of it: a shard has some of them."""
        self._streams = list(names)

    def came(self, stream: str, arrived: range | Ordinals, positions: range | Ordinals) -> None:
        """Rows of a stream with their positions in it; those between them were left out."""
        if not len(arrived) or self._streams is not None:
            return
        starts = [0]
        if not isinstance(positions, range):
            starts += (np.flatnonzero(np.diff(positions) != 1) + 1).tolist()
        for start, end in zip(starts, [*starts[1:], len(arrived)], strict=True):
            self._add((int(arrived[start]), int(arrived[end - 1]), stream, int(positions[start])))
        del self._runs[:-MOST]

    def _add(self, run: Run) -> None:
        first, last, stream, position = run
        if self._runs:
            begun, until, of, row = self._runs[-1]
            if of == stream and until + 1 == first and row + first - begun == position:
                self._runs[-1] = begun, last, stream, row
                return
        self._runs.append((first, last, stream, position))

    def of(self, arrival: int) -> str | None:
        """The row of one arrival in words; None if it is not known any more."""
        if self._streams is not None:
            return f"stream {self._streams[stream_of(arrival)]!r}"
        place = bisect_right(self._runs, arrival, key=lambda run: run[0]) - 1
        if place < 0 or arrival > self._runs[place][1]:
            return None
        first, _, stream, row = self._runs[place]
        return in_words(stream, row + arrival - first, self.places.get(stream))

    def saved(self) -> list[Run]:
        """The newest of them."""
        return self._runs[-SAVED:]

    def become(self, saved: Sequence[Sequence[object]]) -> None:
        """Those that ``saved`` gave."""
        self._runs = [(int(first), int(last), str(stream), int(row))  # type: ignore[call-overload]
                      for first, last, stream, row in saved]
