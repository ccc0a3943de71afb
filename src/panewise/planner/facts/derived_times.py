"""Columns that are a time and a constant, or the later or the sooner of several: what bounds on these say of them.

``ts + 5`` is at least five more than the bound on ``ts``. ``greatest(a, b)`` is at least what either bound says, and
``least(a, b)`` what both say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from sqlglot import exp

from panewise.core.join_kinds import JoinKind
from panewise.core.scalar import Scalar
from panewise.core.time import HOUR, MILLISECOND, MINUTE, SECOND
from panewise.plan import nodes as n

UNITS = {"HOUR": HOUR, "MINUTE": MINUTE, "SECOND": SECOND, "MILLISECOND": MILLISECOND, "MICROSECOND": 1}
"""Units that are as long in every time zone."""
GREATEST, LEAST = "GREATEST", "LEAST"


@dataclass(frozen=True)
class Moved:
    """A column and a constant number of steps."""

    column: str
    by: int = 0

    def under(self, names: Callable[[str], str]) -> Moved:
        """The same with another name of the column."""
        return replace(self, column=names(self.column))


@dataclass(frozen=True)
class Chosen:
    """The greatest, or the least, of some moved columns."""

    of: tuple[Moved, ...]
    greatest: bool

    def under(self, names: Callable[[str], str]) -> Chosen:
        """The same with other names of the columns."""
        return replace(self, of=tuple(part.under(names) for part in self.of))

    def bound(self, bounds: Iterable[int]) -> int:
        """From a bound on each of them."""
        return (max if self.greatest else min)(bounds)


def moved(scalar: Scalar) -> Moved | None:
    """A column, or a column and a constant.

    >>> moved(Scalar.parse("ts + 5")), moved(Scalar.parse("ts - INTERVAL '2' SECOND")), moved(Scalar.parse("2 * ts"))
    (Moved(column='ts', by=5), Moved(column='ts', by=-2000000), None)
    """
    return _moved(scalar.tree)


def chosen(scalar: Scalar) -> Chosen | None:
    """The greatest or the least of several times, and a constant.

    >>> chosen(Scalar.parse("greatest(a, b + 1) - 3"))
    Chosen(of=(Moved(column='a', by=-3), Moved(column='b', by=-2)), greatest=True)
    """
    tree, by = _apart(scalar.tree)
    if not isinstance(tree, exp.Anonymous) or tree.name.upper() not in {GREATEST, LEAST}:
        return None
    parts = [_moved(part) for part in tree.expressions]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return Chosen(tuple(replace(part, by=part.by + by) for part in known), tree.name.upper() == GREATEST)


def times_of_pairs(node: n.Node, times: Chosen) -> n.TimePairs | None:
    """The join of streams of whose times this is the greatest or the least, if no row of it is without a partner."""
    columns = {part.column for part in times.of}
    match node:
        case n.TimePairs():
            both = node.kind is JoinKind.INNER and columns == {node.left_time, node.right_time}
            return node if both else None
        case n.Filter():
            return times_of_pairs(node.input, times)
        case n.Project() | n.Qualify():
            names = {column: below[0][1] for column in columns if (below := node.comes_from(column))}
            return times_of_pairs(node.input, times.under(names.__getitem__)) if names.keys() == columns else None
    return None


def below(node: n.Project, column: str) -> Moved | Chosen | None:
    """What a computed column of a projection is of the columns below it."""
    item = next((item for item in node.items if item.name == column), None)
    if item is None:
        return None
    found = chosen(item.scalar)
    if found is not None:
        return found if times_of_pairs(node.input, found) is not None else None
    return moved(item.scalar)


def is_derived(node: n.Node, column: str) -> bool:
    """Whether a column of rows of streams is computed from times on the way."""
    match node:
        case n.Project() if not node.comes_from(column):
            return below(node, column) is not None
        case n.Filter() | n.Project() | n.Qualify() | n.Explode() | n.Union():
            return any(is_derived(part, name) for part, name in node.comes_from(column))
    return False


def _moved(tree: exp.Expr) -> Moved | None:
    rest, by = _apart(tree)
    return Moved(rest.name, by) if isinstance(rest, exp.Column) and not rest.table else None


def _apart(tree: exp.Expr) -> tuple[exp.Expr | None, int]:
    """An expression without the constants that are added to it, and their sum."""
    while isinstance(tree, exp.Paren):
        tree = tree.this
    if not isinstance(tree, exp.Add | exp.Sub):
        return tree, 0
    sign = -1 if isinstance(tree, exp.Sub) else 1
    for one, other in ((tree.this, tree.expression), (tree.expression, tree.this)):
        amount = _amount(other)
        if amount is not None:
            rest, by = _apart(one)
            return rest, by + sign * amount
        if sign < 0:
            break
    return None, 0


def _amount(tree: exp.Expr) -> int | None:
    """A constant as a number of steps."""
    if isinstance(tree, exp.Literal) and not tree.is_string and tree.name.isdecimal():
        return int(tree.name)
    if isinstance(tree, exp.Interval) and isinstance(tree.this, exp.Literal):
        unit = UNITS.get(str(tree.args.get("unit")).upper().removesuffix("S"))
        return unit * int(tree.this.name) if unit is not None and tree.this.name.isdecimal() else None
    return None
