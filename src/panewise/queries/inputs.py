"""The border of the embedded engine: rows are checked, numbered and given the bound in force when they came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from panewise.core.columns import INT64
from panewise.core.errors import SchemaError
from panewise.core.ordinals import LIMIT, OrdinalKind, Ordinals, to_ordinals
from panewise.core.schema import SourceSchema
from panewise.progress.bounds import BoundTable
from panewise.progress.generators import Bounds, Generator, Observed, Trailing
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import NO_BOUND
from panewise.queries.chunks import Chunk

RowsIn: TypeAlias = pa.RecordBatch | pa.Table | Sequence[Mapping[str, Any]]

PLAIN = pa.timestamp("us", tz="UTC"), INT64
"""Types whose values are ordinals as they stand."""


class StreamInput:
    """One stream at the border: its columns, its rows so far, and what has been promised of it."""

    def __init__(self, name: str, schema: SourceSchema, attribute: str | None, needed: Sequence[str],
                 generator: Generator, *, by_substream: bool = False) -> None:
        self.name, self.schema, self.attribute, self.generator = name, schema, attribute, generator
        self.needed = [*dict.fromkeys([*needed, *generator.columns, *([attribute] if attribute else [])])]
        self.by_substream = by_substream  # results are grouped by what the generator calls a substream
        self.bounds = BoundTable(attribute or "")
        self.rows = 0
        self.after = 0
        """What is added to the numbers of its rows among all: where streams are ordered, they follow those before."""
        self.finished = False
        self._usual: pa.Schema | None = None

    def take(self, table: pa.Table, arrived: int) -> tuple[Chunk, list[Punctuation]]:
        """Number checked rows; also the promises the generator makes of them, to be passed on after them."""
        count = table.num_rows
        values, made = None, []
        if self.attribute is None:
            bounds: Bounds = np.full(count, NO_BOUND, np.int64)
        else:
            values, high = self._looked_at(table, self.attribute)
            extra = {c: table.column(c) for c in self.generator.columns} if self.generator.columns else None
            seen = self.generator.observe(values, extra, high=high)
            bounds = self._in_force(table, values, seen)
            made = self._generated(seen.after)
        first, arrived = self.rows + 1, self.after + arrived
        chunk = Chunk(table, self.name, range(first, first + count), range(arrived + 1, arrived + 1 + count), bounds,
                      values)
        return chunk, made

    def _in_force(self, table: pa.Table, values: Ordinals, seen: Observed) -> Bounds:
        """What the generator knows of each row, and what was promised beside it."""
        promised, bounds = self.bounds, seen.bounds
        one_by_one = promised.groups or promised.selections or (self.by_substream and seen.own is not None)
        if isinstance(bounds, Trailing) and bounds.values is values and not one_by_one and \
                promised.linear <= bounds.first:
            return bounds
        bounds = seen.before
        if self.by_substream and seen.own is not None:
            bounds = np.maximum(bounds, seen.own)
        if promised.groups or promised.selections:
            return np.maximum(bounds, promised.bounds_for(_by_name(table), len(values)))
        return np.maximum(bounds, promised.linear) if len(values) and promised.linear > bounds[0] else bounds

    def _generated(self, bound: int) -> list[Punctuation]:
        assert self.attribute is not None
        made = [] if bound == NO_BOUND else [Punctuation.below(self.attribute, bound)]
        if self.by_substream:
            made += [Punctuation.below(self.attribute, b, **group) for group, b in self.generator.group_bounds()]
        return made

    def promise(self, punctuation: Punctuation) -> bool:
        """Take in a promise; False when it says nothing new."""
        self.finished |= punctuation.covers_everything
        return self.bounds.advance(punctuation)

    # -- checking

    def checked(self, item: RowsIn) -> pa.Table:
        """The rows as a table of the declared columns, or an error that names the row and the column."""
        if isinstance(item, pa.RecordBatch):
            table = pa.Table.from_batches([item])
            if self._usual is not None and item.schema.equals(self._usual):
                return table
        elif isinstance(item, pa.Table):
            table = item.combine_chunks()
            if self._usual is not None and item.schema.equals(self._usual):
                return table
        else:
            return self._from_rows(item)
        for name in self.needed:
            if name not in table.column_names:
                raise SchemaError(f"stream {self.name!r}, row {self.rows + 1}: no column {name!r}; "
                                  f"there are {', '.join(table.column_names)}")
        if not self.schema.columns:
            return table
        names = [n for n in self.schema.columns if n in table.column_names]
        if names == table.column_names and all(table.schema.field(n).type == self.schema.columns[n] for n in names):
            self._usual = table.schema  # the next batches of this schema need no look
            return table
        columns = [self._typed(table.column(n), n, self.schema.columns[n]) for n in names]
        return pa.table(columns, names=names)

    def _typed(self, column: pa.ChunkedArray, name: str, expected: pa.DataType) -> pa.ChunkedArray:
        if column.type == expected:
            return column
        text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        if text != (pa.types.is_string(expected) or pa.types.is_large_string(expected)) and column.type != pa.null():
            raise SchemaError(f"stream {self.name!r}, row {self.rows + 1}: {name!r} is {column.type}, expected "
                              f"{expected}; convert the column before it is pushed")
        try:
            return column.cast(expected)
        except pa.ArrowException as error:
            raise SchemaError(f"stream {self.name!r}, from row {self.rows + 1}: {name!r} is {column.type}, expected "
                              f"{expected}: {error}") from error

    def _from_rows(self, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
        columns = self.schema.columns
        if not columns:
            return self.checked(pa.Table.from_pylist(list(rows)))
        for i, row in enumerate(rows):
            for name in self.needed:
                if name not in row:
                    raise SchemaError(f"stream {self.name!r}, row {self.rows + 1 + i}: no column {name!r}; "
                                      f"there are {', '.join(row)}")
        arrays = [self._column([row.get(n) for row in rows], n, t) for n, t in columns.items()]
        return pa.table(arrays, names=list(columns))

    def _column(self, values: list[Any], name: str, expected: pa.DataType) -> pa.Array:
        temporal = pa.types.is_timestamp(expected) or pa.types.is_date(expected)
        read = OrdinalKind.of(expected).parse if temporal else None
        try:
            return pa.array([read(v) if read is not None and isinstance(v, str) else v for v in values], expected)
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            for i, value in enumerate(values):
                try:
                    pa.array([read(value) if read is not None and isinstance(value, str) else value], expected)
                except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
                    raise SchemaError(f"stream {self.name!r}, row {self.rows + 1 + i}: {name!r} is {value!r}, expected "
                                      f"{expected}") from error
            raise

    def ordinals(self, table: pa.Table, name: str) -> Ordinals:
        """A column by which rows are ordered; an error names the row."""
        return self._looked_at(table, name)[0]

    def _looked_at(self, table: pa.Table, name: str) -> tuple[Ordinals, int | None]:
        """The windowing attribute, and its largest value if that is known."""
        column = table.column(name)
        usual = column.type in PLAIN and column.num_chunks == 1
        if usual and column.null_count == 0 and len(column):  # without a copy
            array = column.chunk(0)
            values: Ordinals = np.frombuffer(array.buffers()[1], np.int64, len(array), 8 * array.offset)
            values.flags.writeable = False  # whatever memory it is: compiled loops know two kinds of arrays
            high = int(np.maximum.reduce(values))
            if high < LIMIT and np.minimum.reduce(values) > -LIMIT:
                return values, high
        try:
            return to_ordinals(table.column(name), name, first_row=self.rows + 1), None
        except SchemaError as error:
            raise SchemaError(f"stream {self.name!r}, from row {self.rows + 1}: {error}") from error

    # -- saving

    def snapshot(self) -> dict[str, Any]:
        """The state as data that JSON can hold."""
        return {"rows": self.rows, "finished": self.finished, "generator": self.generator.snapshot(),
                "bounds": self.bounds.snapshot()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Become what ``snapshot`` saved."""
        self.generator.restore(state["generator"])
        self.bounds.restore(state["bounds"])
        self.rows, self.finished = state["rows"], state["finished"]


def _by_name(table: pa.Table) -> dict[str, pa.ChunkedArray]:
    return {name: table.column(name) for name in table.column_names}
