"""Rows that wait for their turn, and promises that wait for those rows: what Sort and Merge share."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import Ordinals, to_ordinals
from panewise.progress.punctuation import Punctuation
from panewise.queries.chunks import Chunk


class HeldRows:
    """Rows by value of one attribute; rows of equal value leave in the order they came."""

    def __init__(self, attribute: str) -> None:
        self.attribute = attribute
        self.chunks: list[Chunk] = []
        self.values: list[Ordinals] = []
        self.waiting: list[Punctuation] = []
        """Promises about rows of which some are still held."""
        self.peak = 0

    def __len__(self) -> int:
        return sum(map(len, self.values))

    def ordinals(self, chunk: Chunk) -> Ordinals:
        """The values of a chunk."""
        return to_ordinals(chunk.table.column(self.attribute), self.attribute)

    def add(self, chunk: Chunk, values: Ordinals) -> None:
        """Hold some rows."""
        if len(values):
            self.chunks.append(chunk)
            self.values.append(values)
            self.peak = max(self.peak, len(self))

    def release(self, *, below: int) -> Chunk | None:
        """The rows below a bound, in order; nothing when there are none."""
        free = [values < below for values in self.values]
        if not any(mask.any() for mask in free):
            return None
        leaving = [chunk.filter(mask) for chunk, mask in zip(self.chunks, free, strict=True) if mask.any()]
        order = np.argsort(np.concatenate([v[m] for v, m in zip(self.values, free, strict=True)]), kind="stable")
        stay = [(c.filter(~m), v[~m]) for c, v, m in zip(self.chunks, self.values, free, strict=True) if not m.all()]
        self.chunks, self.values = [c for c, _ in stay], [v for _, v in stay]
        return Chunk.concat(leaving).take(order)

    def promise(self, punctuation: Punctuation) -> None:
        """A promise that may pass once no held row breaks it."""
        self.waiting.append(punctuation)

    def ready(self) -> list[Punctuation]:
        """The promises that no held row stands against any more."""
        passed = [p for p in self.waiting if not self._held_against(p)]
        self.waiting = [p for p in self.waiting if p not in passed]
        return passed

    def _held_against(self, punctuation: Punctuation) -> bool:
        for chunk, values in zip(self.chunks, self.values, strict=True):
            broken = np.ones(len(values), np.bool_)
            for name, pattern in punctuation.patterns:
                broken &= pattern.mask(pa.array(values) if name == self.attribute else chunk.table.column(name))
            if broken.any():
                return True
        return False
