"""Laws of Patroumpas and Sellis that are true and that no plan gains by: tests hold engines to them.

The optimizer has what plans gain by: of joins every order at once (``join_reorders``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from panewise.core.schema import ROW_NUM_NAMES
from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Forms, Role, Rule, rule
from panewise.planner.rewrites.columns import (
    apart,
    belongs,
    by_position,
    cast_columns,
    columns_of,
    reordered,
    type_of,
)
from panewise.planner.rewrites.scalars import all_movable, conjunction, conjuncts, without
from panewise.planner.rewrites.window_conditions import clause_renamed, is_logical, is_partitioned

if TYPE_CHECKING:
    from sqlglot import exp


@rule("join commutes", Role.EXPLORE, with_internal=True)
def join_commutes(node: n.Node) -> Forms:
    """L5: S1 ⋈ S2 = S2 ⋈ S1 over any windows, up to the order of columns, which a projection restores.

    Both sides need different column names, or one side's value would hide the other's.
    """
    if isinstance(node, n.Join) and node.columns_known and all_movable(node.predicate) and apart(*node.inputs):
        yield reordered(n.Join(node.right, node.left, node.predicate), node.columns)


@rule("join associates", Role.EXPLORE, with_internal=True)
def join_associates(node: n.Node) -> Forms:
    """L6: (S1 ⋈ S2) ⋈ S3 = S1 ⋈ (S2 ⋈ S3) over any windows, if only base streams are windowed.

    Every part of the conditions goes to the lowest join that has its columns. A window between the two joins stops the
    rule: it would give a pair a new life. With RANGE 10 the pair of rows 1 and 8 is gone at 11; dated by its younger
    row and put in a window again it lives to 18 and meets a row of 12.
    """
    match node:
        case n.Join(left=n.Join(left=a, right=b, predicate=inner), right=c, predicate=outer):
            near, far = (b, c), a
        case n.Join(left=a, right=n.Join(left=b, right=c, predicate=inner), predicate=outer):
            near, far = (a, b), c
        case _:
            return
    parts = [*conjuncts(inner), *conjuncts(outer)]
    if apart(a, b, c) and all_movable(*parts):
        pair = n.Join(*near)
        low = [part for part in parts if part.columns and belongs(part.columns, pair, far)]
        low_join, high = n.Join(*near, conjunction(low)), without(conjunction(parts), low)
        yield n.Join(far, low_join, high) if far is a else n.Join(low_join, far, high)


@rule("union reorders", Role.EXPLORE, with_internal=True)
def union_reorders(node: n.Node) -> Forms:
    """L10, first part: ∪ is commutative and associative over any windows, each base stream windowed once.

    A union takes its names from its first part, so an exchange of parts puts a projection above that restores them.
    """
    if not isinstance(node, n.Union) or any(cast_columns(u) for u in (node, *node.parts) if isinstance(u, n.Union)):
        return  # which types meet first may decide in which all meet
    flat = tuple(inner for part in node.parts for inner in (part.parts if isinstance(part, n.Union) else (part,)))
    if len(flat) > len(node.parts):
        yield n.Union(flat)
    names, turned = columns_of(node), n.Union(node.parts[::-1])
    below = columns_of(turned)
    if len(node.parts) > 1 and names is not None and below is not None and len(set(below)) == len(below) == len(names):
        items = (n.NamedScalar(name, n.NamedScalar.column(own).scalar) for name, own in zip(names, below, strict=True))
        yield n.Project(turned, tuple(items))


@rule("window of union", Role.EXPLORE)
def window_of_union(node: n.Node) -> Forms:
    """L3: W(S1 ∪ S2) = W(S1) ∪ W(S2) for logical windows of one signature.

    For partitioned windows only if the streams have no group in common, which is known when each stream is filtered or
    projected to another constant of a partition column. Never for count windows: n rows on the left are up to 2n on the
    right. Windows of unequal length or slide on the right have no single window on the left. Not by the instants of
    results, which are in no column and so have no name to follow.
    """
    if any(isinstance(window, n.Window) and not _by_column(window) for window in (node, *node.inputs)):
        return
    match node:
        case n.Window(input=n.Union() as union, clause=clause) if _divides(clause, union):
            parts = [_window_of_part(union, part, clause) for part in union.parts]
            if None not in parts:
                yield n.Union(tuple(part for part in parts if part is not None))
        case n.Union(parts=(n.Window(clause=clause), _, *_)):
            windows = [part for part in node.parts if isinstance(part, n.Window)]
            merged = n.Union(tuple(window.input for window in windows))
            if len(windows) == len(node.parts) and _divides(clause, merged) and all(
                    same_signature(clause, window.clause) and _window_of_part(merged, window.input, clause) == window
                    for window in windows):
                yield n.Window(merged, clause)


def _by_column(window: n.Window) -> bool:
    return window.clause.attribute in {*ROW_NUM_NAMES, *window.columns}


def _divides(clause: n.WindowClause, union: n.Union) -> bool:
    """Whether rows of one part of a union have no say in what a window shows of another, and no type is cast."""
    return not clause.reads & cast_columns(union) and (
        is_logical(clause) or (is_partitioned(clause) and _no_common_group(union, clause)))


def _window_of_part(union: n.Union, part: n.Node, clause: n.WindowClause) -> n.Window | None:
    names = by_position(union, part)
    return None if names is None else n.Window(part, clause_renamed(clause, names))


def _no_common_group(union: n.Union, clause: n.WindowClause) -> bool:
    """Whether some partition column has another constant in every part."""
    for column in clause.partition:
        constants = []
        for part in union.parts:
            names = by_position(union, part)
            constants.append(None if names is None else constant_of(part, names[column]))
        if None not in constants and len(set(constants)) == len(constants) and len(set(map(type, constants))) == 1:
            return True
    return False


def constant_of(node: n.Node, column: str) -> str | float | None:
    """The constant a column has in every row, text or number; None if it is not known to have one.

    Two that differ are different groups: 1 and 1.0 are one number, and texts that a column of numbers is compared with
    are no constants, for they may be one number, too.
    """
    from sqlglot import exp

    match node:
        case n.Filter():
            for part in conjuncts(node.predicate):
                tree = part.tree
                sides = (tree.left, tree.right) if isinstance(tree, exp.EQ) else None
                if sides and isinstance(sides[0], exp.Column) and sides[0].name == column and \
                        isinstance(sides[1], exp.Literal):
                    return _compared(sides[1], type_of(node.input, column))
        case n.Project():
            made = next((item.scalar.tree for item in node.items if item.name == column), None)
            if isinstance(made, exp.Literal):
                return _value(made)
    if isinstance(node, n.Filter | n.Project | n.Qualify):
        return next((constant_of(below, name) for below, name in node.comes_from(column)), None)
    return None


def _compared(literal: exp.Literal, kind: object) -> str | float | None:
    """What a column of this type is when it is equal to a literal."""
    if not isinstance(kind, pa.DataType):
        return None
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return _value(literal) if (text if literal.is_string else number) else None


def _value(literal: exp.Literal) -> str | float:
    """Numbers as the shortest type has them: what differs there differs in every type."""
    return str(literal.this) if literal.is_string else float(np.float32(literal.this))


def same_signature(one: n.WindowClause, other: n.WindowClause) -> bool:
    """Whether two windows move together: same kind, length, slide, origin and unit; names may differ."""
    return one.spec == other.spec and one.ordinal is other.ordinal and one.internal == other.internal


LAWS: tuple[Rule, ...] = (join_commutes, join_associates, union_reorders, window_of_union)
