"""Python iterables as sources: plain, asynchronous, and functions that know how to begin in the middle."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Generator, Iterable, Iterator
from contextlib import suppress

from panewise.engines.embedded.positions import AnyItem, Position, plain_item, skip
from panewise.engines.embedded.sources.base import StreamSource


class IterableSource(StreamSource):
    """Rows, lists of rows, Arrow batches and punctuation from an iterable.

    After a restart the iterable is expected to begin anew; what the checkpoint has counted is skipped.
    """

    def __init__(self, iterable: Iterable[AnyItem], name: str = "stream") -> None:
        self.iterable, self.name = iterable, name

    def items(self, after: Position) -> Iterator[AnyItem]:
        """From the beginning, without what was counted; a generator is closed when it is not read to its end."""
        try:
            yield from skip(self.iterable, after, self.name)
        finally:
            if isinstance(self.iterable, Generator):
                self.iterable.close()


class PositionSource(StreamSource):
    """A function from (rows, punctuation) already taken to the items that follow: nothing is read twice."""

    def __init__(self, begin: Callable[[int, int], Iterable[AnyItem]], name: str = "stream") -> None:
        self.begin, self.name = begin, name

    def items(self, after: Position) -> Iterator[AnyItem]:
        """As the function has it."""
        return map(plain_item, self.begin(after.rows, after.punctuation))


class AsyncSource(StreamSource):
    """An asynchronous iterable. It runs on the event loop of the program when results are taken with ``async for``,
    else on one of its own."""

    def __init__(self, iterable: AsyncIterable[AnyItem], name: str = "stream") -> None:
        self.iterable, self.name = iterable, name
        self.loop: asyncio.AbstractEventLoop | None = None
        """The program's loop, if it runs while results are taken."""
        self._pending: asyncio.Future[AnyItem] | None = None
        self._own: asyncio.AbstractEventLoop | None = None

    def items(self, after: Position) -> Iterator[AnyItem]:
        """From the beginning, without what was counted."""
        return skip(self._all(), after, self.name)

    def _all(self) -> Iterator[AnyItem]:
        iterator = aiter(self.iterable)
        if self.loop is not None:
            yield from self._on_the_programs_loop(iterator, self.loop)
            return
        self._own = loop = asyncio.new_event_loop()
        try:
            while True:
                self._pending = loop.create_task(_next(iterator))
                yield loop.run_until_complete(self._pending)
        except (StopAsyncIteration, asyncio.CancelledError):
            return
        finally:
            if hasattr(iterator, "aclose"):
                with suppress(RuntimeError):
                    loop.run_until_complete(iterator.aclose())
            loop.close()

    def _on_the_programs_loop(self, iterator: AsyncIterator[AnyItem],
                              loop: asyncio.AbstractEventLoop) -> Iterator[AnyItem]:
        while True:
            waiting = asyncio.run_coroutine_threadsafe(_next(iterator), loop)
            try:
                yield waiting.result()
            except StopAsyncIteration:
                return
            except asyncio.CancelledError:
                return

    def close(self) -> None:
        """Give up the item that is waited for."""
        if self._own is not None and self._pending is not None and not self._own.is_closed():
            with suppress(RuntimeError):  # it ended just now
                self._own.call_soon_threadsafe(self._pending.cancel)


async def _next(iterator: AsyncIterator[AnyItem]) -> AnyItem:
    return await anext(iterator)
