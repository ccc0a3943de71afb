"""NDJSON that is still being written: whole objects as they come, punctuation in line, an unfinished line waits.

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

from panewise.core.bad_rows import MAX_LINE, BadRows
from panewise.core.errors import BadRowError, CheckpointError, SourceError, telling
from panewise.core.schema import DEFAULT_TIME_NAMES, SourceSchema
from panewise.engines.embedded.positions import AnyItem, Position
from panewise.engines.embedded.sources.base import StreamSource
from panewise.files import ndjson
from panewise.files.json_rows import good_and_bad
from panewise.files.json_schema import infer_lines
from panewise.files.places import line_place
from panewise.files.reader import promised
from panewise.files.types import normal_schema

READ_BYTES = 1 << 20
POLL_SECONDS = 0.1


class LineSource(StreamSource):
    """Lines from somewhere; ``attribute`` is what punctuation bounds (default: the time column)."""

    def __init__(self, name: str, *, columns: pa.Schema | None = None, time: str | None = None,
                 attribute: str | None = None, max_line: int = MAX_LINE) -> None:
        self.name, self.attribute = name, attribute
        self.max_line = max_line
        self.tolerant = False
        """Whether columns may be learned from the good rows among bad ones."""
        self.declared, self._time = columns, time
        """The columns as they were declared; None: the first rows say which there are."""
        self._reader: Iterator[ndjson.Part] | None = None
        self.text = ndjson.Parts(max_line)
        """What has been read, cut into rows and punctuation."""
        self._seen: list[ndjson.Part] = []
        """What was read to learn the columns, not yet given out."""
        self.extra: ndjson.Extra = "ignore"
        """What becomes of columns that are not known."""
        self.closed = Event()

    @abstractmethod
    def read(self) -> Iterator[bytes | list[ndjson.Part]]:
        """Pieces of text as they come, cut anywhere; or what is left of a text that broke off."""

    # -- columns

    @cached_property
    def arrow(self) -> pa.Schema:
        """The columns; waits for the first rows if they were not declared."""
        if self.declared is not None:
            return normal_schema(self.declared)
        for part in self._reading():
            self._seen.append(part)
            if isinstance(part, ndjson.BadLine) and not self.tolerant:
                raise BadRowError(str(part.bad_row(self.name)))
            if isinstance(part, ndjson.Lines):
                return normal_schema(infer_lines([part], self.name, times=self._times, tolerant=self.tolerant))
        raise SourceError(f"{self.name}: there is no data row to learn the columns from; declare them")

    @property
    def _times(self) -> tuple[str, ...]:
        """Columns that may order the stream."""
        return DEFAULT_TIME_NAMES if self._time is None else (self._time,)

    @cached_property
    def schema(self) -> SourceSchema:
        """The columns, and the one that orders the stream."""
        return SourceSchema.of(self.arrow, time=self._time)

    # -- items

    def items(self, after: Position) -> Iterator[AnyItem]:
        """Batches, punctuation and bad rows, without what was counted."""
        schema, to_skip = self.schema, self.to_skip(after)
        attribute = self.attribute or schema.time
        for part in self._from_the_start():
            size = part.size if isinstance(part, ndjson.Lines) else 1
            if size <= to_skip:
                to_skip -= size
                continue
            yield from self._parsed(part.part(to_skip, size) if isinstance(part, ndjson.Lines) else part, attribute)
            to_skip = 0
            if self.ended:
                return
        if to_skip and not self.closed.is_set():
            raise CheckpointError(f"{self.name} has fewer lines than the checkpoint has counted: "
                                  "it is not the input the checkpoint was made with")

    ended = False

    def to_skip(self, after: Position) -> int:
        """How many lines come again that were counted already."""
        return after.lines

    def _parsed(self, part: ndjson.Part, attribute: str | None) -> Iterator[AnyItem]:
        if isinstance(part, ndjson.Promise):
            yield promised(part, self.name, self.schema, attribute)
        elif isinstance(part, ndjson.BadLine):
            yield BadRows([part.bad_row(self.name)])
        else:
            for some in good_and_bad(part, self.name, self.arrow, extra=self.extra):
                yield from [some] if isinstance(some, BadRows) else some.combine_chunks().to_batches()

    # -- text

    def _from_the_start(self) -> Iterator[ndjson.Part]:
        seen, self._seen = self._seen, []
        yield from seen
        yield from self._reading()

    def _reading(self) -> Iterator[ndjson.Part]:
        if self._reader is None:
            self._reader = self._parts()
        return self._reader

    def _parts(self) -> Iterator[ndjson.Part]:
        for piece in self.read():
            yield from self.text.feed(piece) if isinstance(piece, bytes) else piece
        if not self.closed.is_set():
            yield from self.text.end()

    def close(self) -> None:
        """Stop reading."""
        self.closed.set()


class PipeSource(LineSource):
    """Standard input, or any file descriptor that blocks until there is something to read.

    After a restart the same lines are expected again from the beginning.
    """

    def __init__(self, name: str, descriptor: int | None = None, *, columns: pa.Schema | None = None,
                 time: str | None = None, attribute: str | None = None, max_line: int = MAX_LINE) -> None:
        super().__init__(name, columns=columns, time=time, attribute=attribute, max_line=max_line)
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
                 time: str | None = None, attribute: str | None = None, poll: float = POLL_SECONDS,
                 max_line: int = MAX_LINE) -> None:
        super().__init__(f"{path}", columns=columns, time=time, attribute=attribute, max_line=max_line)
        self.path, self.poll = Path(path), poll
        del name
        if not self.path.is_file():
            raise SourceError(f"{self.path}: no such file to follow")

    def place(self, number: int) -> str:
        """File and line of a row, by its number."""
        return line_place([self.path], number, self.schema, self.attribute or self.schema.time, self.max_line)

    def read(self) -> Iterator[bytes]:
        """From the beginning, then whatever is added."""
        with telling(f"{self.path}: cannot be read"), self.path.open("rb") as file:
            while not self.closed.is_set():
                if piece := file.read(READ_BYTES):
                    yield piece
                elif self.path.stat().st_size < file.tell():
                    raise SourceError(f"{self.path}: became shorter while it was followed; rows can only be added")
                else:
                    self.closed.wait(self.poll)
