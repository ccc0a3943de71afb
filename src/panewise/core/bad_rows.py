"""Rows that cannot be used: what is wrong with each, where it stands, and what becomes of them.

A reader of rows only describes what is wrong (:class:`BadRow`); what then happens is decided once, by the policy of
the run (:class:`BadRowPolicy`), in :mod:`panewise.dataflow.admission`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

import pyarrow as pa

from panewise.core.errors import BadRowError, PlanError
from panewise.core.names import did_you_mean

MAX_LINE = 16 << 20
"""The longest row of NDJSON in bytes, unless the run sets another limit: what a sender without an end of line
may use of the memory."""
SHOWN_CHARACTERS = 1_000
"""How much of a bad row is kept to be looked at."""
BAD_ROWS_SCHEMA = pa.schema({"stream": pa.string(), "place": pa.string(), "column": pa.string(), "reason": pa.string(),
                             "row": pa.string()})


@dataclass(frozen=True)
class BadRow:
    """One row that cannot be used.

    >>> print(BadRow("bids.ndjson:7", "'price' is 'abc', expected double", column="price"))
    bids.ndjson:7: 'price' is 'abc', expected double
    """

    place: str
    """File and line, or the number of the row."""
    reason: str
    column: str | None = None
    row: str | None = None
    """The row as it came, as text."""
    number: int | None = None
    """Of a row that does not know its file: its number among the rows of its stream, from 1."""

    @classmethod
    def of_stream(cls, stream: str, number: int, reason: str, column: str | None = None,
                  row: str | None = None) -> BadRow:
        """A row that is known by its number in its stream.

        >>> print(BadRow.of_stream("bids", 7, "'ts' is null", "ts"))
        stream 'bids', row 7: 'ts' is null
        """
        return cls(f"stream {stream!r}, row {number}", reason, column, row, number)

    def located(self, place: Callable[[int], str] | None) -> BadRow:
        """With the place in its file, if something knows that by its number."""
        return self if self.number is None or place is None else replace(self, place=place(self.number))

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"

    @property
    def shown(self) -> str | None:
        """As much of the row as is kept."""
        return self.row if self.row is None or len(self.row) <= SHOWN_CHARACTERS else f"{self.row[:SHOWN_CHARACTERS]}…"


class BadRows:
    """Bad rows of a source, as an item between its good ones; each counts as a row that was read."""

    def __init__(self, rows: Iterable[BadRow]) -> None:
        self.rows: tuple[BadRow, ...] = tuple(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[BadRow]:
        return iter(self.rows)

    def __getitem__(self, part: slice) -> BadRows:
        return BadRows(self.rows[part])

    def __repr__(self) -> str:
        return f"BadRows({len(self.rows)})"


class BadRowAction(Enum):
    """What becomes of a bad row."""

    STOP = "stop"
    SKIP = "skip"
    ASIDE = "aside"


@dataclass(frozen=True)
class BadRowPolicy:
    """``stop`` at the first bad row, ``skip`` and count them, or put them ``aside``, in memory or in a file.

    >>> BadRowPolicy.parse("aside:bad.ndjson")
    BadRowPolicy(action=<BadRowAction.ASIDE: 'aside'>, path=PosixPath('bad.ndjson'))
    """

    action: BadRowAction = BadRowAction.STOP
    path: Path | None = None
    """Where rows that are put aside are written, as NDJSON; None keeps them in memory."""

    @classmethod
    def parse(cls, given: str | BadRowPolicy) -> BadRowPolicy:
        """From the text of an option."""
        if isinstance(given, BadRowPolicy):
            return given
        name, colon, path = str(given).partition(":")
        names = [action.value for action in BadRowAction]
        if name.strip().lower() not in names or (colon and (name.strip().lower() != "aside" or not path)):
            raise PlanError(f"bad_rows={given!r}: write stop, skip, aside, or aside:PATH for a file of them"
                            f"{did_you_mean(name, names)}")
        return cls(BadRowAction(name.strip().lower()), Path(path) if path else None)

    @property
    def stops(self) -> bool:
        """Whether the first bad row ends the run."""
        return self.action is BadRowAction.STOP

    def refuse(self, bad: Sequence[BadRow], stream: str) -> None:
        """End the run at a bad row, if that is the policy."""
        if self.stops and bad:
            raise self.error(bad[0], stream)

    @staticmethod
    def error(bad: BadRow, stream: str) -> BadRowError:
        """What the run ends with at a bad row."""
        of = "" if bad.place.startswith("stream ") else f" (stream {stream!r})"
        return BadRowError(f"{bad}{of}; to go on without such rows: bad_rows='skip' counts them, 'aside' keeps them")


def bad_row_table(rows: Iterable[tuple[str, BadRow]]) -> pa.Table:
    """Bad rows, each with its stream, as a table."""
    found = [(stream, bad.place, bad.column, bad.reason, bad.shown) for stream, bad in rows]
    return pa.table([pa.array(list(column), f.type) for column, f in
                     zip(zip(*found, strict=True) if found else ([],) * 5, BAD_ROWS_SCHEMA, strict=True)],
                    schema=BAD_ROWS_SCHEMA)
