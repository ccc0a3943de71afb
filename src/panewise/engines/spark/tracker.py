"""Progress at the source: which bound is in force for each row, in arrival order.

The tracker joins what the source says in line (punctuation, for all rows or for groups) with what a policy derives from
the rows. Its state is JSON and travels in the offsets of a streaming query, so a replay stamps the same bounds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import OrdinalKind, Ordinals, to_ordinals
from panewise.engines.spark.wire import END_TEXT
from panewise.progress.bounds import BoundTable
from panewise.progress.generators import SourceSupplied
from panewise.progress.policy import parse_progress
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import FINISHED, NO_BOUND


class Tracker:
    """The bounds of one stream while it is read.

    >>> tracker = Tracker("ts", OrdinalKind.INTEGER, "late:10", {"ts": pa.int64()})
    >>> tracker.stamp(pa.table({"ts": [100, 95, 120]})).tolist()[1:], tracker.news()
    ([90, 90], ['{"ts": 110}'])
    """

    def __init__(self, attribute: str, kind: OrdinalKind, policy: str, types: Mapping[str, pa.DataType]) -> None:
        self.attribute, self.kind = attribute, kind
        self.table = BoundTable(attribute)
        self.generator = parse_progress(policy, kind, types)
        self.reads_rows = not isinstance(self.generator, SourceSupplied)
        self._said = NO_BOUND

    @property
    def columns(self) -> list[str]:
        """The columns needed to follow progress without stamping rows."""
        return list(dict.fromkeys([self.attribute, *self.generator.columns])) if self.reads_rows else []

    @property
    def bound(self) -> int:
        """What is promised for all rows, in line or derived."""
        return max(self.table.linear, self.generator.bound) if self.reads_rows else self.table.linear

    def observe(self, rows: pa.Table) -> Ordinals:
        """Rows passed by; the derived bounds in force before each."""
        extra = {c: rows.column(c) for c in self.generator.columns}
        values = to_ordinals(rows.column(self.attribute), self.attribute)
        return self.generator.observe(values, extra).before

    def stamp(self, rows: pa.Table) -> Ordinals:
        """Rows passed by; the bound in force before each, in line or derived."""
        promised = self.table.bounds_for({n: rows.column(n) for n in rows.column_names}, rows.num_rows)
        return np.maximum(promised, self.observe(rows)) if self.reads_rows else promised

    def punctuate(self, punctuation: Punctuation) -> None:
        """A punctuation passed by."""
        self.table.advance(punctuation)

    def news(self) -> list[str]:
        """What the policy has derived since the last call, as punctuation on the wire."""
        bound = self.generator.bound
        if not self.reads_rows or bound <= self._said:
            return []
        self._said = bound
        if bound == FINISHED:
            return [END_TEXT]
        return [self.text(Punctuation.below(self.attribute, bound))]

    def text(self, punctuation: Punctuation) -> str:
        """A punctuation on the wire."""
        return json.dumps(punctuation.to_json(self.attribute, self.kind))

    def snapshot(self) -> dict[str, Any]:
        """The state as data that JSON can hold."""
        return {"table": self.table.snapshot(), "generator": self.generator.snapshot()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Become what ``snapshot`` saved."""
        self.table.restore(state["table"])
        self.generator.restore(state["generator"])
        self._said = NO_BOUND
