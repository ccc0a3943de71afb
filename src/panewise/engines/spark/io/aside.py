"""Bad rows of a streaming query in files, one for each micro-batch that has some.

Spark repeats a micro-batch under its number with the same rows, so a file that is there is written again as it was:
every bad row is in the folder once, whatever was repeated.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.errors import PlanError, telling
from panewise.engines.spark.host.wire import BAD
from panewise.storage import disk

PATTERN = "bad-[0-9]*.ndjson"


class BadParts:
    """A folder of NDJSON files; begun anew by a run that does not go on where another stopped."""

    def __init__(self, folder: Path, *, goes_on: bool) -> None:
        self.folder = folder.absolute()
        if self.folder.is_file():
            raise PlanError(f"{folder} is a file: bad rows of a live stream on Spark go to a folder, one file for each "
                            "micro-batch: --bad-rows aside:DIR")
        if not goes_on and any(self.folder.glob(PATTERN)):
            raise PlanError(f"{folder} has the bad rows of another run: give a folder of its own, or go on with that "
                            "run by its --checkpoint")
        with telling(f"{self.folder}: bad rows cannot be written there"):
            disk.make_directory(self.folder)

    def take(self, table: pa.Table, number: int) -> pa.Table:
        """Write the bad rows of a micro-batch; its results."""
        marks = table.column(BAD)
        texts = [text for text in marks.to_pylist() if text is not None]
        if texts:
            whole = "".join(f"{text}\n" for text in texts).encode("utf-8", "backslashreplace")
            with telling(f"{self.folder}: bad rows cannot be written there"):
                disk.write_whole(self.folder / f"bad-{number:012d}.ndjson", [whole])
        return table.filter(pc.is_null(marks)).drop_columns([BAD])
