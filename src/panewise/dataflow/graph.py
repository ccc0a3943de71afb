"""A running graph of operators: what comes in at its entries travels from node to node until it is put out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from panewise.core.errors import CheckpointError
from panewise.dataflow.batch import Batch
from panewise.dataflow.inputs import StreamInput
from panewise.dataflow.operators.base import Item, Mask, Operator
from panewise.progress.punctuation import Punctuation
from panewise.storage import ChunkStore, Scoped


@dataclass(eq=False)
class Node:
    """An operator, and the nodes that read what it puts out, each at one of its ports."""

    operator: Operator
    readers: list[tuple[Node, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        kind = type(self.operator)
        self.settles, self.flushes = kind.settle is not Operator.settle, kind.flush is not Operator.flush
        """Whether there is anything to do when rows count, or when an arrival is complete."""


@dataclass(eq=False)
class Entry:
    """A stream as it enters the graph, ordered by one of its columns."""

    source: StreamInput
    readers: list[tuple[Node, int]] = field(default_factory=list)


class Outlet(Operator):
    """Where results leave the graph: kept until they are taken."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._taken: list[Batch] = []
        self.results: list[Batch] = []
        """Since they were taken last."""
        self.listener: Callable[[Punctuation], object] | None = None

    def take(self, port: int, batch: Batch) -> None:
        """Results, until it is settled that they hold."""
        del port
        self._taken.append(batch)

    def settle(self) -> Iterable[Item]:
        """They do."""
        self.results += self._taken
        self._taken.clear()
        return ()

    def revoke(self) -> None:
        """They do not."""
        self._taken.clear()

    def advance(self, port: int, promise: Punctuation) -> Iterable[Item]:
        """What is promised of results to come."""
        del port
        if self.listener is not None:
            self.listener(promise)
        return ()


class Dataflow:
    """Entries and nodes; every node stands behind those it reads."""

    def __init__(self, entries: Iterable[Entry], nodes: Iterable[Node]) -> None:
        self.entries, self.nodes = list(entries), list(nodes)
        self._flushed = [node for node in self.nodes if node.flushes]
        self._touched: list[Node] = []

    # -- one arrival

    def offer(self, entry: Entry, batch: Batch) -> None:
        """Rows of a stream: nothing counts before ``settle``. Where something is refused, ``revoke`` all of them."""
        for node, port in entry.readers:
            self._take(node, port, batch)

    def _take(self, node: Node, port: int, batch: Batch) -> None:
        self._touched.append(node)
        made = node.operator.take(port, batch)
        if made is not None and made.table.num_rows:
            for reader, at in node.readers:
                self._take(reader, at, made)

    def revoke(self) -> None:
        """What was offered never came."""
        for node in self._touched:
            node.operator.revoke()
            node.operator.missed.clear()
        self._touched.clear()

    def settle(self) -> list[tuple[Batch, Mask]]:
        """What was offered counts; the rows that came too late, by batch."""
        touched, self._touched = dict.fromkeys(self._touched), []
        missed: list[tuple[Batch, Mask]] = []
        for node in touched:
            if node.settles:
                self._put_out(node, node.operator.settle())
                missed += node.operator.missed
                node.operator.missed.clear()
        return missed

    def promise(self, entry: Entry, promise: Punctuation) -> None:
        """What was promised about a stream."""
        for node, port in entry.readers:
            self._put_out(node, node.operator.advance(port, promise))

    def silence(self, entry: Entry, silent: bool) -> None:
        """A stream fell silent, so that it holds no other back, or woke up."""
        for node, port in entry.readers:
            self._silence(node, port, silent)

    def _silence(self, node: Node, port: int, silent: bool) -> None:
        self._put_out(node, node.operator.silence(port, silent))
        if not silent or node.operator.is_silent(port, silent):
            for reader, at in node.readers:
                self._silence(reader, at, silent)

    def complete(self, now: int | None = None) -> None:
        """The arrival is over; ``now`` is what the wall clock shows, if that is what arrived."""
        for node in self._flushed:
            self._put_out(node, node.operator.flush(now))

    def _put_out(self, node: Node, items: Iterable[Item]) -> None:
        for item in items:
            for reader, port in node.readers:
                if isinstance(item, Punctuation):
                    self._put_out(reader, reader.operator.advance(port, item))
                else:
                    self._arrive(reader, port, item)

    def _arrive(self, node: Node, port: int, batch: Batch) -> None:
        """Rows that an operator has made: they count at once."""
        made = node.operator.take(port, batch)
        if made is not None and made.table.num_rows:
            for reader, at in node.readers:
                self._arrive(reader, at, made)
        if node.settles:
            self._put_out(node, node.operator.settle())

    def shown(self, operator: Operator, results: pa.Table) -> pa.Table:
        """Results of an operator as they would leave the graph, through those above it that only map rows."""
        node, batch = next(node for node in self.nodes if node.operator is operator), Batch.made(results)
        while not isinstance(node.readers[0][0].operator, Outlet):
            node, port = node.readers[0]
            batch = node.operator.take(port, batch) or batch
        return batch.table

    # -- saving

    def save(self, store: ChunkStore) -> dict[str, Any]:
        """The state of every node as chunks of its own; that of the entries is returned."""
        for number, node in enumerate(self.nodes):
            node.operator.save(Scoped(store, str(number)))
        return {"nodes": len(self.nodes), "inputs": [entry.source.snapshot() for entry in self.entries]}

    def load(self, header: Mapping[str, Any], store: ChunkStore) -> None:
        """Become what ``save`` saved."""
        if header["nodes"] != len(self.nodes) or len(header["inputs"]) != len(self.entries):
            raise CheckpointError("the checkpoint is of another graph of operators: it was made by another query")
        for entry, state in zip(self.entries, header["inputs"], strict=True):
            entry.source.restore(state)
        for number, node in enumerate(self.nodes):
            node.operator.load(Scoped(store, str(number)))
