"""Results as lines of NDJSON, each written out at once: for pipes and sockets."""

from __future__ import annotations

import sys
from typing import BinaryIO

import pyarrow as pa

from panewise.core.errors import telling
from panewise.engines.embedded.sinks.base import Sink
from panewise.files.senders import Address
from panewise.files.writer import to_ndjson


class LineSink(Sink):
    """Writes to a binary file that is open already; standard output unless told otherwise."""

    def __init__(self, file: BinaryIO | None = None) -> None:
        self.file: BinaryIO = file or sys.stdout.buffer

    def write(self, table: pa.Table) -> None:
        """Every row a line, and nothing kept back."""
        self.file.write(to_ndjson(table).encode())
        self.file.flush()


class SocketSink(Sink):
    """Connects to an address (``tcp://host:port``, ``unix:///path``) and sends every row as a line."""

    def __init__(self, address: str) -> None:
        self.address = Address.parse(address)
        self._connection = self.address.connect()

    def write(self, table: pa.Table) -> None:
        """Send rows; a receiver that is slow holds the query up."""
        with telling(f"{self.address}: the receiver of results is gone"):
            self._connection.sendall(to_ndjson(table).encode())

    def close(self, error: BaseException | None, empty: pa.Table) -> None:
        """Hang up."""
        del error, empty
        self._connection.close()
