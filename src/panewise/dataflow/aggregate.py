"""A window aggregate in a dataflow, on a window kernel; a Bucket below it, or the kernel, says which windows."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.columns import one_zero
from panewise.core.errors import CheckpointError, SchemaError
from panewise.core.ordinals import OrdinalKind, Ordinals, to_ordinals
from panewise.core.scalar import Scalar
from panewise.core.schema import ROW_NUM_NAMES
from panewise.dataflow.batch import Batch, rows_of
from panewise.dataflow.events import WindowEvent, WindowLog
from panewise.dataflow.late_output import refuse_late
from panewise.dataflow.lineage import Lineage
from panewise.dataflow.newest_rows import NewestRows
from panewise.dataflow.operators.base import NOTHING, Item, Keeping, Mask
from panewise.dataflow.operators.bucket import WID, Ids
from panewise.dataflow.results_in_order import ResultsInOrder
from panewise.dataflow.window_results import ATTRIBUTE, WindowResults
from panewise.functions import evaluate
from panewise.kernels.catalog import make_kernel
from panewise.kernels.contract.emission import CHANGE, Emission, Emitter
from panewise.kernels.contract.empty_windows import EmptyWindows
from panewise.kernels.contract.kernel import WindowKernel
from panewise.kernels.contract.state_file import Saved, part_of, together
from panewise.kernels.panes.pane_kernel import PanedKernel
from panewise.kernels.window_ids.context_free import Wids
from panewise.kernels.window_ids.wid import WidKernel
from panewise.plan.dataflow import WindowAggregateStep
from panewise.plan.nodes import INSTANT, Explode
from panewise.planner.facts.requests import bound_request, hidden_keys
from panewise.progress.generators import Bounds, Trailing, bound_array
from panewise.progress.late import LatePolicy
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import FINISHED, NO_BOUND
from panewise.windows.session import SessionWindow

NO_KEYS = pa.table({})


@dataclass(frozen=True)
class Prepared:
    """What the kernel takes of some rows."""

    values: Ordinals
    keys: pa.Table
    arguments: list[list[pa.Array]]
    bounds: Bounds | None
    wids: Wids | None = None
    """The ids of each row's windows, where a Bucket below has told them."""


class WindowAggregation(Keeping):
    """Evaluates keys and arguments, and feeds the kernel of its ``step``; ``schema`` are the columns of its input.

    Where results are dated, each carries the last instant of its window, or, of windows by rows, the instant of their
    newest row: by it what stands above orders them. Results that are read in order leave by the end of their windows
    and by group, whatever closed them.
    """

    def __init__(self, step: WindowAggregateStep, schema: pa.Schema) -> None:
        node = self.node = step.aggregate
        self.step, self.late = step, step.late
        if node.window.attribute not in {*ROW_NUM_NAMES, *schema.names}:
            raise SchemaError(f"the window is on {node.window.attribute!r}; there are {', '.join(schema.names)}")
        request = bound_request(node, schema)
        hidden = [Scalar.column(column) for column in hidden_keys(node)]
        self.scalars: list[Scalar] = [*(key.scalar for key in node.keys), *hidden]
        self._key_count = len(self.scalars)
        self.types = list(request.keys.types)
        self.arguments: list[list[int]] = []
        for call, bound in zip(node.aggregates, request.aggregates, strict=True):
            self.arguments.append(list(range(len(self.scalars), len(self.scalars) + len(call.arguments))))
            self.scalars += call.arguments
            self.types += bound.inputs
        self.ordered = [bound.function.needs_order for bound in request.aggregates]
        self._exploded = any(isinstance(below, Explode) for below in node.walk())
        plain = [scalar.column_name for scalar in self.scalars if scalar.column_name is not None]
        self._plain = list(dict.fromkeys(plain)) if len(plain) == len(self.scalars) else None
        self._places = [self._plain.index(name) for name in plain] if self._plain is not None else []
        assert step.choice is not None, "columns are known, and so is the kernel"
        self.choice = step.choice
        self._by_position = node.window.attribute in ROW_NUM_NAMES
        self.kernel: WindowKernel = make_kernel(request, self.choice.kernel, attribute=ATTRIBUTE, late=self.late,
                                                by_position=self._by_position, options=self.choice.options)
        if step.empty_windows:
            self.kernel = EmptyWindows(self.kernel)
        self._newest = NewestRows(request, self.choice.kernel, [
            *(key.name for key in node.keys), *(call.name for call in node.aggregates)]) if step.by_rows else None
        nothing = self.kernel.result_schema.empty_table()
        self.results = WindowResults(node, nothing.schema)
        self.schema = self.results.schema
        self.emission = Emission.parse(step.emit, node.window.ordinal)
        self._emitter = Emitter(self.emission, self.kernel) if self.emission.early else None
        self._finals: list[pa.Table] = []
        """Results that an early emission has to put out with its next changes."""
        self.log = WindowLog(node.window, watch=step.events)
        self._waiting = ResultsInOrder(request.keys.names, nothing) if step.in_order and not step.by_rows else None
        self.tells = step.tells
        """Whether promises about results to come are asked for."""
        self._ids = Ids(node.window.spec.plain, ATTRIBUTE) if step.bucket == "inside" else None
        """Bounds on ids, where no Bucket below tells them."""
        self._opening = NO_BOUND
        """The instant of the first window that bounds on ids leave open."""
        self._put_out = 0
        self._taken: list[tuple[Batch, Prepared]] = []

    # -- rows and promises

    def take(self, port: int, batch: Batch) -> None:
        """Everything of the rows that can be refused is computed and checked; nothing is counted yet."""
        del port
        if self._newest is not None and (late := batch.late()).any():  # told where they enter
            batch = batch.filter(~late)
        self._taken.append((batch, self.prepare(batch)))

    def revoke(self) -> None:
        """What was taken never came."""
        self._taken.clear()

    def settle(self) -> Iterable[Item]:
        """Rows count; windows that rows themselves close leave."""
        taken, self._taken = self._taken, []
        for batch, rows in taken:
            late = self.count(rows)
            if self._newest is not None:
                self._newest.process(rows.keys, batch.instants, batch.arrivals)
            elif batch.values is not None and late.any():  # rows of a stream: pairs of late ones are not told twice
                self.missed.append((batch, late))
        if self.log.watch:
            self.log.note_opened(self.kernel)
        return self._leaving(None, self.kernel.ripe())

    def merge(self, partials: pa.Table, kind: OrdinalKind) -> Mask:
        """Partials of panes in place of their rows, made by a stateless step elsewhere; which came too late."""
        return self.ranges.merge(partials, repr(self.node.window.attribute), kind)

    @property
    def ranges(self) -> WidKernel:
        """The kernel, where it takes partials of panes."""
        assert isinstance(self.kernel, WidKernel), self.kernel
        return self.kernel

    def advance(self, port: int, promise: Punctuation) -> Iterator[Item]:
        """The windows that a promise closes, then what it says of results to come."""
        del port
        translated = self.results.translate(promise)
        if translated is None or self._newest is not None:  # what the end cuts off comes after all instants
            return
        if WID in translated.attributes:
            yield from self._told(translated)
            return
        yield from self._leaving(promise, self.kernel.advance(translated))
        if not self.step.bucket or translated.closes_below(ATTRIBUTE) != translated.bound(ATTRIBUTE):
            yield from self._told(translated)
        elif self._ids is not None and (news := self._ids.news(translated)) is not None:
            yield from self._told(news)

    def _told(self, promise: Punctuation) -> Iterable[Item]:
        """What closed windows say of results to come; where results wait for their turn, those of single groups do."""
        linear = promise.linear_bound(WID)
        if linear is not None:
            self._opening = self.results.opening(linear)[INSTANT]
        if not self.tells or (self._waiting is not None and not promise.attributes <= {ATTRIBUTE, WID}):
            return NOTHING
        return self.results.promised(promise)

    def flush(self, now: int | None = None) -> Iterable[Item]:
        """Early results, where they are asked for: what has changed since the last."""
        if self._emitter is None:
            return NOTHING
        finals, self._finals = self._finals, []
        made = self._emitter.after_item(finals) if now is None else self._emitter.after_tick(finals, now)
        if not made.num_rows:
            return NOTHING
        signs = made.column(CHANGE).to_numpy()
        return [self._made(made.drop_columns([CHANGE]), signs=signs)]

    def _leaving(self, by: Punctuation | None, results: pa.Table) -> Iterable[Item]:
        if results.num_rows:
            if self.log.watch:
                self.log.note_closed(by, results, self.kernel)
            if self._waiting is not None:
                self._waiting.add(results, self.results.instants(results))
        if self._waiting is not None:
            results = self._waiting.leaving(FINISHED if self._by_position else self._complete)
        if not results.num_rows:
            return NOTHING
        if self._emitter is not None:
            self._finals.append(results)
            return NOTHING
        lineage = None
        if self._newest is not None:
            results, lineage = self._newest.dated(results)
        elif self.step.dated:  # it comes from no single row
            lineage = Lineage(self.results.instants(results), np.empty((0, results.num_rows), np.int64))
        return [self._made(results, lineage=lineage)]

    def _made(self, results: pa.Table, **more: Any) -> Batch:
        """Results on their way, numbered in the order in which they leave."""
        first = self._put_out + 1
        self._put_out += results.num_rows
        return Batch.made(self.results.present(results), first, **more)

    def prepare(self, batch: Batch) -> Prepared:
        """What the kernel takes of some rows.

        Rows straight from a stream carry bounds on the windowing attribute, and so does what operators make of late
        rows. All else that they put out keeps their promises, so none of it is late, and a computed attribute has no
        bounds. Which session is open for a late pair depends on the order in which rows came, which joins do not keep:
        it is left out.
        """
        guarded = not self._by_position and (batch.values is not None or bool((batch.bounds != NO_BOUND).any()))
        if guarded and batch.values is None and isinstance(self.node.window.spec, SessionWindow):
            batch, guarded = batch.filter(batch.bounds == NO_BOUND), False
        values = self._values(batch)
        if guarded and self.late is LatePolicy.ERROR:
            refuse_late(self.late, batch, values < batch.bounds, self.node.window.attribute, self.node.window.ordinal,
                        values)
        with rows_of(batch):
            columns = self.evaluate(batch.table)
        keys = pa.Table.from_arrays(list(map(one_zero, columns[: self._key_count])), schema=self.kernel.keys) \
            if self._key_count else NO_KEYS
        arrivals = [pa.array(batch.in_order(exploded=self._exploded))] if any(self.ordered) else []
        arguments = [[*(columns[i] for i in places), *(arrivals if ordered else [])]
                     for places, ordered in zip(self.arguments, self.ordered, strict=True)]
        wids = None if batch.tags is None else (batch.tags.first, batch.tags.end)
        return Prepared(values, keys, arguments, batch.guard if guarded else None, wids)

    def evaluate(self, table: pa.Table) -> list[pa.Array]:
        """Keys and arguments, each as one array of the type it had when the query was bound."""
        if self._plain is None:
            columns = evaluate(self.scalars, table)
        else:  # columns as they are: by far the most frequent
            chunked = [table.column(name) for name in self._plain]
            distinct = [c.chunk(0) if c.num_chunks == 1 else c.combine_chunks() for c in chunked]
            columns = [distinct[place] for place in self._places]
        for place, column in enumerate(columns):
            if column.type != self.types[place]:
                columns[place] = self._typed(column, self.types[place], self.scalars[place])
        return columns

    def count(self, rows: Prepared) -> Mask:
        """Count rows; which of them are late."""
        bounds = rows.bounds
        if isinstance(bounds, Trailing) and isinstance(self.kernel, PanedKernel):
            return self.kernel.process(rows.values, rows.keys, rows.arguments, bounds=bounds)
        known = None if bounds is None else bound_array(bounds)
        tags: Any = {} if rows.wids is None else {"wids": rows.wids}
        return self.kernel.process(rows.values, rows.keys, rows.arguments, bounds=known, **tags)

    def _typed(self, column: pa.Array, expected: pa.DataType, scalar: Scalar) -> pa.Array:
        try:
            return column.cast(expected)
        except pa.ArrowException as error:
            raise SchemaError(f"{scalar} is {column.type} in one batch and {expected} in another: {error}") from error

    def _values(self, batch: Batch) -> Ordinals:
        name = self.node.window.attribute
        if self._by_position:  # the kernel numbers the rows it counts
            return np.zeros(batch.table.num_rows, np.int64)
        if batch.tags is not None:
            return batch.tags.values
        if batch.values is not None:
            return batch.values
        first_row = int(batch.rows[0]) if len(batch.rows) else 1
        return to_ordinals(batch.table.column(name), name, first_row=first_row)

    # -- what is known of results

    @property
    def watermark(self) -> int:
        """The bound for all groups that the aggregate has seen."""
        return self.kernel.bounds.linear

    @property
    def born(self) -> int:
        """No result to come has an earlier instant, as far as the aggregate knows: that of rows their streams know."""
        return max(self._complete, self._opening)

    @property
    def _complete(self) -> int:
        """The results of all earlier instants are known."""
        bound = FINISHED if self.step.by_rows else self.watermark
        return bound if bound in {NO_BOUND, FINISHED} else bound + self.results.ahead[INSTANT]

    @property
    def finished(self) -> bool:
        """Whether nothing more can come."""
        return self.watermark == FINISHED

    # -- looking

    def peek(self) -> pa.Table:
        """The results that open windows would have if nothing more came."""
        return self.results.present(self.kernel.peek())

    def watch(self) -> None:
        """From now on notice which windows open and close."""
        if not self.log.watch:
            self.log.watch, self.log.open = True, set(self.kernel.open_windows())

    @property
    def events(self) -> deque[WindowEvent]:
        """The newest openings and closings of windows, if they are watched."""
        return self.log.events.copy()

    def counters(self) -> dict[str, Any]:
        """What the kernel keeps."""
        found = self.kernel.counters()
        beside = 0 if self._newest is None else self._newest.kernel.counters()["bytes"]
        return {"operator": "WindowAggregate", "pattern": "MON", "rows": found["partials"],
                "bytes": found["bytes"] + beside}

    # -- saving

    @property
    def _kernels(self) -> dict[str, WindowKernel]:
        return {"kernel": self.kernel} | ({} if self._newest is None else {"newest": self._newest.kernel})

    def saved(self) -> Saved:
        """The kernel, what is watched, and what early results have shown."""
        header, tables = together({name: kernel.save() for name, kernel in self._kernels.items()})
        header |= {"open": sorted(self.log.open), "put out": self._put_out, "emission": {"mode": self.emission.mode},
                   "ids": None if self._ids is None else self._ids.said.snapshot(), "opening": self._opening}
        if self._waiting is not None:
            tables["waiting"] = self._waiting.waiting
        if self._emitter is not None:
            header["emission"], tables["shown"] = self._emitter.snapshot()
        return header, tables

    def become(self, header: dict[str, Any], tables: dict[str, pa.Table]) -> None:
        """Become what ``saved`` gave."""
        mode = header["emission"]["mode"]
        if mode != self.emission.mode:
            raise CheckpointError(f"the checkpoint was made with the emission policy {mode!r}, "
                                  f"this run has {self.emission.mode!r}: restart with the same policy")
        for name, kernel in self._kernels.items():
            kernel.load(*part_of((header, tables), name))
        self.log.open, self._put_out = set(header["open"]), header["put out"]
        self._opening = header["opening"]
        if self._ids is not None:
            self._ids.said.restore(header["ids"])
        if self._waiting is not None:
            self._waiting.waiting = tables["waiting"]
        if self._emitter is not None:
            self._emitter.restore(header["emission"], tables["shown"])
