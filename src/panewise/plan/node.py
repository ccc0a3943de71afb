"""What every plan node is: its inputs and columns, how it is built anew, and what is known of all nodes of a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Self, TypeVar

from panewise.core.scalar import Scalar

T = TypeVar("T")


@dataclass(frozen=True)
class NamedScalar:
    """An output column: its name and how it is computed."""

    name: str
    scalar: Scalar

    @classmethod
    def column(cls, name: str) -> NamedScalar:
        """A column under its own name."""
        return cls(name, Scalar.column(name))


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate in a SELECT list: the function, its argument columns and its constant parameters."""

    name: str
    """The output column."""
    function: str
    arguments: tuple[Scalar, ...] = ()
    parameters: tuple[int | float | str, ...] = ()
    """Constants that fix the function, such as the fraction of a quantile."""
    distinct: bool = False


@dataclass(frozen=True)
class Node:
    """Base of all plan nodes."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The plans this node reads."""
        found: list[Node] = []
        for name in self.__dataclass_fields__:  # asked for at every step of every walk; fields() costs three times it
            value = getattr(self, name)
            if isinstance(value, Node):
                found.append(value)
            elif isinstance(value, tuple) and value and isinstance(value[0], Node):
                found.extend(value)
        return tuple(found)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the output columns; the first input's unless a node says otherwise."""
        return self.inputs[0].columns

    def with_inputs(self, *inputs: Node) -> Self:
        """The same node over other inputs."""
        remaining = iter(inputs)
        changes: dict[str, object] = {}
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if isinstance(value, Node):
                changes[name] = next(remaining)
            elif isinstance(value, tuple) and value and isinstance(value[0], Node):
                changes[name] = tuple([next(remaining) for _ in value])
        return replace(self, **changes)

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        """The expressions that the node computes; of a window's condition see its clause."""
        return tuple(scalar for name in self.__dataclass_fields__ for scalar in _scalars_in(getattr(self, name)))

    @property
    def condition(self) -> Scalar | None:
        """What rows of the inputs are tested by: a predicate of the node's own, or that of its window."""
        clause = getattr(self, "clause", None) or getattr(self, "window", None)
        found: Scalar | None = getattr(clause or self, "predicate", None)
        return found

    @property
    def passes(self) -> tuple[Node, ...]:
        """The inputs whose columns come out under their own names; the first one unless a node says otherwise."""
        return self.inputs[:1]

    @property
    def columns_known(self) -> bool:
        """Whether ``columns`` are all there are: a source may take any name."""
        return all(below.columns_known for below in self.passes)

    def has(self, column: str) -> bool:
        """Whether a column is one of the node's; a source that takes any name may have it."""
        return any(below.has(column) for below in self.passes)

    def comes_from(self, column: str) -> tuple[tuple[Node, str], ...]:
        """The inputs of which a column comes out unchanged, and its name there; none of what is computed."""
        sides = self.passes if len(self.passes) < 2 else [side for side in self.passes if side.has(column)]
        return tuple((side, column) for side in sides[:1])

    def below(self, part: Node, column: str | None) -> str | None:
        """What an input calls a column that comes out unchanged; None where it has none."""
        return None if column is None else dict(self.comes_from(column)).get(part)

    def shown_as(self, column: str) -> tuple[str, ...]:
        """The names that a column of the first input has in the output."""
        return (column,)

    def rebuilt(self, change: Callable[[Node], Node]) -> Self:
        """The same node over changed inputs; the node itself where none changes."""
        changed = [change(below) for below in self.inputs]
        same = all(new is old for new, old in zip(changed, self.inputs, strict=True))
        return self if same else self.with_inputs(*changed)

    def with_scalars(self, change: Callable[[Scalar], Scalar]) -> Self:
        """The same node with other expressions, those of its window included; the node itself where none changes."""
        changed = {name: found for name in self.__dataclass_fields__
                   if (found := _with_scalars(value := getattr(self, name), change)) is not value}
        return replace(self, **changed) if changed else self

    def walk(self) -> Iterator[Node]:
        """This node and everything below it, parents first."""
        yield self
        for child in self.inputs:
            yield from child.walk()

    def paths(self, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Node]]:
        """Every node with the inputs to take to it, parents first."""
        yield path, self
        for i, below in enumerate(self.inputs):
            yield from below.paths((*path, i))


def _scalars_in(value: object) -> Iterator[Scalar]:
    match value:
        case Scalar():
            yield value
        case NamedScalar():
            yield value.scalar
        case AggregateCall():
            yield from value.arguments
        case tuple():
            for part in value:
                yield from _scalars_in(part)


def _with_scalars(value: Any, change: Callable[[Scalar], Scalar]) -> Any:
    """A part of a node with other expressions; parts that have none stay the objects they are."""
    if isinstance(value, Scalar):
        found = change(value)
        return value if found == value else found
    if isinstance(value, tuple):
        parts = tuple(_with_scalars(part, change) for part in value)
        return value if all(a is b for a, b in zip(parts, value, strict=True)) else parts
    if isinstance(value, Node) or not is_dataclass(value) or isinstance(value, type):
        return value
    changed = {field.name: found for field in fields(value) if field.init
               and (found := _with_scalars(part := getattr(value, field.name), change)) is not part}
    return replace(value, **changed) if changed else value


@dataclass(frozen=True)
class Computed(Node):
    """Base of nodes all of whose columns are their own, whatever they are computed from."""

    @property
    def passes(self) -> tuple[Node, ...]:
        """None."""
        return ()

    def has(self, column: str) -> bool:
        """As ``columns`` say."""
        return column in self.columns


def folded(plan: Node, rule: Callable[[Node, list[T]], T]) -> dict[Node, T]:
    """What a rule finds for every node of a plan, from what it found for the inputs; equal nodes are one."""
    found: dict[Node, T] = {}

    def visit(node: Node) -> T:
        if node not in found:
            below = [visit(child) for child in node.inputs]
            found[node] = rule(node, below)
        return found[node]

    visit(plan)
    return found


@dataclass(frozen=True)
class OfNodes(Mapping[Node, T]):
    """What is known of every node of a plan; equal nodes are one, so a node is looked up by value."""

    plan: Node
    edges: Mapping[Node, T]

    def __getitem__(self, node: Node) -> T:
        return self.edges[node]

    def __iter__(self) -> Iterator[Node]:
        return iter(self.edges)

    def __len__(self) -> int:
        return len(self.edges)
