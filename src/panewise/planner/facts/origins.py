"""Which inputs a row of a plan comes from: what its age is made of.

Two rows of one instant that come from rows of different inputs have different ages. Those of two parts of a UNION may
come from the very same rows; then neither is known to be older, and it does not matter if both show the same values.
"""

from __future__ import annotations

from functools import reduce
from itertools import product

from panewise.plan import nodes as n

Origins = frozenset[frozenset[str]]
"""Sets of inputs; a row comes from one row of each input of one of them."""


def united_with_itself(node: n.Node) -> str | None:
    """The inputs of rows of which two parts of a UNION may show different values."""
    for below in node.walk():
        if isinstance(below, n.Union):
            seen: dict[frozenset[str], n.Node] = {}
            for part in below.parts:
                shown = _values(part)
                for names in sorted(origins(part), key=sorted):
                    if seen.setdefault(names, shown) != shown:
                        return " and ".join(sorted(names)) or "no input, as an aggregate without GROUP BY has them"
    return None


def _values(node: n.Node) -> n.Node:
    """The plan without what only chooses among its rows."""
    match node:
        case n.Window() if not node.clause.numbered:
            return _values(node.input)
        case n.Filter() | n.Distinct() | n.SemiJoin() | n.AntiJoin() | n.BagDifference():
            return _values(node.inputs[0])
        case n.GroupAggregate() | n.WindowAggregate():
            return node
        case _:
            return node.rebuilt(_values)


def origins(node: n.Node) -> Origins:
    """What rows of a node come from; of an aggregate over windows what its windows read."""
    match node:
        case n.Named():
            return frozenset({frozenset({node.name})})
        case n.Union():
            return frozenset().union(*map(origins, node.parts))
        case n.SemiJoin() | n.AntiJoin() | n.BagDifference():
            return origins(node.left)
        case n.GroupAggregate(keys=()):  # of no rows it has a row, too
            return origins(node.input) | {frozenset()}
        case n.BandJoin() | n.TumblingJoin():
            left, right = origins(node.left), origins(node.right)
            return _both(left, right) | left | right  # some without a partner
        case _:
            return reduce(_both, map(origins, node.inputs))


def _both(left: Origins, right: Origins) -> Origins:
    return frozenset(one | other for one, other in product(left, right))
