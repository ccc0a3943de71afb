"""Selection, projection and renaming: rows keep their lives; of rows that were dropped an end says nothing."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from panewise.core.columns import with_one_zero
from panewise.core.errors import PlanError
from panewise.core.scalar import Scalar
from panewise.functions import check_condition, evaluate, truth, type_of
from panewise.functions.unions import in_types, united
from panewise.kernels.relations.edges.delta import NO_ENDS, Delta, Ends, Lives, ticks_of
from panewise.kernels.relations.edges.failing import rows_born
from panewise.kernels.relations.edges.operator import RelationOperator


class RowByRow(RelationOperator):
    """What is done to every row by itself."""

    @abstractmethod
    def rows(self, lives: Lives) -> Lives:
        """Of some rows."""

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Of rows that come, and of those that are named when they leave."""
        (delta,) = inputs
        gone = None if delta.gone is None else self.rows(delta.gone)
        return replace(delta, lives=self.rows(delta.lives), gone=gone)


class FilterRows(RowByRow):
    """Rows for which the predicate is true; null counts as false."""

    def __init__(self, schema: pa.Schema, predicate: Scalar) -> None:
        self.schema, self.predicate = schema, predicate
        check_condition(predicate, schema)  # what cannot be computed is refused here

    def rows(self, lives: Lives) -> Lives:
        """Those that pass."""
        if not len(lives):
            return lives
        with rows_born(lives.born, lives.age):
            return lives.filter(truth(self.predicate, lives.table))


class ProjectRows(RowByRow):
    """Computed columns, duplicates kept."""

    def __init__(self, schema: pa.Schema, names: Sequence[str], scalars: Sequence[Scalar]) -> None:
        self.names, self.scalars = list(names), list(scalars)
        self.schema = pa.schema([(name, type_of(scalar, schema)) for name, scalar in zip(names, scalars, strict=True)])
        picked = [name for scalar in scalars if (name := scalar.column_name) is not None]
        self._picked = picked if len(picked) == len(self.scalars) else None
        """Columns that are shown as they stand, where all are."""

    def rows(self, lives: Lives) -> Lives:
        """Every expression on every row."""
        if not len(lives):
            return lives.with_table(self.schema.empty_table())
        if self._picked is None:
            with rows_born(lives.born, lives.age):
                return lives.with_table(pa.table(evaluate(self.scalars, lives.table), names=self.names))
        return lives.with_table(pa.Table.from_arrays([lives.table.column(name) for name in self._picked],
                                                     schema=self.schema))


class OneZero(RowByRow):
    """Below operators that compare whole rows: two zeros are one value, so it must not matter which of them came."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema

    def rows(self, lives: Lives) -> Lives:
        """The same rows."""
        return lives.with_table(with_one_zero(lives.table))


class RenameRows(RowByRow):
    """Other names for the same columns."""

    def __init__(self, schema: pa.Schema, names: Sequence[str]) -> None:
        if len(names) != len(schema):
            raise PlanError(f"UNION needs inputs with as many columns: one has {len(schema)} "
                            f"({', '.join(schema.names)}), the first has {len(names)} ({', '.join(names)})")
        self.schema = pa.schema([pa.field(n, f.type) for n, f in zip(names, schema, strict=True)])

    def rows(self, lives: Lives) -> Lives:
        """Only the names change."""
        return lives.with_table(lives.table.rename_columns(self.schema.names))


class UnionRows(RelationOperator):
    """Bag union; columns by position under the names of the first part, types widened where they differ."""

    def __init__(self, schemas: Sequence[pa.Schema], strict: Iterable[bool] | None = None) -> None:
        # where some parts carry expiry vectors all do: of the others, rows that may leave early are components alone
        self.schema = united(schemas)
        self._strict = None if strict is None else list(strict)

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Inputs are stepped one after the other, so the numbers of their rows ascend."""
        lives = [self._typed(d.lives) for d in inputs]
        ends, reached = Ends.concat([d.ends for d in inputs]), NO_ENDS
        if self._strict is not None:
            lives = [self._vector(part, strict) for part, strict in zip(lives, self._strict, strict=True)]
            ends, reached = NO_ENDS, Ends.concat([ends, *(d.reached for d in inputs)])
        return Delta(Lives.concat(lives), ends, ticks_of(*(d.ticks for d in inputs)),
                     np.concatenate([d.settled for d in inputs]), reached=reached)

    def _typed(self, lives: Lives) -> Lives:
        with rows_born(lives.born, lives.age):
            return lives.with_table(in_types(lives.table, self.schema))

    @staticmethod
    def _vector(lives: Lives, strict: bool) -> Lives:
        if lives.order is not None:
            return lives
        return replace(lives, order=lives.uid[None, :] if strict else np.empty((0, len(lives)), np.int64))
