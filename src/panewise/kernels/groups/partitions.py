"""Groups and the partitions they are in, by number.

Windows that count rows count them per partition; a result has one row per group. A partition is known by some of the
key columns, a group by all of them, so every group is in one partition.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from panewise.kernels.contract.state_columns import Ints
from panewise.kernels.groups.key_table import KeyTable


class Partitions:
    """Numbers of groups and of partitions, given in the order they are first seen.

    Groups can be forgotten when they have no rows; partitions never are, since a partition that comes back goes on
    counting where it was.
    """

    def __init__(self, keys: pa.Schema, partition: Sequence[str]) -> None:
        self.keys, self.names = keys, list(partition)
        self.partition_of: Ints = np.empty(0, np.int64)
        self._groups = KeyTable(keys)
        self._partitions = KeyTable(pa.schema([keys.field(name) for name in partition]))

    def groups(self, keys: pa.Table, rows: int) -> Ints:
        """The group of every row; new ones get the next numbers."""
        codes: Ints = self._groups.codes(keys, rows)
        known = len(self.partition_of)
        if len(self._groups) > known:
            new = pa.table(self._groups.columns(np.arange(known, len(self._groups))), schema=self.keys)
            count = len(self._groups) - known
            partitions = self._partitions.codes(new.select(self.names), count)
            self.partition_of = np.concatenate([self.partition_of, partitions])
        return codes

    @property
    def count(self) -> int:
        """How many partitions there are."""
        return len(self._partitions)

    def __len__(self) -> int:
        """How many groups there are."""
        return len(self._groups)

    def columns(self, groups: Ints) -> list[pa.Array]:
        """The key columns of groups."""
        columns: list[pa.Array] = self._groups.columns(groups)
        return columns

    def table(self) -> pa.Table:
        """The partitions."""
        return self._partitions.table()

    def keep(self, groups: Ints) -> None:
        """Forget all groups but these, which come to be numbered 0, 1, 2, …"""
        kept = pa.table(self._groups.columns(groups), schema=self.keys)
        self._groups = KeyTable(self.keys)
        self._groups.codes(kept, len(groups))
        self.partition_of = self.partition_of[groups]

    def saved(self) -> dict[str, pa.Table]:
        """Two tables of keys, in the order of their numbers."""
        return {"groups": self._groups.table(), "partitions": self._partitions.table()}

    def load(self, groups: pa.Table, partitions: pa.Table, counts: tuple[int, int]) -> None:
        """Become what ``saved`` gave; ``counts`` are how many there were, which tables without columns do not know."""
        self._partitions.codes(partitions, counts[1])
        self.groups(groups, counts[0])
