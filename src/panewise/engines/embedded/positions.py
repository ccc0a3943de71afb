"""How much of an input was taken, and how an input that begins anew gets there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from panewise.core.bad_rows import BadRows
from panewise.core.errors import CheckpointError
from panewise.core.tables import as_table
from panewise.dataflow.inputs import RowsIn
from panewise.progress.punctuation import Punctuation

Item: TypeAlias = RowsIn | Punctuation | BadRows
AnyItem: TypeAlias = Item | Mapping[str, Any]
"""A source may also give single rows; they travel together where they wait together."""


@dataclass
class Position:
    """Rows and promises taken of one input: it does not depend on how the input is cut into batches."""

    rows: int = 0
    punctuation: int = 0

    @property
    def lines(self) -> int:
        """As objects of NDJSON: rows, good and bad, and punctuation."""
        return self.rows + self.punctuation

    def count(self, item: Item) -> None:
        """One more item was taken."""
        if isinstance(item, Punctuation):
            self.punctuation += 1
        else:
            self.rows += length(item)


def length(item: AnyItem) -> int:
    """How many rows an item has; a single row is one, a promise none."""
    if isinstance(item, pa.RecordBatch | pa.Table):
        return int(item.num_rows)
    return 0 if isinstance(item, Punctuation) else 1 if isinstance(item, Mapping) else len(item)


def plain_item(item: Any) -> AnyItem:
    """An item of a source as the query takes it: tables of other libraries become Arrow tables."""
    if type(item) is dict or isinstance(item, Punctuation | pa.RecordBatch | pa.Table | BadRows | Mapping | list):
        return item
    found = as_table(item)
    return item if found is None else found


def skip(items: Iterable[AnyItem], done: Position, name: str) -> Iterator[AnyItem]:
    """What comes after a position, tables of other libraries as Arrow."""
    items = map(plain_item, items)
    rows, promises = done.rows, done.punctuation
    if not rows and not promises:
        yield from items
        return
    for item in items:
        if isinstance(item, Punctuation):
            if promises == 0:
                yield item
            promises = max(promises - 1, 0)
        elif rows >= (size := length(item)):
            rows -= size
            if not size:
                yield item
        else:
            yield item if not rows else item.slice(rows) if isinstance(item, pa.RecordBatch | pa.Table) else \
                item[rows:]  # type: ignore[index]
            rows = 0
    if rows or promises:
        raise CheckpointError(f"the input {name!r} has fewer rows or punctuation than the checkpoint has counted: "
                              "it is not the input the checkpoint was made with")
