"""Joins that put their results out in order, kept to measure OA-Join against (Li 7.3, 8).

Order has to be paid for somewhere: *output buffered* (OPOB) joins at once and holds results until no smaller one can
come; *input buffered* (OPIB) holds left rows until every partner has come, so that results come out in order; *merged*
holds the rows of both inputs until they can be taken in one global order. All of them give OA-Join's results, later.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import pyarrow as pa

from panewise.core.errors import PlanError
from panewise.core.join_kinds import LEFT, RIGHT, JoinKind
from panewise.core.ordinals import Ordinals, to_ordinals
from panewise.kernels.joins.oa_join import OAJoin
from panewise.kernels.joins.progress import JoinProgress
from panewise.kernels.joins.sides import JoinSpec
from panewise.progress.bounds import BoundTable
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.watermarks import FINISHED, NO_BOUND


class HeldRows:
    """Rows that wait for their turn, by a time."""

    def __init__(self) -> None:
        self._parts: list[tuple[pa.Table, Ordinals]] = []

    def add(self, table: pa.Table, times: Ordinals) -> None:
        """More rows; each part is sorted once, so that what leaves is its beginning."""
        if table.num_rows:
            order = np.argsort(times, kind="stable")
            self._parts.append((table.take(pa.array(order)).combine_chunks(), times[order]))

    def release(self, below: int) -> tuple[pa.Table, Ordinals] | None:
        """The rows below a bound, in order; equal times as they came."""
        leaving, staying = [], []
        for table, times in self._parts:
            free = int(np.searchsorted(times, below))
            if free:
                leaving.append((table.slice(0, free), times[:free]))
            if free < len(times):
                staying.append((table.slice(free), times[free:]) if free else (table, times))
        if not leaving:
            return None
        self._parts = staying
        times = np.concatenate([t for _, t in leaving])
        order = np.argsort(times, kind="stable")
        table = pa.concat_tables([t for t, _ in leaving]).combine_chunks()
        return table.take(pa.array(order)), times[order]

    @property
    def rows(self) -> int:
        """How many wait."""
        return sum(table.num_rows for table, _ in self._parts)

    @property
    def size(self) -> int:
        """Their bytes; times are counted as a column, where they usually are."""
        return sum(table.nbytes for table, _ in self._parts)


class OrderedJoin(ABC):
    """A join whose results leave in the order of the left time (of the later time, where inputs are merged)."""

    def __init__(self, spec: JoinSpec) -> None:
        if spec.kind is not JoinKind.INNER:
            raise PlanError(f"the in-order joins are inner joins, not {spec.kind.value}: use OAJoin")
        self.spec = spec
        self.join = OAJoin(spec)
        self.progress = JoinProgress(spec.pairing, (spec.left.time, spec.right.time))
        self._sent = BoundTable(spec.left.time)
        self.nothing = self.join.nothing

    @abstractmethod
    def process(self, side: int, table: pa.Table, times: Ordinals) -> pa.Table:
        """Rows of one side; results that may leave."""

    def advance(self, side: int, punctuation: Punctuation) -> tuple[pa.Table, list[Punctuation]]:
        """A promise about one input; results that may leave now."""
        if not self.progress.punctuate(side, punctuation):
            return self.nothing, []
        results = self._advanced(side)
        if not self._sent.advance_to(bound := self._reached()):
            return results, []
        return results, [END if bound == FINISHED else Punctuation.below(self.spec.left.time, bound)]

    def _reached(self) -> int:
        """The left time below which every result has left: order is on it, so it is all there is to promise."""
        return self.progress.individual(LEFT)

    @abstractmethod
    def _advanced(self, side: int) -> pa.Table:
        """The bound of a side has moved."""

    @property
    @abstractmethod
    def held(self) -> int:
        """Rows or results that wait for order."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The bytes of everything that is kept."""

    def _pass_on(self, side: int, bound: int) -> None:
        """Tell the join inside how far a side has been given to it."""
        if bound != NO_BOUND:
            self.join.advance(side, END if bound == FINISHED else
                              Punctuation.below(self.spec.sides[side].time, bound))


class OutputBufferedJoin(OrderedJoin):
    """OPOB: joins on the fly, sorts results."""

    def __init__(self, spec: JoinSpec) -> None:
        super().__init__(spec)
        self._waiting = HeldRows()

    def process(self, side: int, table: pa.Table, times: Ordinals) -> pa.Table:
        """Results wait."""
        results = self.join.process(side, table, times)
        if results.num_rows:
            name = self.spec.left.time
            self._waiting.add(results, to_ordinals(results.column(name), name))
        return self.nothing

    def _advanced(self, side: int) -> pa.Table:
        self._pass_on(side, self.progress.bounds[side].linear)
        freed = self._waiting.release(self.progress.individual(LEFT))
        return self.nothing if freed is None else freed[0]

    @property
    def held(self) -> int:
        """Results that wait."""
        return self._waiting.rows

    @property
    def size(self) -> int:
        """Stored rows and results."""
        return self.join.size + self._waiting.size


class InputBufferedJoin(OrderedJoin):
    """OPIB: left rows wait until all their partners have come."""

    def __init__(self, spec: JoinSpec) -> None:
        super().__init__(spec)
        self._waiting = HeldRows()

    def process(self, side: int, table: pa.Table, times: Ordinals) -> pa.Table:
        """Right rows are stored, left rows wait."""
        if side == RIGHT:
            return self.join.process(RIGHT, table, times)
        self._waiting.add(table.select(self.spec.left.schema.names), times)
        return self.nothing

    def _advanced(self, side: int) -> pa.Table:
        if side == RIGHT:
            self._pass_on(RIGHT, self.progress.bounds[RIGHT].linear)
        complete = self.progress.individual(LEFT)
        freed = self._waiting.release(complete)
        results = self.nothing if freed is None else self.join.process(LEFT, *freed)
        self._pass_on(LEFT, complete)
        return results

    @property
    def held(self) -> int:
        """Left rows that wait."""
        return self._waiting.rows

    @property
    def size(self) -> int:
        """Stored right rows and waiting left rows."""
        return self.join.size + self._waiting.size


class MergedJoin(OrderedJoin):
    """Both inputs wait until they can be taken in one order of time; the join then needs only one window of rows."""

    def __init__(self, spec: JoinSpec) -> None:
        super().__init__(spec)
        self._waiting = (HeldRows(), HeldRows())

    def process(self, side: int, table: pa.Table, times: Ordinals) -> pa.Table:
        """Rows wait."""
        self._waiting[side].add(table.select(self.spec.sides[side].schema.names), times)
        return self.nothing

    def _advanced(self, side: int) -> pa.Table:
        del side
        complete = min(table.linear for table in self.progress.bounds)
        results = [self.nothing]
        for side, waiting in enumerate(self._waiting):
            freed = waiting.release(complete)
            if freed is not None:
                results.append(self.join.process(side, *freed))
        for side in (LEFT, RIGHT):
            self._pass_on(side, complete)
        found = pa.concat_tables(results).combine_chunks()
        later = np.maximum(*(to_ordinals(found.column(side.time), side.time) for side in self.spec.sides))
        return found.take(pa.array(np.argsort(later, kind="stable")))

    def _reached(self) -> int:
        complete = min(table.linear for table in self.progress.bounds)
        return min(complete, self.spec.pairing.still_needed(LEFT, complete))

    @property
    def held(self) -> int:
        """Rows of both inputs that wait."""
        return sum(waiting.rows for waiting in self._waiting)

    @property
    def size(self) -> int:
        """Stored and waiting rows."""
        return self.join.size + sum(waiting.size for waiting in self._waiting)
