"""Stateless operators: each maps rows, and says what a punctuation of its input promises of its output.

None of them keeps or restores any order (Li 8): rows pass at once, progress travels as punctuation.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from panewise.core.errors import PlanError
from panewise.core.scalar import Scalar
from panewise.functions import evaluate, truth
from panewise.plan.nodes import NamedScalar
from panewise.progress.punctuation import Punctuation
from panewise.queries.chunks import Chunk
from panewise.queries.operators.base import Passing


class Select(Passing):
    """Rows for which the predicate is true; punctuation passes unchanged."""

    def __init__(self, predicate: Scalar) -> None:
        self.predicate = predicate

    def process(self, chunk: Chunk) -> Chunk:
        """Null counts as false."""
        return chunk.filter(truth(self.predicate, chunk.table))

    def advance(self, punctuation: Punctuation) -> list[Punctuation]:
        """Fewer rows keep every promise."""
        return [punctuation]


class Apply(Passing):
    """Computed columns; a promise survives where all columns it names do."""

    def __init__(self, items: Sequence[NamedScalar]) -> None:
        self.items = list(items)
        self.kept = {item.name: item.scalar.column_name for item in items if item.scalar.column_name is not None}

    def process(self, chunk: Chunk) -> Chunk:
        """Every item on every row."""
        return chunk.with_table(project(self.items, chunk.table))

    def advance(self, punctuation: Punctuation) -> list[Punctuation]:
        """In the names of the output."""
        return [punctuation] if punctuation.covers_everything else punctuation.translate(self.kept)


class Rename(Passing):
    """Other names for the same columns, by position."""

    def __init__(self, names: Sequence[str], before: Sequence[str]) -> None:
        if len(names) != len(before):
            raise PlanError(f"UNION needs inputs with as many columns: one has {len(before)} ({', '.join(before)}), "
                            f"the first has {len(names)} ({', '.join(names)})")
        self.names, self.before = list(names), list(before)

    def process(self, chunk: Chunk) -> Chunk:
        """Only the names change."""
        return chunk.with_table(chunk.table.select(self.before).rename_columns(self.names))

    def advance(self, punctuation: Punctuation) -> list[Punctuation]:
        """The same promise under the new names."""
        return [punctuation.rename(dict(zip(self.before, self.names, strict=True)))]


class Prefix(Passing):
    """An alias before every column name."""

    def __init__(self, alias: str) -> None:
        self.alias = alias

    def process(self, chunk: Chunk) -> Chunk:
        """Only the names change."""
        return chunk.with_table(chunk.table.rename_columns([f"{self.alias}.{c}" for c in chunk.table.column_names]))

    def advance(self, punctuation: Punctuation) -> list[Punctuation]:
        """The same promise under the new names."""
        return [punctuation.rename({a: f"{self.alias}.{a}" for a in punctuation.attributes})]


def project(items: Sequence[NamedScalar], table: pa.Table) -> pa.Table:
    """A table of computed columns."""
    columns = evaluate([item.scalar for item in items], table)
    return pa.table(columns, names=[item.name for item in items])
