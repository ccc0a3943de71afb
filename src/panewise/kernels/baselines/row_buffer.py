"""Input rows kept as columns until their last window is closed: what buffering and the lazy half of AdaptWID hold.

A row is its value of the windowing attribute, its keys and the arguments of the aggregates. Its window ids are not
kept: for windows that follow from the row alone they are worked out when they are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.arrays import balance
from panewise.core.columns import flat
from panewise.core.ordinals import Ordinals
from panewise.kernels.contract.kernel import Arguments, Mask
from panewise.kernels.contract.partials import BoundAggregate
from panewise.kernels.window_ids.range_state import encode, encoded_keys

VALUE = "<value>"
CUT = "<first>"
"""For rows that came too late for some of their windows: the first one they count in."""


class RowBuffer:
    """Rows in the order they came, in a few runs of falling length, so that a row is copied O(log n) times.

    ``extra`` names int64 columns that the owner keeps beside each row.
    """

    def __init__(self, keys: pa.Schema, aggregates: Sequence[BoundAggregate], extra: Sequence[pa.Field] = ()) -> None:
        self.keys = encoded_keys(keys)
        self.extra = list(extra)
        self._arguments: list[list[str]] = []
        fields: list[pa.Field] = []
        for aggregate in aggregates:
            types = [*aggregate.inputs, *([pa.int64()] if aggregate.function.needs_order else [])]
            names = [f"{aggregate.name}({i})" for i in range(len(types))]
            self._arguments.append(names)
            fields += [pa.field(name, data_type) for name, data_type in zip(names, types, strict=True)]
        self.schema = pa.schema([pa.field(VALUE, pa.int64()), *self.extra, *self.keys, *fields])
        self.runs: list[pa.Table] = []

    def add(self, values: Ordinals, keys: pa.Table, arguments: Arguments, extra: Sequence[Ordinals] = ()) -> None:
        """Append rows; they are copied, so that a small slice does not keep a large batch alive."""
        if not len(values):
            return
        beside = [pa.array(column, field.type) for column, field in zip(extra, self.extra, strict=True)]
        columns = [pa.array(values), *beside, *encode(keys, self.keys).columns, *(c for a in arguments for c in a)]
        table = pa.table(columns, schema=self.schema)
        self.runs.append(table.take(pa.array(np.arange(len(values)))))
        balance(self.runs, len, _joined)

    def add_table(self, table: pa.Table) -> None:
        """Append rows in the buffer's own form."""
        if table.num_rows:
            self.runs.append(table.cast(self.schema))

    def table(self) -> pa.Table:
        """All rows, in one run from now on."""
        if len(self.runs) > 1:
            self.runs = [_joined(self.runs)]
        return self.runs[0] if self.runs else self.schema.empty_table()

    def replace(self, table: pa.Table) -> None:
        """Hold these rows instead."""
        self.runs = [table] if table.num_rows else []

    def arguments_of(self, table: pa.Table) -> list[list[pa.Array]]:
        """The argument columns of each aggregate."""
        return [[flat(table.column(name)) for name in names] for names in self._arguments]

    def keys_of(self, table: pa.Table) -> pa.Table:
        """The key columns."""
        return table.select(self.keys.names)

    @property
    def rows(self) -> int:
        """Rows held."""
        return sum(run.num_rows for run in self.runs)

    @property
    def nbytes(self) -> int:
        """Bytes of the rows held."""
        return sum(run.nbytes for run in self.runs)



def filtered(table: pa.Table, keep: Mask) -> pa.Table:
    """Some rows of a table."""
    return table if keep.all() else trimmed(table.filter(pa.array(keep)))


def trimmed(table: pa.Table) -> pa.Table:
    """The same without dictionary entries that no row uses, once they outnumber the rows."""
    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            column = flat(table.column(i))
            if len(column.dictionary) > 2 * len(column) + 64:
                table = table.set_column(i, field, column.dictionary_decode().dictionary_encode())
    return table


def row_bytes(table: pa.Table) -> npt.NDArray[np.float64]:
    """The bytes of each row: the widths of its columns, and what its texts and lists hold.

    >>> row_bytes(pa.table({"a": [1, 2], "s": ["", "xyz"]})).tolist()
    [12.0, 15.0]
    """
    total = np.zeros(table.num_rows)
    for column in table.columns:
        if table.num_rows:
            total += _array_bytes(flat(column))
    return total


def is_fixed_width(schema: pa.Schema) -> bool:
    """Whether every row of such a table has the same size."""
    return all(_fixed(field.type) is not None for field in schema)


def fixed_bytes(schema: pa.Schema) -> float:
    """The bytes of a row apart from what its texts and lists hold."""
    return sum(4.0 if (width := _fixed(field.type)) is None else width for field in schema)


def _fixed(data_type: pa.DataType) -> float | None:
    if pa.types.is_dictionary(data_type):
        return _fixed(data_type.index_type)
    if pa.types.is_struct(data_type):
        widths = [_fixed(f.type) for f in data_type]
        return None if None in widths else sum(w for w in widths if w is not None)
    if pa.types.is_null(data_type):
        return 0.0
    try:
        return float(data_type.bit_width) / 8
    except ValueError:  # Arrow knows no width
        return None


def _array_bytes(array: pa.Array) -> npt.NDArray[np.float64]:
    width = _fixed(array.type)
    if width is not None:
        return np.full(len(array), width)
    if pa.types.is_struct(array.type):
        return _total([_array_bytes(child) for child in array.flatten()])
    if pa.types.is_map(array.type) or pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        offsets = array.offsets.to_numpy().astype(np.int64)
        children = [array.keys, array.items] if pa.types.is_map(array.type) else [array.values]
        sums = np.concatenate([[0.0], np.cumsum(_total([_array_bytes(child) for child in children]))])
        return np.asarray(4.0 + sums[offsets[1:]] - sums[offsets[:-1]])
    lengths = pc.fill_null(pc.binary_length(array), 0).to_numpy(zero_copy_only=False)
    return 4.0 + np.asarray(lengths, np.float64)


def _total(parts: Sequence[npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
    return np.asarray(np.add.reduce(list(parts)))


def _joined(tables: Sequence[pa.Table]) -> pa.Table:
    joined = pa.concat_tables(tables)
    return trimmed(pa.table([flat(column) for column in joined.columns], schema=joined.schema))
