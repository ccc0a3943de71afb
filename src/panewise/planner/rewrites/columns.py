"""Which columns a plan has, where a predicate belongs, and how names change on the way down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from panewise.core.errors import PanewiseError
from panewise.core.scalar import Scalar
from panewise.plan import nodes as n
from panewise.planner.facts.requests import schema_of
from panewise.planner.rewrites.scalars import conjuncts, movable


def columns_of(node: n.Node) -> tuple[str, ...] | None:
    """The columns in order; None where a source takes any name."""
    return node.columns if node.columns_known else None


def belongs(columns: Iterable[str], node: n.Node, *others: n.Node) -> bool:
    """Whether all of the columns are the node's and none may be another's."""
    return all(node.has(c) and not any(other.has(c) for other in others) for c in columns)


def apart(*nodes: n.Node) -> bool:
    """Whether no two of the nodes have a column name in common, as far as names are known.

    A side that takes any name is apart from another only if both are qualified.
    """
    seen: set[str] = set()
    for node in nodes:
        names = columns_of(node)
        mine = set(_prefixes(node)) if names is None else set(names)
        if names is None and (not mine or any(other.has(f"{p}*") for p in mine for other in nodes if other != node)):
            return False
        if mine & seen:
            return False
        seen |= mine
    return True


def _prefixes(node: n.Node) -> list[str]:
    """The aliases before a node's columns; nothing if some have none."""
    if isinstance(node, n.Qualify):
        return [f"{node.alias}."]
    sides = [] if isinstance(node, n.Explode) else [_prefixes(side) for side in node.passes]
    return [p for side in sides for p in side] if all(sides) else []


def divided(predicate: Scalar | None, *sides: n.Node) -> tuple[list[list[Scalar]], list[Scalar]]:
    """The parts of a predicate that only one side's columns decide, side by side, and the rest.

    What has no columns, or gives another answer each time, is in the rest.
    """
    own: list[list[Scalar]] = [[] for _ in sides]
    rest: list[Scalar] = []
    for part in conjuncts(predicate):
        here = [i for i, side in enumerate(sides)
                if belongs(part.columns, side, *(s for j, s in enumerate(sides) if j != i))]
        (own[here[0]] if part.columns and len(here) == 1 and movable(part) else rest).append(part)
    return own, rest


def only_leaves_out(node: n.Project) -> bool:
    """Whether a projection shows columns under their own names, and computes nothing."""
    return all(item.scalar.column_name == item.name for item in node.items)


def reordered(node: n.Node, columns: Iterable[str]) -> n.Project:
    """The node with its columns in this order."""
    return n.Project(node, tuple(n.NamedScalar.column(c) for c in columns))


def narrowed(node: n.Node, needed: Iterable[str]) -> n.Node:
    """The node with only those of its columns that are needed, in their order; as it is if none can be dropped."""
    columns, needed = columns_of(node), set(needed)
    kept = [c for c in columns or () if c in needed]
    return node if columns is None or len(kept) == len(columns) or not kept else reordered(node, kept)


def by_position(node: n.Union, part: n.Node) -> Mapping[str, str] | None:
    """The union's names to the part's; None if they are not known."""
    names, own = columns_of(node), columns_of(part)
    if names is None or own is None or len(names) != len(own) or len(set(own)) != len(own):
        return None
    return dict(zip(names, own, strict=True))


def cast_columns(node: n.Union | n.BagDifference) -> frozenset[str]:
    """The columns of a set operation that are of another type than in one of its parts.

    There it casts: what is computed or compared below it may be something else than above. Types that are not
    known are taken to be the same.
    """
    try:
        whole, parts = schema_of(node), [schema_of(part) for part in node.inputs]
    except PanewiseError:  # what is wrong with the query is said when it is run
        return frozenset()
    if whole is None:
        return frozenset()
    return frozenset(field.name for place, field in enumerate(whole)
                     if any(part is not None and part.field(place).type != field.type for part in parts))


def type_of(node: n.Node, column: str) -> object:
    """The type of a column, from the source it comes from; None if it is not known."""
    if isinstance(node, n.Named):
        return node.schema.columns.get(column)
    return next((type_of(below, name) for below, name in node.comes_from(column)), None)


def filtered(node: n.Node, predicate: Scalar | None) -> n.Node:
    """The node with a filter above it, if there is anything to filter."""
    return node if predicate is None else n.Filter(node, predicate)
