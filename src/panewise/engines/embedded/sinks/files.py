"""One result file, complete when the run ends."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from panewise.engines.embedded.sinks.base import Sink
from panewise.files.formats import format_of
from panewise.files.writer import ResultFile


class FileSink(Sink):
    """Parquet, CSV or NDJSON by suffix; the file takes its name when everything is written."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        format_of(self.path)
        self._file: ResultFile | None = None

    def write(self, table: pa.Table) -> None:
        """Append rows."""
        if self._file is None:
            self._file = ResultFile(self.path, table.schema)
        self._file.write(table)

    def close(self, error: BaseException | None, empty: pa.Table) -> None:
        """Put the file in its place, or keep what there is of it beside."""
        file = self._file or (ResultFile(self.path, empty.schema) if error is None else None)
        if file is not None:
            file.__exit__(None if error is None else type(error), error, None)
