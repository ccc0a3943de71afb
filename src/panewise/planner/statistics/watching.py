"""A running plan watched: statistics are collected period by period, and a re-plan is proposed when they drift.

What an engine holds while it runs an optimized plan: it reports batches and counters, and asks from time to time.
Figures of one period are compared with those the plan was chosen by, so a change is not averaged away by a long past.
"""

from __future__ import annotations

import pyarrow as pa

from panewise.planner.choose.optimizer import Optimized
from panewise.planner.statistics.collecting import Collector
from panewise.planner.statistics.relation_statistics import RelationStatistics
from panewise.planner.statistics.replan import MARGIN, Proposal, drifts, propose_replan

PERIOD = 100_000
"""Rows after which a period is long enough to judge by."""


class Watch(Collector):
    """Collects for one running plan.

    A plan that was chosen without statistics has nothing to drift from: its first period becomes what it is judged by.
    """

    def __init__(self, running: Optimized, *, period: int = PERIOD, margin: float = MARGIN) -> None:
        super().__init__(running.written)
        self.running, self.period, self.margin = running, period, margin
        self.known: RelationStatistics | None = running.statistics
        self._judged: tuple[RelationStatistics, Proposal | None] | None = None
        self._seen = 0

    def rows(self, stream: str, batch: pa.Table | pa.RecordBatch) -> None:
        """A batch as it arrived."""
        self._seen += batch.num_rows
        super().rows(stream, batch)

    @property
    def ready(self) -> bool:
        """Whether a period has passed."""
        return self._seen >= self.period

    def proposal(self) -> Proposal | None:
        """Another plan, if a period has passed and its figures ask for one; a new period begins then.

        Inputs that sent nothing in the period are taken to be as they were. Plans are compared once, and again when
        the figures have drifted from those they were compared by.
        """
        if not self.ready:
            return None
        now, self._seen = self.statistics(), 0
        self.begin()
        if self.known is None:
            self.known = now
            return None
        now = now.beside(self.known)
        if self._judged is None or drifts(self._judged[0], now):
            found = propose_replan(self.running.chosen.plan, self.known, now, style=self.running.style,
                                   margin=self.margin, written=self.running.written)
            self._judged = now, found
        return self._judged[1]
