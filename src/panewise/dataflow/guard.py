"""Progress where a stream enters: Describe makes promises of its rows, Guard holds rows to all promises (Li 8.1)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.dataflow.batch import Batch
from panewise.progress.bounds import BoundTable
from panewise.progress.generators import Bounds, Generator, Observed, Trailing
from panewise.progress.patterns import Mask
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import NO_BOUND

Judge = Callable[[Batch], Mask]
"""Which rows of a stream are late for an operator where they enter, whatever becomes of them on the way to it."""


class Describe:
    """What a policy makes of the rows of a stream: the bound before each of them, and promises behind them.

    Promises about single ``substreams`` are made where results are grouped by these.
    """

    def __init__(self, attribute: str, generator: Generator, *, substreams: bool) -> None:
        self.attribute, self.generator, self.substreams = attribute, generator, substreams

    def observe(self, table: pa.Table, values: Ordinals, high: int | None) -> Observed:
        """Rows have come; ``high`` is the largest of their values, if that is known."""
        columns = self.generator.columns
        return self.generator.observe(values, {c: table.column(c) for c in columns} if columns else None, high=high)

    def promises(self, bound: int) -> list[Punctuation]:
        """What is known behind the rows."""
        made = [] if bound == NO_BOUND else [Punctuation.below(self.attribute, bound)]
        if self.substreams:
            made += [Punctuation.below(self.attribute, b, **group) for group, b in self.generator.group_bounds()]
        return made


class Guard:
    """Every promise about a stream, of its source and of its policy: a row that one covers is late.

    Each row goes on with the bound that it came behind, so that all operators see the same rows as late, by whatever
    promise. ``judges`` find those that an operator would not see, because they are left out on the way to it.
    """

    def __init__(self, attribute: str | None) -> None:
        self.bounds = BoundTable(attribute or "")
        self.judges: list[Judge] = []

    def promise(self, punctuation: Punctuation) -> bool:
        """Take in a promise; False when it says nothing new of what is over, so that none above need hear it."""
        return self.bounds.advance(punctuation)

    def stamp(self, table: pa.Table, values: Ordinals, seen: Observed) -> Bounds:
        """The bound that each row came behind: what the policy knows of it, and what was promised beside that."""
        promised, bounds = self.bounds, seen.bounds
        some = promised.groups or promised.selections or promised.ranges
        one_by_one = some or seen.own is not None
        if isinstance(bounds, Trailing) and bounds.values is values and not one_by_one and \
                promised.linear <= bounds.first:
            return bounds
        bounds = seen.before
        if seen.own is not None:  # a promise about its substream covers a row whatever results are grouped by
            bounds = np.maximum(bounds, seen.own)
        if some:
            columns = {name: table.column(name) for name in table.column_names}
            return np.maximum(bounds, promised.bounds_for(columns, len(values)))
        return np.maximum(bounds, promised.linear) if len(values) and promised.linear > bounds[0] else bounds

    def late(self, batch: Batch) -> Mask:
        """The rows that some operator with a judge here will not see in time."""
        found: Mask = np.logical_or.reduce([judge(batch) for judge in self.judges])
        return found
