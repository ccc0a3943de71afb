"""NDJSON that is still being written: whole lines as they come, punctuation in line, an unfinished line waits.

Columns are declared, or learned from the first lines that arrive. A column that a row does not have is null; one that
was not declared is ignored, because a live source may add fields at any time.
"""

from __future__ import annotations

import os
import sys
from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from threading import Event

import pyarrow as pa

from panewise.core.errors import CheckpointError, SourceError
from panewise.core.schema import SourceSchema
from panewise.engines.embedded.positions import AnyItem, Position
from panewise.engines.embedded.sources.base import StreamSource
from panewise.files import ndjson
from panewise.files.reader import read_promise
from panewise.files.types import normal_schema

READ_BYTES = 1 << 20
POLL_SECONDS = 0.1


class LineSource(StreamSource):
    """Lines from somewhere; ``attribute`` is what punctuation bounds (default: the time column)."""

    def __init__(self, name: str, *, columns: pa.Schema | None = None, time: str | None = None,
                 attribute: str | None = None) -> None:
        self.name, self.attribute = name, attribute
        self._declared, self._time = columns, time
        self._blocks: Iterator[bytes] | None = None
        self._seen: list[bytes] = []
        """Blocks that were read to learn the columns, not yet given out."""
        self._line = 1
        self.closed = Event()

    @abstractmethod
    def read(self) -> Iterator[bytes]:
        """Pieces of text as they come, cut anywhere."""

    # -- columns

    @cached_property
    def arrow(self) -> pa.Schema:
        """The columns; waits for the first rows if they were not declared."""
        if self._declared is not None:
            return normal_schema(self._declared)
        for block in self._reading():
            self._seen.append(block)
            lines = [part for part in ndjson.split(b"".join(self._seen), 1, self.name)
                     if isinstance(part, ndjson.Lines) and part.text.strip()]
            if lines:
                return normal_schema(ndjson.infer_lines(lines, self.name))
        raise SourceError(f"{self.name}: there is no data row to learn the columns from; declare them")

    @cached_property
    def schema(self) -> SourceSchema:
        """The columns, and the one that orders the stream."""
        return SourceSchema.of(self.arrow, time=self._time)

    # -- items

    def items(self, after: Position) -> Iterator[AnyItem]:
        """Batches and punctuation, without the lines that were counted."""
        schema, to_skip = self.schema, self.to_skip(after)
        attribute = self.attribute or schema.time
        for block in self._from_the_start():
            text, skipped, to_skip = _without_lines(block, to_skip)
            self._line += skipped
            if text:
                yield from self._parsed(text, attribute)
                self._line += text.count(b"\n")
            if self.ended:
                return
        if to_skip and not self.closed.is_set():
            raise CheckpointError(f"{self.name} has fewer lines than the checkpoint has counted: "
                                  "it is not the input the checkpoint was made with")

    ended = False

    def to_skip(self, after: Position) -> int:
        """How many lines come again that were counted already."""
        return after.lines

    def _parsed(self, text: bytes, attribute: str | None) -> Iterator[AnyItem]:
        for part in ndjson.split(text, self._line, self.name):
            if isinstance(part, ndjson.Promise):
                yield read_promise(part, self.name, self.schema, attribute)
            elif part.text.strip():
                table = ndjson.parse_lines(part, self.name, self.arrow, extra="ignore")
                yield from table.combine_chunks().to_batches()

    # -- text

    def _from_the_start(self) -> Iterator[bytes]:
        seen, self._seen = self._seen, []
        yield from seen
        yield from self._reading()

    def _reading(self) -> Iterator[bytes]:
        if self._blocks is None:
            self._blocks = self._whole_lines()
        return self._blocks

    def _whole_lines(self) -> Iterator[bytes]:
        rest: list[bytes] = []
        for piece in self.read():
            cut = piece.rfind(b"\n") + 1
            if cut:
                yield b"".join([*rest, piece[:cut]])
                rest = []
            if cut < len(piece):
                rest.append(piece[cut:])
        if b"".join(rest).strip() and not self.closed.is_set():
            yield from self.unfinished(b"".join(rest))

    def unfinished(self, text: bytes) -> Iterator[bytes]:
        """What the text ends with when it does not end with a line; most sources count it as one."""
        yield text + b"\n"

    def close(self) -> None:
        """Stop reading."""
        self.closed.set()


class PipeSource(LineSource):
    """Standard input, or any file descriptor that blocks until there is something to read.

    After a restart the same lines are expected again from the beginning.
    """

    def __init__(self, name: str, descriptor: int | None = None, *, columns: pa.Schema | None = None,
                 time: str | None = None, attribute: str | None = None) -> None:
        super().__init__(name, columns=columns, time=time, attribute=attribute)
        self.descriptor = sys.stdin.fileno() if descriptor is None else descriptor

    def read(self) -> Iterator[bytes]:
        """What is there, as soon as it is there."""
        while piece := os.read(self.descriptor, READ_BYTES):
            yield piece


class FollowedFile(LineSource):
    """An NDJSON file that another process appends to; reading goes on at its end, and a half-written line waits.

    It never ends by itself: the run ends when it is stopped.
    """

    def __init__(self, path: str | Path, name: str = "stream", *, columns: pa.Schema | None = None,
                 time: str | None = None, attribute: str | None = None, poll: float = POLL_SECONDS) -> None:
        super().__init__(f"{path}", columns=columns, time=time, attribute=attribute)
        self.path, self.poll = Path(path), poll
        del name
        if not self.path.is_file():
            raise SourceError(f"{self.path}: no such file to follow")

    def read(self) -> Iterator[bytes]:
        """From the beginning, then whatever is added."""
        try:
            with self.path.open("rb") as file:
                while not self.closed.is_set():
                    if piece := file.read(READ_BYTES):
                        yield piece
                    elif self.path.stat().st_size < file.tell():
                        raise SourceError(f"{self.path}: became shorter while it was followed; rows can only be added")
                    else:
                        self.closed.wait(self.poll)
        except OSError as error:
            if isinstance(error, SourceError):
                raise
            raise SourceError(f"{self.path}: cannot be read: {error.strerror or error}") from error


def _without_lines(text: bytes, count: int) -> tuple[bytes, int, int]:
    """Text without its first ``count`` lines that are not blank; lines cut off, and how many are left to cut."""
    if not count:
        return text, 0, 0
    if not ndjson.has_blank(text):
        lines = text.count(b"\n")
        if lines <= count:
            return b"", lines, count - lines
    at, cut = 0, 0
    while count and at < len(text):
        end = text.find(b"\n", at) + 1
        count -= bool(text[at:end].strip())
        at, cut = end, cut + 1
    return text[at:], cut, count
