"""Every end as a negative tuple: operators above need no calendar for the rows of a strict one (Golab 3.5.2).

The rows are kept once, here, by their ends. Operators above receive each end and find the row by its number, instead of
each keeping a calendar of its own. That pays where most rows leave before their time anyway.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from panewise.kernels.relations.edges.delta import FOREVER, Delta, Ends, Lives
from panewise.kernels.relations.edges.operator import RelationOperator
from panewise.kernels.relations.stores.alive import AliveRows, KeepsAlive
from panewise.kernels.relations.stores.queues import Calendar

NOTHING = pa.schema([])


class AnnouncedEnds(KeepsAlive, RelationOperator):
    """The rows of its input, whose ends are sent when they come and not before."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._rows = AliveRows(NOTHING, Calendar())

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Ends that were sent, and those that have come."""
        (delta,) = inputs
        lives = delta.lives
        left = self._rows.leave(delta, upto)
        ends = Ends(self._rows.arena.uid[left.slots], left.at)
        stays = lives.expires >= upto
        self._rows.enter(lives.with_table(NOTHING.empty_table()).filter(stays), upto)
        self._rows.settle(delta.settled)
        self._rows.forget()
        hidden = Lives(lives.table, lives.uid, lives.born, np.where(stays, FOREVER, lives.expires), lives.age)
        return Delta(hidden, ends, delta.ticks, delta.settled)
