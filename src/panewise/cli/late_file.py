"""Late rows of a run as a file: they leave as they come, and none is kept in memory."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

import pyarrow as pa

from panewise.core.errors import PlanError
from panewise.core.schema import SourceSchema
from panewise.engines.embedded.sinks import Transaction
from panewise.files.formats import Format, format_of
from panewise.files.writer import ResultFile, to_ndjson
from panewise.kernels.joins.keys import common_type
from panewise.storage import ChunkStore
from panewise.storage.side_file import SideFile

SIZE = "size"
"""Of the file, as a checkpoint knows it."""


class LateFile(Transaction):
    """Writes late rows, with the column ``late`` that says why.

    The file has the columns of all streams: those that a stream does not have are null, those of one name that have
    types without a common one are text. It is made with the first rows: a run without late rows leaves none.

    A run in process with a checkpoint may go on later: its file takes part in the checkpoints (``beside``), so that
    each late row stands in it once, whatever happened in between. A run on Spark goes through the late rows of all runs
    before it, so it writes the file anew.
    """

    def __init__(self, path: str | None, streams: Iterable[SourceSchema], *, goes_on: bool = False) -> None:
        self.path, self._streams, self._goes_on = path, list(streams), goes_on
        if path is not None and goes_on and format_of(Path(path)) is not Format.NDJSON:
            raise PlanError(f"--late-out {path}: a run with --checkpoint may go on and then appends its late rows, "
                            "which only NDJSON can: give a file.ndjson")
        self._side = SideFile(Path(path or ""), "late rows")
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
            self._side.write(to_ndjson(rows).encode())
            return
        if self._schema is None:
            self._schema = all_columns(self._streams, rows.schema)
            self._file = ResultFile(self.path, self._schema).__enter__()
        assert self._file is not None
        self._file.write(pa.table([_fitted(rows, field) for field in self._schema], schema=self._schema))

    @property
    def beside(self) -> dict[str, Transaction]:
        """As an output that takes part in the checkpoints of a run."""
        return {"late rows": self} if self.path is not None and self._goes_on else {}

    def recover(self, number: int, chunks: ChunkStore) -> None:
        """What a run did not live to save is cut off: it comes again."""
        self._side.cut(int(chunks.get(SIZE) or 0))

    def prepare(self, number: int, chunks: ChunkStore) -> None:
        """On disk before the checkpoint says so."""
        chunks.put(SIZE, str(self._side.settle()).encode())

    def commit(self, number: int) -> None:
        """Nothing is left to do."""


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
