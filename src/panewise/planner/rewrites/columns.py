"""Which columns a plan has, where a predicate belongs, and how names change on the way down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from panewise.core.scalar import Scalar
from panewise.plan import nodes as n
from panewise.planner.rewrites.scalars import conjuncts, movable

FIRST_INPUT = (n.Filter, n.Window, n.Distinct, n.SemiJoin, n.AntiJoin, n.BagDifference, n.Union, n.Lifetime,
               n.RelationToStream)
"""Nodes that show the columns of their first input."""


def columns_of(node: n.Node) -> tuple[str, ...] | None:
    """The columns in order; None where a source takes any name, so that nobody knows them."""
    match node:
        case n.Named():
            return None if node.schema.open else node.columns
        case n.Qualify():
            below = columns_of(node.input)
            return None if below is None else tuple(f"{node.alias}.{c}" for c in below)
        case n.Window(clause=n.WindowClause(numbered=True)):
            below = columns_of(node.input)
            return None if below is None else (*below, n.POSITION_COLUMN)
        case n.Explode():
            below = columns_of(node.input)
            return None if below is None else (*below, *node.names)
        case n.TimePairs() if node.kind.left_only:
            return columns_of(node.left)
        case n.Pairs() | n.TableJoin():
            sides = [columns_of(side) for side in node.inputs]
            return None if None in sides else tuple(c for side in sides if side is not None for c in side)
        case _ if isinstance(node, FIRST_INPUT):
            return columns_of(node.inputs[0])
    return node.columns


def owns(node: n.Node, column: str) -> bool:
    """Whether a column is one of the node's; a source that takes any name may have it."""
    match node:
        case n.Named():
            return node.schema.has(column)
        case n.Qualify():
            prefix = f"{node.alias}."
            return column.startswith(prefix) and owns(node.input, column.removeprefix(prefix))
        case n.Window(clause=n.WindowClause(numbered=True)) if column == n.POSITION_COLUMN:
            return True
        case n.Explode():
            return column in node.names or owns(node.input, column)
        case n.TimePairs() if node.kind.left_only:
            return owns(node.left, column)
        case n.Pairs() | n.TableJoin():
            return any(owns(side, column) for side in node.inputs)
        case _ if isinstance(node, FIRST_INPUT):
            return owns(node.inputs[0], column)
    return column in node.columns


def belongs(columns: Iterable[str], node: n.Node, *others: n.Node) -> bool:
    """Whether all of the columns are the node's and none may be another's."""
    return all(owns(node, c) and not any(owns(other, c) for other in others) for c in columns)


def apart(*nodes: n.Node) -> bool:
    """Whether no two of the nodes have a column name in common, as far as names are known.

    A side that takes any name is apart from another only if both are qualified.
    """
    seen: set[str] = set()
    for node in nodes:
        names = columns_of(node)
        mine = set(_prefixes(node)) if names is None else set(names)
        if names is None and (not mine or any(owns(other, f"{p}*") for p in mine for other in nodes if other != node)):
            return False
        if mine & seen:
            return False
        seen |= mine
    return True


def _prefixes(node: n.Node) -> list[str]:
    """The aliases before a node's columns; nothing if some have none."""
    match node:
        case n.Qualify():
            return [f"{node.alias}."]
        case n.TimePairs() if node.kind.left_only:
            return _prefixes(node.left)
        case n.Pairs() | n.TableJoin():
            sides = [_prefixes(side) for side in node.inputs]
            return [p for side in sides for p in side] if all(sides) else []
        case _ if isinstance(node, FIRST_INPUT):
            return _prefixes(node.inputs[0])
    return []


def divided(predicate: Scalar | None, *sides: n.Node) -> tuple[list[list[Scalar]], list[Scalar]]:
    """The parts of a predicate that only one side's columns decide, side by side, and the rest.

    What has no columns, or gives another answer each time, is in the rest.
    """
    own: list[list[Scalar]] = [[] for _ in sides]
    rest: list[Scalar] = []
    for part in conjuncts(predicate):
        here = [i for i, side in enumerate(sides)
                if belongs(part.columns, side, *(s for j, s in enumerate(sides) if j != i))]
        if part.columns and len(here) == 1 and movable(part):
            own[here[0]].append(part)
        else:
            rest.append(part)
    return own, rest


def kept_columns(node: n.Project) -> dict[str, str]:
    """Columns that a projection passes on: their name below to their (first) name above."""
    found: dict[str, str] = {}
    for item in node.items:
        if item.scalar.column_name is not None:
            found.setdefault(item.scalar.column_name, item.name)
    return found


def with_side(join: n.Join, position: int, side: n.Node) -> n.Join:
    """The join with another left (0) or right (1) side."""
    return join.with_inputs(*(side if i == position else s for i, s in enumerate(join.inputs)))


def reordered(node: n.Node, columns: Iterable[str]) -> n.Project:
    """The node with its columns in this order."""
    return n.Project(node, tuple(n.NamedScalar.column(c) for c in columns))


def narrowed(node: n.Node, needed: set[str]) -> n.Node:
    """The node with only those of its columns that are needed, in their order; as it is if none can be dropped."""
    columns = columns_of(node)
    kept = [c for c in columns or () if c in needed]
    return node if columns is None or len(kept) == len(columns) or not kept else reordered(node, kept)


def by_position(node: n.Union, part: n.Node) -> Mapping[str, str] | None:
    """The union's names to the part's; None if they are not known."""
    names, own = columns_of(node), columns_of(part)
    if names is None or own is None or len(names) != len(own) or len(set(own)) != len(own):
        return None
    return dict(zip(names, own, strict=True))


def filtered(node: n.Node, predicate: Scalar | None) -> n.Node:
    """The node with a filter above it, if there is anything to filter."""
    return node if predicate is None else n.Filter(node, predicate)
