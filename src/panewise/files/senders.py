"""Programs that send NDJSON to a socket that is listened on: one connects at a time, the next when it has hung up.

A peer whose first byte cannot begin what is expected (a health check, a browser) is no sender: it is told so, hung up
on and counted.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from panewise.core.errors import SourceError, telling

LOOPBACK = "127.0.0.1"
SCHEMES = ("tcp", "unix")
READ_BYTES = 1 << 20


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
    """Whether senders repeat what was not acknowledged."""

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
        """A connection to the program that listens there."""
        with telling(f"{self}: nobody listens there"):
            if self.path is None:
                return socket.create_connection((self.host, self.port))
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.connect(self.path)
            return connection

    def listen(self) -> socket.socket:
        """A socket that waits for connections."""
        with telling(f"{self}: cannot listen there"):
            if self.path is None:
                return socket.create_server((self.host, self.port), backlog=1)
            Path(self.path).unlink(missing_ok=True) if Path(self.path).is_socket() else None
            server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            server.bind(self.path)
            server.listen(1)
            return server


def is_address(text: object) -> bool:
    """Whether a text names a socket."""
    return isinstance(text, str) and text.split("://", maxsplit=1)[0] in SCHEMES and "://" in text


class Senders:
    """Listens on an address; ``beginnings`` are the bytes that what is sent may begin with, spaces aside."""

    def __init__(self, address: Address, beginnings: bytes) -> None:
        self._server, self._beginnings = address.listen(), beginnings
        if address.path is None:
            host, port = self._server.getsockname()[:2]
            address = replace(address, host=host, port=port)
        self.address = address
        """Where it really listens: port 0 becomes a free one."""
        self.refused = 0
        """Connections that did not send NDJSON."""
        self.begun, self.lost = False, ""
        """Of the last sender: whether it sent anything, and why the connection ended if it did not hang up."""
        self._peer: socket.socket | None = None

    def accept(self) -> bool:
        """Wait for the next sender; False when nothing is listened for any more."""
        try:
            self._peer, _ = self._server.accept()
        except OSError:
            return False
        return True

    def pieces(self) -> Iterator[bytes]:
        """What the sender sends, until it hangs up or is refused."""
        self.begun, self.lost = False, ""
        assert self._peer is not None
        while True:
            try:
                piece = self._peer.recv(READ_BYTES)
            except OSError as error:
                piece, self.lost = b"", error.strerror or str(error)
            if not piece:
                return
            if not self.begun and (start := piece.lstrip()):
                if start[0] not in self._beginnings:
                    self.refused += 1
                    self.tell({"error": "this is a stream of NDJSON: a row begins with {"})
                    return
                self.begun = True
            yield piece

    def tell(self, what: Mapping[str, int | str]) -> None:
        """Tell the sender; one that is gone, or does not listen, is told when it connects again."""
        if self._peer is not None:
            with suppress(OSError):
                self._peer.sendall(json.dumps(what).encode() + b"\n")

    def hang_up(self) -> None:
        """This sender is done."""
        if self._peer is not None:
            self._peer.close()

    def close(self) -> None:
        """Hang up, and listen no more."""
        for one in (self._server, self._peer):
            if one is not None:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
                one.close()
        if self.address.path is not None:
            Path(self.address.path).unlink(missing_ok=True)
