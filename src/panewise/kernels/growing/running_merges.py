"""Running merges: every row of a partial table becomes the merge of all rows of its group up to it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from panewise.aggregates.base import Codes
from panewise.core.columns import flat
from panewise.kernels.contract.partials import BoundAggregate


def running_merge(table: pa.Table, groups: Codes, aggregates: Sequence[BoundAggregate]) -> pa.Table:
    """The same table with running states; rows of a group (equal codes) stand together, in the order of merging.

    Works for any aggregate that merges: distances are doubled (Hillis and Steele 1986), so n rows cost n·log n merges,
    each step of them columnar.

    >>> from panewise.aggregates.registry import resolve
    >>> from panewise.kernels.contract.partials import bind
    >>> counts = bind([("n", resolve("count", (), False))], [[]])
    >>> table = pa.table({counts[0].state_schema[0].name: [1, 2, 4, 8]})
    >>> running_merge(table, np.array([0, 0, 0, 1]), counts).column(0).to_pylist()
    [1, 3, 7, 8]
    """
    rows = table.num_rows
    names = [f.name for a in aggregates for f in a.state_schema]
    states = {name: flat(table.column(name)) for name in names}
    place = np.arange(rows)
    begins = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]]) if rows else np.empty(0, np.int64)
    into = place - np.repeat(begins, np.diff(np.r_[begins, rows]))  # rows of the group before this one
    distance = 1
    while rows and distance <= int(into.max()):
        right = np.flatnonzero(into >= distance)
        sources = pa.array(np.concatenate([right - distance, right]))
        codes = np.tile(np.arange(len(right)), 2)
        where = place.copy()
        where[right] = rows + np.arange(len(right))
        for aggregate in aggregates:
            fields = aggregate.state_schema
            merged = aggregate.function.combine([states[f.name].take(sources) for f in fields], codes, len(right),
                                                aggregate.inputs)
            for field, column in zip(fields, merged, strict=True):
                both = pa.concat_arrays([states[field.name], column.cast(states[field.name].type)])
                states[field.name] = both.take(pa.array(where))
        distance *= 2
    for name, column in states.items():
        at = table.schema.get_field_index(name)
        table = table.set_column(at, table.schema.field(at), column)
    return table

