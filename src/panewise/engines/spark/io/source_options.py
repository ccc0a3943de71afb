"""What defines a stream of files on Spark: where it is, what orders it, what becomes of bad rows."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pyarrow as pa

from panewise.core.bad_rows import MAX_LINE, BadRowAction, BadRowPolicy
from panewise.core.errors import CheckpointError, PlanError
from panewise.core.schema import SourceSchema
from panewise.core.time import AmountGiven
from panewise.dataflow.times_of_rows import TimeRule
from panewise.engines.spark.io.source_rows import RowGate
from panewise.engines.spark.io.tracker import Tracker
from panewise.files.formats import expand, format_of
from panewise.files.reader import FileStream
from panewise.files.types import normal_schema
from panewise.progress.clocks import falls_silent
from panewise.progress.policy import parse_progress

ROWS_PER_BATCH = 1_000_000


@dataclass(frozen=True)
class StreamOptions:
    """What defines a stream of files."""

    path: str
    attribute: str
    progress: str = "source"
    finite: bool = True
    rows_per_batch: int = ROWS_PER_BATCH
    discard: bool = False
    """Whether files are deleted once everything in them is done with."""
    stored: str | None = None
    """The columns as the files have them (Arrow's own encoding), so that only the first look has to find them out."""
    bad_rows: str = "stop"
    """What becomes of rows that cannot be read or have no time: ``stop``, or ``skip``, which hands them on marked."""
    max_jump: int | str | None = None
    """How far ahead of the newest row one may be."""
    max_line: int = MAX_LINE
    """The longest object of NDJSON, in bytes."""

    @property
    def tolerant(self) -> bool:
        """Whether bad rows are handed on as such; otherwise the first is an error."""
        return self.bad_rows == BadRowAction.SKIP.value

    @property
    def stamped(self) -> bool:
        """Whether rows carry the bound in force at their arrival.

        Those of a source that may fall silent do not: what others have promised meanwhile, which it does not know,
        decides whether its rows are late.
        """
        return self.finite or not falls_silent(parse_progress(self.progress, self.open().schema.ordinal_kind(
            self.attribute)))

    def open(self) -> FileStream:
        """The files as they are now."""
        if self.stored is None:
            return FileStream.open(self.path, time=self.attribute)
        stored = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(self.stored)))
        arrow, files = normal_schema(stored), tuple(expand(Path(self.path)))
        schema = SourceSchema.of(arrow, time=self.attribute)
        return FileStream(files, format_of(files[0]), schema, arrow, stored, Path(self.path), self.max_line)

    def gate(self, stream: FileStream) -> RowGate:
        """Which rows can be used, before the first."""
        rule = TimeRule.of(Path(self.path).name, self.attribute, stream.schema, self.max_jump)
        return RowGate(self.attribute, rule, self.tolerant)

    def tracker(self, stream: FileStream) -> Tracker:
        """Progress before the first row."""
        kind = stream.schema.ordinal_kind(self.attribute)
        return Tracker(self.attribute, kind, self.progress, stream.schema.columns)

    def check(self, stream: FileStream) -> None:
        """Refuse a policy that cannot work, before anything is read."""
        self.tracker(stream)
        self.gate(stream)


def policy_of(bad_rows: str) -> str:
    """What a source can do with bad rows."""
    policy = BadRowPolicy.parse(bad_rows)
    if policy.action is BadRowAction.ASIDE:
        raise PlanError("bad_rows='aside' is for the query, which puts bad rows beside its results: write "
                        "bad_rows='skip' here, which hands them on, and bad_rows='aside' in pw.sql")
    return str(policy.action.value)


def amount_of(max_jump: AmountGiven | None) -> int | str | None:
    """A jump as JSON holds it."""
    if isinstance(max_jump, timedelta):
        return f"{max_jump // timedelta(microseconds=1)} us"
    return max_jump if max_jump is None or isinstance(max_jump, int) else str(max_jump)


def foreign_offset(offset: object, stream: str) -> CheckpointError:
    """What to say of an offset that another kind of source has written."""
    return CheckpointError(f"the checkpoint has the offset {json.dumps(offset)[:200]}, which does not belong to "
                           f"{stream}: it is of a query over another source, or damaged. Go on with the query it was "
                           "made with, or start with a new checkpoint")
