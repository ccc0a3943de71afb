"""NDJSON from a socket as a Spark stream that can be read again: received lines are kept in a spool of files.

The driver listens. What a sender sends is on disk before anything else is done with it, so offsets are lines of the
spool, and a query that is restarted reads the same rows. A sender that wants no line lost either is told
``{"received": n}`` when it connects, and after everything that was stored; it goes on with line n + 1. Files of the
spool are deleted when their rows have been processed. A stream ends with the line ``{"punctuation": {}}``. What a
sender only began before it hung up, and a connection that is lost, is a bad row, as in process; it is no received line,
so a sender that counts them sends its own again. With ``ack`` (``?ack`` in an address) senders are known to do that,
and nothing is stored of what they began. A line longer than ``max_line`` bytes is not stored: a bad row that says so
stands for it. A peer whose first byte is in no JSON text (a browser) is told so, hung up on and counted (``refused``).

Driver and executors have to see the folder of the spool: a local one for a local master, a shared one for a cluster.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from panewise.core.bad_rows import MAX_LINE
from panewise.core.errors import SourceError
from panewise.core.time import AmountGiven
from panewise.engines.spark.io.source_options import ROWS_PER_BATCH
from panewise.engines.spark.io.sources import read_spool
from panewise.files.json_units import JSON_BYTES, Lines, UnitCutter
from panewise.files.senders import Address, Senders

FILE_BYTES = 64 << 20
_MARK = b'"panewise: '
"""What lines begin with that stand for something a sender did not send: JSON that is no row."""


class SocketSpool:
    """Listens on an address (one sender at a time) and stores what comes; a context manager that hangs up at its end.

    A file is named by the number of lines before it, so a spool knows how much it has received even when the files of
    rows that were processed are gone.
    """

    def __init__(self, folder: str | Path, address: str = "tcp://:0", *, file_bytes: int = FILE_BYTES,
                 max_line: int = MAX_LINE) -> None:
        self.folder, self.file_bytes, self.max_line = Path(folder), file_bytes, max_line
        self._closed = False
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SourceError(f"{folder}: a spool cannot be kept here: {error.strerror or error}") from error
        self.received = 0
        """Lines on disk, those whose files are gone included."""
        self._file = self._go_on()
        try:
            self._senders = Senders(Address.parse(address), JSON_BYTES)
        except BaseException:
            self._file.close()
            raise
        self.address = self._senders.address
        self.failure: Exception | None = None
        self._thread = threading.Thread(target=self._serve, name="panewise-spool", daemon=True)
        self._thread.start()

    def __enter__(self) -> SocketSpool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Hang up; what was received stays."""
        self._closed = True
        self._senders.close()
        self._thread.join()
        self._file.close()

    @property
    def refused(self) -> int:
        """Connections that did not send NDJSON."""
        return self._senders.refused

    def _go_on(self) -> BinaryIO:
        """The last file, without a line that was cut short by a crash; the first one in a new folder."""
        files = sorted(self.folder.glob("[0-9]*.ndjson"))
        path = files[-1] if files else self.folder / f"{0:015d}.ndjson"
        file = path.open("a+b")
        file.seek(0)
        lines = kept = 0
        for line in file:
            if line.endswith(b"\n"):
                lines, kept = lines + (not line.startswith(_MARK)), kept + len(line)
        file.truncate(kept)
        self.received = int(path.stem) + lines
        return file

    def _serve(self) -> None:
        try:
            while self._senders.accept():
                self._tell()
                self._take()
                self._senders.hang_up()
        except Exception as error:
            self.failure = error

    def _take(self) -> None:
        waiting: list[bytes] = []
        size, skipping = 0, False
        for piece in self._senders.pieces():
            cut = piece.rfind(b"\n") + 1
            if cut:
                whole = b"".join([*waiting, piece[:cut]])
                if skipping:  # the end of a line that was too long
                    whole, skipping = whole[whole.index(b"\n") + 1 :], False
                self._store(_within(whole, self.max_line))
                waiting, size = [], 0
                self._tell()
            if not skipping and cut < len(piece):
                waiting.append(piece[cut:])
                size += len(piece) - cut
            if size > self.max_line:
                self._store(_left_out(b"".join(waiting), self.max_line))
                waiting, size, skipping = [], 0, True
        if self._senders.begun and not self.address.ack and not self._closed:
            self._hung_up(b"".join(waiting).strip(), self._senders.lost, within=skipping)

    def _hung_up(self, left: bytes, lost: str, *, within: bool) -> None:
        """The end of a sender: what stands behind its last end of line is a row if it is whole, as in process."""
        if left and _is_row(left):
            self._store(left + b"\n")
        elif left:
            self._store(_told(f"the sender hung up in the middle of a line: {_shown(left)}"), lines=0)
        if lost and not within and not left:  # a connection that is reset takes what was under way with it
            self._store(_told(f"the connection to the sender was lost ({lost}): what it sent last may be missing"),
                        lines=0)

    def _store(self, whole: bytes, lines: int | None = None) -> None:
        """Keep lines; ``lines`` is how many a sender would count, if not all of them."""
        self._file.write(whole)
        self._file.flush()
        os.fsync(self._file.fileno())
        self.received += whole.count(b"\n") if lines is None else lines
        if self._file.tell() >= self.file_bytes:
            self._file.close()
            self._file = (self.folder / f"{self.received:015d}.ndjson").open("a+b")

    def _tell(self) -> None:
        self._senders.tell({"received": self.received})


def _within(lines: bytes, longest: int) -> bytes:
    """Whole lines, without those that are too long."""
    if len(lines) <= longest or max(map(len, lines.split(b"\n"))) <= longest:
        return lines
    return b"".join(_left_out(line, longest) if len(line) > longest else line + b"\n"
                    for line in lines.split(b"\n")[:-1])


def _left_out(line: bytes, longest: int) -> bytes:
    """What stands for a line that is too long: JSON that is no row, so that the policy for bad rows decides."""
    what = f"a line longer than the limit of {longest:,} bytes (max_line=): {_shown(line)}…"
    return json.dumps(what).encode() + b"\n"


def _told(what: str) -> bytes:
    """A line that stands for something that did not come."""
    return json.dumps(f"panewise: {what}").encode() + b"\n"


def _shown(text: bytes) -> str:
    return text[:60].decode(errors="backslashreplace")


def _is_row(text: bytes) -> bool:
    """Whether text without an end of line is a whole object, or several."""
    found = [*(cutter := UnitCutter()).feed(text), *cutter.end()]
    return bool(found) and all(isinstance(unit, Lines) for unit in found)


def read_socket(spark: SparkSession, spool: SocketSpool, columns: pa.Schema, *, time: str | None = None,
                progress: str = "source", rows_per_batch: int = ROWS_PER_BATCH, bad_rows: str = "stop",
                max_line: int = MAX_LINE, max_jump: AmountGiven | None = None) -> DataFrame:
    """What a socket has received and will receive, as a streaming DataFrame; options are those of ``read_stream``."""
    return read_spool(spark, spool.folder, columns, time=time, progress=progress, rows_per_batch=rows_per_batch,
                      bad_rows=bad_rows, max_line=max_line, max_jump=max_jump)
