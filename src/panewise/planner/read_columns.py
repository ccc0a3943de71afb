"""Which columns of its streams a plan reads: the others need not wait, be sorted or be kept.

Rewrites leave columns out between operators, never below a window that looks at one of them. What enters at a stream
is decided here, for the plan as it runs.
"""

from __future__ import annotations

from collections.abc import Mapping

from panewise.plan import nodes as n

Wanted = frozenset[str] | None
"""Columns; None: all of them."""


def columns_read(plan: n.Node) -> dict[str | n.Node, frozenset[str]]:
    """Of every stream, and join of streams, that is read in part its columns; what is not named is read whole."""
    found: dict[str | n.Node, Wanted] = {}
    _note(plan, None, found)
    return {name: columns for name, columns in found.items()
            if columns is not None and not isinstance(name, n.Explode)}


ReadOfElements = Mapping[n.Explode, Wanted]
"""Of every generator what is read of its output."""


def columns_of_elements(plan: n.Node) -> ReadOfElements:
    """What is read of the rows that generators make: to repeat a row for each of its elements, arrays and all, costs
    the square of their number.

    >>> from panewise.core.scalar import Scalar
    >>> from panewise.core.schema import SourceSchema
    >>> from panewise.core.generators import Generator
    >>> source = n.Source("s", SourceSchema({"k": None, "xs": None}, time="k"))
    >>> exploded = n.Explode(source, Generator.EXPLODE, Scalar("xs"), ("x",))
    >>> sorted(columns_of_elements(n.Project(exploded, (n.NamedScalar.column("x"),)))[exploded])
    ['x']
    """
    found: dict[str | n.Node, Wanted] = {}
    _note(plan, None, found)
    return {node: columns for node, columns in found.items() if isinstance(node, n.Explode)}


def _note(node: n.Node, wanted: Wanted, found: dict[str | n.Node, Wanted]) -> None:
    if isinstance(node, n.Explode):
        known = found.get(node, frozenset())
        found[node] = None if wanted is None or known is None else known | wanted
    match node:
        case n.WindowAggregate() if any(isinstance(below, n.Explode) for below in node.walk()):
            clause = node.window
            scalars = [*(item.scalar for item in node.keys), *(a for call in node.aggregates for a in call.arguments)]
            read = frozenset({clause.attribute, *clause.partition}).union(*(scalar.columns for scalar in scalars))
            _note(node.input, read if clause.predicate is None else read | clause.predicate.columns, found)
        case n.Source() | n.TimePairs():  # what a join reads of its streams is its own business
            name = node.name if isinstance(node, n.Source) else node
            before = found.get(name, frozenset())
            found[name] = None if wanted is None or before is None else before | wanted
        case n.Project():
            _note(node.input, frozenset().union(*(item.scalar.columns for item in node.items)), found)
        case n.GroupAggregate():
            scalars = [*(item.scalar for item in node.keys), *(a for call in node.aggregates for a in call.arguments)]
            _note(node.input, frozenset().union(*(scalar.columns for scalar in scalars)), found)
        case n.Filter() if wanted is not None:
            _note(node.input, wanted | node.predicate.columns, found)
        case n.Explode() if wanted is not None:
            _note(node.input, wanted.difference(node.names) | node.collection.columns, found)
        case n.Qualify() if wanted is not None:
            _note(node.input, frozenset(column.removeprefix(f"{node.alias}.") for column in wanted), found)
        case n.Window() if wanted is not None:
            _note(node.input, wanted | _looked_at(node), found)
        case _:
            for below in node.inputs:
                _note(below, None, found)


def _looked_at(node: n.Window) -> frozenset[str]:
    """What a window must see of a row; the time of a stream's own rows is known without its column."""
    clause = node.clause
    columns = {*clause.partition, *(clause.predicate.columns if clause.predicate is not None else ())}
    return frozenset(columns if time_column(node.input) == clause.attribute else {*columns, clause.attribute})


def time_column(node: n.Node) -> str | None:
    """The column that dates the rows of a stream, under the name it has here."""
    match node:
        case n.Source():
            return node.schema.time
        case n.Filter() | n.Explode():
            return time_column(node.input)
        case n.Qualify():
            below = time_column(node.input)
            return None if below is None else f"{node.alias}.{below}"
    return None
