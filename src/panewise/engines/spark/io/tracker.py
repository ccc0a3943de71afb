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
from panewise.engines.spark.host.wire import END_TEXT, SILENT
from panewise.progress.bounds import BoundTable
from panewise.progress.clocks import clock_ordinal, clock_step, clocks_of
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
        self.follows_clock = next(clocks_of(self.generator), None) is not None
        self._said = NO_BOUND
        self._silent = False
        self._groups: list[tuple[dict[str, Any], int]] = []
        """What was said of substreams."""

    @property
    def step(self) -> int:
        """How often the clock is looked at, in microseconds."""
        return clock_step([self.generator], self.kind)

    def tick(self, now: int) -> bool:
        """The wall clock shows ``now`` (microseconds since the epoch); whether that says anything."""
        before = self.generator.snapshot()
        self.generator.tick(clock_ordinal(now, self.kind))
        return self.generator.snapshot() != before

    @property
    def columns(self) -> list[str]:
        """The columns needed to follow progress without stamping rows."""
        return list(dict.fromkeys([self.attribute, *self.generator.columns])) if self.reads_rows else []

    @property
    def bound(self) -> int:
        """What is promised for all rows, in line or derived."""
        return max(self.table.linear, self.generator.bound) if self.reads_rows else self.table.linear

    def observe(self, rows: pa.Table) -> Ordinals:
        """Rows passed by; the derived bounds in force before each, of the stream or of the row's own substream."""
        extra = {c: rows.column(c) for c in self.generator.columns}
        seen = self.generator.observe(to_ordinals(rows.column(self.attribute), self.attribute), extra)
        return seen.before if seen.own is None else np.maximum(seen.before, seen.own)

    def stamp(self, rows: pa.Table) -> Ordinals:
        """Rows passed by; the bound in force before each, in line or derived."""
        promised = self.table.bounds_for({n: rows.column(n) for n in rows.column_names}, rows.num_rows)
        return np.maximum(promised, self.observe(rows)) if self.reads_rows else promised

    def punctuate(self, punctuation: Punctuation) -> None:
        """A punctuation passed by; to a policy that waits for signs of life it is one."""
        self.table.advance(punctuation)
        if self.follows_clock:
            linear = punctuation.linear_bound(self.attribute)
            self.generator.supply(NO_BOUND if linear is None else linear)

    def news(self) -> list[str]:
        """What the policy has derived since the last call, as punctuation on the wire."""
        bound = self.generator.bound
        if not self.reads_rows or bound == FINISHED:
            found = [END_TEXT] if self.reads_rows and bound > self._said else []
        else:
            found = [self.text(Punctuation.below(self.attribute, bound))] if bound > self._said else []
            groups = [(group, own) for group, own in self.generator.group_bounds() if (group, own) not in self._groups]
            found += [self.text(Punctuation.below(self.attribute, own, **group)) for group, own in groups]
            self._groups += groups
        self._said = max(self._said, bound)
        return found

    def silence(self, position: int) -> list[str]:
        """Whether the source fell silent or woke up since the last call, on the wire; the last of several counts."""
        if self.generator.idle == self._silent:
            return []
        self._silent = self.generator.idle
        return [json.dumps({SILENT: self._silent, "position": position})]

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
        self._said, self._silent = NO_BOUND, self.generator.idle
        self._groups = self.generator.group_bounds()
