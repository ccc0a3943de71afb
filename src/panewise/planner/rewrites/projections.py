"""Projections and aliases moved towards the streams."""

from __future__ import annotations

from dataclasses import replace

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Forms, Role, rule
from panewise.planner.rewrites.columns import (
    apart,
    by_position,
    cast_columns,
    columns_of,
    narrowed,
    only_leaves_out,
    reordered,
)
from panewise.planner.rewrites.negation import of_left, with_side
from panewise.planner.rewrites.scalars import all_movable, columns_read, renamed, substituted
from panewise.planner.rewrites.window_conditions import clause_renamed


@rule("projection through window", Role.NARROW, with_internal=True)
def projection_through_window(node: n.Node) -> Forms:
    """L1: π(W(S)) = W(π(S)), if the projection keeps what the window looks at.

    That is the windowing attribute of a logical window, the partition columns of a partitioned one, and the columns of
    a condition inside the bracket. A column may be kept under another name, not as another value. Positions of rows are
    not columns, so nothing has to be kept for them, and a window that shows them has a column that is not there below.

    Without the guard: partition by ``a`` and project ``b``, and the right side has nothing to partition by.
    """
    match node:
        case n.Project(input=n.Window(clause=clause) as window) if not clause.numbered and all_movable(*node.scalars):
            kept = {item.scalar.column_name: item.name for item in reversed(node.items) if item.scalar.column_name}
            if clause.reads <= kept.keys():
                yield n.Window(replace(node, input=window.input), clause_renamed(clause, kept))


@rule("projection below join", Role.NARROW, with_internal=True)
def projection_below_join(node: n.Node) -> Forms:
    """L8: π_L(S1 ⋈ S2) = π_L(π_L1(S1) ⋈ π_L2(S2)) over any windows, if L1 and L2 hold L and the condition's columns.

    A side that would keep all its columns is left alone. Without a column of the condition there would be nothing to
    join.
    """
    match node:
        case n.Project(input=n.Join() | n.BandJoin() | n.TumblingJoin() as join) if apart(join.left, join.right):
            times = {join.left_time, join.right_time} if isinstance(join, n.TimePairs) else set()
            needed = columns_read(*node.scalars) | columns_read(join.predicate) | times
            sides = tuple(narrowed(side, needed) for side in join.inputs)
            if sides != join.inputs:
                yield replace(node, input=join.with_inputs(*sides))


@rule("projection below union", Role.NARROW, with_internal=True)
def projection_below_union(node: n.Node) -> Forms:
    """L10, third part: π(S1 ∪ S2) = π(S1) ∪ π(S2), columns by position."""
    if not isinstance(node, n.Project) or not isinstance(node.input, n.Union) or not all_movable(*node.scalars):
        return
    cast = cast_columns(node.input)
    if any(item.scalar.column_name is None and item.scalar.columns & cast for item in node.items):
        return
    parts: list[n.Node] = []
    for part in node.input.parts:
        names = by_position(node.input, part)
        if names is None:
            return
        parts.append(n.Project(part, tuple(n.NamedScalar(i.name, renamed(i.scalar, names)) for i in node.items)))
    yield n.Union(tuple(parts))


@rule("projections merge", Role.SIMPLIFY, with_internal=True)
def projections_merge(node: n.Node) -> Forms:
    """π(π(R)) = π(R), the outer expressions written in the inner ones; one that changes nothing is left out."""
    match node:
        case n.Project() if only_leaves_out(node) and columns_of(node.input) == node.columns:
            yield node.input
        case n.Project(input=n.Project() as inner) if all_movable(*inner.scalars):
            below = {item.name: item.scalar for item in inner.items}
            if len(below) == len(inner.items) and columns_read(*node.scalars) <= below.keys():
                yield n.Project(inner.input, tuple(n.NamedScalar(i.name, substituted(i.scalar, below))
                                                   for i in node.items))


@rule("projection below names", Role.NARROW, with_internal=True)
def projection_below_names(node: n.Node) -> Forms:
    """A projection of plain columns goes below an alias, and below a selection whose columns it keeps.

    Only where it drops a column: otherwise it would only move around.
    """
    if not isinstance(node, n.Project) or not only_leaves_out(node):
        return
    names, own = node.columns, columns_of(node.input)
    if own is None or not set(names) < set(own) or not len(set(names)) == len(names) < len(own):
        return
    match node.input:
        case n.Qualify(alias=alias) as named:
            yield replace(named, input=reordered(named.input, [c.removeprefix(f"{alias}.") for c in names]))
        case n.Filter() as filtered if filtered.predicate.columns <= set(names):
            yield replace(filtered, input=reordered(filtered.input, names))


@rule("projection below existence", Role.NARROW)
def projection_below_existence(node: n.Node) -> Forms:
    """π(R ▷ C) = π(π'(R) ▷ C), and R ▷ C = R ▷ π'(C): of each side only what is shown or compared; also of EXISTS."""
    match node:
        case n.Project(input=n.SemiJoin() | n.AntiJoin() as exists) if apart(exists.left, exists.right):
            left = narrowed(exists.left, columns_read(*node.scalars) | columns_read(exists.predicate))
            if left != exists.left:
                yield replace(node, input=replace(exists, left=left))
        case n.SemiJoin() | n.AntiJoin() if node.predicate is not None and apart(node.left, node.right):
            right = narrowed(node.right, node.predicate.columns)
            if right != node.right:
                yield replace(node, right=right)


@rule("projection below aggregate", Role.NARROW)
def projection_below_aggregate(node: n.Node) -> Forms:
    """γ(R) = γ(π(R)), if π keeps the keys and the arguments of the aggregates; where there are neither, all stay."""
    if isinstance(node, n.GroupAggregate):
        below = narrowed(node.input, columns_read(*node.scalars))
        if below != node.input:
            yield replace(node, input=below)


@rule("alias below operators", Role.SIMPLIFY)
def alias_below_operators(node: n.Node) -> Forms:
    """An alias goes below operators that only pass columns on: what is inside can then change places with what is not.

    ``(R ▷ C) AS r`` is ``R AS r ▷ C``; the same for EXISTS, DISTINCT, EXCEPT ALL, UNION and joins.
    """
    if not isinstance(node, n.Qualify):
        return
    alias, below = node.alias, node.input
    match below:
        case n.Distinct():
            yield below.with_inputs(n.Qualify(below.input, alias))
        case n.BagDifference():
            yield replace(below, left=n.Qualify(below.left, alias))
        case n.Union():
            yield below.with_inputs(*(n.Qualify(part, alias) for part in below.parts))
        case n.SemiJoin() | n.AntiJoin():
            left = n.Qualify(below.left, alias)
            if apart(below.left, below.right) and apart(left, below.right):
                names = {c: f"{alias}.{c}" for c in of_left(below)}
                yield replace(below, left=left, predicate=below.predicate and renamed(below.predicate, names))
        case n.Join(predicate=predicate):
            names = {c: f"{alias}.{c}" for c in columns_read(predicate)}
            yield n.Join(n.Qualify(below.left, alias), n.Qualify(below.right, alias),
                         predicate and renamed(predicate, names))


@rule("column order above", Role.SIMPLIFY, with_internal=True)
def column_order_above(node: n.Node) -> Forms:
    """A projection that only puts columns in another order goes above joins, EXISTS, NOT EXISTS and DISTINCT.

    It is what remains of joins in another order. Above, it does not hide operators from each other, and several become
    one; where no order is seen (below an aggregate, on the right of EXISTS) it is left out.
    """
    below = [_reordered(side) for side in node.inputs]
    match node, below:
        case n.Join(), _ if node.columns_known and apart(*node.inputs):
            moved = [(position, side) for position, side in enumerate(below) if side is not None]
            if moved:
                yield reordered(with_side(node, *moved[0]), node.columns)
        case n.SemiJoin() | n.AntiJoin(), [_, n.Node() as right]:
            yield replace(node, right=right)
        case n.SemiJoin() | n.AntiJoin(), [n.Node() as left, _]:
            yield reordered(replace(node, left=left), node.columns)
        case n.Distinct(), [n.Node() as only]:
            yield reordered(replace(node, input=only), node.columns)
        case n.GroupAggregate(), [n.Node() as only]:
            yield replace(node, input=only)


def _reordered(node: n.Node) -> n.Node | None:
    """What a projection reads, if it shows all of its columns, each once, under its own name."""
    if not isinstance(node, n.Project) or not only_leaves_out(node):
        return None
    below = columns_of(node.input)
    same = below is not None and sorted(below) == sorted(node.columns) and len(set(below)) == len(below)
    return node.input if same else None
