"""Results of a finished query: the rows, the rows that came too late, and what happened on the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from panewise.core.errors import UnsupportedError
from panewise.core.tables import python_rows
from panewise.engines.contract import RunningResults
from panewise.files.writer import ResultFile
from panewise.progress.late import late_text

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


SHOWN = 20
"""Rows that a representation shows."""


@dataclass(frozen=True, repr=False)
class Results:
    """Iterate it for rows as dictionaries, or take all at once as Arrow or pandas.

    >>> results = Results(pa.table({"k": ["a"], "n": [2]}))
    >>> list(results), len(results)
    ([{'k': 'a', 'n': 2}], 1)
    """

    table: pa.Table
    late: pa.Table | None = None
    """The newest of the rows that were late (``late_keep``), where the engine keeps them."""
    status: Mapping[str, Any] = field(default_factory=dict)
    """Counters of the run: rows, late rows, windows."""
    late_report: pa.Table | None = None
    """The late rows with a column ``late``: the bound that was in force, and by how much each missed it."""
    bad_rows: pa.Table | None = None
    """The bad rows that were put aside (``bad_rows="aside"``): stream, place, column, reason, and the row as text."""

    @classmethod
    def of(cls, run: RunningResults) -> Results:
        """Everything that a run gives."""
        tables = list(run.tables)
        late, status = run.finish()
        return cls(pa.concat_tables(tables) if tables else run.empty, late, status, run.late_report(), run.bad_rows())

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
        return iter(python_rows(self.table))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def left_out(self) -> str:
        """What became of rows that are not in the results: how many were late, how many bad; nothing if none was."""
        late, bad = int(self.status.get("late") or 0), int(self.status.get("bad") or 0)
        forgotten = int(self.status.get("late_forgotten") or 0)
        parts = [late_text(late, self.status.get("late_policy"), forgotten)] if late else []
        if bad:
            parts.append(f"{bad:,} {'row was' if bad == 1 else 'rows were'} bad and left out")
        return "; ".join(parts)

    def __repr__(self) -> str:
        more = len(self) - SHOWN
        head = Results(self.table.slice(0, SHOWN), status=self.status)
        return f"{head}\n… {more:,} more rows" if more > 0 else str(head)

    def __str__(self) -> str:
        text = str(self.table.to_pandas().to_string(index=False))
        return f"{text}\n({self.left_out})" if self.left_out else text

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        text = str(self.table.to_pandas()._repr_html_())
        return f"{text}<p>{escape(self.left_out)}</p>" if self.left_out else text
