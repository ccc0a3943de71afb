"""The predicate of a join taken apart: equalities that make a key, and the rest, which is tested on candidate pairs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from panewise.core.scalar import Scalar

if TYPE_CHECKING:
    from sqlglot import exp

    from panewise.plan.nodes import BandJoin, TumblingJoin


@dataclass(frozen=True)
class KeyPair:
    """Two expressions, one of each side, that are equal in every result; ``condition`` is the equality itself."""

    left: Scalar
    right: Scalar
    condition: Scalar


@dataclass(frozen=True)
class JoinCondition:
    """A predicate as key and rest."""

    keys: tuple[KeyPair, ...] = ()
    rest: tuple[Scalar, ...] = ()

    @property
    def residual(self) -> Scalar | None:
        """The rest as one expression; None when there is none."""
        if len(self.rest) < 2:
            return self.rest[0] if self.rest else None
        from panewise.core.trees import all_of

        return Scalar.of(all_of(part.tree for part in self.rest))

    def demoted(self, pairs: Collection[KeyPair]) -> JoinCondition:
        """The same predicate with some equalities tested on pairs: their values cannot be looked up."""
        keys = tuple(pair for pair in self.keys if pair not in pairs)
        return JoinCondition(keys, (*self.rest, *(pair.condition for pair in self.keys if pair in pairs)))


def join_condition(predicate: Scalar | None, left: Collection[str], right: Collection[str]) -> JoinCondition:
    """Take a predicate apart by the columns of both sides.

    >>> found = join_condition(Scalar.parse("`a.k` = `b.k` AND `a.x` < `b.y`"), ["a.k", "a.x"], ["b.k", "b.y"])
    >>> [(pair.left.column_name, pair.right.column_name) for pair in found.keys], str(found.residual)
    ([('a.k', 'b.k')], '`a.x` < `b.y`')
    """
    if predicate is None:
        return JoinCondition()
    left, right = frozenset(left), frozenset(right)
    keys: dict[KeyPair, None] = {}
    rest: list[Scalar] = []
    for part in _conjuncts(predicate.tree):
        pair = _pair(part, left, right)
        if pair is None:
            rest.append(Scalar.of(part))
        else:
            keys.setdefault(pair)
    return JoinCondition(tuple(keys), tuple(rest))


def compared(node: BandJoin | TumblingJoin) -> tuple[set[str], set[str]]:
    """The columns of both sides of a join of streams that are equal in every result."""
    keys = join_condition(node.predicate, node.left.columns, node.right.columns).keys
    return ({pair.left.column_name for pair in keys if pair.left.column_name is not None},
            {pair.right.column_name for pair in keys if pair.right.column_name is not None})


def _conjuncts(tree: exp.Expr) -> Iterator[exp.Expr]:
    from sqlglot import exp

    from panewise.core.trees import operands

    return operands(tree, exp.And, (exp.EQ,))


def _pair(part: exp.Expr, left: frozenset[str], right: frozenset[str]) -> KeyPair | None:
    from sqlglot import exp

    if not isinstance(part, exp.EQ):
        return None
    one, other = Scalar.of(part.this), Scalar.of(part.expression)
    condition = Scalar.of(part)
    for first, second in ((one, other), (other, one)):
        if first.columns and second.columns and first.columns <= left and second.columns <= right:
            return KeyPair(first, second, condition)
    return None
