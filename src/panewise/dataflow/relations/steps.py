"""How far a query goes at a time: nothing depends on it but time and memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from panewise.kernels.relations.edges.waiting import SourceRows

MOST_ROWS, FEWEST_ROWS = 1 << 15, 1 << 6
"""Longer steps are cut: rows that never live together should not meet."""
MANY_RESULTS = 1 << 16
"""So many results of a step fit in memory that is near; steps with many more are made shorter."""


class Steps:
    """Cuts what a bound sets free into steps, shorter ones where rows have many results."""

    def __init__(self) -> None:
        self.rows = MOST_ROWS
        self._going = 0
        """Rows of the step that is under way."""

    def upto(self, bound: int, leaves: Sequence[SourceRows], reached: int) -> Iterator[int]:
        """Where to stop on the way to a bound, which is the last."""
        self._going = sum(len(leaf.waiting) for leaf in leaves)
        if self._going > self.rows:
            due = np.concatenate([leaf.waiting.due_below(bound) for leaf in leaves])
            if (due[1:] < due[:-1]).any():
                due.sort(kind="stable")  # runs that are in order: they are only merged
            done, place = 0, self.rows
            while place < len(due):
                if reached < due[place] < bound:
                    reached, self._going, done = int(due[place]), place - done, place
                    yield reached
                place += self.rows  # which the step before may have changed
            self._going = len(due) - done
        yield bound

    def learn(self, results: int) -> None:
        """The step that was under way had so many results."""
        if results > 2 * MANY_RESULTS:
            self.rows = max(self._going * MANY_RESULTS // results, FEWEST_ROWS)
        elif results < MANY_RESULTS // 2:
            self.rows = min(2 * self.rows, MOST_ROWS)
