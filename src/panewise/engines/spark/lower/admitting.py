"""Rows that cannot be used on Spark: what the policy for bad rows does with those of DataFrames.

A row without a time is bad if some window or join would see it; one that WHERE ends before needs no time and is left
out where it is read. A source of panewise also marks rows that it could not read. Under ``stop`` a bad row fails the
query where its time is asked for. Under ``skip`` it is left out; a stream counts it (``bad_rows`` of its status). Under
``aside`` bad rows leave beside the results, each exactly as often as results do: in a column of their own, which
``split_bad`` takes apart. For that Spark reads the inputs a second time; the status counts their rows once. What Spark
cannot do is refused by name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from pathlib import Path

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from panewise.core.bad_rows import BAD_ROWS_SCHEMA, BadRow, BadRowAction, BadRowPolicy
from panewise.core.errors import PlanError
from panewise.core.ordinals import LIMIT
from panewise.core.scalar import Scalar
from panewise.core.user_functions import called_in
from panewise.dataflow.row_fates import RowFates
from panewise.dataflow.signs import tells_signs, wrong_sign
from panewise.dataflow.times_of_rows import no_time, row_text, too_far
from panewise.engines.spark.host.wire import BAD, CONTROL, POSITION
from panewise.engines.spark.lower.stateless_steps import (
    MANY_TERMS,
    data_columns,
    quoted,
    rows_of_streams,
    scalar_column,
)
from panewise.engines.spark.observe.observed import new_metric
from panewise.files.types import normal_schema, normalise
from panewise.plan.nodes import Named, Node
from panewise.planner.facts.ordering_columns import ordering_columns
from panewise.planner.facts.result_forms import CHANGE
from panewise.storage.side_file import AsideFile


def _counted() -> Column:
    return F.count(F.lit(1)).alias("rows")


@dataclass(frozen=True)
class Admitted:
    """Inputs that can be computed with, and their bad rows where those are to leave."""

    inputs: Mapping[str, DataFrame]
    bad: tuple[DataFrame, ...] = ()
    """One column of text each, as it stands beside the results."""
    policy: BadRowPolicy = field(default_factory=BadRowPolicy)

    def beside(self, results: DataFrame) -> DataFrame:
        """The results with the bad rows; those that go to a file are written there, now."""
        if self.policy.path is not None:
            _write(self.policy.path, self.bad)
            return results
        if self.policy.action is not BadRowAction.ASIDE:
            return results
        if BAD in results.columns:
            raise PlanError(f"the query names a column {BAD!r}, in which bad rows leave: give it another name")
        whole = results.withColumn(BAD, F.lit(None).cast("string"))
        return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), self.bad, whole)


def admitted(plan: Node, inputs: Mapping[str, DataFrame], given: BadRowPolicy | None = None) -> Admitted:
    """The inputs without rows that the policy leaves out, and without those that need no time and have none."""
    given = given or BadRowPolicy()
    streams = any(frame.isStreaming for frame in inputs.values())
    fates, asked = RowFates(plan), ordering_columns(plan)
    schemas = {node.name: node.schema for node in plan.walk() if isinstance(node, Named)}
    kept: dict[str, DataFrame] = {}
    bad: list[DataFrame] = []
    for name, frame in inputs.items():
        policy = given
        if BAD in frame.columns and policy.stops:
            policy = BadRowPolicy(BadRowAction.SKIP)  # the source was told to go on
        elif streams and not frame.isStreaming and policy.action is BadRowAction.ASIDE:
            policy = BadRowPolicy()  # read in every micro-batch, its bad rows would leave again each time
        found = _Sorted(name, frame, [c for c in asked.get(name, []) if c in frame.columns],
                        fates.conditions(name, data_columns(frame)),
                        signs=name in schemas and tells_signs(schemas[name], frame.columns))
        kept[name] = found.usable(policy)
        if policy.action is BadRowAction.ASIDE and found.can_be_bad:
            bad.append(found.texts())
    return Admitted(kept, tuple(bad), given)


def unmarked(plan: Node, inputs: Mapping[str, DataFrame]) -> Mapping[str, DataFrame]:
    """The inputs of a query that has no policy: what sources have marked as bad is left out and counted."""
    if not any(BAD in frame.columns for frame in inputs.values()):
        return inputs
    marked = {name: frame for name, frame in inputs.items() if BAD in frame.columns}
    return {**inputs, **admitted(plan, marked).inputs}


def split_bad(output: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Results and bad rows of an output under ``bad_rows="aside"``; of a stream, for use inside ``foreachBatch``.

    Bad rows come with the columns ``stream``, ``place``, ``column``, ``reason`` and ``row``, as in process.
    """
    if BAD not in output.columns:
        raise PlanError("this output has no bad rows beside it: run with bad_rows='aside'")
    fields = ", ".join(f"`{name}` string" for name in BAD_ROWS_SCHEMA.names)
    bad = output.where(quoted(BAD).isNotNull()).select(F.from_json(quoted(BAD), fields).alias("bad")).select("bad.*")
    return output.where(quoted(BAD).isNull()).drop(BAD), bad


class _Sorted:
    """The rows of one input, told apart."""

    def __init__(self, name: str, frame: DataFrame, columns: list[str], conditions: list[Scalar], *,
                 signs: bool = False) -> None:
        self.name, self.frame, self.columns, self.conditions, self.signs = name, frame, columns, conditions, signs
        self.marked = BAD in frame.columns
        self.can_be_bad = self.marked or bool(columns) or signs

    @property
    def _untimed(self) -> Column:
        return self._rows(reduce(or_, (quoted(c).isNull() for c in self.columns), F.lit(False)))

    @property
    def _far(self) -> Column:
        """Integers that are too large to compute with; no other time can be."""
        whole = [c for c in self.columns if isinstance(self.frame.schema[c].dataType, T.LongType)]
        return self._rows(reduce(or_, ((quoted(c) >= LIMIT) | (quoted(c) <= -LIMIT) for c in whole), F.lit(False)))

    @property
    def _wrong(self) -> Column:
        """Rows that are bad whatever WHERE says."""
        marked = quoted(BAD).isNotNull() if self.marked else F.lit(False)
        unsigned = self._rows(~F.coalesce(quoted(CHANGE).isin(1, -1), F.lit(False))) if self.signs else F.lit(False)
        return marked | F.coalesce(self._far, F.lit(False)) | unsigned

    @property
    def _bad(self) -> Column:
        return self._wrong | (self._untimed & self._seen if self.conditions else self._untimed)

    @property
    def _seen(self) -> Column:
        """Whether one of the conditions is true: in an array, because Spark takes a chain of ORs apart one call deeper
        for each; many of them in one text, which takes less time than as many columns."""
        of = rows_of_streams(self.name)
        if len(self.conditions) <= MANY_TERMS or any(called_in(condition.sql) for condition in self.conditions):
            return F.array_contains(F.array(*(F.coalesce(scalar_column(condition, self.frame, of), F.lit(False))
                                              for condition in self.conditions)), True)
        texts = ", ".join(f"coalesce(({condition.sql}) /* {of} */, false)" for condition in self.conditions)
        return F.expr(f"array_contains(array({texts}), true)")

    def _rows(self, found: Column) -> Column:
        """Only of rows that are neither punctuation nor marked."""
        for side in (CONTROL, BAD):
            if side in self.frame.columns:
                found = found & quoted(side).isNull()
        return found

    def usable(self, policy: BadRowPolicy) -> DataFrame:
        """The rows to compute with; under ``stop`` also those that are to stop the run.

        A stream whose bad rows leave is read twice, so that its rows are counted on this way alone.
        """
        twice = policy.action is BadRowAction.ASIDE and self.frame.isStreaming
        if twice and not self.can_be_bad:
            return self.frame.observe(new_metric("<read>"), _counted())
        if not self.can_be_bad or (policy.stops and not self.conditions):
            return self.frame
        if policy.stops:
            return self.frame.where(~self._untimed | self._bad)
        frame = self.frame
        if frame.isStreaming:
            count = F.coalesce(F.sum(self._bad.cast("bigint")), F.lit(0)).alias("bad_rows")
            frame = frame.observe(new_metric("<bad>"), count, *([_counted()] if twice else []))
        frame = frame.where(~(self._wrong | self._untimed))
        return frame.drop(BAD) if self.marked else frame

    def texts(self) -> DataFrame:
        """The bad rows, each as a text."""
        beside = [c for c in (POSITION, BAD) if c in self.frame.columns]
        data = data_columns(self.frame)
        rows = self.frame.where(self._bad).select(*map(quoted, [*data, *beside]))
        return rows.mapInArrow(_Describe(self.name, tuple(self.columns), tuple(data), self.signs), f"{BAD} string")


@dataclass(frozen=True)
class _Describe:
    """Bad rows as texts, in a task."""

    stream: str
    columns: tuple[str, ...]
    data: tuple[str, ...]
    signs: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Batch by batch."""
        for batch in batches:
            if batch.num_rows:
                yield pa.record_batch({BAD: pa.array(self._texts(pa.Table.from_batches([batch])), pa.string())})

    def _texts(self, rows: pa.Table) -> list[str]:
        data = rows.select(self.data)
        data = normalise(data, normal_schema(data.schema))  # as the other engines show them
        marks = rows.column(BAD).to_pylist() if BAD in rows.column_names else [None] * rows.num_rows
        places = rows.column(POSITION).to_pylist() if POSITION in rows.column_names else [None] * rows.num_rows
        found = []
        for at, (mark, place) in enumerate(zip(marks, places, strict=True)):
            told = json.loads(mark) if mark is not None else vars(self._described(data, at, place))
            found.append(json.dumps({"stream": self.stream, **told}, ensure_ascii=False))
        return found

    def _described(self, data: pa.Table, at: int, place: int | None) -> BadRow:
        where = f"stream {self.stream!r}" + ("" if place is None else f", position {place}")
        sign = data.column(CHANGE)[at].as_py() if self.signs else 1
        if sign not in (1, -1):
            return BadRow(where, wrong_sign(sign), CHANGE, row_text(data, at))
        values = {c: data.column(c)[at].as_py() for c in self.columns}
        missing = next((c for c, value in values.items() if value is None), None)
        if missing is not None:
            return BadRow(where, no_time(missing), missing, row_text(data, at))
        far = next(c for c, value in values.items() if isinstance(value, int) and abs(value) >= LIMIT)
        return BadRow(where, too_far(far, str(values[far])), far, row_text(data, at))


def _write(path: Path, bad: tuple[DataFrame, ...]) -> None:
    """Bad rows of bounded inputs to a file, as in process."""
    file = AsideFile(path)
    for texts in bad:
        for batch in texts.toArrow().to_batches(max_chunksize=10_000):
            told = [json.loads(text) for text in batch.column(0).to_pylist()]
            file.add((one["stream"], BadRow(one["place"], one["reason"], one["column"], one["row"])) for one in told)
