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

from panewise.core.ordinals import Ordinals, to_ordinals
from panewise.core.scalar import Scalar
from panewise.functions import truth
from panewise.kernels.relations.delta import FOREVER, NO_ENDS, Delta, Ends, Lives, Uids, integers, ticks_of
from panewise.kernels.relations.operator import RelationOperator, Saved
from panewise.kernels.relations.refresh import RefreshClock
from panewise.kernels.relations.stores.arena import Growing
from panewise.kernels.relations.waiting import Waiting
from panewise.windows.base import WindowSpec
from panewise.windows.predicate import PredicateWindow
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
        self.spec = spec
        while isinstance(self.spec, PredicateWindow):
            self.spec = self.spec.spec
        self._uids, self._ticking = uids, ticking
        self._waiting = Waiting(schema)
        self._ends_to_come = Pending()
        self._negatives = Negatives() if negative else None
        self._clock = None if clock is None else (clock, clock.window(self.spec))

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Rows that enter below the bound."""
        (delta,) = inputs
        lives = delta.lives
        if self.predicate is not None and len(lives):
            lives = lives.filter(truth(self.predicate, lives.table))
        if lives.own_times is not None:
            lives = self._still_taken(lives)
        out = self._entered(lives, upto)
        if self._clock is not None:
            clock, number = self._clock
            clock.note(number, out.born, out.expires)
        ticks = self._ticks(lives.born, out, upto) if self._ticking else None
        if self._negatives is not None:
            out, ends = self._negatives.hide(out, upto)
            return Delta(out, ends, ticks)
        return Delta(out, NO_ENDS, ticks)

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
        bounds, places = np.unique(lives.born, return_inverse=True)  # few are in force in one step
        frozen = np.array([self.spec.is_frozen(bound) for bound in bounds.tolist()], np.bool_)[places]
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
        return {}, tables | (self._negatives.saved() if self._negatives is not None else {})

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        self._waiting.load(tables)
        self._ends_to_come = Pending(np.array(tables["pending"].column("at").to_numpy(), np.int64))
        if self._negatives is not None:
            self._negatives.load(tables)

    def counters(self) -> dict[str, int]:
        """Rows that have not entered yet."""
        kept = len(self._negatives) if self._negatives is not None else 0
        return {"rows": len(self._waiting) + kept, "bytes": self._waiting.nbytes + 16 * kept}


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


class Negatives:
    """A negative tuple for every expiry: the base window of the negative-tuple approach."""

    def __init__(self) -> None:
        self._uid, self._at = Growing(), Growing()

    def __len__(self) -> int:
        return self._uid.count

    def hide(self, lives: Lives, upto: int) -> tuple[Lives, Ends]:
        """Rows whose end nobody is told yet, and the ends that are due."""
        at = self._at.values
        due = at < upto
        ends = Ends(self._uid.values[due], at[due])
        later = (lives.expires >= upto) & (lives.expires != FOREVER)
        self._uid, self._at = Growing(self._uid.values[~due]), Growing(at[~due])
        self._uid.append(lives.uid[later])
        self._at.append(lives.expires[later])
        hidden = np.where(lives.expires < upto, lives.expires, FOREVER)
        return Lives(lives.table, lives.uid, lives.born, hidden, lives.age), ends

    def saved(self) -> dict[str, pa.Table]:
        """As a table."""
        return {"negatives": pa.table({"uid": self._uid.values, "at": self._at.values})}

    def load(self, tables: Mapping[str, pa.Table]) -> None:
        """Become what ``saved`` gave."""
        table = tables["negatives"]
        self._uid, self._at = (Growing(np.array(table.column(n).to_numpy(), np.int64)) for n in ("uid", "at"))
