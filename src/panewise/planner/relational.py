"""Plans that are relations at every instant: what an engine must have to run them."""

from __future__ import annotations

from collections.abc import Iterator

from panewise.core.schema import ROW_NUM_NAMES
from panewise.plan import nodes as n
from panewise.planner.stream_joins import BELOW


def is_relational(plan: n.Node) -> bool:
    """Whether a plan is something else than a window aggregate with selections and projections around it."""
    node = plan
    while isinstance(node, n.Project | n.Filter):
        node = node.input
    return not isinstance(node, n.WindowAggregate)


def relational_gaps(plan: n.Node, engine: str = "embedded") -> Iterator[str]:
    """What the kernels of continuous relations cannot do yet, of nodes and windows they do have."""
    for node in plan.walk():
        match node:
            case n.Window(clause=clause) if clause.spec.clock is None:
                yield f"a {clause.spec.kind} window's changing contents are not defined"
            case n.WindowAggregate():
                yield from _inside(plan, node)
                if engine == "spark" and _counts_arrivals(node) and len(_streams(node)) > 1:
                    yield "a window over an aggregate that counts rows of several streams as they come is not yet run"
            case _:
                pass


def _inside(plan: n.Node, node: n.WindowAggregate) -> Iterator[str]:
    """A window aggregate whose results another window reads."""
    if not all(isinstance(below, BELOW) for below in node.input.walk()):
        yield "a window aggregate over another, or over a relation, is not yet run"
    clause, kind = node.window, node.window.spec.kind
    if not (clause.has_time_range or clause.attribute in ROW_NUM_NAMES or kind in {"landmark", "slide by tuple"}):
        yield f"a window over the aggregate of a {kind} window is not yet run"
    read = _streams(node)
    for other in plan.walk():
        if not isinstance(other, n.Window | n.WindowAggregate) or other == node:
            continue
        beside = other.clause if isinstance(other, n.Window) else other.window
        shared = {below.name for below in other.input.walk() if isinstance(below, n.Source)} & read.keys()
        if any({beside.attribute, clause.attribute} - {"", read[name], *ROW_NUM_NAMES} for name in shared) \
                and not any(isinstance(below, n.WindowAggregate) for below in other.input.walk()):
            yield (f"the stream {sorted(shared)[0]!r} inside a window aggregate and beside it, ordered by different "
                   "columns, is not yet run")


def _streams(node: n.Node) -> dict[str, str | None]:
    """The streams below a node with their time columns."""
    return {below.name: below.schema.time for below in node.walk() if isinstance(below, n.Source)}


def _counts_arrivals(node: n.WindowAggregate) -> bool:
    """Whether windows depend on which of two rows came first; a shard knows that of rows of one stream only."""
    return node.window.attribute in ROW_NUM_NAMES or node.window.spec.by_arrival
