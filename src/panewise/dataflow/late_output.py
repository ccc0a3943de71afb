"""Late rows as an output: the rows, and for each the bound that was in force and by how much it missed it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import reduce
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.ordinals import OrdinalKind, Ordinals, from_ordinals
from panewise.dataflow.batch import Batch
from panewise.dataflow.inputs import StreamInput
from panewise.kernels.joins.keys import common_type
from panewise.progress.late import LATE_KEEP, LatePolicy, late_error
from panewise.progress.watermarks import FINISHED, NO_BOUND

LATE = "late"
"""The column that says why: the stream, the row's position in it, the bound in force, and how far below the row is."""


def refuse_late(policy: LatePolicy, batch: Batch, late: npt.NDArray[np.bool_], attribute: str, kind: OrdinalKind,
                values: Ordinals, reached: int = NO_BOUND) -> None:
    """Under the policy ``error`` the first late row stops the run before anything of its batch is counted.

    It came behind its own bound, or behind what all inputs together had ``reached``.
    """
    if policy is LatePolicy.ERROR and late.any():
        at = int(late.argmax())
        raise late_error(int(batch.rows[at]), batch.stream, attribute, int(values[at]),
                         max(int(batch.bounds[at]), reached), kind)


class LateOutput:
    """Counts late rows, keeps the newest where the policy says so, and calls listeners.

    Every late row is counted. At most ``keep`` of them are kept, and none once there is a listener: then all leave
    as they come.
    """

    def __init__(self, policy: LatePolicy, streams: Sequence[str], keep: int = LATE_KEEP) -> None:
        self.policy, self.keep = policy, keep
        self.counts = dict.fromkeys(streams, 0)
        self.forgotten = 0
        """How many rows were kept and had to make room for newer ones."""
        self.kept: deque[pa.Table] = deque()
        """The rows as they came."""
        self.reasons: deque[pa.Table] = deque()
        """For each of them why it is late."""
        self.listeners: list[Callable[[pa.Table], object]] = []
        self._held = 0

    def add(self, source: StreamInput, batch: Batch, late: npt.NDArray[np.bool_], watermark: int) -> None:
        """Some rows of a batch were late; ``watermark`` is what the aggregate had been promised of all its inputs."""
        self.counts[source.name] += int(np.count_nonzero(late))
        keeps = self.policy is not LatePolicy.DROP and self.keep > 0 and not self.listeners
        if not keeps and not self.listeners:
            return
        rows = batch.filter(late)
        reasons = self._reasons(source, rows, watermark)
        if keeps:
            self._keep(rows.table, reasons)
        for listener in self.listeners:
            listener(_joined(rows.table, reasons))

    def _keep(self, rows: pa.Table, reasons: pa.Table) -> None:
        self.kept.append(rows)
        self.reasons.append(reasons)
        self._held += rows.num_rows
        while self._held > self.keep:
            surplus, first = self._held - self.keep, self.kept[0].num_rows
            for tables in (self.kept, self.reasons):
                oldest = tables.popleft()
                if surplus < first:  # copied: a slice would keep all of it in memory
                    tables.appendleft(oldest.take(pa.array(np.arange(surplus, first))))
            self._held -= min(surplus, first)
            self.forgotten += min(surplus, first)

    @property
    def count(self) -> int:
        """How many rows were late."""
        return sum(self.counts.values())

    def rows(self, streams: Collection[str] | None = None) -> pa.Table:
        """The late rows as they came, of all streams or of some."""
        return self._of(streams)[0]

    def reports(self, streams: Collection[str] | None = None) -> pa.Table:
        """The late rows with the reason of each."""
        rows, reasons = self._of(streams)
        return _joined(rows, reasons) if reasons.num_rows else pa.table({})

    def _of(self, streams: Collection[str] | None) -> tuple[pa.Table, pa.Table]:
        if not self.kept:
            return pa.table({}), pa.table({})
        whose = [reasons.column("stream")[0].as_py() for reasons in self.reasons]
        rows, reasons = together(self.kept, whose), together(self.reasons, whose)
        if streams is None:
            return rows, reasons
        mine = pc.is_in(reasons.column("stream"), pa.array(list(streams), pa.string()))
        return rows.filter(mine), reasons.filter(mine)

    def forget(self) -> None:
        """What was kept is not kept any longer."""
        self.kept, self.reasons, self._held = deque(), deque(), 0

    def _reasons(self, source: StreamInput, rows: Batch, watermark: int) -> pa.Table:
        count = rows.table.num_rows
        bound, by = pa.nulls(count, pa.int64()), pa.nulls(count, pa.int64())
        if source.attribute is not None:
            values = source.ordinals(rows.table, source.attribute)
            # in a union another input may have been ahead while this one was idle
            bounds = np.where(values < rows.bounds, rows.bounds, watermark)
            kind = OrdinalKind.of(rows.table.schema.field(source.attribute).type)
            ended = bounds == FINISHED
            bound = from_ordinals(np.where(ended, 0, bounds), kind)
            bound = pa.array(bound.to_pylist(), bound.type, mask=ended) if ended.any() else bound
            by = pa.array(bounds - values, mask=ended)
            by = by.cast(pa.duration("us")) if kind is OrdinalKind.TIMESTAMP else by
        stream = pa.array([source.name] * count, pa.string())
        return pa.table([stream, pa.array(rows.rows), bound, by], names=["stream", "row", "bound", "by"])

    # -- saving

    def snapshot(self) -> tuple[dict[str, Any], dict[str, pa.Table]]:
        """Counts, and what is kept."""
        kept = runs(self.kept, self.reasons)
        tables = {f"late {what} {i}": table for i, pair in enumerate(kept)
                  for what, table in zip(("rows", "reasons"), pair, strict=True)}
        return {"counts": dict(self.counts), "forgotten": self.forgotten}, tables

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        self.forget()
        self.counts, self.forgotten = dict(header["counts"]), int(header["forgotten"])
        for i in range(sum(name.startswith("late rows ") for name in tables)):
            self._keep(tables[f"late rows {i}"], tables[f"late reasons {i}"])


def _joined(rows: pa.Table, reasons: pa.Table) -> pa.Table:
    return rows.append_column(_free_name(rows.column_names), reasons.to_struct_array())


def _free_name(taken: Sequence[str]) -> str:
    name = LATE
    while name in taken:
        name = f"_{name}"
    return name


# -- rows of several streams in one table: columns of one name need not be of one type


def together(tables: Sequence[pa.Table], streams: Sequence[str]) -> pa.Table:
    """All rows in their order, each table being of one stream; columns that a stream does not have are null.

    Columns of one name become one column of the type that holds the values of all. Where there is none, each keeps its
    own type under the name of its stream: late rows are shown as they came, so no value is changed to fit.

    >>> one, two = pa.table({"k": pa.array([1], pa.int32()), "v": [2]}), pa.table({"k": [3], "v": ["x"]})
    >>> together([one, two], ["a", "b"]).to_pylist()
    [{'k': 1, 'a.v': 2, 'b.v': None}, {'k': 3, 'a.v': None, 'b.v': 'x'}]
    """
    types: dict[str, list[pa.DataType]] = {}
    for table in tables:
        for field in table.schema:
            types.setdefault(field.name, []).append(field.type)
    common = {name: reduce(_both, found) for name, found in types.items()}
    return pa.concat_tables([_fitted(*one, common) for one in zip(tables, streams, strict=True)],
                            promote_options="default")


def _both(left: pa.DataType | None, right: pa.DataType) -> pa.DataType | None:
    if left is None or left == right:
        return left
    return common_type(left, right)


def _fitted(table: pa.Table, stream: str, common: dict[str, pa.DataType | None]) -> pa.Table:
    fields = [field if common[field.name] is None else pa.field(field.name, common[field.name])
              for field in table.schema]
    names = [f"{stream}.{field.name}" if common[field.name] is None else field.name for field in table.schema]
    return table.cast(pa.schema(fields)).rename_columns(names)


def runs(rows: Sequence[pa.Table], reasons: Sequence[pa.Table]) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Neighbours of one stream and one schema as one pair of tables: few, in their order, and every type as it was."""
    pairs = zip(rows, reasons, strict=True)
    for _, found in groupby(pairs, lambda pair: (pair[0].schema, pair[1].schema, pair[1].column("stream")[0].as_py())):
        one, why = zip(*found, strict=True)
        yield pa.concat_tables(one), pa.concat_tables(why)
