"""Late rows of several streams in one table: columns of one name need not be of one type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import groupby

import pyarrow as pa

from panewise.kernels.joins.keys import common_type


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
