"""A window join of streams in a dataflow: rows and promises of a side in, pairs out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.errors import EvaluationError, PlanError
from panewise.core.join_kinds import LEFT, RIGHT
from panewise.core.ordinals import OrdinalKind, Ordinals, to_ordinals
from panewise.core.scalar import Scalar
from panewise.dataflow.batch import Batch, rows_of
from panewise.dataflow.operators.base import Item, Keeping, Mask
from panewise.dataflow.operators.lineage import SideLineage, lineage_of
from panewise.dataflow.rows_in_words import made_by
from panewise.functions import evaluate, type_of
from panewise.kernels.contract.state_file import Saved
from panewise.kernels.joins.keys import common_type
from panewise.kernels.joins.oa_join import OAJoin
from panewise.kernels.joins.sides import JoinSide, JoinSpec
from panewise.plan.dataflow import StreamJoinStep
from panewise.plan.nodes import BandJoin, TumblingJoin
from panewise.planner.facts.equi_keys import JoinCondition, KeyPair, join_condition
from panewise.planner.facts.join_windows import pairing_of
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import NO_BOUND

COMPUTED = "<key>."
"""Before the number of a key that is more than a column."""


class StreamJoin(Keeping):
    """One join of streams, made as its ``step`` says; ``below`` are the joins that make the rows of each side.

    Where ``dated``, results carry their lineage. What is above goes by the column ``attribute``: results come with the
    bounds on it that they came behind, if it is one of the two times. ``keys`` are the columns by which it tells groups
    apart: where one is a time, groups below the bound that the join has promised of it are over, and late results are
    left out. One that ``takes_late`` rows lets them meet what is still kept.
    """

    def __init__(self, step: StreamJoinStep, left: pa.Schema, right: pa.Schema,
                 below: Sequence[Collection[StreamJoin | None]]) -> None:
        assert isinstance(step.node, BandJoin | TumblingJoin)
        node = self.node = step.node
        self.step, self.below, self.takes_late = step, below, step.takes_late
        self.times = (node.left_time, node.right_time)
        self.lineage = [SideLineage(side, self.times[side], max(1 if join is None else join.depth for join in joins),
                                    any(join is not None for join in joins))
                        for side, joins in enumerate(below)] if step.dated else []
        schemas = (left, right)
        condition = join_condition(node.predicate, left.names, right.names)
        types = {pair: _types(pair, schemas) for pair in condition.keys}
        condition = condition.demoted([pair for pair, found in types.items() if common_type(*found) is None])
        self._keys: tuple[list[Scalar], list[Scalar]] = ([], [])
        sides = [self._side(number, schema, condition, [types[pair][number] for pair in condition.keys],
                            step.wanted) for number, schema in enumerate(schemas)]
        self.join = OAJoin(JoinSpec(sides[LEFT], sides[RIGHT], pairing_of(node), condition.residual, node.kind))
        self.kinds = tuple(OrdinalKind.of(schema.field(time).type, time)
                           for schema, time in zip(schemas, self.times, strict=True))
        if self.kinds[LEFT] is not self.kinds[RIGHT]:  # plans from SQL are refused sooner (planner.clocks)
            raise PlanError(f"a join by {self.times[LEFT]} ({self.kinds[LEFT].value}) and {self.times[RIGHT]} "
                            f"({self.kinds[RIGHT].value}): both times must be of one kind")
        self._shown = {name for side in schemas[: 1 if node.kind.left_only else 2] for name in side.names}
        """What promises may be about: where only left rows come out, nothing of the right is to be seen."""
        self._asked = self.times.index(step.attribute) if step.attribute in self.times else None
        self._closing = [side for side in (LEFT, RIGHT) if self.times[side] in step.keys]
        self._put_out = 0
        self._marked: int | None = None
        self.schema = self._put(self.join.nothing, "").table.schema

    def _side(self, number: int, schema: pa.Schema, condition: JoinCondition, types: Sequence[pa.DataType],
              wanted: Collection[str]) -> JoinSide:
        residual = condition.residual.columns if condition.residual is not None else frozenset()
        names: list[str] = []
        fields = {field.name: field for field in schema
                  if field.name in {*wanted, *residual, self.times[number]}}
        for place, (pair, data_type) in enumerate(zip(condition.keys, types, strict=True)):
            scalar = (pair.left, pair.right)[number]
            self._keys[number].append(scalar)
            name = scalar.column_name or f"{COMPUTED}{'lr'[number]}{place}"
            names.append(name)
            fields.setdefault(name, pa.field(name, data_type))
        if self.lineage:
            fields |= {field.name: field for field in self.lineage[number].fields}
            wanted = {*wanted, self.times[number], *self.lineage[number].names}
        output = tuple(name for name in dict.fromkeys((*schema.names, *fields)) if name in wanted)
        if number == LEFT and not any(name in wanted for name in (*schema.names, *self.node.right.columns)):
            output = (self.times[LEFT],)  # rows are counted by a column
        return JoinSide(pa.schema(list(fields.values())), self.times[number], tuple(names), output)

    # -- rows and promises

    def take(self, port: int, batch: Batch) -> Batch:
        """Rows of one side; the pairs they make.

        Rows below the bound that was in force are left out, unless the join ``takes_late`` rows.
        """
        if self._marked is None:
            self.join.mark()
            self._marked = self._put_out
        side, time = port, self.times[port]
        times = batch.values if batch.values is not None else to_ordinals(
            batch.table.column(time), time, first_row=int(batch.rows[0]) if batch.table.num_rows else 1)
        behind = None
        late = times < batch.bounds
        if late.any() and not self.takes_late:
            batch, times = batch.filter(~late), times[~late]
        elif self.takes_late:
            behind = _behind(batch, late)
        rows = self._with_keys(side, batch, times)
        with self._pairs_told():
            results = self.join.process(side, rows, times) if behind is None else \
                self.join.process(side, rows, times, behind)
        return self._put(results, batch.stream)

    def _put(self, results: pa.Table, stream: str) -> Batch:
        """Results on their way up; late are those whose row of the side that is asked for was late.

        The others keep what the join promises: it promises nothing beyond what late rows of the other side still meet.
        """
        behind = self.join.behind
        if behind is not None and self._closing:
            there = (behind[:, self._closing] == NO_BOUND).all(axis=1)
            results, behind = results.filter(pa.array(there)), behind[there]
        first = self._put_out + 1
        self._put_out += results.num_rows
        numbers = np.arange(first, first + results.num_rows)
        lineage = None
        if self.lineage:
            lineage = lineage_of(results, self.lineage, None if behind is None else behind[:, 2])
            beside = {name for side in self.lineage for name in side.names}
            results = results.select([name for name in results.column_names if name not in beside])
        bounds = np.full(results.num_rows, NO_BOUND, np.int64)
        if behind is not None and self.step.both is not None:
            sides = [np.where(behind[:, side] == NO_BOUND, NO_BOUND, behind[:, side] + np.where(
                behind[:, side] == NO_BOUND, 0, by)) for side, by in enumerate(self.step.both)]
            bounds = np.maximum(*sides)
        elif behind is not None and self._asked is not None:
            bounds = np.ascontiguousarray(behind[:, self._asked])
        return Batch(results, stream, numbers, numbers, bounds, lineage=lineage, told=self._told)

    def _told(self, batch: Batch, at: int) -> str:
        """A row that it has made, in words: its values are in the message already."""
        del batch, at
        return made_by(self.node)

    @contextmanager
    def _pairs_told(self) -> Iterator[None]:
        """A condition that fails on a pair says so."""
        try:
            yield
        except EvaluationError as error:
            raise error.placed(made_by(self.node)) from error.__cause__

    @property
    def depth(self) -> int:
        """How many rows a result is made of."""
        return sum(side.depth for side in self.lineage[: 1 if self.node.kind.left_only else 2])

    @property
    def born(self) -> int:
        """No result that was born earlier will come.

        A pair contains a new row, so it is not older than what both sides promise of their rows' births, nor than
        either of its times. A row without a partner, and one that has found its first, was born long before it leaves.
        """
        progress, kind = self.join.progress, self.join.kind
        alone = [progress.individual(side) for side in ({LEFT} if kind.left_only else kind.preserved)]
        if kind.left_only:
            return min(alone)
        rows = min(self._rows_born(side) for side in (LEFT, RIGHT))
        return min([max(progress.individual(LEFT), progress.individual(RIGHT), rows), *alone])

    def _rows_born(self, side: int) -> int:
        joins, known = self.below[side], self.join.progress.bounds[side].linear
        only = next(iter(joins)) if len(joins) == 1 else None
        return known if only is None else max(known, only.born)

    def _with_keys(self, side: int, batch: Batch, times: Ordinals) -> pa.Table:
        spec, table = self.join.spec.sides[side], batch.table
        if self.lineage:
            table = self.lineage[side].beside(table, batch, times)
        computed = [(name, scalar) for name, scalar in zip(spec.keys, self._keys[side], strict=True)
                    if scalar.column_name is None]
        if computed:
            with rows_of(batch):
                columns = evaluate([scalar for _, scalar in computed], table)
            for (name, _), column in zip(computed, columns, strict=True):
                table = table.append_column(name, column)
        table = table.select(spec.schema.names)
        return table if table.schema.equals(spec.schema) else table.cast(spec.schema)

    def settle(self) -> Sequence[Item]:
        """Pairs have left already."""
        self._marked = None
        return ()

    def revoke(self) -> None:
        """Forget what came since the last ``settle``."""
        if self._marked is not None:
            self.join.rollback()
            self._put_out, self._marked = self._marked, None

    def advance(self, port: int, promise: Punctuation) -> Iterator[Item]:
        """A promise about one side: rows that it shows to have no partner leave before what it says of pairs."""
        alone, promises = self.join.advance(port, promise)
        if alone.num_rows:
            yield self._put(alone, "")
        yield from (said for said in promises if said.attributes <= self._shown)

    def counters(self) -> dict[str, Any]:
        """What both sides keep."""
        found = self.join.counters()
        return {"operator": type(self.node).__name__, "pattern": "MON", "rows": found["buffered"],
                "bytes": found["bytes"], "joins": [found]}

    # -- saving

    def saved(self) -> Saved:
        """The rows of both sides and what was promised of them."""
        return self.join.save()

    def become(self, header: dict[str, Any], tables: dict[str, pa.Table]) -> None:
        """Become what ``saved`` gave."""
        self.join.load(header, tables)
        self._put_out = self.join.results


def _behind(batch: Batch, late: Mask) -> Ordinals | None:
    """What rows came behind, for the join: each, and the latest of the rows it is made of; None if all are in time."""
    entered = None if batch.lineage is None else batch.lineage.entered
    if entered is None and not late.any():
        return None
    bounds = np.where(late, batch.bounds, NO_BOUND)
    return np.stack([bounds, bounds if entered is None else entered], axis=1)


def _types(pair: KeyPair, schemas: tuple[pa.Schema, pa.Schema]) -> tuple[pa.DataType, pa.DataType]:
    left, right = schemas
    return type_of(pair.left, left), type_of(pair.right, right)
