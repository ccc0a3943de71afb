"""Where DISTINCT forgets how old the row is that stands for a value, and what asks for it all the same.

Over rows that leave early or by arrivals, or that replace each other, only values are kept. How old one is, is known at
the instant at which it comes, and not afterwards: so Istream tells its values in an order, as long as nothing in
between shows a value at another instant than that, or cannot tell one that comes from one that is there.
"""

from __future__ import annotations

from collections.abc import Iterator

from panewise.plan import nodes as n
from panewise.plan.nodes import RelationToStreamKind as Kind
from panewise.planner.labels import UpdatePattern, label

STREAM_STARTS = (n.Window, n.WindowAggregate, n.BandJoin, n.TumblingJoin, n.RelationToStream)
"""Nodes below which another relation begins: what is inside no longer concerns the operators above."""
LEFT_ONLY = (n.SemiJoin, n.AntiJoin, n.BagDifference)
"""Operators whose right input decides who is shown, and gives none of its ages."""


def relation_below(node: n.Node) -> Iterator[n.Node]:
    """The nodes that make up this node's input relations, down to and including what they start from."""
    for child in node.inputs:
        yield child
        if not isinstance(child, STREAM_STARTS):
            yield from relation_below(child)


def forgets_ages(node: n.Node) -> bool:
    """Whether a node is a DISTINCT that keeps values and no rows."""
    return isinstance(node, n.Distinct) and label(node).output.downgrade().pattern is UpdatePattern.STR


def stream_without_order(node: n.Node) -> n.RelationToStream | None:
    """A stream in a plan, the node or below it, of which rows of one instant have no order that every engine knows."""
    for below in node.walk():
        if isinstance(below, n.RelationToStream):
            forgotten = not _known_as_it_comes(below.input) if below.kind is Kind.ISTREAM else \
                any(map(forgets_ages, relation_below(below)))
            if forgotten:
                return below
    return None


def _known_as_it_comes(node: n.Node) -> bool:
    """Whether what comes to a relation has an age, so that Istream tells it in order."""
    if not _shows_forgotten(node):
        return True
    match node:
        case n.Filter() | n.Qualify() | n.Lifetime():
            return _known_as_it_comes(node.input)
        case n.Project():  # a value that is there must not look like another that comes
            shown = {item.scalar.column_name for item in node.items}
            return shown.issuperset(node.input.columns) and _known_as_it_comes(node.input)
        case n.Distinct():
            return _comes_anew(node.input)
    return False


def _comes_anew(node: n.Node) -> bool:
    """Whether all that gives a value which was not there has just come: then it is known how old it is."""
    if not _shows_forgotten(node):
        return True
    return isinstance(node, n.Filter | n.Qualify | n.Lifetime | n.Project | n.Union | n.Distinct) and \
        all(map(_comes_anew, node.inputs))


def _shows_forgotten(node: n.Node) -> bool:
    """Whether the ages of rows follow from those that a DISTINCT forgets."""
    if isinstance(node, STREAM_STARTS):
        return False
    inputs = node.inputs[:1] if isinstance(node, LEFT_ONLY) else node.inputs
    return forgets_ages(node) or any(map(_shows_forgotten, inputs))
