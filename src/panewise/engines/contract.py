"""The contract of an engine: it refuses a plan by name, says how it runs one, and runs it.

Streams are files, or whatever else has a schema and gives its items in the order of their arrival. Spark also takes
DataFrames, and answers with one.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from panewise.core.schema import SourceKind, SourceSchema
from panewise.files.places import RowPlaces
from panewise.files.reader import FileStream, Item
from panewise.plan.nodes import Node, WindowAggregate
from panewise.planner.explain.plan_text import Format
from panewise.planner.options import RunOptions


class InputStream(Protocol):
    """A finite stream that can be read from its beginning."""

    @property
    def schema(self) -> SourceSchema:
        """Its columns."""

    def items(self, *, attribute: str | None = None) -> Iterator[Item]:
        """Batches, punctuation and bad rows in arrival order; punctuation bounds the attribute."""


class Watcher(Protocol):
    """A display of how far a run is."""

    def say(self, text: str) -> None:
        """What is going on now."""

    def item(self, name: str, item: Item) -> None:
        """An item of a stream was read."""

    def advance(self, rows: int, watermark: str = "", held: str = "") -> None:
        """So many rows were read in all; what the query holds of them."""


@dataclass(frozen=True)
class Around:
    """What stands around a run, beside its options."""

    watch: Watcher | None = None
    on_late: Callable[[pa.Table], object] | None = None
    """Takes late rows as they come; then none is kept."""
    beside: Mapping[str, Any] = field(default_factory=dict)
    """Outputs that take part in the checkpoints of a run in process."""
    master: str = "local[*]"
    conf: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the Spark session."""
    rows_per_batch: int | None = None
    """How many rows a micro-batch on Spark has; by default what its sources say."""


ALONE = Around()


@dataclass
class RunningResults:
    """A run that yields tables of results and then knows what happened."""

    tables: Iterator[pa.Table]
    finish: Callable[[], tuple[pa.Table | None, dict[str, Any]]]
    """The late rows and the counters, once the tables are used up."""
    empty: pa.Table = field(default_factory=lambda: pa.table({}))
    """The result columns, for a run without results."""
    late_report: Callable[[], pa.Table | None] = lambda: None
    """The late rows with the reason of each, where the engine knows it."""
    bad_rows: Callable[[], pa.Table | None] = lambda: None
    """The bad rows that were put aside."""


class Engine(Protocol):
    """What runs plans; a plan or an option that one does not take is refused by name, before a row is read."""

    @abstractmethod
    def check(self, plan: Node, inputs: Mapping[str, Any], options: RunOptions) -> None:
        """Refuse what it cannot do."""

    @abstractmethod
    def explain(self, plan: Node, inputs: Mapping[str, Any], options: RunOptions, format: Format = "text") -> str:
        """How it runs the plan; inputs may be left out where they are not known yet."""

    @abstractmethod
    def run(self, plan: Node, inputs: Mapping[str, Any], options: RunOptions, around: Around = ALONE) -> Any:
        """Start a run: ``RunningResults`` of streams, a DataFrame of DataFrames."""


def place_in(stream: InputStream, attribute: str | None) -> Callable[[int], str] | None:
    """What says where a row of a stream stands, by its number, if the stream is in files."""
    if not isinstance(stream, FileStream):
        return None
    return RowPlaces(stream, ordered_by(stream, attribute))


def windowing_attribute(plan: Node) -> str | None:
    """The attribute whose bounds close the plan's windows."""
    return next((node.window.attribute for node in plan.walk() if isinstance(node, WindowAggregate)), None)


def ordered_by(stream: InputStream, attribute: str | None) -> str | None:
    """The column whose bounds a stream's punctuation gives: the windowing attribute if it has it, else its time.

    A table has nothing but its time, whatever its columns are called.
    """
    if stream.schema.kind is not SourceKind.STREAM:
        return stream.schema.time
    return attribute if attribute in stream.schema.columns else stream.schema.time
