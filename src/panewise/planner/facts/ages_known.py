"""Where DISTINCT forgets how old the row is that stands for a value, and what asks for it all the same.

Over rows that leave early or by arrivals, or that replace each other, only values are kept. How old one is, is known at
the instant at which it comes, and not afterwards: so Istream tells its values in an order, as long as nothing in
between shows a value at another instant than that, or cannot tell one that comes from one that is there.
"""

from __future__ import annotations

from panewise.aggregates.registry import resolve
from panewise.core.errors import PlanError
from panewise.plan import nodes as n
from panewise.plan.nodes import RelationToStreamKind as Kind
from panewise.planner.facts.labels import UpdatePattern, label
from panewise.planner.facts.result_forms import STREAM_STARTS, relation_below
from panewise.windows.base import Clock

LEFT_ONLY = (n.SemiJoin, n.AntiJoin, n.BagDifference)
"""Operators whose right input decides who is shown, and gives none of its ages."""


def ordered_by_age(node: n.GroupAggregate) -> list[str]:
    """The functions of an aggregate that choose by age: FIRST and LAST."""
    return [c.function for c in node.aggregates if resolve(c.function, c.parameters, c.distinct).needs_order]


def check_counted(plan: n.Node) -> None:
    """Refuse a plan that asks for ages which negative tuples do not keep."""
    for node in plan.walk():
        if isinstance(node, n.GroupAggregate) and (ordered := ordered_by_age(node)):
            what, asked = ordered[0], any(forgets_ages(below, counted=True) for below in relation_below(node))
        elif isinstance(node, n.Window) and node.clause.spec.clock is not Clock.TIME:
            what, asked = "a window by rows", False
        else:
            continue
        if asked or stream_without_order(node.inputs[0], counted=True) is not None:
            raise PlanError(f"{what} over DISTINCT with negative tuples: copies of a value are counted, which of them "
                            "counts as its row is not kept, and so there is no order; leave the strategy out")


def forgets_ages(node: n.Node, *, counted: bool = False) -> bool:
    """Whether a node is a DISTINCT that keeps values and no rows."""
    if not isinstance(node, n.Distinct):
        return False
    pattern = label(node).output.downgrade().pattern
    return pattern is UpdatePattern.STR or (counted and pattern is not UpdatePattern.MON)


def stream_without_order(node: n.Node, *, counted: bool = False) -> n.RelationToStream | None:
    """A stream in a plan, the node or below it, of which rows of one instant have no order that every engine knows."""
    for below in node.walk():
        if isinstance(below, n.RelationToStream):
            forgotten = not _known_as_it_comes(below.input, counted) if below.kind is Kind.ISTREAM else \
                any(forgets_ages(part, counted=counted) for part in relation_below(below))
            if forgotten:
                return below
    return None


def _known_as_it_comes(node: n.Node, counted: bool) -> bool:
    """Whether what comes to a relation has an age, so that Istream tells it in order."""
    if not _shows_forgotten(node, counted):
        return True
    match node:
        case n.Filter() | n.Explode() | n.Qualify() | n.Lifetime():
            return _known_as_it_comes(node.input, counted)
        case n.Project():  # a value that is there must not look like another that comes
            shown = {item.scalar.column_name for item in node.items}
            return shown.issuperset(node.input.columns) and _known_as_it_comes(node.input, counted)
        case n.Distinct():
            return _comes_anew(node.input, counted)
    return False


def _comes_anew(node: n.Node, counted: bool) -> bool:
    """Whether all that gives a value which was not there has just come: then it is known how old it is."""
    if not _shows_forgotten(node, counted):
        return True
    passes = n.Filter | n.Qualify | n.Lifetime | n.Project | n.Explode | n.Union | n.Distinct
    return isinstance(node, passes) and \
        all(_comes_anew(below, counted) for below in node.inputs)


def _shows_forgotten(node: n.Node, counted: bool) -> bool:
    """Whether the ages of rows follow from those that a DISTINCT forgets."""
    if isinstance(node, STREAM_STARTS):
        return False
    inputs = node.inputs[:1] if isinstance(node, LEFT_ONLY) else node.inputs
    return forgets_ages(node, counted=counted) or any(_shows_forgotten(below, counted) for below in inputs)
