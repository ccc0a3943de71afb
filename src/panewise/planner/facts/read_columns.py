"""Which columns of its streams a plan reads: the others need not wait, be sorted or be kept.

Rewrites leave columns out between operators, never below a window that looks at one of them. What enters at a stream
is decided here, for the plan as it runs.
"""

from __future__ import annotations

from collections.abc import Mapping

from panewise.plan import nodes as n
from panewise.planner.facts.demand import Wanted, noted, read_of_inputs


def columns_read(plan: n.Node) -> dict[str | n.Node, frozenset[str]]:
    """Of every stream, and join of streams, that is read in part its columns; what is not named is read whole."""
    return {node.name if isinstance(node, n.Source) else node: columns for node, columns in noted(plan, _read).items()
            if columns is not None and isinstance(node, n.Source | n.TimePairs)}


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
    return {node: columns for node, columns in noted(plan, _read).items() if isinstance(node, n.Explode)}


def _read(node: n.Node, wanted: Wanted) -> list[Wanted]:
    match node:
        case n.TimePairs():  # what a join reads of its streams is its own business
            return []
        case n.WindowAggregate() if not any(isinstance(below, n.Explode) for below in node.walk()):
            return [None]
        case n.Window(clause=clause) if wanted is not None:  # the time of a stream's own rows needs no column
            looked_at = () if time_column(node.input) == clause.attribute else (clause.attribute,)
            condition = clause.predicate.columns if clause.predicate is not None else ()
            return [wanted.union(looked_at, clause.partition, condition)]
    return read_of_inputs(node, wanted)


def time_column(node: n.Node) -> str | None:
    """The column that dates the rows of a stream, under the name it has here."""
    match node:
        case n.Source():
            return node.schema.time
        case n.Filter() | n.Explode() | n.Qualify():
            below = time_column(node.input)
            return None if below is None else node.shown_as(below)[0]
    return None
