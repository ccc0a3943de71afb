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

from collections.abc import Generator, Iterator

import pyarrow as pa

from panewise.core.bad_rows import MAX_LINE
from panewise.core.errors import SourceError
from panewise.engines.embedded.positions import AnyItem, Position
from panewise.engines.embedded.sources.lines import LineSource
from panewise.files import ndjson
from panewise.files.senders import Address, Senders
from panewise.progress.punctuation import Punctuation

BEGINNINGS = b"{[\xef"
"""What NDJSON can begin with: an object, an array of them, a byte-order mark."""


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
        self._senders = Senders(address, BEGINNINGS)
        self.address, self.ack = self._senders.address, address.ack
        super().__init__(name or str(self.address), columns=columns, time=time, attribute=attribute, max_line=max_line)
        self._before = 0
        """What was received in runs before."""
        self._silent = 0
        """Connections over which nothing was sent."""

    @property
    def refused(self) -> int:
        """Connections that did not send NDJSON."""
        return self._senders.refused + self._silent

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
        while not self.closed.is_set() and self._senders.accept():
            # a reader that stops here leaves it open: acknowledgements follow
            ended = yield from self._from_sender()
            self._senders.hang_up()
            if ended:
                return

    def _from_sender(self) -> Generator[bytes | list[ndjson.Part], None, bool]:
        """What a sender sends; whether that was the end of the stream."""
        if self.ack:
            self._senders.tell({"received": self._before + self.text.at})
        refused = self._senders.refused
        yield from self._senders.pieces()
        if self._senders.refused > refused:
            return False
        if self.ack:
            self.text.cutter.forget()  # an unfinished line is simply not received: it is sent again
            return False
        if self.closed.is_set():
            return True
        if not self._senders.begun:
            self._silent += 1
            return False
        return (yield from self._hung_up(self._senders.lost))

    def _hung_up(self, lost: str) -> Generator[bytes | list[ndjson.Part], None, bool]:
        """The end of a plain sender; whether it had said all that it wanted to."""
        within = self.text.cutter.skipping
        left = self.text.broken_off("the sender hung up")
        within = within or any(isinstance(part, ndjson.BadLine) for part in left)
        if lost and not within:  # a connection that is reset takes what was under way with it
            left.append(self.text.lost(f"the connection to the sender was lost ({lost}): what it sent last may be "
                                       "missing"))
        yield left
        return not within and not lost

    def acknowledge(self, position: Position) -> None:
        """Tell the sender what it may forget."""
        if self.ack:
            self._senders.tell({"acknowledged": position.lines})

    def close(self) -> None:
        """Hang up."""
        super().close()
        self._senders.close()
