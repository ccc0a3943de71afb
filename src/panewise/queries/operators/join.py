"""A window join of streams between its inputs' operators and those above: rows and promises of a side in, pairs out."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pyarrow as pa

from panewise.core.errors import PlanError
from panewise.core.join_kinds import LEFT, RIGHT
from panewise.core.ordinals import OrdinalKind, Ordinals, to_ordinals
from panewise.core.scalar import Scalar
from panewise.functions import evaluate, type_of
from panewise.kernels.joins.keys import common_type
from panewise.kernels.joins.oa_join import OAJoin
from panewise.kernels.joins.sides import JoinSide, JoinSpec
from panewise.plan.nodes import BandJoin, TumblingJoin
from panewise.planner.equi_keys import JoinCondition, KeyPair, join_condition
from panewise.planner.pairings import pairing_of
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import NO_BOUND
from panewise.queries.chunks import Chunk
from panewise.queries.operators.base import Passing
from panewise.queries.operators.lineage import SideLineage, lineage_of

COMPUTED = "<key>."
"""Before the number of a key that is more than a column."""


class StreamJoin:
    """One join of a running query; ``wanted`` are the output columns that something above reads.

    ``below`` are the joins that make the rows of each side, None among them for rows of streams. Where ``dated``,
    results carry their lineage.
    """

    def __init__(self, node: BandJoin | TumblingJoin, left: pa.Schema, right: pa.Schema, wanted: Collection[str], *,
                 dated: bool = False,
                 below: Sequence[Collection[StreamJoin | None]] = ((None,), (None,))) -> None:
        self.node, self.below = node, below
        self.times = (node.left_time, node.right_time)
        self.lineage = [SideLineage(side, self.times[side], max(1 if join is None else join.depth for join in joins),
                                    any(join is not None for join in joins))
                        for side, joins in enumerate(below)] if dated else []
        schemas = (left, right)
        condition = join_condition(node.predicate, left.names, right.names)
        types = {pair: _types(pair, schemas) for pair in condition.keys}
        condition = condition.demoted([pair for pair, found in types.items() if common_type(*found) is None])
        self._keys: tuple[list[Scalar], list[Scalar]] = ([], [])
        sides = [self._side(number, schema, condition, [types[pair][number] for pair in condition.keys], wanted)
                 for number, schema in enumerate(schemas)]
        self.join = OAJoin(JoinSpec(sides[LEFT], sides[RIGHT], pairing_of(node), condition.residual, node.kind))
        self.kinds = tuple(OrdinalKind.of(schema.field(time).type, time)
                           for schema, time in zip(schemas, self.times, strict=True))
        if self.kinds[LEFT] is not self.kinds[RIGHT]:  # plans from SQL are refused sooner (planner.clocks)
            raise PlanError(f"a join by {self.times[LEFT]} ({self.kinds[LEFT].value}) and {self.times[RIGHT]} "
                            f"({self.kinds[RIGHT].value}): both times must be of one kind")
        self._shown = {name for side in schemas[: 1 if node.kind.left_only else 2] for name in side.names}
        """What promises may be about: where only left rows come out, nothing of the right is to be seen."""
        self.takes_late = False
        """Whether late rows meet what is still kept: where nothing above waits for what the join promises."""
        self._put_out = 0
        self._alone: list[Chunk] = []
        self.above: Sequence[Passing] = ()
        """The operators between this join and the top."""

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

    def process(self, side: int, chunk: Chunk, *, guarded: bool) -> Chunk:
        """Rows of one side; the pairs they make.

        Rows below the bound that was in force are left out, unless the join ``takes_late`` rows.
        """
        time = self.times[side]
        times = chunk.values if guarded and chunk.values is not None else to_ordinals(
            chunk.table.column(time), time, first_row=int(chunk.rows[0]) if chunk.table.num_rows else 1)
        behind = None
        if guarded:
            late = times < chunk.bounds
            if late.any():
                if self.takes_late:
                    behind = np.where(late, chunk.bounds, NO_BOUND)
                else:
                    chunk, times = chunk.filter(~late), times[~late]
        rows = self._with_keys(side, chunk, times)
        results = self.join.process(side, rows, times) if behind is None else \
            self.join.process(side, rows, times, behind)
        return self._put(results, chunk.stream)

    def _put(self, results: pa.Table, stream: str) -> Chunk:
        """Results on their way up; none is late, because the join promises only what it keeps."""
        first = self._put_out + 1
        self._put_out += results.num_rows
        numbers = np.arange(first, first + results.num_rows)
        lineage = None
        if self.lineage:
            lineage = lineage_of(results, self.lineage)
            beside = {name for side in self.lineage for name in side.names}
            results = results.select([name for name in results.column_names if name not in beside])
        return Chunk(results, stream, numbers, numbers, np.full(results.num_rows, NO_BOUND, np.int64), lineage=lineage)

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

    def _with_keys(self, side: int, chunk: Chunk, times: Ordinals) -> pa.Table:
        spec, table = self.join.spec.sides[side], chunk.table
        if self.lineage:
            table = self.lineage[side].beside(table, chunk, times)
        computed = [(name, scalar) for name, scalar in zip(spec.keys, self._keys[side], strict=True)
                    if scalar.column_name is None]
        if computed:
            columns = evaluate([scalar for _, scalar in computed], table)
            for (name, _), column in zip(computed, columns, strict=True):
                table = table.append_column(name, column)
        table = table.select(spec.schema.names)
        return table if table.schema.equals(spec.schema) else table.cast(spec.schema)

    def advance(self, side: int, punctuation: Punctuation) -> list[Punctuation]:
        """A promise about one side: what it says of pairs, once the rows that it leaves alone have been taken."""
        alone, promises = self.join.advance(side, punctuation)
        if alone.num_rows:  # they go all the way up before anybody hears the promise that set them free
            chunk = self._put(alone, "")
            for operator in self.above:
                chunk = operator.process(chunk)
            self._alone.append(chunk)
        return [promise for promise in promises if promise.attributes <= self._shown]

    def take_alone(self) -> list[Chunk]:
        """What has become of rows that promises have shown to have no partner, at the top of the plan."""
        taken, self._alone = self._alone, []
        return taken

    def mark(self) -> None:
        """Remember this moment for ``rollback``."""
        self.join.mark()
        self._marked = self._put_out

    def rollback(self) -> None:
        """Forget what came since ``mark``."""
        self.join.rollback()
        self._put_out = self._marked

    # -- saving

    def snapshot(self) -> bytes:
        """Everything needed to go on exactly here."""
        return self.join.snapshot()

    def restore(self, data: bytes) -> None:
        """Become what ``snapshot`` saved."""
        self.join.restore(data)
        self._put_out = self.join.results


class JoinInput(Passing):
    """One side of a join on the way of a source's rows; ``guarded``: their bounds are on the join's time."""

    def __init__(self, join: StreamJoin, side: int, *, guarded: bool) -> None:
        self.join, self.side, self.guarded = join, side, guarded

    def process(self, chunk: Chunk) -> Chunk:
        """Pairs with what the other side has sent."""
        return self.join.process(self.side, chunk, guarded=self.guarded)

    def advance(self, punctuation: Punctuation) -> list[Punctuation]:
        """Individual and joint promises."""
        return self.join.advance(self.side, punctuation)


def _types(pair: KeyPair, schemas: tuple[pa.Schema, pa.Schema]) -> tuple[pa.DataType, pa.DataType]:
    left, right = schemas
    return type_of(pair.left, left), type_of(pair.right, right)
