"""Results of internal windows beside external ones: they stay as long as the rows of the external ones (Golab 3.3.2).

Operators work as if all windows were external; a hidden column says until when the external rows of each result are
there, and only at the top that becomes the result's end.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from panewise.kernels.relations.delta import FOREVER, Delta, Lives, ticks_of
from panewise.kernels.relations.operator import RelationOperator

STAYS, THEIRS = "<stays>", "<theirs stay>"


class NoteEnds(RelationOperator):
    """Adds the hidden column: the row's own end, or none for rows of an internal window."""

    def __init__(self, schema: pa.Schema, *, internal: bool) -> None:
        self.schema, self._internal = schema.append(pa.field(STAYS, pa.int64())), internal

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """One more column."""
        (delta,) = inputs
        lives = delta.lives
        stays = np.full(len(lives), FOREVER, np.int64) if self._internal else lives.expires
        return Delta(lives.with_table(lives.table.append_column(STAYS, pa.array(stays))), delta.ends, delta.ticks)


class FirstToGo(RelationOperator):
    """Both hidden columns of a pair as one."""

    def __init__(self, schema: pa.Schema) -> None:
        names = [name for name in schema.names if name not in {STAYS, THEIRS}]
        self.schema = pa.schema([schema.field(name) for name in [*names, STAYS]])

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """The earlier end."""
        (delta,) = inputs
        table = delta.lives.table
        stays = np.minimum(table.column(STAYS).to_numpy(), table.column(THEIRS).to_numpy())
        kept = table.select(self.schema.names[:-1]).append_column(STAYS, pa.array(stays))
        return Delta(delta.lives.with_table(kept), delta.ends, delta.ticks)


class StayOn(RelationOperator):
    """Results with the ends of their external rows."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = pa.schema([field for field in schema if field.name != STAYS])

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """The hidden column becomes the end."""
        (delta,) = inputs
        lives = delta.lives
        stays = np.array(lives.table.column(STAYS).to_numpy(), np.int64)
        out = Lives(lives.table.select(self.schema.names), lives.uid, lives.born, stays, lives.age)
        return Delta(out, ticks=ticks_of(delta.ticks))
