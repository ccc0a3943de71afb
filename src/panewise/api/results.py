"""Results of a finished query: the rows, the rows that came too late, and what happened on the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from panewise.files.writer import ResultFile

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Results:
    """Iterate it for rows as dictionaries, or take all at once as Arrow or pandas.

    >>> results = Results(pa.table({"k": ["a"], "n": [2]}))
    >>> list(results), len(results)
    ([{'k': 'a', 'n': 2}], 1)
    """

    table: pa.Table
    late: pa.Table | None = None
    """The rows that arrived after a punctuation had promised they would not, where the engine keeps them."""
    status: Mapping[str, Any] = field(default_factory=dict)
    """Counters of the run: rows, late rows, windows."""

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        return self.table

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame."""
        return self.table.to_pandas()

    def write(self, path: str) -> None:
        """The rows as a Parquet, CSV or NDJSON file, by suffix."""
        with ResultFile(path, self.table.schema) as out:
            out.write(self.table)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.table.to_pylist())

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __str__(self) -> str:
        return str(self.table.to_pandas().to_string(index=False))
