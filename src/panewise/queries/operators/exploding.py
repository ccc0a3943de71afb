"""``explode`` on the way of a stream's rows: a row for every element, at the place of its row."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pyarrow as pa

from panewise.core.generators import elements
from panewise.functions import evaluate
from panewise.plan.nodes import Explode
from panewise.progress.punctuation import Punctuation
from panewise.queries.chunks import Chunk
from panewise.queries.operators.base import Passing


class Exploding(Passing):
    """A row for every element, behind those columns of its row that something reads (all, where None)."""

    def __init__(self, node: Explode, read: Collection[str] | None = None) -> None:
        self.node, self.read = node, read

    def process(self, chunk: Chunk) -> Chunk:
        """Elements come as their row did, and follow each other in their order."""
        node, table = self.node, chunk.table
        made = elements(node.generator, evaluate([node.collection], table)[0], outer=node.outer)
        kept = [name for name in table.column_names if self.read is None or name in self.read]
        taken = replace(chunk, table=table.select(kept)).take(made.parents)
        shown = taken.table.columns if kept else []
        # dense numbers among the rows that came from one row of the stream, by whatever way
        first = np.flatnonzero(np.diff(taken.rows, prepend=-1))
        ranks = np.arange(len(taken.rows)) - np.repeat(first, np.diff(first, append=len(taken.rows)))
        return replace(taken, table=pa.Table.from_arrays([*shown, *made.named(node.names)], names=[*kept, *node.names]),
                       elements=ranks)

    def advance(self, punctuation: Punctuation) -> list[Punctuation]:
        """What is promised of rows holds of their elements."""
        return [punctuation]
