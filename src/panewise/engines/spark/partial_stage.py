"""The stateless half of a streaming aggregate: what one task sees of a micro-batch becomes pane partials per shard.

Runs inside ``mapInArrow``. The output has few rows, whatever the input: one with the partials for each shard (an Arrow
table as bytes, so that every type survives), and one for each shard with what the task learned about progress.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.ordinals import OrdinalKind, Ordinals
from panewise.engines.spark.fragment import ORDINAL
from panewise.engines.spark.lineage import SINGLE, Origin
from panewise.engines.spark.paired import PaneScheme
from panewise.engines.spark.sharding import SHARD
from panewise.engines.spark.wire import CONTROL, INPUT, POSITION, ROW_BOUND, SILENT
from panewise.kernels.panes import PANE_ID
from panewise.kernels.partials import BoundAggregate, combine_partials, partial_table
from panewise.kernels.state_file import table_bytes
from panewise.progress.late import LatePolicy, decide
from panewise.progress.watermarks import NO_BOUND

COUNTS_FROM = "__pw_from"
"""The first window a partial counts in; late rows under the policy *generous* miss the windows before it."""
RAW = "__pw_raw"
"""A late row as JSON, made by Spark only where a row is late."""
PROGRESS_COLUMN = "__pw_progress"
"""The ordinal that the bound follows, where an input has another column for it (progress policy ``column:c``)."""

MESSAGE_SCHEMA = pa.schema([pa.field("shard", pa.int32()), pa.field("part", pa.int64()),
                            pa.field("control", pa.string()), pa.field("payload", pa.binary())])
MESSAGE_DDL = "shard int, part bigint, control string, payload binary"
COMPACT_ROWS = 200_000


@dataclass(frozen=True)
class PartialStage:
    """Everything a task needs; sent to the workers once per query."""

    scheme: PaneScheme
    keys: pa.Schema
    aggregates: tuple[BoundAggregate, ...]
    arguments: tuple[tuple[str, ...], ...]
    """The argument columns of each aggregate."""
    shards: tuple[int, ...]
    origins: tuple[Origin, ...]
    late: LatePolicy
    stamped: bool
    """Whether rows carry the bound in force at their arrival."""
    followed: tuple[str, ...]
    """The inputs whose bound is derived from the largest value of the micro-batch."""
    attribute: str
    kind: OrdinalKind

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """One task."""
        work = _Task(self, Heard(self.origins, self.followed))
        for batch in batches:
            work.take(pa.Table.from_batches([batch]))
        yield from work.messages().to_batches()

    @property
    def partial_keys(self) -> list[str]:
        """Key columns of partials on their way to the shards."""
        return [*self.keys.names, COUNTS_FROM]


@dataclass
class Heard:
    """What one task hears of progress: punctuation among its rows, and the largest values where bounds follow them."""

    origins: tuple[Origin, ...]
    followed: tuple[str, ...]
    promises: list[list[Any]] = field(default_factory=list)
    highest: dict[str, int] = field(default_factory=dict)
    silent: dict[str, list[Any]] = field(default_factory=dict)
    """Of inputs that fell silent or woke up, where in the stream that was, and which it is."""

    def listen(self, table: pa.Table) -> pa.Table:
        """Take in a batch; its data rows."""
        if CONTROL in table.column_names:
            is_control = pc.is_valid(table.column(CONTROL))
            if pc.any(is_control).as_py():
                self._learn(table.filter(is_control))
                table = table.filter(pc.invert(is_control))
        if self.followed and table.num_rows:
            self._note_highest(table, table.column(ORDINAL).to_numpy())
        return table

    def news(self) -> dict[str, Any]:
        """For the shards."""
        return {"promises": self.promises, "highest": self.highest, "silent": self.silent}

    def _learn(self, rows: pa.Table) -> None:
        origins = {o.tag: o for o in self.origins}
        for tag, text in zip(_tags(rows), rows.column(CONTROL).to_pylist(), strict=True):
            said = json.loads(text)
            if SILENT in said:
                self.silent[tag] = max(self.silent.get(tag, [0, False]), [said["position"], said[SILENT]])
                continue
            for promise in origins[tag].read(said):
                self.promises.append([tag, promise.to_state()])

    def _note_highest(self, table: pa.Table, values: Ordinals) -> None:
        bounds = values
        if PROGRESS_COLUMN in table.column_names:
            bounds = pc.fill_null(table.column(PROGRESS_COLUMN), NO_BOUND).to_numpy()
        tags = np.array(_tags(table)) if INPUT in table.column_names else None
        for tag in self.followed:
            mine = bounds if tags is None else bounds[tags == tag]
            if len(mine):
                self.highest[tag] = max(self.highest.get(tag, NO_BOUND), int(mine.max()))


@dataclass
class _Task:
    stage: PartialStage
    heard: Heard
    partials: list[pa.Table] = field(default_factory=list)
    pending: int = 0
    late: int = 0
    late_rows: list[str] = field(default_factory=list)

    def take(self, table: pa.Table) -> None:
        table = self.heard.listen(table)
        if table.num_rows:
            self._aggregate(table)

    def _aggregate(self, table: pa.Table) -> None:
        stage = self.stage
        values: Ordinals = table.column(ORDINAL).to_numpy()
        first, end = stage.scheme.window.wids_of(values)
        counts_from = np.full(len(values), NO_BOUND, np.int64)
        counted = first < end
        if stage.stamped:
            bounds = pc.fill_null(table.column(ROW_BOUND), NO_BOUND).to_numpy()
            decision = decide(stage.late, first, end, values, bounds, stage.scheme.window.closed_below,
                              attribute=repr(stage.attribute), kind=stage.kind,
                              first_row=_first_row(table, values < bounds))
            self.late += decision.late_rows
            if decision.late_rows:
                counted = decision.first < decision.last
                counts_from = np.where(decision.first > first, decision.first, NO_BOUND)
                if RAW in table.column_names:
                    self.late_rows += table.column(RAW).filter(pa.array(decision.late)).to_pylist()
        if not counted.all():
            table, values, counts_from = table.filter(pa.array(counted)), values[counted], counts_from[counted]
        keys = table.select(stage.keys.names).append_column(COUNTS_FROM, pa.array(counts_from))
        keys = keys.append_column(SHARD, table.column(SHARD))
        arguments = [[flat(table.column(n)) for n in names] for names in stage.arguments]
        made = partial_table(stage.scheme.ids(values), keys, arguments, stage.aggregates, id_name=PANE_ID)
        self.partials.append(made)
        self.pending += made.num_rows
        if self.pending > COMPACT_ROWS and len(self.partials) > 1:
            self._compact()

    def _compact(self) -> pa.Table:
        names = [*self.stage.partial_keys, SHARD]
        whole = combine_partials(pa.concat_tables(self.partials), names, self.stage.aggregates, id_name=PANE_ID)
        self.partials, self.pending = [whole], 0
        return whole

    def messages(self) -> pa.Table:
        part = partition_number()
        rows: list[dict[str, Any]] = []
        if self.partials:
            whole = self._compact()
            shards = whole.column(SHARD).to_numpy()
            whole = whole.drop_columns([SHARD])
            for shard in np.unique(shards).tolist():
                mine = whole.filter(pa.array(shards == shard)).combine_chunks()
                rows.append({"shard": shard, "part": part, "payload": table_bytes(mine)})
        news = self.heard.news()
        for number, shard in enumerate(self.stage.shards):
            own: dict[str, Any] = dict(news)
            if number == 0 and self.late:  # counted once
                own |= {"late": self.late, "late_rows": self.late_rows}
            if any(own.values()):
                rows.append({"shard": shard, "part": part, "control": json.dumps(own)})
        return pa.Table.from_pylist(rows, MESSAGE_SCHEMA)


def _first_row(table: pa.Table, late: npt.NDArray[np.bool_]) -> int:
    """What to count from so that the first late row gets its own place in the stream, for messages."""
    if POSITION not in table.column_names or not late.any():
        return 1
    at = int(np.argmax(late))
    return int(table.column(POSITION)[at].as_py() or at + 1) - at


def _tags(table: pa.Table) -> list[str]:
    return table.column(INPUT).to_pylist() if INPUT in table.column_names else [SINGLE] * table.num_rows


def flat(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece, copied only when it is not."""
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def partition_number() -> int:
    """Which task this is."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.partitionId() if context is not None else 0


def control_of(text: str) -> Mapping[str, Any]:
    """What a task said about progress."""
    found: Mapping[str, Any] = json.loads(text)
    return found
