"""Which joins are of rows that are born at the same instant, so that no row is kept for those that still come.

The result of a window is born with its last instant. Results that meet where their windows, or the ends of these, are
equal are born together: none of them meets anything that comes later, and nothing of that takes a result back.
"""

from __future__ import annotations

from sqlglot import exp

from panewise.core.scalar import Scalar
from panewise.core.schema import ROW_NUM_NAMES, SourceKind
from panewise.plan import nodes as n
from panewise.planner.facts.equi_keys import join_condition

END, TIME = "window.end", "window.time"


def meets_at_birth(node: n.Node) -> bool:
    """Whether rows of a join, EXISTS or NOT EXISTS meet only where both are born at one instant.

    >>> from panewise.core.ordinals import OrdinalKind
    >>> from panewise.core.schema import SourceSchema
    >>> from panewise.windows.sliding import SlidingWindow
    >>> clause = n.WindowClause(SlidingWindow(10, 5), "ts", OrdinalKind.INTEGER)
    >>> source = n.Source("s", SourceSchema({"ts": None}, time="ts"))
    >>> one, other = (n.Qualify(n.WindowAggregate(source, clause, (), ()), name) for name in "ab")
    >>> [meets_at_birth(n.Join(one, other, Scalar.parse(f"`a.{x}` = `b.{x}`"))) for x in ("window", "n")]
    [True, False]
    """
    if not isinstance(node, n.Join | n.SemiJoin | n.AntiJoin):
        return False
    keys = join_condition(node.predicate, node.left.columns, node.right.columns).keys
    dates = [(_date(node.left, pair.left), _date(node.right, pair.right)) for pair in keys]
    return any(one is not None and one == other for one, other in dates)


def _date(node: n.Node, scalar: Scalar) -> str | None:
    """Which part of a window an expression is that says when a row of the node was born."""
    if scalar.column_name is not None:
        return _date_of(node, scalar.column_name)
    tree = scalar.tree
    if isinstance(tree, exp.Bracket) and isinstance(tree.this, exp.Column) and tree.expressions[0].name == "end":
        return END if _date_of(node, tree.this.name) == n.WINDOW_COLUMN else None
    return None


def _date_of(node: n.Node, column: str) -> str | None:
    match node:
        case n.WindowAggregate() if node.window.has_time_range and node.window.attribute not in ROW_NUM_NAMES:
            return column if column in {n.WINDOW_COLUMN, END, TIME} and column in node.columns else None
        case n.Project():
            item = next((item for item in node.items if item.name == column), None)
            return None if item is None else _date(node.input, item.scalar)
        case n.Filter() | n.Qualify() | n.Explode() | n.Union():
            pass
        case n.TableJoin() if column in node.input.columns and _is_new_to_old_rows(node.table):
            return _date_of(node.input, column)
        case n.Join() | n.SemiJoin() | n.AntiJoin() if meets_at_birth(node):
            pass
        case _:
            return None
    found = {_date_of(below, name) for below, name in node.comes_from(column)}
    return found.pop() if len(found) == 1 else None


def _is_new_to_old_rows(table: n.Node) -> bool:
    """Whether what happens to a table does not reach back, so that rows beside it are born as they were."""
    return all(below.schema.kind is SourceKind.NRR for below in table.walk() if isinstance(below, n.Table))
