"""Batch by kernels over rows: the rows of a group come to one task, are sorted, and stream through a kernel.

Memory is the kernel's state and one Arrow batch. Rows are sorted by arrival where the order of arrival matters or rows
carry bounds; else by the windowing attribute, so that windows close on the way and their state is let go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from panewise.engines.spark.fragment import ORDINAL, Fragment, result_field
from panewise.engines.spark.relation import quoted
from panewise.engines.spark.row_kernel import RowKernel
from panewise.engines.spark.sharding import default_shards, plain_zero
from panewise.engines.spark.wire import CONTROL, POSITION, ROW_BOUND
from panewise.kernels.panes import WINDOW_ID
from panewise.progress.late import LatePolicy
from panewise.progress.punctuation import END, Punctuation
from panewise.windows.base import Clock
from panewise.windows.landmark import LandmarkWindow
from panewise.windows.tuple_slide import TupleSlideWindow


def row_batch(fragment: Fragment, late: LatePolicy) -> DataFrame:
    """The results of a fragment."""
    kernel = RowKernel.of(fragment, late)
    rows = fragment.rows
    if CONTROL in rows.columns:
        rows = rows.where(quoted(CONTROL).isNull())
    by_arrival = fragment.ordered or ROW_BOUND in rows.columns
    sides = [c for c in (POSITION, ROW_BOUND) if c in rows.columns]
    rows = rows.select(*map(quoted, dict.fromkeys([*kernel.columns, *sides])))
    together = shared_columns(fragment)
    rows = rows.repartition(default_shards(rows), *(plain_zero(rows, c) for c in together)) if together \
        else rows.coalesce(1)
    rows = rows.sortWithinPartitions(POSITION if by_arrival and POSITION in rows.columns else ORDINAL)
    schema = T.StructType([result_field(f.name, f.type) for f in kernel.result_schema])
    results = rows.mapInArrow(windows_of(kernel, closing=not by_arrival and not fragment.by_position), schema)
    found = {a.name: quoted(a.name) for a in fragment.aggregates}
    return fragment.windowed(results, quoted(WINDOW_ID), found)


def shared_columns(fragment: Fragment) -> list[str]:
    """What the rows of one window have in common, so that tasks can share the work; nothing when windows are global."""
    if fragment.partition:
        return fragment.partition
    spec = fragment.spec
    counted = fragment.by_position or spec.clock in (Clock.ORDER, Clock.PARTITION_ORDER)
    # which landmarks and tuple-slid windows there are depends on the rows of all groups
    of_all = isinstance(spec, LandmarkWindow | TupleSlideWindow)
    return [] if counted or of_all else fragment.groups


def windows_of(kernel: RowKernel, *, closing: bool) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """One task: rows in, results out; ``closing`` says that rows come in the order of their values."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        running = kernel.kernel()
        seen = False
        for batch in batches:
            rows = pa.Table.from_batches([batch])
            if not rows.num_rows:
                continue
            seen = True
            kernel.process(running, rows)
            found = [running.ripe()]
            if closing:
                found.append(running.advance(Punctuation.below(ORDINAL, rows.column(ORDINAL)[-1].as_py())))
            for table in found:
                if table.num_rows:
                    yield from kernel.results(table).to_batches()
        if seen:
            last = running.advance(END)
            yield from kernel.results(last).to_batches()

    return run
