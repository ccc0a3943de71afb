"""Rows that wait for their instant: runs as they came, of which only what is released gets sorted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.columns import int_columns
from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.edges.delta import Delta, Lives, Uids, integers
from panewise.kernels.relations.edges.operator import RelationOperator, Saved
from panewise.kernels.relations.edges.runs import LivesRun, StreamRun, WaitingRun, joined
from panewise.kernels.relations.stores.arena import Arena

MANY_RUNS = 32


class Waiting:
    """Lives that begin when a bound passes their instant."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._runs: list[WaitingRun] = []

    def __len__(self) -> int:
        return sum(len(run.due) for run in self._runs)

    def add(self, due: Ordinals, lives: Lives) -> None:
        """Rows, and when each may go."""
        self.add_run(LivesRun(due, lives))

    def add_run(self, run: WaitingRun) -> None:
        """Rows that came together."""
        if len(run.due):
            self._runs.append(run)
        if len(self._runs) > MANY_RUNS:
            self._runs = [LivesRun(*joined(self._runs))]

    def due_below(self, upto: int) -> Ordinals:
        """The instants of all rows that a bound would set free."""
        found = [run.due[run.due < upto] for run in self._runs]
        return np.concatenate(found) if found else integers()

    def release(self, upto: int) -> Lives:
        """The rows whose instant is below the bound, by instant, ties by age."""
        freed: list[WaitingRun] = []
        kept: list[WaitingRun] = []
        for run in self._runs:
            ready = run.due < upto
            if ready.all():
                freed.append(run)
            elif not ready.any():
                kept.append(run)
            else:
                now, later = run.parted(ready)
                freed.append(now)
                kept.append(later)
        self._runs = kept
        if not freed:
            return Lives.none(self.schema)
        due, lives = joined(freed)
        return lives.ordered(due)

    @property
    def nbytes(self) -> int:
        """Bytes kept."""
        return sum(run.nbytes for run in self._runs)

    def saved(self) -> dict[str, pa.Table]:
        """All rows as tables."""
        lives = Lives.concat([Lives.none(self.schema), *(run.lives for run in self._runs)])
        arena = Arena(self.schema)
        arena.append(lives)
        due = np.concatenate([integers(), *(run.due for run in self._runs)])
        return arena.saved() | {"due": pa.table({"due": due, "time": lives.times})}

    def load(self, tables: Mapping[str, pa.Table]) -> None:
        """Become what ``saved`` gave."""
        arena = Arena(self.schema)
        arena.load(tables)
        self._runs = []
        due, times = int_columns(tables["due"])
        lives = arena.lives(np.arange(len(arena)))
        self.add(due, lives if (times == lives.born).all() else replace(lives, own_times=times))


class SourceRows(RelationOperator):
    """A stream as an append-only relation: a row is there from its own instant on, for ever.

    One that ``takes_late`` rows lets them in at the bound that they came behind.
    """

    def __init__(self, schema: pa.Schema, uids: Uids, *, ticking: bool = False, by_arrival: bool = False,
                 takes_late: bool = False) -> None:
        self.schema, self._uids, self._ticking, self._by_arrival = schema, uids, ticking, by_arrival
        self.takes_late = takes_late
        self.waiting = Waiting(schema)
        self.first: int | None = None
        """The earliest instant at which any row so far was in."""

    def receive(self, table: pa.Table, due: Ordinals, times: Ordinals, arrivals: Ordinals,
                signs: Ordinals | None) -> None:
        """Rows as they enter the plan, with all columns of their input; ``signs`` say which delete, in a table."""
        del signs
        self.arrive(table.select(self.schema.names), due, times, arrivals)

    def arrive(self, table: pa.Table, due: Ordinals, times: Ordinals, *arrivals: Ordinals) -> None:
        """Rows that are not late; ``due`` is the bound that completes each, ``times`` its own instant."""
        self.waiting.add_run(StreamRun(table, arrivals[0] if self._by_arrival else due, times, arrivals))

    def arrive_late(self, table: pa.Table, bounds: Ordinals, times: Ordinals, *arrivals: Ordinals) -> None:
        """Rows that came behind a bound, with their own times."""
        self.waiting.add_run(StreamRun(table.select(self.schema.names), bounds, np.maximum(bounds, times), arrivals,
                                       times))

    def note(self, instant: int) -> None:
        """A row is in at an instant, or would be if late rows were taken in here."""
        self.first = instant if self.first is None else min(self.first, instant)

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """What the bound set free."""
        lives = self.waiting.release(upto)
        if len(lives):
            self.note(int(lives.born[0] if lives.aged else lives.born.min()))
        lives = lives.numbered(self._uids)
        return Delta(lives, ticks=np.unique(lives.born) if self._ticking else None)

    def snapshot(self) -> Saved:
        """The rows that wait."""
        return {}, self.waiting.saved()

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        self.waiting.load(tables)

    def counters(self) -> dict[str, int]:
        """Rows that wait for a bound."""
        return {"waiting": len(self.waiting), "bytes": self.waiting.nbytes}
