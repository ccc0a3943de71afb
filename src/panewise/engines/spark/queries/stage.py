"""The stateless half of a query over rows: those of a task on their way to their shards, input by input."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from panewise.engines.spark.host.sharding import SHARD
from panewise.engines.spark.host.stage import RAW, TAG, Stage, by_shard
from panewise.engines.spark.host.wire import INPUT, POSITION, ROW_BOUND
from panewise.engines.spark.lower.fragment import ORDINAL
from panewise.engines.spark.queries.placing import HostedInput

BESIDE = (ORDINAL, POSITION, ROW_BOUND, RAW)
"""What travels beside the columns of a row, where it is there."""
ROWS_PER_MESSAGE = 100_000


@dataclass(frozen=True)
class RowStage(Stage):
    """Rows in, rows out."""

    inputs: tuple[HostedInput, ...]

    @classmethod
    def of(cls, inputs: tuple[HostedInput, ...], shards: tuple[int, ...], followed: tuple[str, ...] = ()) -> RowStage:
        """The stage of some inputs."""
        return cls(tuple(i.origin() for i in inputs), shards, followed, inputs)

    def made(self, batches: Iterator[pa.Table], own: dict[str, Any]) -> Iterator[tuple[int, pa.Table]]:
        """Some rows of one input for one shard at a time."""
        del own
        pending: list[pa.Table] = []
        for rows in batches:
            pending.append(rows)
            if sum(table.num_rows for table in pending) >= ROWS_PER_MESSAGE:
                yield from self._placed(pa.concat_tables(pending))
                pending = []
        if pending:
            yield from self._placed(pa.concat_tables(pending))

    def _placed(self, rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        for mine, plain in self.by_input(rows):
            shards = mine.column(SHARD)
            if shards.null_count:  # every shard needs them
                yield from ((shard, plain) for shard in self.shards)
            else:
                yield from by_shard(shards, plain)

    def by_input(self, rows: pa.Table) -> Iterator[tuple[pa.Table, pa.Table]]:
        """The rows of each input that has some: as they came, and as a table of its columns."""
        for item in self.inputs:
            mine = rows.filter(pc.equal(rows.column(INPUT), item.tag)) if len(self.inputs) > 1 else rows
            if mine.num_rows:
                yield mine, plain(mine, item)


def plain(rows: pa.Table, item: HostedInput) -> pa.Table:
    """Rows of one input as a table of its columns, and what travels beside them."""
    if item.reads is not None:  # the first column is the ordinal
        columns = {n: rows.column(n if at else ORDINAL) for at, n in enumerate(item.schema.names)}
    else:
        struct = rows.column(item.column).combine_chunks()
        columns = dict(zip(item.schema.names, struct.flatten(), strict=True))
    typed = {f.name: columns[f.name].cast(f.type) for f in item.schema}
    beside = {n: rows.column(n).combine_chunks() for n in BESIDE if n in rows.column_names}
    if item.reads is not None:
        del beside[ORDINAL]
    return pa.table({**typed, **beside}).replace_schema_metadata({TAG: item.tag.encode()})
