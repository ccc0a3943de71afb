"""What the results of a plan look like: a stream, dated events, rows with their lives, or changes.

The same on every engine: it follows from the plan alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from panewise.core.errors import PlanError
from panewise.core.ordinals import OrdinalKind
from panewise.core.schema import SourceKind
from panewise.plan import nodes as n
from panewise.planner.facts.labels import label
from panewise.planner.facts.patterns import UpdatePattern

VALID_FROM, EXPIRES_AT, CHANGE = "valid_from", "expires_at", "change"


class Form(Enum):
    """How a plan reports its results."""

    STREAM = "rows"                           # append-only: rows and nothing else
    EVENTS = "rows dated by their instant"    # Istream, Dstream, Rstream
    LIVES = "rows with valid_from, expires_at"  # the end of a result is known when it is produced
    CHANGES = "rows with change +1 or -1"     # it is not (strict non-monotonic)

    @property
    def added(self) -> tuple[str, ...]:
        """The columns it puts behind those of the plan."""
        return {Form.STREAM: (), Form.EVENTS: (VALID_FROM,), Form.LIVES: (VALID_FROM, EXPIRES_AT),
                Form.CHANGES: (VALID_FROM, CHANGE)}[self]


def form_of(node: n.Node) -> Form:
    """The form of a plan's results, from its update pattern in the clock of time."""
    if is_append_only(node):
        return Form.STREAM
    top = node
    while len(top.inputs) == 1 and not isinstance(top, n.RelationToStream):
        top = top.inputs[0]
    dated = isinstance(top, n.RelationToStream) and top.kind is not n.RelationToStreamKind.WSTREAM
    if dated and _passes_through(node, top):
        return Form.EVENTS
    pattern = label(node).output.downgrade().pattern
    return Form.CHANGES if pattern is UpdatePattern.STR else Form.LIVES


def hidden_column(plan: n.Node) -> str | None:
    """A column of a plan that its results would hide behind one they add."""
    return next((name for name in form_of(plan).added if name in plan.columns), None)


def _passes_through(node: n.Node, top: n.Node) -> bool:
    while node is not top:
        if isinstance(node, n.Window | n.GroupAggregate | n.Distinct):
            return False
        node = node.inputs[0]
    return True


def is_append_only(node: n.Node) -> bool:
    """Whether a node is a stream by construction: rows come and never leave, whatever the data."""
    match node:
        case n.Source() | n.BandJoin() | n.TumblingJoin() | n.WindowAggregate():
            return True
        case n.Filter() | n.Project() | n.Qualify() | n.Explode() | n.Lifetime() | n.Union():
            return all(is_append_only(below) for below in node.inputs)
        case n.TableJoin():
            return not is_retroactive(node) and is_append_only(node.input)
        case _:
            return False


def stops(plan: n.Node) -> bool:
    """Whether a plan of nothing but streams has a LIFETIME: it must know its first row, so rows can be too late for it.

    Results of window aggregates come in the order in which their windows close, and wait for nothing else.
    """
    if not is_append_only(plan) or not any(isinstance(node, n.Lifetime) for node in plan.walk()):
        return False
    return not any(isinstance(node, n.WindowAggregate) for node in plan.walk())


# -- tables --------------------------------------------------------------------------------------------------------


def is_retroactive(node: n.TableJoin) -> bool:
    """Whether updates of the table reach rows that already arrived; an NRR's do not."""
    return table_of(node.table).schema.kind is not SourceKind.NRR


def table_of(node: n.Node) -> n.Table | n.Source:
    """The table below projections and aliases."""
    for below in node.walk():
        if isinstance(below, n.Table | n.Source):
            return below
    raise PlanError("a table join needs a table as its second input")


def always_there(node: n.Node) -> n.Table | None:
    """A table without a time column whose rows are results: these have no instant at which they came."""
    match node:
        case n.Table():
            return node if node.schema.time is None else None
        case n.TableJoin():
            return always_there(node.input)
        case n.SemiJoin() | n.AntiJoin() | n.BagDifference():
            return always_there(node.left)
        case n.Join():
            return always_there(node.left) and always_there(node.right)
        case n.Window():
            return None
        case _:
            return next((found for below in node.inputs if (found := always_there(below)) is not None), None)


# -- windows whose results stay (Golab 3.3.2) ----------------------------------------------------------------------


STREAM_STARTS = (n.Window, n.WindowAggregate, n.BandJoin, n.TumblingJoin, n.RelationToStream)
"""Nodes below which another relation begins: what is inside no longer concerns the operators above."""


def relation_below(node: n.Node) -> Iterator[n.Node]:
    """The nodes that make up this node's input relations, down to and including what they start from."""
    for child in node.inputs:
        yield from relation_of(child)


def relation_of(node: n.Node) -> Iterator[n.Node]:
    """The node, and what makes up its input relations where it is no stream."""
    yield node
    if not isinstance(node, STREAM_STARTS):
        yield from relation_below(node)


def exposed_windows(node: n.Node) -> list[n.Window]:
    """The windows whose contents the node's relation is made of, not those below another window."""
    return [below for below in relation_of(node) if isinstance(below, n.Window)]


def shows_groups(node: n.Node) -> bool:
    """Whether values of groups are among what the node's relation is made of, not only below another window."""
    return any(isinstance(below, n.GroupAggregate) for below in relation_of(node))


def is_internal(node: n.Node) -> bool:
    """Whether the node's output is append-only because all windows it shows are internal."""
    if isinstance(node, n.GroupAggregate) and node.internal:
        return True
    exposed = exposed_windows(node)
    return bool(exposed) and all(window.clause.internal for window in exposed)


def is_mixed(node: n.Node) -> bool:
    """Whether some, but not all, of the windows it shows are internal, and its results come from single rows of each.

    Aggregates and joins with tables take what such a plan shows as any other relation.
    """
    internal = {window.clause.internal for window in exposed_windows(node)}
    return len(internal) == 2 and isinstance(node, n.Filter | n.Project | n.Qualify | n.Union | n.Join | n.SemiJoin)


# -- time ----------------------------------------------------------------------------------------------------------


def time_kind(node: n.Node) -> OrdinalKind:
    """What one step of the plan's instants is: the time column of its first source, for want of one of a table."""
    inputs = [below for below in node.walk() if isinstance(below, n.Source | n.Relayed | n.Table)]
    for below in sorted(inputs, key=lambda found: isinstance(found, n.Table)):
        if below.schema.time is not None:
            schema, column = below.schema, below.schema.time
            return schema.ordinal_kind(column) if column in schema.columns else OrdinalKind.INTEGER
    return OrdinalKind.INTEGER
