"""What an edge of a relational plan carries: rows born in one step, and rows born before it that end too early.

A *step* covers the instants from the bound before it (inclusive) to its own bound (exclusive); all of them are
complete. A row is in the relation at every instant ``born <= tau < expires`` (rule U1). ``expires`` below the bound is
exact; at or above it, it is what is known now: final on WKS and WK edges, on STR edges an end may still come earlier
(a negative tuple). Only rows of earlier steps have such ends.

An *expiry vector* (rule U2) is ``expires``, its time component, and one order component for every row of a count
window, or of another strict input, that a row comes from: it leaves when the first of them is reached. On edges that
carry vectors no end is sent for any row: the rows below that are gone are named once (``reached``), and an operator
that keeps rows finds what hangs on each in a catalogue of that component (`stores.catalogues`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.ages import NOBODY
from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.edges.ages_numba import SORTED, STRICT, UNSORTED, order_of, sort_ties
from panewise.windows.base import UNBOUNDED

FOREVER: int = int(UNBOUNDED)
"""The end of a row that never leaves, or whose end is not known beforehand."""

Mask = npt.NDArray[np.bool_]


def integers(count: int = 0) -> Ordinals:
    """Room for some."""
    return np.empty(count, np.int64)


@dataclass(frozen=True)
class Lives:
    """Rows with the instants at which they are there."""

    table: pa.Table
    """The columns of the rows, in one piece."""
    uid: Ordinals
    """Which row this is in the whole query; ascending, also from step to step."""
    born: Ordinals
    expires: Ordinals
    age: npt.NDArray[np.int64]
    """One column per row that sorts from oldest to youngest: its time, then the arrival of the rows it comes from,
    newest first (erratum P4), then its rows of tables; ``NOBODY`` where a row comes from fewer (`core.ages`)."""
    order: npt.NDArray[np.int64] | None = None
    """The order components of expiry vectors, one column per row: the numbers of rows that end it, 0 where it has fewer
    of them; None on edges that carry none."""
    own_times: Ordinals | None = field(default=None, kw_only=True)
    """On the way from a stream to its window: the time of each row where that is not its birth, as of late rows, which
    are born at the bound that they came behind. None where every row is born at its time."""
    aged: bool = field(default=False, kw_only=True)
    """Known to be in the order of birth, each row younger than the one before it, so that no check is needed."""

    def __len__(self) -> int:
        return len(self.uid)

    @classmethod
    def none(cls, schema: pa.Schema) -> Lives:
        """No rows."""
        return cls(schema.empty_table(), integers(), integers(), integers(), np.empty((1, 0), np.int64))

    def with_table(self, table: pa.Table) -> Lives:
        """The same rows showing other columns."""
        return replace(self, table=table)

    def ending(self, at: Ordinals) -> Lives:
        """The same rows with other ends."""
        return replace(self, expires=at)

    def take(self, places: Ordinals) -> Lives:
        """These rows in this order."""
        return self._of(gather(self.table, places), lambda part: part.take(places, axis=-1), aged=False)

    def slice(self, first: int, count: int) -> Lives:
        """Some rows that stand together, without a copy."""
        return self._of(self.table.slice(first, count), lambda part: part[..., first : first + count], aged=self.aged)

    def _of(self, table: pa.Table, part: Callable[[npt.NDArray[np.int64]], npt.NDArray[np.int64]], *,
            aged: bool) -> Lives:
        return Lives(table, part(self.uid), part(self.born), part(self.expires), part(self.age),
                     None if self.order is None else part(self.order),
                     own_times=None if self.own_times is None else part(self.own_times), aged=aged)

    def filter(self, keep: Mask) -> Lives:
        """Only these rows."""
        return self if keep.all() else replace(self.take(np.flatnonzero(keep)), aged=self.aged)

    def born_before(self, upto: int) -> bool:
        """Whether all of them are."""
        return bool(self.born[-1:].max(initial=upto - 1) < upto if self.aged else (self.born < upto).all())

    def numbered(self, uids: Uids) -> Lives:
        """The same rows with numbers of their own."""
        return replace(self, uid=uids.draw(len(self)))

    @staticmethod
    def concat(parts: Sequence[Lives]) -> Lives:
        """One after the other."""
        parts = [part for part in parts if len(part)] or list(parts[:1])
        if len(parts) == 1:
            return parts[0]
        table = pa.concat_tables([part.table for part in parts]).combine_chunks()
        uid, born, expires = (np.concatenate([getattr(part, name) for part in parts])
                              for name in ("uid", "born", "expires"))
        order = [part.order for part in parts if part.order is not None]
        assert len(order) in {0, len(parts)}, "rows without a vector beside rows with one"
        return Lives(table, uid, born, expires, stacked([part.age for part in parts]),
                     stacked(order, 0) if order else None, own_times=_own_times(parts))

    @property
    def times(self) -> Ordinals:
        """The time of each row of a stream: its birth, unless it came late."""
        return self.born if self.own_times is None else self.own_times

    @property
    def late(self) -> Mask:
        """Which rows of a stream came behind the bound at which they are born."""
        return np.zeros(len(self), np.bool_) if self.own_times is None else self.own_times < self.born

    def ordered(self, first: Ordinals) -> Lives:
        """In the order of some instants, ties by age."""
        if first is self.born:
            return self.by_birth()
        order = by_age(first, self.age)
        return self if order is None else self.take(order)

    def by_birth(self) -> Lives:
        """In the order of birth, ties by age."""
        if self.aged:
            return self
        found = order_of(self.born, self.age)
        if found < SORTED:
            return self.take(_sorted(self.born, self.age, found))
        return replace(self, aged=True) if found == STRICT else self

    def longest_first(self) -> Lives:
        """In the order of birth, ties by age; of rows that are as old as each other those first that stay longest.

        Rows are as old as each other when they come from the same rows: by two parts of a union.
        """
        lives = self.by_birth()
        if lives.aged:
            return lives
        tied = lives.born[1:] == lives.born[:-1]
        if not tied.any() or not (tied & (lives.age[:, 1:] == lives.age[:, :-1]).all(axis=0)).any():
            return lives
        return lives.take(np.lexsort((-lives.expires, *lives.age[::-1], lives.born)))

    def youngest_first(self) -> Lives:
        """Rows in the order of birth, those of one instant the other way round."""
        backwards = np.arange(len(self))[::-1]
        return self.take(backwards[np.argsort(self.born[backwards], kind="stable")])


@dataclass(frozen=True)
class Ends:
    """Rows of earlier steps that leave sooner than they said."""

    uid: Ordinals = field(default_factory=integers)
    at: Ordinals = field(default_factory=integers)
    """The first instant at which the row is gone."""

    def __len__(self) -> int:
        return len(self.uid)

    @staticmethod
    def concat(parts: Sequence[Ends]) -> Ends:
        """All of them."""
        parts = [part for part in parts if len(part)]
        if len(parts) <= 1:
            return parts[0] if parts else NO_ENDS
        return Ends(np.concatenate([p.uid for p in parts]), np.concatenate([p.at for p in parts]))


NO_ENDS = Ends()


@dataclass(frozen=True)
class Delta:
    """One step of one edge."""

    lives: Lives
    ends: Ends = NO_ENDS
    ticks: Ordinals | None = None
    """Every instant of the step at which anything below could change, ascending; only where it is asked for."""
    settled: Ordinals = field(default_factory=integers)
    """Rows, of this step or earlier ones, that stay for ever: an operator that keeps them only to report departures may
    drop them. Empty where the operator below does not know."""
    gone: Lives | None = None
    """All rows of earlier steps that leave in this one, with their ends; only where it is asked for, by an
    operator that then need not keep these rows."""
    reached: Ends = NO_ENDS
    """Order components that were reached: rows below, of earlier steps, that are gone, and what comes from them."""

    @property
    def shortens(self) -> bool:
        """Whether any row of an earlier step may leave sooner than it said."""
        return bool(len(self.ends) or len(self.reached))


class Uids:
    """Numbers for rows, given out once in a query: what is born later has a larger one."""

    def __init__(self) -> None:
        self.next = 1

    def draw(self, count: int) -> Ordinals:
        """The next ones."""
        drawn = np.arange(self.next, self.next + count)
        self.next += count
        return drawn


def gather(table: pa.Table, places: Ordinals) -> pa.Table:
    """Rows by place; all columns are in one piece before and after."""
    if not len(places) or not table.num_columns:
        return table.schema.empty_table()
    batches = table.to_batches()
    if len(batches) != 1:
        batches = table.combine_chunks().to_batches()
    return pa.Table.from_batches([batches[0].take(pa.array(places))])  # one call for all columns


def _own_times(parts: Sequence[Lives]) -> Ordinals | None:
    if all(part.own_times is None for part in parts):
        return None
    return np.concatenate([part.times for part in parts])


def stacked(ages: Sequence[npt.NDArray[np.int64]], nobody: int = NOBODY) -> npt.NDArray[np.int64]:
    """Ages, or vectors, of rows that come from different numbers of rows, side by side."""
    depth = max(len(age) for age in ages)
    padded = [age if len(age) == depth else
              np.concatenate([age, np.full((depth - len(age), age.shape[1]), nobody, np.int64)]) for age in ages]
    return np.concatenate(padded, axis=1)


def by_age(first: Ordinals, age: npt.NDArray[np.int64]) -> Ordinals | None:
    """The order by some instants, ties by age; None where rows are in that order already, as they mostly are."""
    if len(first) < 2:
        return None
    found = order_of(first, age)
    return None if found >= SORTED else _sorted(first, age, found)


def _sorted(first: Ordinals, age: npt.NDArray[np.int64], found: int) -> Ordinals:
    order: Ordinals = np.argsort(first, kind="stable") if found == UNSORTED else np.arange(len(first))
    sort_ties(first, age, order)
    return order


def ticks_of(*parts: Ordinals | None) -> Ordinals | None:
    """Instants of several inputs together; None where they are not asked for."""
    known = [part for part in parts if part is not None]
    return np.unique(np.concatenate(known)) if known else None

