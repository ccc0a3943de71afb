"""Where rows enter a relation: streams by the column that orders them, window aggregates, joins of streams.

Every port has a bound below which no row will come, and leaves where its rows wait for their instants.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from panewise.core.beginning import ALWAYS
from panewise.core.ordinals import Ordinals
from panewise.core.schema import SourceKind
from panewise.dataflow.arrivals import Arrivals
from panewise.dataflow.batch import Batch
from panewise.dataflow.inputs import StreamInput
from panewise.kernels.relations.edges.delta import Mask, Uids, gather
from panewise.kernels.relations.edges.waiting import SourceRows
from panewise.plan.dataflow import Port as PlannedPort
from panewise.plan.nodes import Named, Node, Source, Table
from panewise.progress.watermarks import FINISHED, NO_BOUND


class StreamPort:
    """A stream or table as some leaves of the plan see it: ``guard`` is the column whose bounds make a row late.

    Without one a table is complete when its input has ended, and a stream is ordered by arrival.
    """

    def __init__(self, node: Named, guard: str | None, source: StreamInput, arrivals: Arrivals) -> None:
        self.name, self.schema, self.guard, self.source = node.name, node.schema, guard, source
        self.is_table = isinstance(node, Table)
        self.by_place = guard is None and isinstance(node, Source)
        """Rows are dated by their place among all that arrived."""
        self.key = f"{self.name}.{guard}"
        """What the combined progress calls it."""
        self.leaves: list[SourceRows] = []
        self.notes_late = False
        """Whether late rows, too, may be the first of a lifetime, wherever they are taken in."""
        self._arrivals = arrivals
        self._taken: list[tuple[Batch, Mask, int]] = []

    def take(self, batch: Batch, reached: int | None) -> Mask:
        """Rows, until it is settled whether they came; which of them are below a bound that was in force, or below
        ``reached``, what all inputs together have passed; None: none is late."""
        late = np.zeros(batch.table.num_rows, np.bool_) if reached is None else batch.late(reached)
        self._taken.append((batch, late, NO_BOUND if reached is None else reached))
        return late

    def revoke(self) -> None:
        """They never came."""
        self._taken.clear()

    def settle(self) -> None:
        """Rows go to the leaves; late ones to those that take them, each at the bound that it came behind."""
        taken, self._taken = self._taken, []
        for batch, late, reached in taken:
            some = bool(late.any())
            self._arrive(batch.filter(~late) if some else batch)
            if some:
                self._arrive_late(batch.filter(late), reached)

    @property
    def bound(self) -> int:
        """No row of an earlier instant will come, as the stream has promised."""
        if self.source.finished:
            return FINISHED
        return self._arrivals.place if self.by_place else self.source.guard.bounds.linear

    def _arrive(self, batch: Batch) -> None:
        if not batch.table.num_rows:
            return
        table, place = batch.table.combine_chunks(), self._arrivals.mark
        times = np.arange(place, place + table.num_rows) if self.by_place else self._times(table, batch)
        due = batch.values if batch.values is not None else times
        for leaf in self.leaves:
            leaf.receive(table, due, times, batch.arrivals, batch.signs)

    def _arrive_late(self, batch: Batch, reached: int) -> None:
        if not self.notes_late:
            return
        table, bounds = batch.table.combine_chunks(), np.maximum(batch.bounds, reached)
        for leaf in self.leaves:
            if leaf.takes_late:
                leaf.arrive_late(table, bounds, self._times(table, batch), batch.arrivals)
            else:
                leaf.note(int(bounds.min()))

    def _times(self, table: pa.Table, batch: Batch) -> Ordinals:
        time = self.schema.time
        if time == self.guard and batch.values is not None:
            return batch.values
        if time is None:
            return np.full(table.num_rows, ALWAYS, np.int64)
        return self.source.ordinals(table, time)


class Made(Protocol):
    """An operator that makes rows: window aggregates, joins of streams."""

    schema: pa.Schema

    @property
    def born(self) -> int:
        """No row to come is born earlier."""


class MadePort:
    """Rows that an operator makes of rows of ``sources``, each with its birth.

    A result of a window belongs to its last instant (the oracle's rule), a pair to the instant of the younger of its
    two. Pairs leave a join as they are found; a relation tells what holds at an instant when the instant is complete.
    Both meet in one bound, below which no row to come is born. A row without a partner belongs to its own instant, and
    is found out to have none some time later: that bound waits for it. What a late row makes is born when the last of
    its rows came in, at the bound that this came behind, which is never before the bound of the join.
    """

    def __init__(self, plan: PlannedPort, number: int, operator: Made, sources: Collection[StreamInput],
                 arrivals: Arrivals) -> None:
        self.key, self.node = f"{type(plan.node).__name__} {number}", plan.node
        self.sources, self.in_full = sources, plan.in_full
        self.streams = [source for source in sources if source.schema.kind is SourceKind.STREAM]
        """Those that are no tables, by which its rows are ordered."""
        self._operator, self._arrivals = operator, arrivals
        shown = [name for name in plan.node.columns if plan.reads is None or name in plan.reads]
        self.schema = pa.schema([operator.schema.field(name) for name in shown or plan.node.columns[:1]])
        self.leaves: list[SourceRows] = []
        self._taken: list[Batch] = []

    def take(self, batch: Batch) -> None:
        """Rows wait until it is settled that they came."""
        self._taken.append(batch)

    def revoke(self) -> None:
        """They never came."""
        self._taken.clear()

    @property
    def bound(self) -> int:
        """No row of an earlier instant will come; where that is asked for no row of the streams either."""
        if all(source.finished for source in self.sources):
            return FINISHED
        known = [self._operator.born]
        if self.in_full:
            known += [FINISHED if source.finished else self._arrivals.place if source.attribute is None
                      else source.guard.bounds.linear for source in self.streams]
        return min(known)

    def settle(self, reached: int) -> None:
        """Rows go to the leaves, where they wait for their instants; those born below what was ``reached`` are late."""
        taken, self._taken = self._taken, []
        for batch in taken:
            assert batch.lineage is not None
            rows, lineage = batch.table.select(self.schema.names).combine_chunks(), batch.lineage
            if not len(lineage.arrivals):  # it comes from no single row
                place = self._arrivals.mark + max(source.after for source in self.streams)
                places = np.full(rows.num_rows, place, np.int64)
                lineage = replace(lineage, arrivals=np.stack([places, batch.arrivals]))
            behind = np.maximum(lineage.behind, reached)
            late = behind > lineage.born
            if late.any():
                for leaf in self.leaves:
                    if leaf.takes_late:
                        old = lineage.at(late)
                        leaf.arrive_late(gather(rows, np.flatnonzero(late)), behind[late], old.born, *old.arrivals)
                rows, lineage = gather(rows, np.flatnonzero(~late)), lineage.at(~late)
            for leaf in self.leaves:
                leaf.arrive(rows, lineage.born, lineage.born, *lineage.arrivals)


class MadeRows(SourceRows):
    """The rows of a port as an append-only relation; a lifetime counts from the first row of their streams."""

    def __init__(self, port: MadePort, uids: Uids, *, ticking: bool, takes_late: bool) -> None:
        self._streams: Sequence[StreamInput] = port.streams if port.in_full else []
        super().__init__(port.schema, uids, ticking=ticking, takes_late=takes_late)
        port.leaves.append(self)

    @property
    def first(self) -> int | None:
        """The earliest instant of any row of the streams, or of these rows where no lifetime counts."""
        found = [source.first for source in self._streams if source.first is not None]
        return min(found, default=None) if self._streams else self._first

    @first.setter
    def first(self, at: int | None) -> None:
        """The streams know."""
        self._first = at


Port = StreamPort | MadePort


class Ports:
    """The inputs of one relation, as its plan names them."""

    def __init__(self, ports: Sequence[Port]) -> None:
        self.all = list(ports)
        self._streams = {(port.name, port.guard): port for port in reversed(self.all) if isinstance(port, StreamPort)}
        self._made: dict[Node, MadePort] = {port.node: port for port in self.all if isinstance(port, MadePort)}

    def of(self, node: Named, guard: str | None) -> StreamPort:
        """The port of a stream or table with this guard."""
        return self._streams[node.name, guard]

    def inside(self, node: Node) -> MadePort:
        """The port of an operator of streams."""
        return self._made[node]
