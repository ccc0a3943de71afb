"""A window over time as a relation: every row of a stream gets the instants at which the window shows it.

Enter and expiry follow from the row alone, by the closed form of every kind (Patroumpas and Sellis 3.2, papers rule
U1); a row that enters later than it came waits. So the output is WKS or MON, and nothing of the window is kept. A
late row enters at the bound that it came behind, in a window that moves in steps at the refresh after it, and leaves
with the rows of its own time: before rows that came earlier (`Fifo` takes it in its place).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.arrays import of_each
from panewise.core.columns import int_columns
from panewise.core.ordinals import Ordinals, to_ordinals
from panewise.core.scalar import Scalar
from panewise.functions import truth
from panewise.kernels.relations.edges.announced import AnnouncedEnds
from panewise.kernels.relations.edges.delta import FOREVER, Delta, Lives, Uids, integers, ticks_of
from panewise.kernels.relations.edges.failing import rows_born
from panewise.kernels.relations.edges.operator import RelationOperator, Saved, beneath, under
from panewise.kernels.relations.edges.refresh import RefreshClock
from panewise.kernels.relations.edges.waiting import Waiting
from panewise.windows.base import WindowSpec
from panewise.windows.refreshing import moves_in_steps, refreshes_at_or_after


class TimeWindow(RelationOperator):
    """Rows while they are in the scope of the window.

    With ``negative`` nothing is said of a row's end when it enters; an end follows for each (negative tuples, Golab
    2.3.3).
    """

    def __init__(self, schema: pa.Schema, spec: WindowSpec, attribute: str, uids: Uids, *,
                 predicate: Scalar | None = None, ticking: bool = False, negative: bool = False,
                 clock: RefreshClock | None = None) -> None:
        self.schema, self.attribute, self.predicate = schema, attribute, predicate
        self.spec = spec.plain
        self._uids, self._ticking = uids, ticking
        self._waiting = Waiting(schema)
        self._ends_to_come = Pending()
        self._negatives = AnnouncedEnds(schema) if negative else None
        self._clock = None if clock is None else (clock, clock.window(self.spec))

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Rows that enter below the bound."""
        (delta,) = inputs
        lives = delta.lives
        if self.predicate is not None and len(lives):
            with rows_born(lives.born, lives.age):
                lives = lives.filter(truth(self.predicate, lives.table))
        if lives.own_times is not None:
            lives = self._still_taken(lives)
        out = self._entered(lives, upto)
        if self._clock is not None:
            clock, number = self._clock
            clock.note(number, out.born, out.expires)
        ticks = self._ticks(lives.born, out, upto) if self._ticking else None
        told = Delta(out, ticks=ticks)
        return told if self._negatives is None else self._negatives.step([told], upto)

    def _entered(self, lives: Lives, upto: int) -> Lives:
        """Rows that enter below the bound, with numbers that ascend."""
        enter, expires = self.lifetimes(lives)
        at_once = enter is lives.born  # as most windows have it: what is known of the rows' order holds
        entering = Lives(lives.table, lives.uid, enter, expires, lives.age, aged=lives.aged and at_once)
        entering = entering.filter(enter < expires)
        if not len(self._waiting) and entering.born_before(upto):
            entering = entering.by_birth()
            return entering if entering.aged else entering.numbered(self._uids)
        self._waiting.add(entering.born, entering)
        return self._waiting.release(upto).numbered(self._uids)

    def _still_taken(self, lives: Lives) -> Lives:
        """Without late rows whose life is over, or whose window takes in nothing any more."""
        enter, expires = self.lifetimes(lives)
        frozen = of_each(self.spec.is_frozen, lives.born) > 0  # few instants are in force in one step
        return lives.filter(~(lives.late & ((enter >= expires) | frozen)))

    def lifetimes(self, lives: Lives) -> tuple[Ordinals, Ordinals]:
        """When each row enters and leaves; equal or less where it is never seen."""
        values = lives.times  # what is appended is born at its own time, unless it came late
        if self.attribute in self.schema.names and len(lives):
            values = to_ordinals(lives.table.column(self.attribute), self.attribute)
        enter, expires = self.spec.lifetime(values)
        if enter is lives.born:
            return enter, expires
        born = lives.born
        if lives.own_times is not None and moves_in_steps(self.spec):  # nothing changes between refreshes
            born = np.where(lives.late, refreshes_at_or_after(self.spec, born), born)
        return np.maximum(enter, born), expires

    def _ticks(self, times: Ordinals, out: Lives, upto: int) -> Ordinals | None:
        self._ends_to_come.add(out.expires[out.expires != FOREVER])
        return ticks_of(times, out.born, self._ends_to_come.due(upto))

    def snapshot(self) -> Saved:
        """The rows that wait, and what is to come."""
        tables = self._waiting.saved() | {"pending": pa.table({"at": self._ends_to_come.instants})}
        if self._negatives is None:
            return {}, tables
        header, kept = self._negatives.snapshot()
        return header, tables | under("to_send_", kept)

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        self._waiting.load(tables)
        self._ends_to_come = Pending(*int_columns(tables["pending"]))
        if self._negatives is not None:
            self._negatives.restore(header, beneath("to_send_", tables))

    def counters(self) -> dict[str, int]:
        """Rows that have not entered yet."""
        kept = {"rows": 0, "bytes": 0} if self._negatives is None else self._negatives.counters()
        return {"rows": len(self._waiting) + kept["rows"], "bytes": self._waiting.nbytes + kept["bytes"]}


class Pending:
    """Instants at which something will happen."""

    def __init__(self, instants: Ordinals | None = None) -> None:
        self.instants = integers() if instants is None else instants

    def add(self, instants: Ordinals) -> None:
        """Some more."""
        self.instants = np.union1d(self.instants, instants)

    def due(self, upto: int) -> Ordinals:
        """Those below the bound, which are forgotten."""
        cut = int(np.searchsorted(self.instants, upto))
        due, self.instants = self.instants[:cut], self.instants[cut:]
        return due
