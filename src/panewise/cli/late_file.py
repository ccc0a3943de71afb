"""Late rows of a run as a file: they leave as they come, and none is kept in memory."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

import pyarrow as pa

from panewise.core.errors import PlanError, SourceError
from panewise.core.schema import SourceSchema
from panewise.files.formats import Format, format_of
from panewise.files.writer import ResultFile, to_ndjson
from panewise.kernels.joins.keys import common_type


class LateFile:
    """Writes late rows, with the column ``late`` that says why.

    The file has the columns of all streams: those that a stream does not have are null, those of one name that have
    types without a common one are text. It is made with the first rows: a run without late rows leaves none.

    A run with a checkpoint may go on later: it appends, and what it writes is on disk before its next checkpoint is.
    Rows that it reads again after a failure are written again; ``late.row`` tells which.
    """

    def __init__(self, path: str | None, streams: Iterable[SourceSchema], *, goes_on: bool = False) -> None:
        self.path, self._streams, self._goes_on = path, list(streams), goes_on
        if path is not None and goes_on and format_of(Path(path)) is not Format.NDJSON:
            raise PlanError(f"--late-out {path}: a run with --checkpoint may go on and then appends its late rows, "
                            "which only NDJSON can: give a file.ndjson")
        self._file: ResultFile | None = None
        self._schema: pa.Schema | None = None

    def __enter__(self) -> LateFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self._file is not None:
            self._file.__exit__(kind, error, trace)

    def write(self, rows: pa.Table) -> None:
        """Some late rows."""
        assert self.path is not None
        if self._goes_on:
            self._append(rows)
            return
        if self._schema is None:
            self._schema = all_columns(self._streams, rows.schema)
            self._file = ResultFile(self.path, self._schema).__enter__()
        assert self._file is not None
        self._file.write(pa.table([_fitted(rows, field) for field in self._schema], schema=self._schema))


    def _append(self, rows: pa.Table) -> None:
        path = Path(self.path or "")
        try:
            path.absolute().parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab") as file:
                file.write(to_ndjson(rows).encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise SourceError(f"{path}: late rows cannot be written there: {error.strerror or error}") from error


def all_columns(streams: Iterable[SourceSchema], first: pa.Schema) -> pa.Schema:
    """The columns of the streams that rows have or may have, then what only the rows have.

    >>> one, two = SourceSchema({"k": pa.int32(), "v": pa.int64()}), SourceSchema({"k": pa.int64(), "v": pa.string()})
    >>> all_columns([one, two], pa.schema({"k": pa.int32(), "late": pa.int64()})).names
    ['k', 'v', 'late']
    """
    types: dict[str, pa.DataType] = {}
    for schema in streams:
        for name, data_type in schema.columns.items():
            before = types.get(name, data_type)
            types[name] = before if before == data_type else common_type(before, data_type) or pa.string()
    more = {field.name: field.type for field in first if field.name not in types}
    return pa.schema([*types.items(), *more.items()])


def _fitted(rows: pa.Table, field: pa.Field) -> pa.Array | pa.ChunkedArray:
    return rows.column(field.name).cast(field.type) if field.name in rows.column_names else \
        pa.nulls(rows.num_rows, field.type)
