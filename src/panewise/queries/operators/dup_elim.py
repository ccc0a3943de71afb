"""DupElim: the first row of every key passes, later ones do not (Li 8, table of operators)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.errors import PlanError
from panewise.core.ordinals import to_ordinals
from panewise.kernels.grouping import group_codes
from panewise.kernels.state_file import table_bytes, table_from_bytes
from panewise.progress.patterns import Mask
from panewise.progress.punctuation import Punctuation
from panewise.queries.chunks import Chunk
from panewise.queries.operators.base import Passing


class DupElim(Passing):
    """Keeps the keys it has seen, as columns, until a promise says that they cannot come again.

    A promise about key columns alone rules its keys out, so they are forgotten: with the windowing attribute among the
    keys the state is as small as the disorder. A promise about other columns says nothing of a whole key and only
    passes. Fewer rows keep every promise, so all of them pass.
    """

    def __init__(self, keys: Sequence[str], ordering: str | None = None) -> None:
        if not keys:
            raise PlanError("DupElim needs the columns that make two rows equal")
        self.keys, self.ordering = list(keys), ordering
        self.seen: pa.Table | None = None
        """One row per key that passed and may come again; None before the first row."""

    @property
    def state_rows(self) -> int:
        """How many keys are kept."""
        return 0 if self.seen is None else self.seen.num_rows

    def process(self, chunk: Chunk) -> Chunk:
        """The rows whose key was never seen, each key once."""
        keys = chunk.table.select(self.keys)
        known = self.state_rows
        both = keys if self.seen is None else pa.concat_tables([self.seen, keys], promote_options="permissive")
        if not both.num_rows:
            return chunk
        _, first = group_codes(both.columns)
        fresh = np.zeros(both.num_rows, np.bool_)
        fresh[first] = True
        self.seen = both.filter(pa.array(fresh)).combine_chunks()
        return chunk.filter(fresh[known:])

    def advance(self, punctuation: Punctuation) -> list[Punctuation]:
        """Keys it rules out are forgotten; it passes."""
        if self.seen is not None and punctuation.attributes <= set(self.keys):
            gone = self._covered(punctuation)
            if gone.any():
                self.seen = self.seen.filter(pa.array(~gone)).combine_chunks()
        return [punctuation]

    def _covered(self, punctuation: Punctuation) -> Mask:
        assert self.seen is not None
        covered = np.ones(self.seen.num_rows, np.bool_)
        for name, pattern in punctuation.patterns:
            column = self.seen.column(name)
            if name == self.ordering and not pa.types.is_integer(column.type):
                column = pa.array(to_ordinals(column, name))
            covered &= pattern.mask(column)
        return covered

    def snapshot(self) -> dict[str, Any]:
        """The keys as Arrow in hexadecimal text."""
        return {"seen": None if self.seen is None else table_bytes(self.seen).hex()}

    def restore(self, state: dict[str, Any]) -> None:
        """Become what ``snapshot`` saved."""
        self.seen = None if state["seen"] is None else table_from_bytes(bytes.fromhex(state["seen"]))
