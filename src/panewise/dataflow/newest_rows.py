"""When windows by rows are: each belongs to the instant of its newest row, of all groups.

The row that closes a window is in time, so no result is dated before what all inputs have promised: it waits for its
instant as rows do. Windows that the end of the input would cut off come after all instants, and are never seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.aggregates.registry import resolve
from panewise.core.ordinals import Ordinals
from panewise.dataflow.lineage import Lineage
from panewise.dataflow.window_results import ATTRIBUTE
from panewise.kernels.catalog import Request, make_kernel
from panewise.kernels.contract.partials import bind
from panewise.kernels.groups.key_table import KeyTable, by_number
from panewise.kernels.panes.pane_tables import WINDOW_ID

TIME, ARRIVAL = "<instant>", "<arrival>"
"""What is known of the newest row of a window: when it is, and its place among all rows."""


class NewestRows:
    """The instant and the place of the newest row of every window, beside the kernel that computes its results.

    Results of one instant are ordered by the columns that are ``shown``.
    """

    def __init__(self, request: Request, kernel: str, shown: Sequence[str]) -> None:
        newest = bind([(name, resolve("max", (), False)) for name in (TIME, ARRIVAL)], [[pa.int64()]] * 2)
        self._keys, self._shown = list(request.partition), shown
        asked = replace(request, keys=pa.schema(map(request.keys.field, self._keys)), aggregates=tuple(newest))
        self.kernel = make_kernel(asked, kernel, attribute=ATTRIBUTE, by_position=True)

    def process(self, keys: pa.Table, times: Ordinals, arrivals: Ordinals) -> None:
        """Rows that are counted."""
        self.kernel.process(np.zeros(len(times), np.int64), keys.select(self._keys),
                            [[pa.array(times)], [pa.array(arrivals)]])

    def dated(self, results: pa.Table) -> tuple[pa.Table, Lineage]:
        """The results of windows that have just closed, in the order in which these closed, then by id and group."""
        newest = self.kernel.ripe()
        window = [*self._keys, WINDOW_ID]
        codes = KeyTable(newest.select(window).schema)
        places = by_number(np.arange(len(newest)), codes.codes(newest.select(window), len(newest)))
        found = places[codes.codes(results.select(window), len(results))]
        at, last = (newest.column(name).to_numpy()[found] for name in (TIME, ARRIVAL))
        keys: dict[str, Any] = {"at": pa.array(at), "last": pa.array(last), "wid": results.column(WINDOW_ID)}
        for i, column in enumerate(map(results.column, self._shown)):
            if not pa.types.is_nested(column.type):
                keys |= {f"valid{i}": column.is_valid(), f"column{i}": column}
        order = pc.sort_indices(pa.table(keys), sort_keys=[(name, "ascending") for name in keys]).to_numpy()
        arrivals = np.stack([last[order], np.arange(len(order))])
        return results.take(pa.array(order)), Lineage(at[order], arrivals)
