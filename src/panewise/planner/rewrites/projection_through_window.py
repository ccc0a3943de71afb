"""L1: π(W(S)) = W(π(S)), if the projection keeps what the window looks at.

That is the windowing attribute of a logical window, the partition columns of a partitioned one, and the columns of a
condition inside the bracket. A column may be kept under another name, not as another value. Positions of rows are not
columns, so nothing has to be kept for them.

Without the guard: partition by ``a`` and project ``b``, and the right side has nothing to partition by.
"""

from __future__ import annotations

from dataclasses import replace

from panewise.core.schema import ROW_NUM_NAMES
from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.columns import kept_columns
from panewise.planner.rewrites.scalars import movable, renamed


def apply(node: n.Node) -> list[n.Node]:
    """The window over the projection."""
    if not isinstance(node, n.Project) or not isinstance(node.input, n.Window):
        return []
    kept, clause = kept_columns(node), node.input.clause
    if clause.numbered:  # a column that is not there below
        return []
    asked = {*clause.partition, *(clause.predicate.columns if clause.predicate is not None else ())}
    if clause.attribute not in ROW_NUM_NAMES:
        asked.add(clause.attribute)
    if not asked <= kept.keys() or not all(movable(item.scalar) for item in node.items):
        return []
    moved = replace(
        clause, attribute=kept.get(clause.attribute, clause.attribute),
        partition=tuple(kept[c] for c in clause.partition),
        predicate=None if clause.predicate is None else renamed(clause.predicate, kept))
    return [n.Window(replace(node, input=node.input.input), moved)]


RULE = Rule("projection through window", "L1", "π(W(S)) = W(π(S)) if π keeps what W looks at", apply, Role.NARROW,
            with_internal=True)
