"""A step that keeps nothing: it maps rows, and says what a punctuation of its input promises of its output.

No order is kept or restored (Li 8): rows pass at once, progress travels as punctuation.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from panewise.dataflow.batch import Batch, rows_of
from panewise.dataflow.operators.base import Operator
from panewise.plan.nodes import Explode, Filter, Node
from panewise.plan.row_steps import mapped
from panewise.progress.punctuation import Punctuation


class RowStep(Operator):
    """A selection, a projection, an alias or a generator, of whose rows those columns go on that are ``read``."""

    def __init__(self, node: Node, schema: pa.Schema, read: Collection[str] | None = None) -> None:
        self.node, self.read = node, read
        self.schema = mapped(node, schema.empty_table(), read).table.schema
        self._names = None if isinstance(node, Filter | Explode) else \
            {name: column for column in schema.names for name in node.shown_as(column)}
        """Of columns that come out under other names, or not at all, what they are called below."""

    @property
    def name(self) -> str:
        """By what it does."""
        return type(self.node).__name__

    def take(self, port: int, batch: Batch) -> Batch:
        """Rows in, rows out; elements come as their row did, and follow each other in their order."""
        del port
        with rows_of(batch):
            made = mapped(self.node, batch.table, self.read)
        taken = batch.with_table(made.table, made.parents)
        if not isinstance(self.node, Explode):
            return taken
        # dense numbers among the rows that came from one row of the stream, by whatever way
        first = np.flatnonzero(np.diff(taken.rows, prepend=-1))
        ranks = np.arange(len(taken.rows)) - np.repeat(first, np.diff(first, append=len(taken.rows)))
        return replace(taken, elements=ranks)

    def advance(self, port: int, promise: Punctuation) -> Sequence[Punctuation]:
        """The same promise in the names of the output; nothing of columns that do not come out as they are."""
        del port
        return (promise,) if self._names is None else promise.translate(self._names)
