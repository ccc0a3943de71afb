"""Results of a finished query: the rows, the rows that came too late, and what happened on the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from panewise.core.errors import UnsupportedError
from panewise.files.writer import ResultFile

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


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
    late_report: pa.Table | None = None
    """The late rows with a column ``late``: the bound that was in force, and by how much each missed it."""

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        return self.table

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame."""
        return self.table.to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """The rows as a Polars DataFrame; Polars must be installed."""
        try:
            import polars as pl
        except ImportError as error:
            raise UnsupportedError("to_polars() needs Polars: pip install polars, or use to_arrow()") from error
        frame = pl.from_arrow(self.table)
        assert isinstance(frame, pl.DataFrame)
        return frame

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

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return str(self.table.to_pandas()._repr_html_())
