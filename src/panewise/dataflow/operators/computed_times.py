"""A projection that computes times: a time and a constant, or the greatest or the least of several.

What is promised about the times is promised about the computed columns, too.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa

from panewise.dataflow.batch import Batch
from panewise.dataflow.operators.base import Keeping
from panewise.dataflow.operators.row_step import RowStep
from panewise.kernels.contract.state_file import Saved
from panewise.plan.nodes import Node
from panewise.planner.facts.derived_times import Chosen, Moved
from panewise.progress.patterns import Below
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import NO_BOUND


class ComputedTimes(RowStep, Keeping):
    """Of the least of several times nothing is known before there is a bound on each of them: bounds are kept.

    Rows go on by a column that is ``ahead`` of the one that ordered them.
    """

    def __init__(self, node: Node, schema: pa.Schema, ahead: int, times: Sequence[tuple[str, Moved | Chosen]]) -> None:
        super().__init__(node, schema)
        self.ahead, self.times = ahead, list(times)
        self._bounds: dict[str, int] = {}
        """On columns of which the least is taken."""
        self._sent: dict[str, int] = {}

    @property
    def name(self) -> str:
        """By what it does."""
        return type(self).__name__

    def take(self, port: int, batch: Batch) -> Batch:
        """Rows in, rows out."""
        made = super().take(port, batch)
        return made.later(self.ahead) if self.ahead else made

    def advance(self, port: int, promise: Punctuation) -> Sequence[Punctuation]:
        """In the names of the output."""
        if promise.covers_everything:
            return [promise]
        found = list(super().advance(port, promise))
        for name, time in self.times:
            found += self._moved(promise, name, time) if isinstance(time, Moved) else self._chosen(promise, name, time)
        return found

    def _moved(self, promise: Punctuation, name: str, time: Moved) -> Sequence[Punctuation]:
        pattern = promise.pattern(time.column)
        if not isinstance(pattern, Below):
            return []
        return self._about(promise, {time.column}, name, pattern.bound + time.by)

    def _chosen(self, promise: Punctuation, name: str, time: Chosen) -> Sequence[Punctuation]:
        """A bound on one time, or on both together (a box), is one on the greatest; on the least, of each alone."""
        said = dict(promise.patterns)
        patterns = {part: said[part.column] for part in time.of if part.column in said}
        bounds = {part: pattern.bound + part.by for part, pattern in patterns.items() if isinstance(pattern, Below)}
        if not bounds or len(bounds) < len(patterns):
            return []
        if time.greatest:
            return self._about(promise, {part.column for part in bounds}, name, min(bounds.values()))
        if len(promise.attributes) > 1:
            return []
        for part, bound in bounds.items():
            key = f"{name} {time.of.index(part)}"
            self._bounds[key] = max(bound, self._bounds.get(key, bound))
        known = [self._bounds.get(f"{name} {place}") for place in range(len(time.of))]
        least = min(NO_BOUND if bound is None else bound for bound in known)
        if least <= self._sent.get(name, NO_BOUND):
            return []
        self._sent[name] = least
        return [Punctuation.below(name, least)]

    def _about(self, promise: Punctuation, columns: Collection[str], name: str, bound: int) -> Sequence[Punctuation]:
        """The same about a column that is computed from some of its columns."""
        others = {attribute: pattern for attribute, pattern in promise.patterns if attribute not in columns}
        if not others:
            return [Punctuation.below(name, bound)]
        rest = Punctuation.of(others).translate(self._names or {})
        return [Punctuation.of({**dict(made.patterns), name: Below(bound)}) for made in rest]

    def saved(self) -> Saved:
        """The bounds that wait for others."""
        return {"bounds": self._bounds, "sent": self._sent}, {}

    def become(self, header: dict[str, Any], tables: dict[str, pa.Table]) -> None:
        """Become what ``saved`` gave."""
        del tables
        self._bounds, self._sent = dict(header["bounds"]), dict(header["sent"])
