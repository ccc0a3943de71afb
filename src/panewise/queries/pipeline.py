"""From a plan to operators: one path of operators from every source up to the window aggregate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from panewise.core.errors import UnsupportedError
from panewise.core.schema import ROW_NUM_NAMES
from panewise.plan.nodes import Explode, Filter, Node, Project, Qualify, Source, Union, WindowAggregate
from panewise.planner.read_columns import ReadOfElements, columns_of_elements
from panewise.progress.meld import Meld
from panewise.progress.punctuation import Punctuation
from panewise.queries.chunks import Chunk, rows_of
from panewise.queries.operators import Apply, Exploding, MeldInput, Passing, Prefix, Rename, Select


@dataclass(frozen=True)
class Path:
    """The way of one source's rows to the window aggregate."""

    source: Source
    operators: tuple[Passing, ...]
    attribute: str | None
    """What the source calls the windowing attribute; None when it is computed on the way."""

    def process(self, chunk: Chunk) -> Chunk:
        """Rows of the source as the aggregate sees them."""
        for operator in self.operators:
            with rows_of(chunk):
                chunk = operator.process(chunk)
        return chunk

    def advance(self, punctuation: Punctuation) -> list[Punctuation]:
        """What a promise about the source says of the aggregate's input."""
        promises = [punctuation]
        for operator in self.operators:
            promises = [after for before in promises for after in operator.advance(before)]
        return promises

    def empty(self, schema: pa.Schema) -> pa.Table:
        """No rows, with the columns and types the aggregate will see."""
        none = np.empty(0, np.int64)
        return self.process(Chunk(schema.empty_table(), self.source.name, none, none, none)).table

    @property
    def selects(self) -> bool:
        """Whether some rows of the source do not come to the aggregate."""
        return any(isinstance(operator, Select | Exploding) for operator in self.operators)

    def then(self, *operators: Passing) -> Path:
        """A longer way."""
        return Path(self.source, (*self.operators, *operators), self.attribute)


@dataclass(frozen=True)
class Pipeline:
    """All paths into one window aggregate, and the plan nodes above it."""

    aggregate: WindowAggregate
    paths: tuple[Path, ...]
    melds: tuple[Meld, ...]
    above: tuple[Project | Filter, ...]
    """From the aggregate upwards."""

    @property
    def sources(self) -> dict[str, Source]:
        """The streams it reads."""
        return {path.source.name: path.source for path in self.paths}

    def paths_of(self, stream: str) -> tuple[Path, ...]:
        """The ways that rows of one stream take."""
        return tuple(path for path in self.paths if path.source.name == stream)

    def guard(self, stream: str) -> str | None:
        """What a stream calls the windowing attribute."""
        guards = sorted({path.attribute for path in self.paths_of(stream) if path.attribute is not None})
        if len(guards) > 1:
            raise UnsupportedError(f"one window on two columns of the stream {stream!r} ({', '.join(guards)}) "
                                   "is not yet run by the embedded engine; use engine='oracle'")
        return guards[0] if guards else None

    def needed(self, stream: str) -> list[str]:
        """The columns of a stream that something reads, as far as the first operator that renames them."""
        aggregate = self.aggregate
        top = {c for key in aggregate.keys for c in key.scalar.columns} | {aggregate.window.attribute}
        top |= set(aggregate.window.partition)
        top -= ROW_NUM_NAMES
        top |= {c for call in aggregate.aggregates for scalar in call.arguments for c in scalar.columns}
        needed: set[str] = set()
        for path in self.paths_of(stream):
            read = set(top)
            for operator in reversed(path.operators):
                match operator:
                    case Apply():
                        read = {c for item in operator.items for c in item.scalar.columns}
                    case Select():
                        read |= operator.predicate.columns
                    case Exploding():
                        read = read.difference(operator.node.names) | operator.node.collection.columns
                    case Rename():
                        read = set(operator.before)
                    case Prefix():
                        read = {c.removeprefix(f"{operator.alias}.") for c in read}
            needed |= read
        return sorted(needed)


def compile_plan(plan: Node) -> Pipeline:
    """The operators of a plan; the planner has checked that the engine has them all."""
    above: list[Project | Filter] = []
    node = plan
    while not isinstance(node, WindowAggregate):
        if not isinstance(node, Project | Filter):
            raise UnsupportedError(f"{type(node).__name__} over a window aggregate is not run by the embedded engine; "
                                   "use engine='oracle'")
        above.append(node)
        node = node.input
    melds: list[Meld] = []
    by_position = node.window.attribute in ROW_NUM_NAMES
    read = columns_of_elements(plan)
    paths = _paths(node.input, None if by_position else node.window.attribute, melds, read)
    if node.window.predicate is not None:  # rows that fail it are in no window
        paths = [path.then(Select(node.window.predicate)) for path in paths]
    return Pipeline(node, tuple(paths), tuple(melds), tuple(reversed(above)))


def _paths(node: Node, attribute: str | None, melds: list[Meld], read: ReadOfElements) -> list[Path]:
    match node:
        case Source():
            return [Path(node, (), attribute)]
        case Filter():
            return [path.then(Select(node.predicate)) for path in _paths(node.input, attribute, melds, read)]
        case Explode():
            below = None if attribute in node.names else attribute
            return [path.then(Exploding(node, read[node])) for path in _paths(node.input, below, melds, read)]
        case Project():
            below = next((i.scalar.column_name for i in node.items if i.name == attribute), None)
            return [path.then(Apply(node.items)) for path in _paths(node.input, below, melds, read)]
        case Qualify():
            below = attribute.removeprefix(f"{node.alias}.") if attribute else None
            return [path.then(Prefix(node.alias)) for path in _paths(node.input, below, melds, read)]
        case Union():
            return _union(node, attribute, melds, read)
        case _:
            raise UnsupportedError(f"{type(node).__name__} under a window aggregate is not run by the embedded engine; "
                                   "use engine='oracle'")


def _union(node: Union, attribute: str | None, melds: list[Meld], read: ReadOfElements) -> list[Path]:
    meld = Meld(len(node.parts), attribute or "")
    melds.append(meld)
    names = node.columns
    paths: list[Path] = []
    for number, part in enumerate(node.parts):
        below = attribute
        if attribute in names and part.columns:
            below = part.columns[names.index(attribute)]
        rename = [Rename(names, part.columns)] if names and part.columns != names else []
        paths += [path.then(*rename, MeldInput(meld, number)) for path in _paths(part, below, melds, read)]
    return paths
