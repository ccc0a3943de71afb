"""Which columns of every node of a plan something above reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from panewise.plan import nodes as n

Wanted = frozenset[str] | None
"""Columns; None: all of them."""
NONE: frozenset[str] = frozenset()


def demanded(plan: n.Node) -> Mapping[n.Node, Wanted]:
    """What is read of the output of every node; equal nodes are one, and read by all that read one of them.

    >>> from panewise.core.scalar import Scalar
    >>> from panewise.core.schema import SourceSchema
    >>> source = n.Source("s", SourceSchema({"k": None, "v": None, "w": None}, time="k"))
    >>> plan = n.Project(n.Filter(source, Scalar.parse("v > 1")), (n.NamedScalar.column("k"),))
    >>> sorted(demanded(plan)[source])
    ['k', 'v']
    """
    return noted(plan, read_of_inputs)


def noted(plan: n.Node, read: Callable[[n.Node, Wanted], Iterable[Wanted]]) -> dict[n.Node, Wanted]:
    """What is read of every node that is reached, by what a node reads of its inputs."""
    found: dict[n.Node, Wanted] = {}

    def note(node: n.Node, wanted: Wanted) -> None:
        before = found.get(node, NONE)
        after = None if wanted is None or before is None else before | wanted
        if node in found and after == before:
            return
        found[node] = after
        for below, columns in zip(node.inputs, read(node, after), strict=False):
            note(below, columns)

    note(plan, None)
    return found


def read_of_inputs(node: n.Node, wanted: Wanted) -> list[Wanted]:
    """What a node reads of each of its inputs, to put out what is wanted of it."""
    computed = NONE.union(*(scalar.columns for scalar in node.scalars))
    match node:
        case n.WindowAggregate():
            return [computed | node.window.reads]
        case n.Project() | n.GroupAggregate():
            return [computed]
        case n.Filter() if wanted is not None:
            return [wanted | computed]
        case n.Explode() if wanted is not None:
            return [wanted.difference(node.names) | computed]
        case n.Qualify() if wanted is not None:
            return [frozenset(column.removeprefix(f"{node.alias}.") for column in wanted)]
        case n.Window() if wanted is not None:
            return [wanted | node.clause.reads]
        case n.TimePairs() if wanted is not None:
            read = wanted | computed | {node.left_time, node.right_time}
            return [read & frozenset(side.columns) for side in node.inputs]
    return [None] * len(node.inputs)
