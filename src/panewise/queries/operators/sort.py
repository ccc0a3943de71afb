"""Sort with bounded disorder (BSort): order is restored by waiting, for rows, for time, or for punctuation (Li 3.9)."""

from __future__ import annotations

import numpy as np

from panewise.core.errors import PlanError
from panewise.progress.generators import Generator, SourceSupplied
from panewise.progress.lateness import RowsLate, TimeLate
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.watermarks import FINISHED, NO_BOUND
from panewise.queries.operators.base import Item, Operator
from panewise.queries.operators.held import HeldRows


class Sort(Operator):
    """Rows leave in order of an attribute, and after them the promise that order makes.

    ``rows=n`` says that a row is overtaken by at most n others, ``slack=d`` that it comes at most d below the largest
    value seen; with neither only punctuation frees rows. Rows that come after their turn has passed are dropped and
    counted in ``late``: that is the price of order, and why the out-of-order operators do without.

    A promise passes when the rows it speaks of have left.
    """

    def __init__(self, attribute: str, *, rows: int | None = None, slack: int | None = None) -> None:
        if rows is not None and slack is not None:
            raise PlanError("slack is in rows or in time, not both")
        self.attribute = attribute
        self.generator: Generator = SourceSupplied()
        if rows is not None:
            self.generator = RowsLate(rows)
        elif slack is not None:
            self.generator = TimeLate(slack)
        self.held = HeldRows(attribute)
        self.reached = NO_BOUND
        """Rows below this have left."""
        self.late = 0

    def take(self, item: Item) -> list[Item]:
        """Hold rows, and let go what the slack or a promise sets free."""
        if isinstance(item, Punctuation):
            return self._promised(item)
        values = self.held.ordinals(item)
        seen = self.generator.observe(values)
        keep = values >= np.maximum(seen.before, self.reached)
        self.late += int(np.count_nonzero(~keep))
        self.held.add(item.filter(keep), values[keep])
        return self._free(seen.after)

    def _promised(self, punctuation: Punctuation) -> list[Item]:
        if punctuation.covers_everything or punctuation.is_linear(self.attribute):
            bound = punctuation.closes_below(self.attribute)
            assert bound is not None
            return self._free(bound)
        self.held.promise(punctuation)
        return [*self.held.ready()]

    def _free(self, bound: int) -> list[Item]:
        """Rows below a bound, the promise that they have all left, and the promises that waited for them."""
        if bound <= self.reached:
            return []
        self.reached = bound
        freed = self.held.release(below=bound)
        items: list[Item] = [] if freed is None else [freed]
        items.append(END if bound == FINISHED else Punctuation.below(self.attribute, bound))
        return [*items, *self.held.ready()]
