"""LIFETIME: the query stops some time after its first row; what would happen later is not told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.kernels.relations.edges.delta import FOREVER, Delta, Ends
from panewise.kernels.relations.edges.operator import RelationOperator, Saved
from panewise.kernels.relations.edges.waiting import SourceRows


class StopAfter(RelationOperator):
    """Passes what happens before the end; ends that would come after it are not sent."""

    def __init__(self, schema: pa.Schema, amount: int, sources: Sequence[SourceRows]) -> None:
        self.schema, self._amount, self._sources = schema, amount, list(sources)

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """The instant of the first row is known when anything happens."""
        (delta,) = inputs
        firsts = [source.first for source in self._sources if source.first is not None]
        if not firsts:
            return delta
        stop = min(firsts) + self._amount
        lives = delta.lives.filter(delta.lives.born < stop)
        expires = np.where(lives.expires < stop, lives.expires, FOREVER)
        ends = delta.ends.at < stop
        ticks = None if delta.ticks is None else delta.ticks[delta.ticks < stop]
        return Delta(replace(lives, expires=expires),
                     Ends(delta.ends.uid[ends], delta.ends.at[ends]), ticks)

    def snapshot(self) -> Saved:
        """The first rows, which the sources know."""
        return {"first": [source.first for source in self._sources]}, {}

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        for source, first in zip(self._sources, header["first"], strict=True):
            source.first = first
