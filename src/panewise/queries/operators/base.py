"""The contract of an operator: rows and promises in, and out in an order that keeps every promise."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from panewise.progress.punctuation import Punctuation
from panewise.queries.chunks import Chunk

Item: TypeAlias = Chunk | Punctuation


class Operator(ABC):
    """One step on the way from a source to the window aggregate.

    The output is grammatical when the input is: no row comes out after a promise that rules it out.
    """

    @abstractmethod
    def take(self, item: Item) -> list[Item]:
        """Rows or a promise in; what it sets free, in order."""

    @property
    def name(self) -> str:
        """What reports call it."""
        return type(self).__name__

    def snapshot(self) -> dict[str, Any]:
        """The state as data that JSON can hold; most operators have none."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Become what ``snapshot`` saved."""
        del state


class Passing(Operator):
    """An operator that holds no row: those of a batch leave at once, in the same batch."""

    @abstractmethod
    def process(self, chunk: Chunk) -> Chunk:
        """Rows in, rows out."""

    @abstractmethod
    def advance(self, punctuation: Punctuation) -> list[Punctuation]:
        """Promises about the input, in, about the output, out."""

    def take(self, item: Item) -> list[Item]:
        """Either of both."""
        if isinstance(item, Punctuation):
            return [*self.advance(item)]
        passed = self.process(item)
        return [passed] if passed.table.num_rows else []


def drive(operators: Sequence[Operator], items: Iterable[Item]) -> Iterator[Item]:
    """Items through a chain of operators, one by one: whatever an item sets free leaves with it."""
    for item in items:
        passing = [item]
        for operator in operators:
            passing = [after for before in passing for after in operator.take(before)]
        yield from passing
