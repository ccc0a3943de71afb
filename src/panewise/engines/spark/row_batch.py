"""Batch by kernels over rows: the rows of a group come to one task, are sorted, and stream through a kernel.

Memory is the kernel's state and one Arrow batch. Rows are sorted by arrival where the order of arrival matters or rows
carry bounds; else by the windowing attribute, so that windows close on the way and their state is let go.

Row windows could also be numbered and merged in Spark SQL. That sorts by group as well as by arrival and took 1.4 times
as long as this (bench/spark_rows.py), so all windows over rows come here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from panewise.engines.spark.fragment import ORDINAL, Fragment, result_field
from panewise.engines.spark.partial_stage import RAW
from panewise.engines.spark.relation import quoted
from panewise.engines.spark.row_kernel import RowKernel
from panewise.engines.spark.sharding import default_shards, plain_zero
from panewise.engines.spark.wire import CONTROL, LATE_COLUMN, POSITION, ROW_BOUND
from panewise.kernels.panes import WINDOW_ID
from panewise.progress.late import LatePolicy
from panewise.progress.punctuation import END, Punctuation


def row_batch(fragment: Fragment, late: LatePolicy) -> DataFrame:
    """The results of a fragment."""
    kernel = RowKernel.of(fragment, late)
    beside = late is LatePolicy.SIDE and ROW_BOUND in fragment.rows.columns
    rows = fragment.rows_with(fragment.late_text.alias(RAW)) if beside else fragment.rows
    if CONTROL in rows.columns:
        rows = rows.where(quoted(CONTROL).isNull())
    by_arrival = fragment.ordered or ROW_BOUND in rows.columns
    sides = [c for c in (POSITION, ROW_BOUND, RAW) if c in rows.columns]
    rows = rows.select(*map(quoted, dict.fromkeys([*kernel.columns, *sides])))
    together = shared_columns(fragment)
    rows = rows.repartition(default_shards(rows), *(plain_zero(rows, c) for c in together)) if together \
        else rows.coalesce(1)
    rows = rows.sortWithinPartitions(POSITION if by_arrival and POSITION in rows.columns else ORDINAL)
    made = kernel.result_schema.append(pa.field(LATE_COLUMN, pa.string())) if beside else kernel.result_schema
    schema = T.StructType([result_field(f.name, f.type) for f in made])
    closing = not by_arrival and not fragment.by_position
    results = rows.mapInArrow(windows_of(kernel, made, closing=closing), schema)
    found = {a.name: quoted(a.name) for a in fragment.aggregates}
    return fragment.windowed(results, quoted(WINDOW_ID), found)


def shared_columns(fragment: Fragment) -> list[str]:
    """What the rows of one window have in common, so that tasks can share the work; nothing when windows are global."""
    if fragment.partition:
        return fragment.partition
    return [] if fragment.by_position or fragment.spec.of_all_rows else fragment.groups


def windows_of(kernel: RowKernel, schema: pa.Schema, *, closing: bool) \
        -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """One task: rows in, results out; ``closing`` says that rows come in the order of their values.

    Where ``schema`` has a column for late rows, they come out as rows with nothing but that column.
    """

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        running = kernel.kernel()
        seen = False
        for batch in batches:
            rows = pa.Table.from_batches([batch])
            if not rows.num_rows:
                continue
            seen = True
            late = kernel.process(running, rows)
            if LATE_COLUMN in schema.names and late.true_count:
                yield from widened(pa.table({LATE_COLUMN: rows.column(RAW).filter(late)}), schema).to_batches()
            found = [running.ripe()]
            if closing:
                found.append(running.advance(Punctuation.below(ORDINAL, rows.column(ORDINAL)[-1].as_py())))
            for table in found:
                if table.num_rows:
                    yield from widened(kernel.results(table), schema).to_batches()
        if seen:
            yield from widened(kernel.results(running.advance(END)), schema).to_batches()

    return run


def widened(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with all columns of the schema; those it lacks are null."""
    return pa.table([table.column(f.name).cast(f.type) if f.name in table.column_names
                     else pa.nulls(table.num_rows, f.type) for f in schema], schema=schema)
