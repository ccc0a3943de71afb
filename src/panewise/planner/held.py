"""What kernels hold of an edge, in the words of explain.

A structure is chosen, and paid for, by the update pattern of the edge; which of its parts a kernel needs depends on who
reads the rows. A join finds rows by key and never asks which of them leaves next, so it has no queue at all. An
aggregate keeps no row where none ever leaves.
"""

from __future__ import annotations

from typing import Literal, Protocol

from panewise.aggregates.count import Count
from panewise.aggregates.moments import VarSamp
from panewise.aggregates.registry import resolve
from panewise.aggregates.sums import Sum
from panewise.kernels.relations.state_kinds import is_subtractable
from panewise.plan import nodes as n
from panewise.planner.equi_keys import join_condition
from panewise.planner.forms import Form, form_of
from panewise.planner.patterns import Label, UpdatePattern
from panewise.planner.requests import bound_aggregates
from panewise.planner.rewrites.scalars import conjuncts, equalities

Style = Literal["upa", "negative", "direct"]
CHAINS, NUMBERS, NOTHING = "chains by key", "rows by number", "not kept"
STATES, BLOCKS = "a state per group", "blocks by group"
QUEUE, CALENDAR, LIST = "queue", "calendar queue", "list in order of arrival"


class Served(Protocol):
    """What an expiry vector asks of a store (`expiry_vectors`)."""

    @property
    def served(self) -> str:
        """A structure for every component."""

    @property
    def catalogues(self) -> str:
        """Those for all components but time."""


def held_by(consumer: n.Node, side: int, seen: Label, style: Style, *, announced: bool,
            vector: Served | None = None) -> str:
    """What a consumer holds of one of its inputs; ``announced`` when every end is sent on the edge, ``vector`` where
    none is, because rows come with their expiry vectors.

    >>> sides = [n.Window(n.Source(name, n.SourceSchema()), None) for name in "ab"]
    >>> [held_by(kind(*sides), 1, Label.wks(), "upa", announced=False) for kind in (n.Join, n.BagDifference)]
    ['chains by key', 'counts by value, queue']
    """
    queue = queue_of(seen, style, announced=announced) if vector is None else vector.served
    match consumer:
        case n.Join() if vector is not None:
            return f"{CHAINS}, {vector.catalogues}"
        case n.SemiJoin() | n.AntiJoin() if vector is not None and (side == 0 or has_other_conditions(consumer)):
            return f"{CHAINS}, {vector.catalogues}"
        case n.BagDifference() if vector is not None and side == 0:
            return f"chains by value, {vector.served}"
        case n.Join() | n.TableJoin():
            return CHAINS
        case n.SemiJoin() | n.AntiJoin():
            return CHAINS if side == 0 or has_other_conditions(consumer) else f"counts by key, {queue}"
        case n.BagDifference():
            return "chains by value, calendar queue" if side == 0 else f"counts by value, {queue}"
        case n.GroupAggregate() if seen.pattern is UpdatePattern.MON:
            return STATES
        case n.GroupAggregate():
            return f"{BLOCKS}, {queue}" if merges_states(consumer) else queue
    return queue


def merges_states(node: n.GroupAggregate) -> bool:
    """Whether what is left of a group is put together again when rows leave, instead of subtracting them.

    Where types are not known sums are taken to be of integers.

    >>> stream = n.Source("s", n.SourceSchema())
    >>> [merges_states(n.GroupAggregate(stream, (), (n.AggregateCall(f, f, ()),))) for f in ("count", "max", "sum")]
    [False, True, False]
    """
    bound = bound_aggregates(node)
    if bound is not None:
        return not all(is_subtractable(aggregate) for aggregate in bound)
    functions = [resolve(call.function, call.parameters, call.distinct) for call in node.aggregates]
    return not all(isinstance(function, Count | Sum | VarSamp) for function in functions)


def has_other_conditions(node: n.SemiJoin | n.AntiJoin) -> bool:
    """Whether more than equal keys decides who meets, so that pairs are looked at."""
    if node.predicate is None:
        return False
    if not node.left.columns or not node.right.columns:  # not known before the query meets its inputs
        return len(equalities(node.predicate)) < len(conjuncts(node.predicate))
    theirs = [name for name in node.right.columns if name not in node.left.columns]
    return join_condition(node.predicate, node.left.columns, theirs).residual is not None


def held_as_result(plan: n.Node, seen: Label, style: Style, *, announced: bool, named: bool,
                   vector: Served | None = None) -> str:
    """What is held of the relation that a plan reports; ``announced`` when every end of it is sent, ``named`` when
    whoever makes its rows is asked directly who leaves, ``vector`` where rows come with their expiry vectors."""
    told, queue = plan, queue_of(seen, style, announced=announced) if vector is None else vector.served
    while isinstance(told, n.Lifetime):
        told = told.input
    if isinstance(told, n.RelationToStream) and told.output_window is None:
        return queue
    form = form_of(told)
    if form is Form.LIVES and style == "negative":
        return NUMBERS
    if form is not Form.CHANGES or (style == "upa" and named and _says_who_leaves(plan)):
        return NOTHING
    return queue


def _says_who_leaves(plan: n.Node) -> bool:
    """Whether results that leave are named by whoever has the rows they come from, so that nobody need keep them."""
    made = maker_of(plan)
    if isinstance(made, n.SemiJoin | n.AntiJoin):
        return not has_other_conditions(made)
    return isinstance(made, n.Join | n.TableJoin)


def passed_on(plan: n.Node) -> list[n.Node]:
    """The nodes at the top that only drop rows or show them in part, from the root down."""
    found: list[n.Node] = []
    while isinstance(plan, n.Filter | n.Project | n.Qualify):
        found.append(plan)
        plan = plan.input
    return found


def maker_of(plan: n.Node) -> n.Node:
    """The operator that makes the rows of a plan, below those."""
    above = passed_on(plan)
    return above[-1].inputs[0] if above else plan


def queue_of(seen: Label, style: Style, *, announced: bool) -> str:
    """The store that knows which row leaves next."""
    known = seen.downgrade()
    if known.pattern is UpdatePattern.MON:
        return "list that only grows"
    if style == "negative" or announced or seen.replace or known.pattern is not seen.pattern:
        return NUMBERS  # an end is sent for every row
    if style == "direct":
        return LIST
    return QUEUE if seen.pattern is UpdatePattern.WKS else CALENDAR
