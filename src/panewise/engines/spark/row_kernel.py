"""Any window kernel on Spark: what workers need to make one, and rows and results in its terms.

Windows that panes do not serve (row positions, partitions, sessions, landmarks, slide-by-tuple, …) run on the same
kernels as in process: the rows of a group come together in one task, in their order of arrival where it matters.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.errors import UnsupportedError
from panewise.engines.spark.calls import argument_columns, bound_aggregates
from panewise.engines.spark.fragment import END, ORDINAL, START, Fragment
from panewise.engines.spark.partial_stage import flat
from panewise.engines.spark.wire import POSITION, ROW_BOUND
from panewise.kernels.base import WINDOW_END, WindowKernel
from panewise.kernels.catalog import make_kernel
from panewise.kernels.panes import WINDOW_ID
from panewise.kernels.partials import BoundAggregate
from panewise.progress.late import LatePolicy
from panewise.progress.watermarks import NO_BOUND
from panewise.windows.base import WindowSpec
from panewise.windows.extents import extents

NO_KEYS = pa.table({})


@dataclass(frozen=True)
class RowKernel:
    """A window aggregate over rows, sent to the workers."""

    spec: WindowSpec
    groups: pa.Schema
    shown: tuple[str, ...]
    """The group columns that results have; partition columns that are no keys are left out."""
    partition: tuple[str, ...]
    aggregates: tuple[BoundAggregate, ...]
    arguments: tuple[tuple[str, ...], ...]
    late: LatePolicy
    by_position: bool
    ranged: bool
    """Whether results say where a window starts and ends."""

    @classmethod
    def of(cls, fragment: Fragment, late: LatePolicy) -> RowKernel:
        """From a fragment; what no kernel runs is refused here, and so is an order that the rows do not have."""
        if fragment.ordered and POSITION not in fragment.rows.columns:
            raise UnsupportedError(f"{fragment.spec.kind} windows and aggregates like first need the order of arrival, "
                                   "which a DataFrame does not have: read files with read_stream or read_batch of "
                                   "panewise.engines.spark, or name the column that counts arrivals with its "
                                   "arrival(frame, 'column')")
        aggregates = tuple(bound_aggregates(fragment))
        made = cls(fragment.spec, fragment.group_schema, tuple(fragment.keys), tuple(fragment.partition), aggregates,
                   argument_columns(fragment, aggregates), late, fragment.by_position,
                   fragment.clause.has_time_range)
        made.kernel()
        return made

    def kernel(self) -> WindowKernel:
        """A new kernel."""
        return make_kernel(self.spec, self.groups, self.aggregates, attribute=ORDINAL, late=self.late,
                           partition=self.partition, by_position=self.by_position)

    @property
    def columns(self) -> list[str]:
        """The columns of the rows it reads."""
        named = [n for columns in self.arguments for n in columns]
        return list(dict.fromkeys([*([] if self.by_position else [ORDINAL]), *self.groups.names, *named]))

    def process(self, kernel: WindowKernel, rows: pa.Table) -> pa.Array:
        """Give rows to a kernel; which of them are late."""
        bounds = pc.fill_null(rows.column(ROW_BOUND), NO_BOUND).to_numpy() if ROW_BOUND in rows.column_names else None
        keys = rows.select(self.groups.names).cast(self.groups) if self.groups.names else NO_KEYS
        arguments = [[flat(rows.column(n)) for n in names] for names in self.arguments]
        values = np.zeros(rows.num_rows, np.int64) if self.by_position else rows.column(ORDINAL).to_numpy()
        return pa.array(kernel.process(values, keys, arguments, bounds=bounds))

    @cached_property
    def result_schema(self) -> pa.Schema:
        """Window id, where it starts and ends, the keys shown, the aggregates."""
        edges = [pa.field(n, pa.int64()) for n in (START, END)] if self.ranged else []
        return pa.schema([pa.field(WINDOW_ID, pa.int64()), *edges, *(self.groups.field(n) for n in self.shown),
                          *(a.result_field for a in self.aggregates)])

    def results(self, found: pa.Table) -> pa.Table:
        """A kernel's results with the columns of ``result_schema``."""
        wids = found.column(WINDOW_ID).to_numpy()
        columns = {WINDOW_ID: found.column(WINDOW_ID)}
        if self.ranged:
            if WINDOW_END in found.column_names:
                start, end = wids, found.column(WINDOW_END).to_numpy()
            else:
                start, end = extents(self.spec, wids) if len(wids) else (np.empty(0, np.int64), np.empty(0, np.int64))
            columns |= {START: pa.array(start), END: pa.array(end)}
        columns |= {n: found.column(n) for n in (*self.shown, *(a.name for a in self.aggregates))}
        return pa.table(columns).cast(self.result_schema)
