"""From a plan with stream joins to operators: one path from every source through its joins to the top."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import pyarrow as pa

from panewise.core.errors import SchemaError, UnsupportedError
from panewise.core.schema import ROW_NUM_NAMES
from panewise.plan.nodes import (
    BandJoin,
    Explode,
    Filter,
    Node,
    Project,
    Qualify,
    Source,
    TumblingJoin,
    Union,
    WindowAggregate,
)
from panewise.progress.meld import Meld
from panewise.queries.operators import Apply, Exploding, MeldInput, Prefix, Rename, Select
from panewise.queries.operators.join import JoinInput, StreamJoin
from panewise.queries.pipeline import Path


@dataclass
class JoinedPlan:
    """All paths of a plan, the joins and unions they meet in, and the window aggregate over them, if there is one."""

    plan: Node
    paths: list[Path]
    joins: list[StreamJoin]
    melds: list[Meld]
    aggregate: WindowAggregate | None
    read: dict[str, set[str]]
    """The columns of each stream that something reads."""
    above: list[Project | Filter] = field(default_factory=list)
    """What stands over the aggregate, from it upwards."""

    def __post_init__(self) -> None:
        for path in self.paths:
            for place, operator in enumerate(path.operators, start=1):
                if isinstance(operator, JoinInput):
                    operator.join.above = path.operators[place:]

    @property
    def sources(self) -> dict[str, Source]:
        """The streams it reads."""
        return {path.source.name: path.source for path in self.paths}

    def paths_of(self, stream: str) -> list[Path]:
        """The ways that rows of one stream take."""
        return [path for path in self.paths if path.source.name == stream]

    def guard(self, stream: str) -> str | None:
        """The column of a stream that orders it: the one its join is on."""
        guards = sorted({path.attribute for path in self.paths_of(stream) if path.attribute is not None})
        if len(guards) > 1:
            raise UnsupportedError(f"joins on two columns of the stream {stream!r} ({', '.join(guards)}) are not yet "
                                   "run by the embedded engine; use engine='oracle'")
        return guards[0] if guards else None

    @property
    def schema(self) -> pa.Schema:
        """The columns that come out of the paths."""
        found = [path.empty(columns_of(path.source)).schema for path in self.paths]
        return unified(found)


class Compiler:
    """Builds the operators of one plan; where ``dated``, what joins put out says when it was born."""

    def __init__(self, *, dated: bool = False) -> None:
        self.dated = dated
        self.joins: list[StreamJoin] = []
        self.melds: list[Meld] = []
        self.read: dict[str, set[str]] = {}

    def compile(self, plan: Node) -> JoinedPlan:
        """The whole plan."""
        above: list[Project | Filter] = []
        node = plan
        if any(isinstance(below, WindowAggregate) for below in plan.walk()):
            while not isinstance(node, WindowAggregate):
                if not isinstance(node, Project | Filter):
                    raise UnsupportedError(f"{type(node).__name__} over a window aggregate is not run by the embedded "
                                           "engine; use engine='oracle'")
                above.append(node)
                node = node.input
        if not isinstance(node, WindowAggregate):
            paths = self._paths(node, None, set(node.columns))
            return JoinedPlan(plan, paths, self.joins, self.melds, None, self.read)
        by_position = node.window.attribute in ROW_NUM_NAMES
        paths = self._paths(node.input, None if by_position else node.window.attribute, read_by(node))
        if node.window.predicate is not None:
            paths = [path.then(Select(node.window.predicate)) for path in paths]
        return JoinedPlan(plan, paths, self.joins, self.melds, node, self.read, above[::-1])

    def _paths(self, node: Node, attribute: str | None, wanted: set[str]) -> list[Path]:
        """Ways up to a node; ``wanted`` are those of its columns that something above reads."""
        match node:
            case Source():
                self.read.setdefault(node.name, set()).update(wanted)
                return [Path(node, (), attribute)]
            case Filter():
                below = self._paths(node.input, attribute, wanted | node.predicate.columns)
                return [path.then(Select(node.predicate)) for path in below]
            case Explode():
                inner = (wanted - set(node.names)) | node.collection.columns
                name = None if attribute in node.names else attribute
                below = self._paths(node.input, name, inner)
                return [path.then(Exploding(node, wanted)) for path in below]
            case Project():
                items = [item for item in node.items if item.name in wanted] or list(node.items[:1])
                name = next((i.scalar.column_name for i in node.items if i.name == attribute), None)
                read = {column for item in items for column in item.scalar.columns}
                return [path.then(Apply(items)) for path in self._paths(node.input, name, read)]
            case Qualify():
                prefix = f"{node.alias}."
                name = attribute.removeprefix(prefix) if attribute else None
                below = self._paths(node.input, name, {column.removeprefix(prefix) for column in wanted})
                return [path.then(Prefix(node.alias)) for path in below]
            case Union():
                return self._union(node, attribute)
            case BandJoin() | TumblingJoin():
                return self._join(node, wanted)
            case _:
                raise UnsupportedError(f"{type(node).__name__} with a join of streams is not run by the embedded "
                                       "engine; use engine='oracle'")

    def _union(self, node: Union, attribute: str | None) -> list[Path]:
        meld = Meld(len(node.parts), attribute or "")
        self.melds.append(meld)
        names = node.columns
        paths: list[Path] = []
        for number, part in enumerate(node.parts):
            below = part.columns[names.index(attribute)] if attribute in names else attribute
            rename = [Rename(names, part.columns)] if part.columns != names else []
            paths += [path.then(*rename, MeldInput(meld, number))
                      for path in self._paths(part, below, set(part.columns))]
        return paths

    def _join(self, node: BandJoin | TumblingJoin, wanted: set[str]) -> list[Path]:
        read = wanted | {node.left_time, node.right_time}
        read |= node.predicate.columns if node.predicate is not None else frozenset()
        sides = [self._paths(side, time, read & set(side.columns))
                 for side, time in ((node.left, node.left_time), (node.right, node.right_time))]
        left, right = (unified([path.empty(columns_of(path.source)).schema for path in paths]) for paths in sides)
        below = [{_made_by(path) for path in paths} for paths in sides]
        join = StreamJoin(node, left, right, wanted, dated=self.dated, below=below)
        self.joins.append(join)
        return [path.then(JoinInput(join, number, guarded=goes_by_the_source(path)))
                for number, paths in enumerate(sides) for path in paths]


def goes_by_the_source(path: Path) -> bool:
    """Whether rows come with bounds on the join's time: results of another join are never late."""
    return path.attribute is not None and _made_by(path) is None


def is_guarded(path: Path) -> bool:
    """Whether rows of its source may be too late for the first join on the way."""
    return any(isinstance(operator, JoinInput) and operator.guarded for operator in path.operators)


def _made_by(path: Path) -> StreamJoin | None:
    """The join whose results come out of a path."""
    return next((operator.join for operator in reversed(path.operators) if isinstance(operator, JoinInput)), None)


def read_by(node: WindowAggregate) -> set[str]:
    """The columns of its input that a window aggregate reads."""
    scalars = [key.scalar for key in node.keys] + [s for call in node.aggregates for s in call.arguments]
    if node.window.predicate is not None:
        scalars.append(node.window.predicate)
    read = {column for scalar in scalars for column in scalar.columns} | set(node.window.partition)
    return (read | {node.window.attribute}) - ROW_NUM_NAMES


def columns_of(source: Source) -> pa.Schema:
    """The columns of a stream, which a join must know before the first row."""
    if not source.schema.columns:
        raise SchemaError(f"the columns of the stream {source.name!r} must be known before it is joined: declare them")
    return pa.schema(list(source.schema.columns.items()))


def unified(schemas: Collection[pa.Schema]) -> pa.Schema:
    """One schema for all inputs of a union."""
    try:
        return pa.unify_schemas(list(schemas), promote_options="permissive")
    except pa.ArrowException as error:
        raise SchemaError(f"the inputs of a UNION differ in their types: {error}") from error
