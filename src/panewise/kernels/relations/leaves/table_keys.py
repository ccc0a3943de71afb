"""The keys of a table: never two rows of one at an instant, and one that has left does not come back.

What holds is judged of whole instants, so that an update may be written in either order.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from panewise.core.columns import int_columns
from panewise.core.errors import SchemaError
from panewise.core.ordinals import Ordinals
from panewise.kernels.groups.key_table import KeyTable
from panewise.kernels.relations.edges.delta import FOREVER
from panewise.kernels.relations.stores.arena import Growing


class TableKeys:
    """How many rows of each key are there, and when it left. ``unique``: one at most; ``fresh``: what left stays away.
    """

    def __init__(self, name: str, schema: pa.Schema, *, unique: bool, fresh: bool) -> None:
        self.name, self._unique, self._fresh = name, unique, fresh
        self._codes = KeyTable(schema)
        self._there, self._left = Growing(), Growing()

    def change(self, rows: pa.Table, at: Ordinals, sign: Ordinals) -> None:
        """Rows that come (+1) or go (-1), of instants that are complete and follow those before."""
        if not rows.num_rows:
            return
        codes = self._numbered(rows)
        order = np.lexsort((at, codes))
        codes, at, sign = codes[order], at[order], sign[order]
        first = np.append(True, codes[1:] != codes[:-1])
        last = np.append(first[1:] | (at[1:] != at[:-1]), True)  # of an instant of a key
        total = np.cumsum(sign)
        count = total - (total - sign)[first][np.cumsum(first) - 1] + self._there.values[codes]
        codes, at, count = codes[last], at[last], count[last]
        first = np.append(True, codes[1:] != codes[:-1])
        before = np.append(FOREVER, np.where(count > 0, FOREVER, at)[:-1])  # when the key had left
        before[first] = self._left.values[codes[first]]
        self._check(codes, at, count, before)
        ended = np.append(first[1:], True)
        self._there.values[codes[ended]] = count[ended]
        self._left.values[codes[ended]] = np.where(count[ended] > 0, FOREVER, at[ended])

    def _check(self, codes: Ordinals, at: Ordinals, count: Ordinals, before: Ordinals) -> None:
        twice, again = self._unique & (count > 1), self._fresh & (count > 0) & (before != FOREVER)
        wrong = np.flatnonzero(twice | again)
        if not len(wrong):
            return
        place = wrong[np.argmin(at[wrong])]
        key = self._codes.values(codes[place : place + 1]).to_pylist()[0]
        if twice[place]:
            raise SchemaError(two_rows(self.name, key, int(at[place])))
        raise SchemaError(f"table {self.name}: {key} at {at[place]} uses a key that was deleted at {before[place]}; "
                          "rows already joined with it would seem to belong to the new one: use a fresh key, or "
                          "declare the table a retroactive relation")

    def _numbered(self, rows: pa.Table) -> Ordinals:
        codes = self._codes.codes(rows.select(self._codes.schema.names), rows.num_rows)
        self._there.extend_to(len(self._codes), 0)
        self._left.extend_to(len(self._codes), FOREVER)
        return codes

    def saved(self) -> dict[str, pa.Table]:
        """Keys that are there, or have left, where that counts."""
        known = np.flatnonzero((self._there.values > 0) | (self._fresh & (self._left.values != FOREVER)))
        counts = pa.table({"there": self._there.values[known], "left": self._left.values[known]})
        return {"keys": self._codes.values(known), "counts": counts}

    def load(self, tables: Mapping[str, pa.Table]) -> None:
        """Become what ``saved`` gave."""
        self._codes.clear()
        self._there, self._left = Growing(), Growing()
        codes = self._numbered(tables["keys"].combine_chunks())
        self._there.values[codes], self._left.values[codes] = int_columns(tables["counts"])


def two_rows(name: str, key: object, at: int) -> str:
    """What is wrong with two rows of one key."""
    return (f"table {name}: there are two rows with the key {key} at {at}: delete the first at the same instant "
            "(change -1), name more columns in key=, or none, so that every row is told apart as a whole")
