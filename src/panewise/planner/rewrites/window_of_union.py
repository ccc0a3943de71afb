"""L3: W(S1 ∪ S2) = W(S1) ∪ W(S2) for logical windows of one signature.

For partitioned windows only if the streams have no group in common, which is known when each stream is filtered or
projected to another constant of a partition column. Never for count windows: n rows on the left are up to 2n on the
right. Windows of unequal length or slide on the right have no single window on the left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from panewise.core.schema import ROW_NUM_NAMES
from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.columns import by_position
from panewise.planner.rewrites.join_reorders import type_of
from panewise.planner.rewrites.scalars import conjuncts, renamed
from panewise.planner.rewrites.window_conditions import is_logical, is_partitioned, same_signature

if TYPE_CHECKING:
    from sqlglot import exp


def apply(node: n.Node) -> list[n.Node]:
    """A window of a union as a union of windows, or the reverse.

    Not by the instants of results, which are in no column and so have no name to follow.
    """
    if any(isinstance(window, n.Window) and not _by_column(window) for window in (node, *node.inputs)):
        return []
    match node:
        case n.Window(input=n.Union() as union, clause=clause):
            return _apart(union, clause)
        case n.Union(parts=parts) if len(parts) > 1 and all(isinstance(part, n.Window) for part in parts):
            return _together(node)
    return []


def _by_column(window: n.Window) -> bool:
    return window.clause.attribute in {*ROW_NUM_NAMES, *window.columns}


def _apart(union: n.Union, clause: n.WindowClause) -> list[n.Node]:
    if not is_logical(clause) and not (is_partitioned(clause) and _no_common_group(union, clause)):
        return []
    parts: list[n.Node] = []
    for part in union.parts:
        names = by_position(union, part)
        if names is None:
            return []
        parts.append(n.Window(part, _renamed(clause, names)))
    return [n.Union(tuple(parts))]


def _together(union: n.Union) -> list[n.Node]:
    windows = [part for part in union.parts if isinstance(part, n.Window)]
    merged = n.Union(tuple(w.input for w in windows))
    first = windows[0].clause
    if not is_logical(first) and not (is_partitioned(first) and _no_common_group(merged, first)):
        return []
    for window in windows:
        names = by_position(merged, window.input)
        if names is None or not same_signature(first, window.clause) or _renamed(first, names) != window.clause:
            return []
    return [n.Window(merged, first)]


def _renamed(clause: n.WindowClause, names: Mapping[str, str]) -> n.WindowClause:
    attribute = clause.attribute if clause.attribute in ROW_NUM_NAMES else names[clause.attribute]
    return replace(clause, attribute=attribute, partition=tuple(names[c] for c in clause.partition),
                   predicate=None if clause.predicate is None else renamed(clause.predicate, names))


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
            return constant_of(node.input, column)
        case n.Project():
            item = next((i for i in node.items if i.name == column), None)
            if item is None:
                return None
            if item.scalar.column_name is not None:
                return constant_of(node.input, item.scalar.column_name)
            tree = item.scalar.tree
            return _value(tree) if isinstance(tree, exp.Literal) else None
        case n.Qualify():
            return constant_of(node.input, column.removeprefix(f"{node.alias}."))
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


RULE = Rule("window of union", "L3", "W(S1 ∪ S2) = W(S1) ∪ W(S2) for logical windows of one signature", apply, Role.LAW)
