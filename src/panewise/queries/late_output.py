"""Late rows as an output: the rows, and for each the bound that was in force and by how much it missed it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.ordinals import OrdinalKind, from_ordinals
from panewise.progress.late import LATE_KEEP, LatePolicy, decide
from panewise.progress.watermarks import FINISHED
from panewise.queries.chunks import Chunk
from panewise.queries.inputs import StreamInput
from panewise.queries.late_tables import runs, together
from panewise.queries.one_at_a_time import OneAtATime

LATE = "late"
"""The column that says why: the stream, the row's position in it, the bound in force, and how far below the row is."""


def refuse_late(chunk: Chunk, late: npt.NDArray[np.bool_], attribute: str, kind: OrdinalKind) -> None:
    """Under the policy ``error`` the first late row stops the run before anything of its batch is counted."""
    if not late.any():
        return
    assert chunk.values is not None
    at = int(np.flatnonzero(late)[0])
    one = np.zeros(1, np.int64)
    decide(LatePolicy.ERROR, one, one, chunk.values[at : at + 1], chunk.bounds[at : at + 1], lambda bound: bound,
           stream=chunk.stream, attribute=attribute, kind=kind, first_row=int(chunk.rows[at]))


class LateOutput:
    """Counts late rows, keeps the newest where the policy says so, and tells those who listen.

    Every late row is counted. At most ``keep`` of them are kept, and none as soon as somebody listens: then all leave
    as they come.
    """

    def __init__(self, policy: LatePolicy, streams: Sequence[str], keep: int = LATE_KEEP) -> None:
        self.policy, self.keep = policy, keep
        self.counts = dict.fromkeys(streams, 0)
        self.forgotten = 0
        """How many rows were kept and had to make room for newer ones."""
        self.kept: deque[pa.Table] = deque()
        """The rows as they came."""
        self.reasons: deque[pa.Table] = deque()
        """For each of them why it is late."""
        self.listeners: list[Callable[[pa.Table], object]] = []
        self._held = 0

    def add(self, source: StreamInput, chunk: Chunk, late: npt.NDArray[np.bool_], watermark: int) -> None:
        """Some rows of a batch were late; ``watermark`` is what the aggregate had been promised of all its inputs."""
        self.counts[source.name] += int(np.count_nonzero(late))
        keeps = self.policy is not LatePolicy.DROP and self.keep > 0 and not self.listeners
        if not keeps and not self.listeners:
            return
        rows = chunk.filter(late)
        reasons = self._reasons(source, rows, watermark)
        if keeps:
            self._keep(rows.table, reasons)
        for listener in self.listeners:
            listener(_joined(rows.table, reasons))

    def _keep(self, rows: pa.Table, reasons: pa.Table) -> None:
        self.kept.append(rows)
        self.reasons.append(reasons)
        self._held += rows.num_rows
        while self._held > self.keep:
            surplus, first = self._held - self.keep, self.kept[0].num_rows
            for tables in (self.kept, self.reasons):
                oldest = tables.popleft()
                if surplus < first:  # copied: a slice would keep all of it in memory
                    tables.appendleft(oldest.take(pa.array(np.arange(surplus, first))))
            self._held -= min(surplus, first)
            self.forgotten += min(surplus, first)

    @property
    def count(self) -> int:
        """How many rows were late."""
        return sum(self.counts.values())

    def rows(self, streams: Collection[str] | None = None) -> pa.Table:
        """The late rows as they came, of all streams or of some."""
        return self._of(streams)[0]

    def reports(self, streams: Collection[str] | None = None) -> pa.Table:
        """The late rows with the reason of each."""
        rows, reasons = self._of(streams)
        return _joined(rows, reasons) if reasons.num_rows else pa.table({})

    def _of(self, streams: Collection[str] | None) -> tuple[pa.Table, pa.Table]:
        if not self.kept:
            return pa.table({}), pa.table({})
        whose = [reasons.column("stream")[0].as_py() for reasons in self.reasons]
        rows, reasons = together(self.kept, whose), together(self.reasons, whose)
        if streams is None:
            return rows, reasons
        mine = pc.is_in(reasons.column("stream"), pa.array(list(streams), pa.string()))
        return rows.filter(mine), reasons.filter(mine)

    def forget(self) -> None:
        """What was kept is not kept any longer."""
        self.kept, self.reasons, self._held = deque(), deque(), 0

    def _reasons(self, source: StreamInput, rows: Chunk, watermark: int) -> pa.Table:
        count = rows.table.num_rows
        bound, by = pa.nulls(count, pa.int64()), pa.nulls(count, pa.int64())
        if source.attribute is not None:
            values = source.ordinals(rows.table, source.attribute)
            # in a union another input may have been ahead while this one was idle
            bounds = np.where(values < rows.bounds, rows.bounds, watermark)
            kind = OrdinalKind.of(rows.table.schema.field(source.attribute).type)
            ended = bounds == FINISHED
            bound = from_ordinals(np.where(ended, 0, bounds), kind)
            bound = pa.array(bound.to_pylist(), bound.type, mask=ended) if ended.any() else bound
            by = pa.array(bounds - values, mask=ended)
            by = by.cast(pa.duration("us")) if kind is OrdinalKind.TIMESTAMP else by
        stream = pa.array([source.name] * count, pa.string())
        return pa.table([stream, pa.array(rows.rows), bound, by], names=["stream", "row", "bound", "by"])

    # -- saving

    def snapshot(self) -> tuple[dict[str, Any], dict[str, pa.Table]]:
        """Counts, and what is kept."""
        kept = runs(self.kept, self.reasons)
        tables = {f"late {what} {i}": table for i, pair in enumerate(kept)
                  for what, table in zip(("rows", "reasons"), pair, strict=True)}
        return {"counts": dict(self.counts), "forgotten": self.forgotten}, tables

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        self.forget()
        self.counts, self.forgotten = dict(header["counts"]), int(header["forgotten"])
        for i in range(sum(name.startswith("late rows ") for name in tables)):
            self._keep(tables[f"late rows {i}"], tables[f"late reasons {i}"])


class ShowsLateRows(OneAtATime):
    """What every running query tells of its late rows."""

    _late: LateOutput

    def on_late(self, listener: Callable[[pa.Table], object]) -> Callable[[pa.Table], object]:
        """Call a function with late rows as they come, under every policy; from then on none is kept.

        The rows have one column more, ``late``: the stream, the row's position in it, the bound that was in force, and
        by how much the row missed it.
        """
        self._late.listeners.append(self._turn.later(listener))
        return listener

    @property
    def late_output(self) -> LateOutput:
        """All of it, by stream."""
        return self._late

    @property
    def late_rows(self) -> pa.Table:
        """The newest late rows as they came; under ``drop``, and where somebody listens, none is kept."""
        return self._late.rows()

    @property
    def late_report(self) -> pa.Table:
        """The late rows with a column ``late`` that says why each is late."""
        return self._late.reports()

    @property
    def late_count(self) -> int:
        """How many rows were late."""
        return self._late.count

    @property
    def late_forgotten(self) -> int:
        """How many late rows were kept and had to make room for newer ones (``late_keep``)."""
        return self._late.forgotten

    def late_told(self) -> dict[str, Any]:
        """What a status says of late rows beside their number."""
        return {"late_policy": self._late.policy.value, "late_forgotten": self.late_forgotten}

    def take_late_rows(self) -> pa.Table:
        """The late rows since the last call; they are not kept any longer."""
        taken = self.late_rows
        self._late.forget()
        return taken


def _joined(rows: pa.Table, reasons: pa.Table) -> pa.Table:
    return rows.append_column(_free_name(rows.column_names), reasons.to_struct_array())


def _free_name(taken: Sequence[str]) -> str:
    name = LATE
    while name in taken:
        name = f"_{name}"
    return name
