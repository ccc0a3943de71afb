"""Describe: punctuation as rare as its consumers can bear (Tucker; Li 8.1)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from panewise.progress.describe import Describe
from panewise.progress.punctuation import Punctuation
from panewise.queries.chunks import Chunk
from panewise.queries.operators.base import Passing
from panewise.windows.base import WindowSpec


class DescribeProgress(Passing):
    """Rows pass; bounds are rolled up to the ends of the consumers' windows, and what moves no window is dropped.

    A rolled-up bound promises less than the one it stands for, so the output stays grammatical; and it closes the same
    windows, so no result waits. Rows keep the bound they came with: whether a row is late is decided by the finer one.
    """

    def __init__(self, attribute: str, windows: Iterable[WindowSpec], *,
                 grouping: Collection[str] | None = None) -> None:
        self.describe = Describe.for_windows(attribute, windows, grouping=grouping)

    def process(self, chunk: Chunk) -> Chunk:
        """Nothing is held."""
        return chunk

    def advance(self, punctuation: Punctuation) -> list[Punctuation]:
        """What consumers need to hear, if anything."""
        needed = self.describe.punctuate(punctuation)
        return [] if needed is None else [needed]

    def snapshot(self) -> dict[str, Any]:
        """What was sent on so far."""
        return self.describe.snapshot()

    def restore(self, state: dict[str, Any]) -> None:
        """Become what ``snapshot`` saved."""
        self.describe.restore(state)
