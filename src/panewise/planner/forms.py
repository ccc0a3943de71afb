"""What the results of a plan look like: a stream, dated events, rows with their lives, or changes.

The same on every engine: it follows from the plan alone.
"""

from __future__ import annotations

from enum import Enum

from panewise.core.errors import PlanError
from panewise.core.ordinals import OrdinalKind
from panewise.core.schema import SourceKind
from panewise.plan.nodes import (
    AntiJoin,
    BagDifference,
    BandJoin,
    Distinct,
    Explode,
    Filter,
    GroupAggregate,
    Join,
    Lifetime,
    Node,
    Project,
    Qualify,
    RelationToStream,
    RelationToStreamKind,
    Relayed,
    SemiJoin,
    Source,
    Table,
    TableJoin,
    TumblingJoin,
    Union,
    Window,
    WindowAggregate,
)
from panewise.planner.labels import label
from panewise.planner.patterns import UpdatePattern

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


def form_of(node: Node) -> Form:
    """The form of a plan's results, from its update pattern in the clock of time."""
    if is_append_only(node):
        return Form.STREAM
    top = node
    while len(top.inputs) == 1 and not isinstance(top, RelationToStream):
        top = top.inputs[0]
    dated = isinstance(top, RelationToStream) and top.kind is not RelationToStreamKind.WSTREAM
    if dated and _passes_through(node, top):
        return Form.EVENTS
    pattern = label(node).output.downgrade().pattern
    return Form.CHANGES if pattern is UpdatePattern.STR else Form.LIVES


def refuse_hidden(plan: Node) -> None:
    """Refuse a plan with a column that its results would hide behind one they add."""
    form = form_of(plan)
    for name in form.added:
        if name in plan.columns:
            raise PlanError(f"the results of this query are {form.value}: they add a column {name!r}, and the query "
                            "has one of that name; rename it with AS")


def _passes_through(node: Node, top: Node) -> bool:
    while node is not top:
        if isinstance(node, Window | GroupAggregate | Distinct):
            return False
        node = node.inputs[0]
    return True


def is_append_only(node: Node) -> bool:
    """Whether a node is a stream by construction: rows come and never leave, whatever the data."""
    match node:
        case Source() | BandJoin() | TumblingJoin() | WindowAggregate():
            return True
        case Filter() | Project() | Qualify() | Explode() | Lifetime() | Union():
            return all(is_append_only(below) for below in node.inputs)
        case TableJoin():
            return not is_retroactive(node) and is_append_only(node.input)
        case _:
            return False


def stops(plan: Node) -> bool:
    """Whether a plan of nothing but streams has a LIFETIME: it must know its first row, so rows can be too late for it.

    Results of window aggregates come in the order in which their windows close, and wait for nothing else.
    """
    if not is_append_only(plan) or not any(isinstance(node, Lifetime) for node in plan.walk()):
        return False
    return not any(isinstance(node, WindowAggregate) for node in plan.walk())


# -- tables --------------------------------------------------------------------------------------------------------


def is_retroactive(node: TableJoin) -> bool:
    """Whether updates of the table reach rows that already arrived; an NRR's do not."""
    return table_of(node.table).schema.kind is not SourceKind.NRR


def table_of(node: Node) -> Table | Source:
    """The table below projections and aliases."""
    for below in node.walk():
        if isinstance(below, Table | Source):
            return below
    raise PlanError("a table join needs a table as its second input")


def always_there(node: Node) -> Table | None:
    """A table without a time column whose rows are results: these have no instant at which they came."""
    match node:
        case Table():
            return node if node.schema.time is None else None
        case TableJoin():
            return always_there(node.input)
        case SemiJoin() | AntiJoin() | BagDifference():
            return always_there(node.left)
        case Join():
            return always_there(node.left) and always_there(node.right)
        case Window():
            return None
        case _:
            return next((found for below in node.inputs if (found := always_there(below)) is not None), None)


# -- windows whose results stay (Golab 3.3.2) ----------------------------------------------------------------------


def exposed_windows(node: Node) -> list[Window]:
    """The windows whose contents the node's relation is made of, not those below another window."""
    if isinstance(node, Window):
        return [node]
    if isinstance(node, WindowAggregate | BandJoin | TumblingJoin | RelationToStream):
        return []
    return [window for below in node.inputs for window in exposed_windows(below)]


def shows_groups(node: Node) -> bool:
    """Whether values of groups are among what the node's relation is made of, not only below another window."""
    if isinstance(node, GroupAggregate):
        return True
    if isinstance(node, Window | WindowAggregate | BandJoin | TumblingJoin | RelationToStream):
        return False
    return any(shows_groups(below) for below in node.inputs)


def is_internal(node: Node) -> bool:
    """Whether the node's output is append-only because all windows it shows are internal."""
    if isinstance(node, GroupAggregate) and node.internal:
        return True
    exposed = exposed_windows(node)
    return bool(exposed) and all(window.clause.internal for window in exposed)


def is_mixed(node: Node) -> bool:
    """Whether some, but not all, of the windows it shows are internal, and its results come from single rows of each.

    Aggregates and joins with tables take what such a plan shows as any other relation.
    """
    internal = {window.clause.internal for window in exposed_windows(node)}
    return len(internal) == 2 and isinstance(node, Filter | Project | Qualify | Union | Join | SemiJoin)


# -- time ----------------------------------------------------------------------------------------------------------


def time_kind(node: Node) -> OrdinalKind:
    """What one step of the plan's instants is: the time column of its first source, for want of one of a table."""
    inputs = [below for below in node.walk() if isinstance(below, Source | Relayed | Table)]
    for below in sorted(inputs, key=lambda found: isinstance(found, Table)):
        if below.schema.time is not None:
            schema, column = below.schema, below.schema.time
            return schema.ordinal_kind(column) if column in schema.columns else OrdinalKind.INTEGER
    return OrdinalKind.INTEGER
