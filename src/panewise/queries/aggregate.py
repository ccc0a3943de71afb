"""The window aggregate at the end of every path: Bucket and Aggregate in one, on a window kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.aggregates.registry import resolve
from panewise.core.columns import one_zero
from panewise.core.errors import SchemaError
from panewise.core.ordinals import Ordinals, from_ordinals, to_ordinals
from panewise.core.scalar import Scalar
from panewise.core.schema import ROW_NUM_NAMES
from panewise.functions import evaluate, type_of
from panewise.kernels.base import WINDOW_END, WindowKernel
from panewise.kernels.catalog import Request, make_kernel
from panewise.kernels.empty_windows import EmptyWindows
from panewise.kernels.paned import PanedKernel
from panewise.kernels.panes import WINDOW_ID
from panewise.kernels.partials import bind
from panewise.plan.nodes import WID_COLUMN, Explode, WindowAggregate
from panewise.planner.choices import Stats, statistics_for
from panewise.planner.strategy import choose
from panewise.progress.generators import Bounds, Trailing, bound_array
from panewise.progress.late import LatePolicy, decide
from panewise.progress.patterns import Pattern
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import FINISHED
from panewise.queries.chunks import Chunk, rows_of
from panewise.windows.extents import extents

ATTRIBUTE = "<window>"
"""What the kernel calls the windowing attribute: a key may have the attribute's own name."""

HIDDEN = "<partition>."
"""Before the name of a PARTITION BY column that the result does not show."""

NO_KEYS = pa.table({})

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Prepared:
    """What the kernel takes of some rows."""

    values: Ordinals
    keys: pa.Table
    arguments: list[list[pa.Array]]
    bounds: Bounds | None


class WindowStage:
    """Evaluates keys and arguments, feeds the kernel, and gives results the columns a user sees."""

    def __init__(self, node: WindowAggregate, schema: pa.Schema, late: LatePolicy, strategy: str = "auto",
                 stats: Stats = None, *, empty_windows: bool = False) -> None:
        self.node, self.late = node, late
        functions = [resolve(call.function, call.parameters, call.distinct) for call in node.aggregates]
        self.scalars: list[Scalar] = [key.scalar for key in node.keys]
        self.arguments: list[list[int]] = []
        for call in node.aggregates:
            self.arguments.append(list(range(len(self.scalars), len(self.scalars) + len(call.arguments))))
            self.scalars += call.arguments
        partition = self._partition_keys()
        self.hidden = {column: name for column, name in partition.items() if name.startswith(HIDDEN)}
        hidden_at = len(self.scalars)
        self.scalars += [Scalar.column(column) for column in self.hidden]
        types = [type_of(scalar, schema) for scalar in self.scalars]
        self.key_places = [*range(len(node.keys)), *range(hidden_at, len(self.scalars))]
        names = [*(key.name for key in node.keys), *self.hidden.values()]
        keys = pa.schema([(name, types[i]) for name, i in zip(names, self.key_places, strict=True)])
        bound = bind([(call.name, f) for call, f in zip(node.aggregates, functions, strict=True)],
                     [[types[i] for i in places] for places in self.arguments])
        self.ordered = [function.needs_order for function in functions]
        self._exploded = any(isinstance(below, Explode) for below in node.walk())
        self.types = types
        plain = [scalar.column_name for scalar in self.scalars if scalar.column_name is not None]
        self._plain = list(dict.fromkeys(plain)) if len(plain) == len(self.scalars) else None
        self._places = [self._plain.index(name) for name in plain] if self._plain is not None else []
        self._titles = list(node.columns)
        request = Request(node.window.spec, keys, tuple(bound), tuple(partition.values()))
        self.choice = choose(request, statistics_for(node, stats), strategy=strategy)
        self.kernel: WindowKernel = make_kernel(node.window.spec, keys, bound, attribute=ATTRIBUTE, late=late,
                                                partition=request.partition, strategy=self.choice.kernel,
                                                by_position=node.window.attribute in ROW_NUM_NAMES)
        if empty_windows:
            self.kernel = EmptyWindows(self.kernel)
        self._without_range = node.window_column == WID_COLUMN
        self._ends_differ = WINDOW_END in self.kernel.result_schema.names

    def _partition_keys(self) -> dict[str, str]:
        """The columns of PARTITION BY and what the kernel calls them; those that are no group keys are hidden keys."""
        by_column = {key.scalar.column_name: key.name for key in reversed(self.node.keys)}
        return {column: by_column.get(column, f"{HIDDEN}{column}") for column in self.node.window.partition}

    @property
    def has_slack(self) -> bool:
        """Whether a late row may still count: by a slack policy, in windows that close one by one."""
        return self.late in {LatePolicy.CONSISTENT, LatePolicy.GENEROUS} and self.node.window.spec.takes_late_rows

    def prepare(self, chunk: Chunk, *, guarded: bool) -> Prepared:
        """Compute and check everything of a chunk that can be refused; nothing is counted yet.

        ``guarded`` says whether the bounds are on the windowing attribute. A computed attribute has no bounds: nothing
        is late, and its windows close when the input ends.
        """
        values = chunk.values if guarded and chunk.values is not None else self._values(chunk)
        if guarded and self.late is LatePolicy.ERROR:
            self._refuse(values < chunk.bounds, values, chunk)
        with rows_of(chunk):
            columns = self.evaluate(chunk.table)
        keys = pa.Table.from_arrays([one_zero(columns[i]) for i in self.key_places], schema=self.kernel.keys) \
            if self.key_places else NO_KEYS
        arrivals = [pa.array(chunk.in_order(exploded=self._exploded))] if any(self.ordered) else []
        arguments = [[*(columns[i] for i in places), *(arrivals if ordered else [])]
                     for places, ordered in zip(self.arguments, self.ordered, strict=True)]
        return Prepared(values, keys, arguments, chunk.guard if guarded else None)

    def evaluate(self, table: pa.Table) -> list[pa.Array]:
        """Keys and arguments, each as one array of the type it had when the query was bound."""
        if self._plain is None:
            columns = evaluate(self.scalars, table)
        else:  # columns as they are: by far the most frequent
            chunked = [table.column(name) for name in self._plain]
            distinct = [c.chunk(0) if c.num_chunks == 1 else c.combine_chunks() for c in chunked]
            columns = [distinct[place] for place in self._places]
        return [column if column.type == expected else self._typed(column, expected, scalar)
                for column, expected, scalar in zip(columns, self.types, self.scalars, strict=True)]

    def count(self, rows: Prepared) -> Mask:
        """Count rows; which of them are late."""
        bounds = rows.bounds
        if isinstance(bounds, Trailing) and isinstance(self.kernel, PanedKernel):
            return self.kernel.process(rows.values, rows.keys, rows.arguments, bounds=bounds)
        known = None if bounds is None else bound_array(bounds)
        return self.kernel.process(rows.values, rows.keys, rows.arguments, bounds=known)

    def _typed(self, column: pa.Array, expected: pa.DataType, scalar: Scalar) -> pa.Array:
        try:
            return column.cast(expected)
        except pa.ArrowException as error:
            raise SchemaError(f"{scalar} is {column.type} in one batch and {expected} in another: {error}") from error

    def _values(self, chunk: Chunk) -> Ordinals:
        name = self.node.window.attribute
        if name in ROW_NUM_NAMES:  # the kernel numbers the rows it counts
            return np.zeros(chunk.table.num_rows, np.int64)
        if name not in chunk.table.column_names:
            raise SchemaError(f"the window is on {name!r}; there are {', '.join(chunk.table.column_names)}")
        first_row = int(chunk.rows[0]) if len(chunk.rows) else 1
        return to_ordinals(chunk.table.column(name), name, first_row=first_row)

    def _refuse(self, late: Mask, values: Ordinals, chunk: Chunk) -> None:
        """Under the policy ``error`` the first late row stops the run before anything of its batch is counted."""
        if not late.any():
            return
        at = int(np.flatnonzero(late)[0])
        one = np.zeros(1, np.int64)
        decide(self.late, one, one, values[at : at + 1], chunk.bounds[at : at + 1], self.node.window.spec.closed_below,
               stream=chunk.stream, attribute=self.node.window.attribute, kind=self.node.window.ordinal,
               first_row=int(chunk.rows[at]))

    def advance(self, punctuation: Punctuation) -> pa.Table:
        """Results of the windows a promise closes: wid, keys, aggregates."""
        translated = self.translate(punctuation)
        return self.empty_results() if translated is None else self.kernel.advance(translated)

    def ripe(self) -> pa.Table:
        """Results of the windows that rows themselves have closed."""
        return self.kernel.ripe()

    def translate(self, punctuation: Punctuation) -> Punctuation | None:
        """The promise in terms of window and keys; nothing when it is about less than whole groups."""
        linear = punctuation.linear_bound(self.node.window.attribute)
        if linear is not None:
            return Punctuation.below(ATTRIBUTE, linear)
        by_column = {key.scalar.column_name: key.name for key in reversed(self.node.keys)} | self.hidden
        patterns: dict[str, Pattern] = {}
        for name, pattern in punctuation.patterns:
            if name == self.node.window.attribute:
                patterns[ATTRIBUTE] = pattern
            elif name in by_column:
                patterns[by_column[name]] = pattern
            else:
                return None
        return Punctuation.of(patterns)

    def empty_results(self) -> pa.Table:
        """No results, with the kernel's columns."""
        return self.kernel.result_schema.empty_table()

    def present(self, results: pa.Table) -> pa.Table:
        """Kernel results with the columns of the query: keys, window or wid, aggregates."""
        node = self.node
        columns = [results.column(key.name) for key in node.keys]
        if self._without_range:
            columns.append(results.column(WINDOW_ID))
        else:
            wids: Ordinals = results.column(WINDOW_ID).to_numpy()
            sides = (wids, results.column(WINDOW_END).to_numpy()) if self._ends_differ else \
                extents(node.window.spec, wids)
            start, end = (from_ordinals(side, node.window.ordinal) for side in sides)
            columns.append(pa.StructArray.from_arrays([start, end], names=["start", "end"]))
        columns += [results.column(call.name) for call in node.aggregates]
        return pa.Table.from_arrays(columns, names=self._titles)

    @property
    def watermark(self) -> int:
        """The bound for all groups that the aggregate has seen."""
        return self.kernel.bounds.linear

    @property
    def finished(self) -> bool:
        """Whether nothing more can come."""
        return self.watermark == FINISHED
