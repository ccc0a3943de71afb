"""Selection, projection and renaming: rows keep their lives; of rows that were dropped an end says nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from panewise.core.columns import with_one_zero
from panewise.core.errors import PlanError, SchemaError
from panewise.core.scalar import Scalar
from panewise.functions import check_condition, evaluate, truth, type_of
from panewise.functions.types import type_name, united
from panewise.kernels.relations.delta import NO_ENDS, Delta, Ends, Lives, ticks_of
from panewise.kernels.relations.operator import RelationOperator


class FilterRows(RelationOperator):
    """Rows for which the predicate is true."""

    def __init__(self, schema: pa.Schema, predicate: Scalar) -> None:
        self.schema, self.predicate = schema, predicate
        check_condition(predicate, schema)  # what cannot be computed is refused here

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Null counts as false."""
        (delta,) = inputs
        gone = None if delta.gone is None else self._passed(delta.gone)
        return replace(delta, lives=self._passed(delta.lives), gone=gone)

    def _passed(self, lives: Lives) -> Lives:
        if not len(lives):
            return lives
        return lives.filter(truth(self.predicate, lives.table))


class ProjectRows(RelationOperator):
    """Computed columns, duplicates kept."""

    def __init__(self, schema: pa.Schema, names: Sequence[str], scalars: Sequence[Scalar]) -> None:
        self.names, self.scalars = list(names), list(scalars)
        self.schema = pa.schema([(name, type_of(scalar, schema)) for name, scalar in zip(names, scalars, strict=True)])
        picked = [name for scalar in scalars if (name := scalar.column_name) is not None]
        self._picked = picked if len(picked) == len(self.scalars) else None
        """Columns that are shown as they stand, where all are."""

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Every expression on every row."""
        (delta,) = inputs
        gone = None if delta.gone is None else self._shown(delta.gone)
        return replace(delta, lives=self._shown(delta.lives), gone=gone)

    def _shown(self, lives: Lives) -> Lives:
        if not len(lives):
            return lives.with_table(self.schema.empty_table())
        if self._picked is None:
            return lives.with_table(self._computed(lives.table))
        return lives.with_table(pa.Table.from_arrays([lives.table.column(name) for name in self._picked],
                                                     schema=self.schema))

    def _computed(self, table: pa.Table) -> pa.Table:
        return pa.table(evaluate(self.scalars, table), names=self.names)


class OneZero(RelationOperator):
    """Below operators that compare whole rows: two zeros are one value, so it must not matter which of them came."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """The same rows."""
        (delta,) = inputs
        gone = None if delta.gone is None else delta.gone.with_table(with_one_zero(delta.gone.table))
        return replace(delta, lives=delta.lives.with_table(with_one_zero(delta.lives.table)), gone=gone)


class RenameRows(RelationOperator):
    """Other names for the same columns."""

    def __init__(self, schema: pa.Schema, names: Sequence[str]) -> None:
        if len(names) != len(schema):
            raise PlanError(f"UNION needs inputs with as many columns: one has {len(schema)} "
                            f"({', '.join(schema.names)}), the first has {len(names)} ({', '.join(names)})")
        self.schema = pa.schema([pa.field(n, f.type) for n, f in zip(names, schema, strict=True)])

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Only the names change."""
        (delta,) = inputs
        gone = None if delta.gone is None else self._renamed(delta.gone)
        return replace(delta, lives=self._renamed(delta.lives), gone=gone)

    def _renamed(self, lives: Lives) -> Lives:
        return lives.with_table(lives.table.rename_columns(self.schema.names))


class UnionRows(RelationOperator):
    """Bag union; columns by position under the names of the first part, types widened where they differ."""

    def __init__(self, schemas: Sequence[pa.Schema]) -> None:
        names = schemas[0].names
        renamed = [RenameRows(schema, names).schema for schema in schemas]
        try:
            self.schema = united(renamed)
        except pa.ArrowException as error:
            raise SchemaError(f"the inputs of a UNION differ in their types: {error}") from error
        self._strict: list[bool] | None = None

    def number_strict(self, strict: Iterable[bool]) -> None:
        """Some parts carry expiry vectors, so all do: of the others, rows that may leave early are components alone."""
        self._strict = list(strict)

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Inputs are stepped one after the other, so the numbers of their rows ascend."""
        lives = [d.lives.with_table(self._named(d.lives.table)) for d in inputs]
        ends, reached = Ends.concat([d.ends for d in inputs]), NO_ENDS
        if self._strict is not None:
            lives = [self._vector(part, strict) for part, strict in zip(lives, self._strict, strict=True)]
            ends, reached = NO_ENDS, Ends.concat([ends, *(d.reached for d in inputs)])
        return Delta(Lives.concat(lives), ends, ticks_of(*(d.ticks for d in inputs)),
                     np.concatenate([d.settled for d in inputs]), reached=reached)

    @staticmethod
    def _vector(lives: Lives, strict: bool) -> Lives:
        if lives.order is not None:
            return lives
        return replace(lives, order=lives.uid[None, :] if strict else np.empty((0, len(lives)), np.int64))

    def _named(self, table: pa.Table) -> pa.Table:
        named = table.rename_columns(self.schema.names)
        if named.schema.equals(self.schema):
            return named
        return pa.table([self._widened(named, place) for place in range(len(self.schema))], schema=self.schema)

    def _widened(self, table: pa.Table, place: int) -> pa.ChunkedArray | pa.Array:
        """A column of its common type; decimals as CAST makes them, which may have fewer digits behind the point."""
        wanted, column = self.schema.field(place), table.column(place)
        if not pa.types.is_decimal(wanted.type) or column.type == wanted.type:
            return column.cast(wanted.type)
        one = pa.table([column], names=["value"])
        return evaluate([Scalar.parse(f"CAST(value AS {type_name(wanted.type)})")], one)[0]
