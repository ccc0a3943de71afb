"""NDJSON over a TCP or Unix socket: the query listens, one sender at a time connects.

Two ways to send. *Plain*: lines are read until the sender hangs up, which ends the stream. One that breaks off, in the
middle of a line or because the connection is lost, has not ended it: what it began is a bad row (the policy of the run
says what becomes of those), and the next sender is waited for. A socket cannot be read again, so a run with a
checkpoint refuses it. *Acknowledged* (``ack=True``, ``?ack`` in an address): on connecting the
sender is told ``{"received": n}`` and goes on with line n + 1; after every checkpoint it is told
``{"acknowledged": n}``, and may forget the lines up to n, for a restarted query never asks for them again. Such a
stream ends with the line ``{"punctuation": {}}``; a sender that hangs up before that may connect again.

A peer that sends nothing, or whose first byte cannot begin a row (a health check, a browser), is no sender: it is told
so, hung up on and counted (``refused``), and the next one is waited for. A stream without a row ends with the line
``{"punctuation": {}}``. A line may have ``max_line`` bytes; what is beyond is a bad row and is not kept in memory.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pyarrow as pa

from panewise.core.errors import SourceError
from panewise.engines.embedded.positions import AnyItem, Position
from panewise.engines.embedded.sources.lines import READ_BYTES, LineSource
from panewise.files import ndjson
from panewise.files.json_units import MAX_LINE
from panewise.progress.punctuation import Punctuation

LOOPBACK = "127.0.0.1"
SCHEMES = ("tcp", "unix")
BEGINNINGS = (b"{", b"[", b"\xef")
"""What NDJSON can begin with: an object, an array of them, a byte-order mark."""


@dataclass(frozen=True)
class Address:
    """Where a socket is.

    >>> Address.parse("tcp://:9000"), Address.parse("unix:///tmp/bids.sock?ack").ack
    (Address(host='127.0.0.1', port=9000, path=None, ack=False), True)
    """

    host: str = LOOPBACK
    port: int = 0
    path: str | None = None
    ack: bool = False

    @classmethod
    def parse(cls, text: str) -> Address:
        """``tcp://host:port`` (no host: this machine only) or ``unix:///path``."""
        try:
            url = urlsplit(text)
            options = parse_qs(url.query, keep_blank_values=True)
            if url.scheme == "unix" and url.path and not url.netloc and set(options) <= {"ack"}:
                return cls(path=url.path, ack="ack" in options)
            if url.scheme == "tcp" and url.port is not None and url.path in ("", "/") and set(options) <= {"ack"}:
                return cls(url.hostname or LOOPBACK, url.port, ack="ack" in options)
        except ValueError:
            pass
        raise SourceError(f"{text!r} is no address of a socket: write tcp://127.0.0.1:9000 or unix:///path/to/socket, "
                          "with ?ack for a sender that repeats what was not acknowledged")

    def __str__(self) -> str:
        return f"unix://{self.path}" if self.path is not None else f"tcp://{self.host}:{self.port}"

    def connect(self) -> socket.socket:
        """A connection to whoever listens there."""
        try:
            if self.path is None:
                return socket.create_connection((self.host, self.port))
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.connect(self.path)
        except OSError as error:
            raise SourceError(f"{self}: nobody listens there: {error.strerror or error}") from error
        return connection

    def listen(self) -> socket.socket:
        """A socket that waits for connections."""
        try:
            if self.path is None:
                return socket.create_server((self.host, self.port), backlog=1)
            Path(self.path).unlink(missing_ok=True) if Path(self.path).is_socket() else None
            server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            server.bind(self.path)
            server.listen(1)
        except OSError as error:
            raise SourceError(f"{self}: cannot listen there: {error.strerror or error}") from error
        return server


def is_address(text: object) -> bool:
    """Whether a text names a socket."""
    return isinstance(text, str) and text.split("://", maxsplit=1)[0] in SCHEMES and "://" in text


class SocketSource(LineSource):
    """Listens on an address; to this machine only, unless the address names another interface."""

    why_not = ("a socket cannot be read again after a restart, so rows that were received but not yet checkpointed "
               "would be lost: let the sender repeat them (?ack in the address), or write the stream to a file and "
               "follow it")

    def __init__(self, address: str | Address, name: str = "", *, columns: pa.Schema | None = None,
                 time: str | None = None, attribute: str | None = None, max_line: int = MAX_LINE) -> None:
        address = Address.parse(address) if isinstance(address, str) else address
        if address.ack and columns is None:
            raise SourceError(f"{address}: declare the columns of an acknowledged stream; a sender that goes on in the "
                              "middle may have nothing left to learn them from")
        self._server = address.listen()
        if address.path is None:
            host, port = self._server.getsockname()[:2]
            address = Address(host, port, ack=address.ack)
        self.address = address
        """Where it really listens: port 0 becomes a free one."""
        super().__init__(name or str(address), columns=columns, time=time, attribute=attribute,
                         max_line=max_line)
        self._peer: socket.socket | None = None
        self._before = 0
        """What was received in runs before."""
        self.refused = 0
        """Connections that did not send NDJSON."""
        self.ack = address.ack

    @property
    def replayable(self) -> bool:
        """Whether the sender repeats what was not acknowledged."""
        return self.ack

    def to_skip(self, after: Position) -> int:
        """Senders that are told where to go on repeat nothing."""
        if self.ack:
            self._before = after.lines
            return 0
        return after.lines

    def items(self, after: Position) -> Iterator[AnyItem]:
        """Until the sender hangs up, or, if it is acknowledged, says that nothing more comes."""
        for item in super().items(after):
            if isinstance(item, Punctuation) and item.covers_everything:
                self.ended = True
            yield item

    def read(self) -> Iterator[bytes | list[ndjson.Part]]:
        """One sender after the other, until one of them ends the stream."""
        while not self.closed.is_set():
            try:
                self._peer, _ = self._server.accept()
            except OSError:
                return  # closed
            # a reader that stops here leaves it open: acknowledgements follow
            ended = yield from self._from_peer(self._peer)
            self._peer.close()
            if ended:
                return

    def _from_peer(self, peer: socket.socket) -> Generator[bytes | list[ndjson.Part], None, bool]:
        """What a sender sends; whether that was the end of the stream."""
        if self.ack:
            self._tell({"received": self._before + self.text.at})
        begun, lost = False, None
        while True:
            try:
                piece = peer.recv(READ_BYTES)
            except OSError as error:
                piece, lost = b"", error.strerror or str(error)
            if not piece:
                break
            if not begun and (start := piece.lstrip()):
                begun = True
                if start[:1] not in BEGINNINGS:
                    self.refused += 1
                    self._tell({"error": "this is a stream of NDJSON: a row begins with {"})
                    return False
            yield piece
        if self.ack:
            self.text.cutter.forget()  # an unfinished line is simply not received: it is sent again
            return False
        if self.closed.is_set():
            return True
        return (yield from self._hung_up(lost)) if begun else self._said_nothing()

    def _said_nothing(self) -> bool:
        self.refused += 1
        return False

    def _hung_up(self, lost: str | None) -> Generator[bytes | list[ndjson.Part], None, bool]:
        """The end of a plain sender; whether it had said all that it wanted to."""
        within = self.text.cutter.skipping
        left = self.text.broken_off("the sender hung up")
        within = within or any(isinstance(part, ndjson.BadLine) for part in left)
        if lost is not None and not within:  # a connection that is reset takes what was under way with it
            left.append(self.text.lost(f"the connection to the sender was lost ({lost}): what it sent last may be "
                                       "missing"))
        yield left
        return not within and lost is None

    def acknowledge(self, position: Position) -> None:
        """Tell the sender what it may forget."""
        if self.ack:
            self._tell({"acknowledged": position.lines})

    def _tell(self, what: dict[str, int | str]) -> None:
        if self._peer is not None:
            with suppress(OSError):  # gone; the next one is told how far we are
                self._peer.sendall(json.dumps(what).encode() + b"\n")

    def close(self) -> None:
        """Hang up."""
        super().close()
        for one in (self._server, self._peer):
            if one is not None:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
                one.close()
        if self.address.path is not None:
            Path(self.address.path).unlink(missing_ok=True)
