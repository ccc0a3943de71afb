"""Selections moved towards the streams: below every operator of which a row passes or fails as what it is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from panewise.core.scalar import Scalar
from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Forms, Role, rule
from panewise.planner.rewrites.columns import apart, by_position, cast_columns, divided, filtered
from panewise.planner.rewrites.scalars import (
    all_movable,
    conjunction,
    conjuncts,
    movable,
    renamed,
    substituted,
    without,
)
from panewise.planner.rewrites.window_conditions import is_logical, is_partitioned


def _moved(predicate: Scalar, down: list[Scalar], over: Callable[[Scalar], n.Node]) -> Forms:
    """An operator over rows that pass some parts of a condition; what is left of the condition stays above."""
    below = conjunction(down)
    if below is not None:
        yield filtered(over(below), without(predicate, down))


@rule("selection through window", Role.SIMPLIFY, keeps_instants=False)
def selection_through_window(node: n.Node) -> Forms:
    """L2: σ(W(S)) = W(σ(S)) for logical windows of any slide and lag.

    For a partitioned window only if the condition looks at nothing but the partition columns: then a group is inside as
    a whole or not at all. Never for a count window: of the values 5, 1, 2 the newest two hold nothing above 3, but the
    newest two of those above 3 hold the 5.

    A condition with several parts moves as far as its parts can. Rows that fail no longer reach the window, so they no
    longer move it.
    """
    match node:
        case n.Filter(input=n.Window(clause=clause) as window, predicate=predicate) if \
                is_logical(clause) or is_partitioned(clause):
            groups = None if is_logical(clause) else set(clause.partition)
            down = [part for part in conjuncts(predicate)
                    if movable(part) and (groups is None or (part.columns and part.columns <= groups))]
            yield from _moved(predicate, down, lambda below: replace(window, input=n.Filter(window.input, below)))


@rule("selection below join", Role.SIMPLIFY, with_internal=True)
def selection_below_join(node: n.Node) -> Forms:
    """L7: σ_F(S1 ⋈ S2) = σ_F1(S1) ⋈ σ_F2(S2) for F = F1 ∧ F2 ∧ F12, F12 being what needs both sides.

    F12 becomes part of the join. The sides are window contents here, so this half of the law holds over any windows;
    that a condition goes on, below a window, is L2 with its own guard.

    The printed form filters both sides by all of F: it loses pairs whenever F speaks of one side only, or is F1 ∨ F2.
    """
    if not isinstance(node, n.Filter) or not isinstance(node.input, n.Join) or not apart(*node.input.inputs):
        return
    join = node.input
    (left, right), rest = divided(node.predicate, *join.inputs)
    crossing = [part for part in rest if part.columns and movable(part)]
    if left or right or crossing:
        moved = n.Join(filtered(join.left, conjunction(left)), filtered(join.right, conjunction(right)),
                       conjunction([join.predicate, *crossing]))
        yield filtered(moved, without(conjunction(rest), crossing))


@rule("selection below union", Role.SIMPLIFY, with_internal=True)
def selection_below_union(node: n.Node) -> Forms:
    """L10, second part: σ(S1 ∪ S2) = σ(S1) ∪ σ(S2), columns by position.

    That the selection goes on, below the windows of the parts, is L2: not for count windows.
    """
    match node:
        case n.Filter(input=n.Union() as union, predicate=predicate) if \
                movable(predicate) and not predicate.columns & cast_columns(union):
            names = [by_position(union, part) for part in union.parts]
            if None not in names:
                yield n.Union(tuple(n.Filter(part, renamed(predicate, known or {}))
                                    for part, known in zip(union.parts, names, strict=True)))


@rule("selections merge", Role.SIMPLIFY, with_internal=True)
def selections_merge(node: n.Node) -> Forms:
    """σ_F(σ_G(R)) = σ_(F ∧ G)(R): one pass, and one condition to take apart further down."""
    match node:
        case n.Filter(input=n.Filter(input=below, predicate=inner), predicate=outer) if all_movable(inner, outer):
            yield filtered(below, conjunction([inner, outer]))


@rule("selection below names", Role.SIMPLIFY, with_internal=True)
def selection_below_names(node: n.Node) -> Forms:
    """A selection goes below an alias or a projection, its columns replaced by what they are there.

    Below a projection only if what the projection computes gives the same answer each time.
    """
    match node:
        case n.Filter(input=n.Qualify() as named, predicate=predicate):
            prefix = f"{named.alias}."
            if movable(predicate) and all(c.startswith(prefix) for c in predicate.columns):
                below = renamed(predicate, {c: c.removeprefix(prefix) for c in predicate.columns})
                yield replace(named, input=n.Filter(named.input, below))
        case n.Filter(input=n.Project() as shown, predicate=predicate):
            items = {item.name: item.scalar for item in shown.items}
            if predicate.columns <= items.keys() and len(items) == len(shown.items):
                below = substituted(predicate, {c: items[c] for c in predicate.columns})
                if movable(below):
                    yield replace(shown, input=n.Filter(shown.input, below))


@rule("selection below distinct", Role.SIMPLIFY)
def selection_below_distinct(node: n.Node) -> Forms:
    """σ(δ(R)) = δ(σ(R)): equal rows pass or fail together."""
    match node:
        case n.Filter(input=n.Distinct() as distinct, predicate=predicate) if movable(predicate):
            yield replace(distinct, input=n.Filter(distinct.input, predicate))


@rule("selection below difference", Role.SIMPLIFY)
def selection_below_difference(node: n.Node) -> Forms:
    """σ(R − Q) = σ(R) − σ(Q): all copies of a value pass or fail together, on both sides; columns by position."""
    match node:
        case n.Filter(input=n.BagDifference(left=left, right=right) as difference, predicate=predicate) if \
                movable(predicate) and not predicate.columns & cast_columns(difference):
            names = by_position(n.Union((left, right)), right)
            if names is not None:
                yield n.BagDifference(n.Filter(left, predicate), n.Filter(right, renamed(predicate, names)))


@rule("selection below existence", Role.SIMPLIFY)
def selection_below_existence(node: n.Node) -> Forms:
    """σ(R ⋉ Q) = σ(R) ⋉ Q and σ(R ▷ Q) = σ(R) ▷ Q: EXISTS and NOT EXISTS show rows of the left side as they are.

    Parts of the condition between the sides that speak of the right side only filter the right side.
    """
    match node:
        case n.Filter(input=n.SemiJoin() | n.AntiJoin() as exists, predicate=predicate) if movable(predicate):
            yield replace(exists, left=n.Filter(exists.left, predicate))
        case n.SemiJoin() | n.AntiJoin() if apart(node.left, node.right):
            (_, right), _ = divided(node.predicate, node.left, node.right)
            if right:
                yield replace(node, right=filtered(node.right, conjunction(right)),
                              predicate=without(node.predicate, right))


@rule("selection below aggregate", Role.SIMPLIFY)
def selection_below_aggregate(node: n.Node) -> Forms:
    """σ_F(γ(R)) = γ(σ_F(R)) if F looks at nothing but the group's key: a group passes or fails as a whole.

    Any other condition asks for the value of the aggregate, which needs all rows of the group. An aggregate without
    keys has one group that every row belongs to: a condition without columns stays above it.
    """
    match node:
        case n.Filter(input=n.GroupAggregate(internal=False) as groups, predicate=predicate) if \
                len(set(groups.columns)) == len(groups.columns):
            keys = {key.name: key.scalar for key in groups.keys}
            down = [part for part in conjuncts(predicate)
                    if part.columns and part.columns <= keys.keys() and movable(substituted(part, keys))]
            yield from _moved(predicate, down, lambda below: replace(
                groups, input=n.Filter(groups.input, substituted(below, keys))))


@rule("selection below table join", Role.SIMPLIFY)
def selection_below_table_join(node: n.Node) -> Forms:
    """σ(R ⋈ T) = σ(R) ⋈ T for what speaks of the stream's side only; T is a table, R keeps the moment it meets it."""
    match node:
        case n.Filter(input=n.TableJoin() as join, predicate=predicate) if apart(join.input, join.table):
            (own, _), _ = divided(predicate, join.input, join.table)
            yield from _moved(predicate, own, lambda below: replace(join, input=n.Filter(join.input, below)))
