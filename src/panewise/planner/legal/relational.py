"""Plans that are relations at every instant: what an engine must have to run them."""

from __future__ import annotations

from collections.abc import Iterator

from panewise.core.schema import ROW_NUM_NAMES
from panewise.plan import nodes as n
from panewise.planner.facts.derived_times import is_derived
from panewise.planner.facts.result_order import asks_for_order, read_as_they_come
from panewise.planner.facts.stream_joins import BELOW
from panewise.planner.legal import refusals
from panewise.planner.legal.refusals import Said
from panewise.windows.landmark import BandWindow


def is_relational(plan: n.Node) -> bool:
    """Whether a plan is something else than a window aggregate with selections and projections around it."""
    return not isinstance(n.below_selections(plan), n.WindowAggregate)


def is_nested(plan: n.Node) -> bool:
    """Whether a plan is a window aggregate over something else than streams, and what selects and projects them, or by
    a time that is computed: whose bounds are not those of the stream."""
    node = n.below_selections(plan)
    return isinstance(node, n.WindowAggregate) and (
        not all(isinstance(below, BELOW) for below in node.input.walk())
        or is_derived(node.input, node.window.attribute))


def relational_gaps(plan: n.Node, engine: str = "embedded") -> Iterator[Said]:
    """What the kernels of continuous relations cannot do yet, of nodes and windows they do have."""
    result = n.below_selections(plan)
    for node in plan.walk():
        match node:
            case n.Window(clause=clause) if clause.spec.clock is None:
                yield refusals.NO_CONTENTS(kind=clause.spec.kind)
            case n.WindowAggregate():
                if node is not result:
                    yield from _inside(node)
                yield from _order_gaps(node)
                if engine == "spark" and _counts_arrivals(node) and len(_streams(node)) > 1:
                    yield refusals.NUMBERS_BETWEEN_STREAMS()
            case _:
                pass


def _inside(node: n.WindowAggregate) -> Iterator[Said]:
    """A window aggregate whose results another window, or a relation, reads."""
    spec = node.window.spec.plain
    if isinstance(spec, BandWindow) and spec.upper is None:
        yield refusals.NO_END()


def _streams(node: n.Node) -> dict[str, str | None]:
    """The streams below a node with their time columns."""
    return {below.name: below.schema.time for below in node.walk() if isinstance(below, n.Source)}


def _counts_arrivals(node: n.WindowAggregate) -> bool:
    """Whether windows depend on which of two rows came first; a shard knows that of rows of one stream only."""
    return node.window.attribute in ROW_NUM_NAMES or node.window.spec.by_arrival


def _order_gaps(node: n.WindowAggregate) -> Iterator[Said]:
    """Orders that an aggregate asks for and no running query keeps."""
    if not asks_for_order(node):
        return
    read = list(read_as_they_come(node.input))
    made = [below for below in read if isinstance(below, n.WindowAggregate)]
    if made and any(isinstance(below, n.Union) for below in read):
        yield refusals.ORDER_OF_UNION()
    if any(below.window.attribute in ROW_NUM_NAMES and below.window.partition for below in made):
        yield refusals.ORDER_OF_PARTITIONS()
