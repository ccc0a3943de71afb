"""Late rows of a relational query: those at its own ports, and those that queries inside it found late."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from panewise.queries.late_output import LateOutput, ShowsLateRows
from panewise.queries.relations.ports import Ports


class ShowsLateRowsInside(ShowsLateRows):
    """What a relational query tells of its late rows; one that several parts of the plan read counts once."""

    _ports: Ports

    def reads_inside(self, stream: str) -> bool:
        """Whether a window aggregate or a join of streams inside the plan reads a stream."""
        return any(stream in inner.query.streams for inner in self._ports.inner)

    def on_late(self, listener: Callable[[pa.Table], object]) -> Callable[[pa.Table], object]:
        """Call a function with late rows as they come, under every policy."""
        for output, streams in self._late_inside():
            if streams:
                output.listeners.append(partial(_heard, self._turn.later(listener), streams))
        return super().on_late(listener)

    @property
    def late_rows(self) -> pa.Table:
        """The late rows as they came; kept under every late policy but ``drop`` (which only counts them)."""
        return _together([self._late.rows(), *(output.rows(streams) for output, streams in self._late_inside())])

    @property
    def late_report(self) -> pa.Table:
        """The late rows with a column ``late`` that says why each is late."""
        return _together([self._late.reports(), *(output.reports(streams) for output, streams in self._late_inside())])

    @property
    def late_count(self) -> int:
        """How many rows were late."""
        return self._late.count + sum(output.counts[name] for output, streams in self._late_inside()
                                      for name in streams)

    @property
    def late_forgotten(self) -> int:
        """How many late rows were kept and had to make room for newer ones (``late_keep``)."""
        return self._late.forgotten + sum(output.forgotten for output, _ in self._late_inside())

    def _late_inside(self) -> list[tuple[LateOutput, list[str]]]:
        """Where late rows of streams are noted that only queries inside the plan read, each stream once."""
        seen = {port.name for port in self._ports}
        found = []
        for inner in self._ports.inner:
            found.append((inner.query.late_output, [name for name in inner.query.streams if name not in seen]))
            seen.update(inner.query.streams)
        return found

    def take_late_rows(self) -> pa.Table:
        """The late rows since the last call; they are not kept any longer."""
        taken = super().take_late_rows()
        for inner in self._ports.inner:
            inner.query.take_late_rows()
        return taken


def _heard(listener: Callable[[pa.Table], object], streams: list[str], rows: pa.Table) -> None:
    """Late rows that somebody else does not tell, with the reason of each in the last column."""
    mine = rows.filter(pc.is_in(pc.struct_field(rows.columns[-1], "stream"), pa.array(streams)))
    if mine.num_rows:
        listener(mine)


def _together(tables: list[pa.Table]) -> pa.Table:
    found = [table for table in tables if table.num_rows]
    return pa.concat_tables(found, promote_options="default") if found else tables[0]
