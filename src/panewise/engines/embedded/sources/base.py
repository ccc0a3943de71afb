"""The contract of a source: items after a position, and what it does when they are safe."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterable, Iterable, Iterator
from typing import Any, ClassVar

from panewise.core.errors import SourceError
from panewise.engines.embedded.positions import AnyItem, Position


class StreamSource(ABC):
    """One stream, read by a thread of its own."""

    why_not: ClassVar[str] = ""
    """If it cannot be replayed, why, and what to do."""

    @property
    def replayable(self) -> bool:
        """Whether what was not checkpointed can be read again after a restart."""
        return True

    @abstractmethod
    def items(self, after: Position) -> Iterator[AnyItem]:
        """Rows, batches and punctuation that come after a position."""

    def acknowledge(self, position: Position) -> None:
        """Everything up to here is in a checkpoint: it is never asked for again."""
        del position

    def close(self) -> None:
        """Nothing is read any more; a reader that waits should give up."""
        return


def as_source(value: Any, name: str) -> StreamSource:
    """Anything a program has as a source."""
    from panewise.engines.embedded.sources.iterables import AsyncSource, IterableSource, PositionSource

    if isinstance(value, StreamSource):
        return value
    if isinstance(value, AsyncIterable):
        return AsyncSource(value, name)
    if isinstance(value, Iterable):
        return IterableSource(value, name)
    if callable(value):
        return PositionSource(value, name)
    raise SourceError(f"the stream {name!r} cannot be read from a {type(value).__name__}: give an iterable or async "
                      "iterable of rows, Arrow batches and punctuation, or a function from a position to one")
