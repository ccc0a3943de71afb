"""AdaptWID: per group buffered rows or partial aggregates, whichever is smaller (Li 6.3).

A group with few rows is cheaper as rows, a group with many as partials. The kernel compares both for every group, by
condition 6.9, and changes sides with hysteresis. Which side a group is on never changes a result: rows that are held
are folded when their windows close, and a group may have both (it is *transitional* then).

``unit="group"`` is the algorithm of the thesis. ``unit="pane"`` is its paned form: every (group, pane) is a list of
rows while that is smaller than one aggregate, and an aggregate from then on, so there is nothing to switch back.

Arriving rows wait undecided until they are worth a look (an eighth of the state): a batch costs its own size, not that
of the state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.aggregates.base import Aggregate, Codes, Columns, State, Types
from panewise.core.errors import UnsupportedError
from panewise.core.ordinals import Ordinals
from panewise.kernels.baselines.row_buffer import VALUE, RowBuffer, filtered, fixed_bytes, is_fixed_width, row_bytes
from panewise.kernels.contract.kernel import Arguments, Mask
from panewise.kernels.contract.partials import BoundAggregate, partial_table
from panewise.kernels.groups.grouping import group_codes
from panewise.kernels.window_ids.context_free import ContextFreeKernel, Wids, wids_of
from panewise.kernels.window_ids.open_duration import OpenDuration, Since
from panewise.kernels.window_ids.range_state import END, FIRST, RangeState, Run, encode
from panewise.progress.late import LatePolicy
from panewise.progress.punctuation import Punctuation
from panewise.windows.base import WindowSpec

Unit = Literal["group", "pane"]
Estimate = Literal["held", "model"]
Switching = Callable[[Mask], Mask]

HELD = "<held>"
PATIENCE = 8
"""Sides are chosen anew when the state has changed by one part in so many."""


MOST = np.iinfo(np.uint16).max
"""Counting stops here: a group with so many rows per partial is eager beyond doubt."""


@dataclass(frozen=True)
class RowsOfPartial(Aggregate):
    """tupleCnt of a partial (rows that expire with it), and the eager flag.

    Its argument is the flag of each row. Its result is never shown.
    """

    name: ClassVar[str] = "held_rows"

    def state_fields(self, inputs: Types) -> list[pa.Field]:
        """Two narrow columns."""
        return [pa.field("rows", pa.uint16()), pa.field("eager", pa.bool_())]

    def result_type(self, inputs: Types) -> pa.DataType:
        """That of the count."""
        return pa.uint16()

    def init(self) -> State:
        """No rows, lazy."""
        return (0, False)

    def add(self, state: State, *values: Any) -> State:
        """One more row."""
        return self.merge(state, (1, *values))

    def merge(self, left: State, right: State) -> State:
        """Counts add up to a limit; one eager part makes the whole eager."""
        return (min(left[0] + right[0], MOST), left[1] or right[1])

    def finish(self, state: State) -> Any:
        """The count."""
        return state[0]

    def partials(self, arguments: Sequence[pa.Array], codes: Codes, groups: int, inputs: Types) -> Columns:
        """Counted per group."""
        return self.combine([pa.array(np.ones(len(codes), np.uint16)), *arguments], codes, groups, inputs)

    def combine(self, partials: Columns, codes: Codes, groups: int, inputs: Types) -> Columns:
        """Column by column."""
        rows, eager = (column.to_numpy(zero_copy_only=False) for column in partials)
        return [pa.array(np.minimum(np.bincount(codes, rows, groups), MOST).astype(np.uint16)),
                pa.array(np.bincount(codes, eager, groups) > 0)]


class AdaptiveKernel(ContextFreeKernel):
    """Rows or partials per group, by condition 6.9: eager when the rows are larger than the partials would be.

    ``estimate="held"`` compares what the group holds with what the other side would hold, counted, so that rows which
    a lagging source has still to send need no correction. ``estimate="model"`` takes the terms of the thesis for one
    source: winVol rows against wed/SLIDE partials. A group goes back to rows below ``hysteresis`` times the threshold.
    """

    name = "adaptive"

    def __init__(self, spec: WindowSpec, keys: pa.Schema, aggregates: Sequence[BoundAggregate], *,
                 attribute: str = "ts", late: str | LatePolicy = LatePolicy.DROP, partition: Sequence[str] = (),
                 unit: Unit = "group", estimate: Estimate = "held", hysteresis: float = 0.9,
                 wed_since: Since = "high") -> None:
        super().__init__(spec, keys, aggregates, attribute=attribute, late=late, partition=partition)
        if not 0 < hysteresis <= 1:
            raise UnsupportedError(f"hysteresis is the lower threshold over the upper one, above 0 and at most 1, not "
                                   f"{hysteresis}")
        self.unit, self.estimate, self.hysteresis = unit, estimate, hysteresis
        self.time = OpenDuration(spec, wed_since)
        self.switching: Switching | None = None
        """Decides instead of condition 6.9 when it is set: which groups (or panes) are eager -> which shall be."""
        self.switches = 0
        held = BoundAggregate(HELD, RowsOfPartial(), (pa.bool_(),))
        self._kept = [*self.aggregates, held] if unit == "group" else self.aggregates
        self._clear()

    def _clear(self) -> None:
        self._rows, self._new = RowBuffer(self.keys, self.aggregates), RowBuffer(self.keys, self.aggregates)
        self._state = RangeState(self.keys, self._kept)
        self._settled_bytes = 0
        self._removed = 0

    # -- rows in

    def process(self, values: Ordinals, keys: pa.Table, arguments: Arguments, *, bounds: Ordinals | None = None,
                wids: Wids | None = None) -> Mask:
        """Take in a batch."""
        rows = self._admit(values, keys, arguments, bounds, wids)
        if len(rows.values):
            self.time.saw(rows.values, int(rows.end.max()) - 1, self.bounds.linear)
            if rows.tardy.any():  # their ranges do not follow from their values: they are folded at once
                some = rows.pick(rows.tardy)
                self._state.add(self._partials(some.first, some.end, some.keys, some.arguments, eager=False))
                rows = rows.pick(~rows.tardy)
            self._new.add(rows.values, rows.keys, rows.arguments)
            if PATIENCE * self._new.nbytes >= self._settled_bytes:
                self.settle()
        return rows.late

    def _partials(self, first: Ordinals, end: Ordinals, keys: pa.Table, arguments: Arguments, *,
                  eager: bool) -> pa.Table:
        """Ranged partials of rows."""
        ranged = pa.table([pa.array(first), *encode(keys, self._state.keys).columns], names=self._state.key_names)
        held = [[pa.repeat(eager, len(first))]] if self.unit == "group" else []
        return partial_table(end, ranged, [*arguments, *held], self._kept, id_name=END)

    # -- choosing sides

    def settle(self) -> None:
        """Choose a side for every group and bring its rows there."""
        for run in self._new.runs:
            self._rows.add_table(run)
        self._new.replace(self._new.schema.empty_table())
        rows, partials = self._rows.table(), self._state.compact()
        if rows.num_rows or partials.num_rows:
            first, end = self._ranges(rows)
            keys = pa.concat_tables([self._rows.keys_of(rows), partials.select(self.keys.names)]) \
                if self.keys.names else None
            codes, groups = np.zeros(rows.num_rows + partials.num_rows, np.int64), 1
            if keys is not None:
                codes, representatives = group_codes(keys.columns)
                groups = len(representatives)
            at = rows.num_rows
            choose = self._choose_panes if self.unit == "pane" else self._choose_groups
            fold, eager = choose(rows, partials, codes[:at], codes[at:], groups, (first, end))
            if fold.any():
                self._fold(rows, fold, first, end, eager)
        self._settled_bytes, self._removed = self._rows.nbytes + self._state.nbytes, 0

    def _choose_panes(self, rows: pa.Table, partials: pa.Table, at_rows: Ordinals, at_partials: Ordinals, groups: int,
                      ranges: tuple[Ordinals, Ordinals]) -> tuple[Mask, Mask]:
        """Rows of panes that have an aggregate already, or whose rows are larger than one; and which have one."""
        first = np.concatenate([ranges[0], np.maximum(partials.column(FIRST).to_numpy(), self._state.closed)])
        end = np.concatenate([ranges[1], partials.column(END).to_numpy()])
        items, some = group_codes([np.concatenate([at_rows, at_partials]), end, first])
        count = rows.num_rows
        eager = np.zeros(len(some), np.bool_)
        eager[items[count:]] = True
        size = _sums(items[:count], row_bytes(rows), len(some))
        wanted = size > fixed_bytes(self._state.schema) if self.switching is None else self.switching(eager)
        self.switches += int(np.count_nonzero(wanted & ~eager & (size > 0)))
        return (eager | wanted)[items[:count]], eager[items[:count]]

    def _choose_groups(self, rows: pa.Table, partials: pa.Table, at_rows: Ordinals, at_partials: Ordinals, groups: int,
                       ranges: tuple[Ordinals, Ordinals]) -> tuple[Mask, Mask]:
        """Rows of groups that are eager, or become so, and which were so; groups that become lazy are marked."""
        flagged = _numpy(partials.column(f"{HELD}.eager"))
        tuples = _numpy(partials.column(f"{HELD}.rows")).astype(np.float64)
        eager = _sums(at_partials, flagged, groups) > 0
        sizes = row_bytes(rows)
        width = float(sizes.mean()) if len(sizes) else fixed_bytes(self._rows.schema)
        lazy_bytes = _sums(at_rows, sizes, groups)
        released = _sums(at_partials, tuples, groups)  # rows the partials stand for
        if self.estimate == "held":
            fresh = group_codes([at_rows, ranges[1], ranges[0]])[1]
            up = lazy_bytes > np.bincount(at_rows[fresh], minlength=groups) * fixed_bytes(self._state.schema)
            down = released * width + lazy_bytes < self.hysteresis * _sums(at_partials, row_bytes(partials), groups)
        else:
            volume = np.bincount(at_rows, minlength=groups) + released
            aggregate = float(row_bytes(partials).mean()) if partials.num_rows else fixed_bytes(self._state.schema)
            threshold = aggregate / width * self.time.open_windows()
            up, down = volume > threshold, volume < self.hysteresis * threshold
        wanted = np.where(eager, ~down, up) if self.switching is None else self.switching(eager)
        self.switches += int(np.count_nonzero(wanted != eager))
        self._mark(partials, wanted[at_partials])
        return wanted[at_rows], eager[at_rows]

    def _mark(self, partials: pa.Table, eager: Mask) -> None:
        """Write on every partial whether its group is eager: a lazy group with partials is transitional."""
        at = partials.schema.get_field_index(f"{HELD}.eager")
        if partials.num_rows and not np.array_equal(_numpy(partials.column(at)), eager):
            self._state.runs = [Run.of(partials.set_column(at, partials.schema.field(at), pa.array(eager)))]

    def _fold(self, rows: pa.Table, fold: Mask, first: Ordinals, end: Ordinals, eager: Mask) -> None:
        """Turn rows into partials; ``eager`` are those whose group or pane has partials already."""
        table = filtered(rows, fold)
        partials = self._partials_of(table, first[fold], end[fold])
        if self.switching is None and not is_fixed_width(self._state.schema) and not eager[fold].all():
            larger = self._larger(table, first[fold], end[fold], partials) & ~eager[fold]
            if larger.any():  # a list of all values, say: then the rows are the smaller form
                fold = fold.copy()
                fold[fold] = ~larger
                partials = self._partials_of(filtered(rows, fold), first[fold], end[fold])
        self._state.add(partials)
        self._rows.replace(filtered(rows, ~fold))

    def _partials_of(self, table: pa.Table, first: Ordinals, end: Ordinals) -> pa.Table:
        return self._partials(first, end, self._rows.keys_of(table), self._rows.arguments_of(table), eager=True)

    def _larger(self, table: pa.Table, first: Ordinals, end: Ordinals, partials: pa.Table) -> Mask:
        """Rows of groups (or panes) whose partials are larger than their rows, for states without a fixed size."""
        columns = pa.concat_tables([self._rows.keys_of(table), partials.select(self.keys.names)]).columns \
            if self.keys.names else [np.zeros(len(first) + partials.num_rows, np.int64)]
        if self.unit == "pane":
            columns = [*columns, np.concatenate([first, _numpy(partials.column(FIRST))]),
                       np.concatenate([end, _numpy(partials.column(END))])]
        codes, some = group_codes(columns)
        mine, made = codes[: len(first)], codes[len(first) :]
        larger = _sums(made, row_bytes(partials), len(some)) > _sums(mine, row_bytes(table), len(some))
        return larger[mine]

    def _ranges(self, rows: pa.Table) -> tuple[Ordinals, Ordinals]:
        """The open windows of held rows, first and end."""
        first, end = wids_of(self.spec, _numpy(rows.column(VALUE)))
        return np.maximum(first, self._floor(rows, rows.num_rows)), end

    # -- progress in, results out

    def advance(self, punctuation: Punctuation) -> pa.Table:
        """Merge the partials and the rows of the windows it closes."""
        closing = self._closing(punctuation)
        if closing is None:
            return self.nothing
        due, masks = self._state.due(closing)
        parts = [due]
        kept: list[tuple[RowBuffer, pa.Table]] = []
        for buffer in (self._rows, self._new):
            rows = buffer.table()
            first, end = self._ranges(rows)
            covered = closing.covers(rows)
            wanted = covered & (first < closing.below)
            if wanted.any():
                table = filtered(rows, wanted)
                parts.append(self._partials(first[wanted], end[wanted], buffer.keys_of(table),
                                            buffer.arguments_of(table), eager=False))
                kept.append((buffer, filtered(rows, ~(covered & (end <= closing.below)))))
        if not self.bounds.advance(punctuation):
            return self.nothing
        results = self._results(pa.concat_tables(parts), closing.below)
        before = self._rows.nbytes + self._state.nbytes
        for buffer, table in kept:
            buffer.replace(table)
        self._state.close(closing, masks)
        if closing.linear:
            self.time.closed(closing.below)
        self._removed += before - self._rows.nbytes - self._state.nbytes
        if PATIENCE * self._removed >= self._settled_bytes > 0:
            self.settle()
        return results

    # -- counters

    def _held_ranges(self) -> tuple[Ordinals, Ordinals, pa.Table]:
        self.settle()
        rows, partials = self._rows.table(), self._state.compact()
        first, end = self._ranges(rows)
        held_first, held_end = self._state.ranges()
        keys = pa.concat_tables([self._rows.keys_of(rows), partials.select(self.keys.names)]) \
            if self.keys.names else pa.table({})
        return np.concatenate([first, held_first]), np.concatenate([end, held_end]), keys

    def counters(self) -> dict[str, int]:
        """How much state there is, every group on its side; ``switches`` is how often a side was changed so far."""
        found, partials = super().counters(), self._state.compact()
        return found | {"buffered": self._rows.rows, "partials": partials.num_rows,
                        "bytes": self._rows.nbytes + partials.nbytes, "switches": self.switches}

    # -- saving

    def _saved(self) -> tuple[dict[str, Any], dict[str, pa.Table]]:
        self.settle()
        header = {"closed": self._state.closed, "time": self.time.snapshot(), "switches": self.switches}
        return header, {"rows": self._rows.table(), "state": self._state.compact()}

    def _load(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        self._clear()
        self._state.closed, self.switches = header["closed"], header["switches"]
        self.time.restore(header["time"])
        self._rows.add_table(tables["rows"])
        self._state.add(_with_columns(tables["state"], self._state.schema))
        self._settled_bytes = self._rows.nbytes + self._state.nbytes


def _with_columns(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A saved state for a kernel with other options: what they keep beside a partial begins at nothing."""
    columns = [table.column(f.name) if f.name in table.column_names
               else pa.array(np.zeros(table.num_rows, np.int8)).cast(f.type) for f in schema]
    return pa.table(columns, names=schema.names).cast(schema)


def _sums(codes: Ordinals, weights: npt.NDArray[Any], groups: int) -> npt.NDArray[np.float64]:
    return np.bincount(codes, weights, groups).astype(np.float64)


def _numpy(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = column.to_numpy()
    return array
