"""Meld, the union without order: rows pass at once, and a promise holds when every input has made it (Li 8.2)."""

from __future__ import annotations

from panewise.progress.meld import Meld
from panewise.progress.punctuation import Punctuation
from panewise.queries.chunks import Chunk
from panewise.queries.operators.base import Passing


class MeldInput(Passing):
    """One input of a union: rows pass at once, promises wait until every input has made them."""

    def __init__(self, meld: Meld, number: int) -> None:
        self.meld, self.number = meld, number

    def process(self, chunk: Chunk) -> Chunk:
        """Nothing is held."""
        return chunk

    def advance(self, punctuation: Punctuation) -> list[Punctuation]:
        """What all inputs promise now that they did not before."""
        return self.meld.punctuate(self.number, punctuation)
