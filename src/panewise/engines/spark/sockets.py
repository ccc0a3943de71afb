"""NDJSON from a socket as a Spark stream that can be read again: received lines are kept in a spool of files.

The driver listens. What a sender sends is on disk before anything else is done with it, so offsets are lines of the
spool, and a query that is restarted reads the same rows. A sender that wants no line lost either is told
``{"received": n}`` when it connects, and after everything that was stored; it goes on with line n + 1. Files of the
spool are deleted when their rows have been processed. A stream ends with the line ``{"punctuation": {}}``. A line that
a sender only began is not received. A line longer than ``max_line`` bytes is not stored: a bad row that says so stands
for it. A peer whose first byte is in no JSON text (a browser) is told so, hung up on and counted (``refused``).

Driver and executors have to see the folder of the spool: a local one for a local master, a shared one for a cluster.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from panewise.core.errors import SourceError
from panewise.core.time import AmountGiven
from panewise.engines.spark.source_options import ROWS_PER_BATCH
from panewise.engines.spark.sources import read_spool
from panewise.files.json_units import JSON_BYTES, MAX_LINE

FILE_BYTES = 64 << 20
READ_BYTES = 1 << 20


class SocketSpool:
    """Listens on an address (one sender at a time) and stores what comes; a context manager that hangs up at its end.

    A file is named by the number of lines before it, so a spool knows how much it has received even when the files of
    rows that were processed are gone.
    """

    def __init__(self, folder: str | Path, *, host: str = "127.0.0.1", port: int = 0,
                 file_bytes: int = FILE_BYTES, max_line: int = MAX_LINE) -> None:
        self.folder, self.file_bytes, self.max_line = Path(folder), file_bytes, max_line
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SourceError(f"{folder}: a spool cannot be kept here: {error.strerror or error}") from error
        self.received = 0
        """Lines on disk, those whose files are gone included."""
        self.refused = 0
        """Connections that did not send NDJSON."""
        self._file = self._go_on()
        try:
            self._server = socket.create_server((host, port), backlog=1)
        except OSError as error:
            self._file.close()
            raise SourceError(f"tcp://{host}:{port}: cannot listen there: {error.strerror or error}") from error
        self.address: tuple[str, int] = self._server.getsockname()[:2]
        """Where it really listens: port 0 becomes a free one."""
        self._peer: socket.socket | None = None
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
        for one in (self._server, self._peer):
            if one is not None:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
                one.close()
        self._thread.join()
        self._file.close()

    def _go_on(self) -> BinaryIO:
        """The last file, without a line that was cut short by a crash; the first one in a new folder."""
        files = sorted(self.folder.glob("[0-9]*.ndjson"))
        path = files[-1] if files else self.folder / f"{0:015d}.ndjson"
        file = path.open("a+b")
        file.seek(0)
        lines = kept = 0
        for line in file:
            if line.endswith(b"\n"):
                lines, kept = lines + 1, kept + len(line)
        file.truncate(kept)
        self.received = int(path.stem) + lines
        return file

    def _serve(self) -> None:
        try:
            while True:
                try:
                    self._peer, _ = self._server.accept()
                except OSError:
                    return  # closed
                with suppress(OSError):
                    self._tell()
                    self._take(self._peer)
                self._peer.close()
        except Exception as error:
            self.failure = error

    def _take(self, peer: socket.socket) -> None:
        waiting: list[bytes] = []
        size = 0
        begun = skipping = False
        while piece := peer.recv(READ_BYTES):
            if not begun and (start := piece.lstrip()):
                begun = True
                if start[0] not in JSON_BYTES:
                    self.refused += 1
                    peer.sendall(b'{"error": "this is a stream of NDJSON: a row begins with {"}\n')
                    return
            cut = piece.rfind(b"\n") + 1
            if cut:
                whole = b"".join([*waiting, piece[:cut]])
                if skipping:  # the end of a line that was too long
                    whole, skipping = whole[whole.index(b"\n") + 1 :], False
                self._store(_within(whole, self.max_line))
                waiting, size = [], 0
                with suppress(OSError):  # a sender that does not listen is no sender to fear for
                    self._tell()
            if not skipping and cut < len(piece):
                waiting.append(piece[cut:])
                size += len(piece) - cut
            if size > self.max_line:
                self._store(_left_out(b"".join(waiting), self.max_line))
                waiting, size, skipping = [], 0, True

    def _store(self, whole: bytes) -> None:
        self._file.write(whole)
        self._file.flush()
        os.fsync(self._file.fileno())
        self.received += whole.count(b"\n")
        if self._file.tell() >= self.file_bytes:
            self._file.close()
            self._file = (self.folder / f"{self.received:015d}.ndjson").open("a+b")

    def _tell(self) -> None:
        if self._peer is not None:
            self._peer.sendall(json.dumps({"received": self.received}).encode() + b"\n")


def _within(lines: bytes, longest: int) -> bytes:
    """Whole lines, without those that are too long."""
    if len(lines) <= longest or max(map(len, lines.split(b"\n"))) <= longest:
        return lines
    return b"".join(_left_out(line, longest) if len(line) > longest else line + b"\n"
                    for line in lines.split(b"\n")[:-1])


def _left_out(line: bytes, longest: int) -> bytes:
    """What stands for a line that is too long: JSON that is no row, so that the policy for bad rows decides."""
    shown = line[:60].decode(errors="backslashreplace")
    return json.dumps(f"a line longer than the limit of {longest:,} bytes (max_line=): {shown}…").encode() + b"\n"


def read_socket(spark: SparkSession, spool: SocketSpool, columns: pa.Schema, *, time: str | None = None,
                progress: str = "source", rows_per_batch: int = ROWS_PER_BATCH, bad_rows: str = "stop",
                max_line: int = MAX_LINE, max_jump: AmountGiven | None = None) -> DataFrame:
    """What a socket has received and will receive, as a streaming DataFrame; options are those of ``read_stream``."""
    return read_spool(spark, spool.folder, columns, time=time, progress=progress, rows_per_batch=rows_per_batch,
                      bad_rows=bad_rows, max_line=max_line, max_jump=max_jump)
