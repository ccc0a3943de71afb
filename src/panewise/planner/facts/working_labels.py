"""What operators work on where windows are INTERNAL: results stay, state is that of external windows (Golab 3.3.2).

Labels say what leaves of a result. Below the operator whose results stay nothing does: rows leave the windows, and the
state of joins and aggregates, as they leave external ones. What is kept, and what it costs, follows from that.
"""

from __future__ import annotations

from panewise.plan import nodes as n
from panewise.planner.facts.labels import Edge, Labels, label
from panewise.planner.facts.refreshing import externalised
from panewise.planner.facts.result_forms import STREAM_STARTS, is_internal, is_mixed


def has_internal(plan: n.Node) -> bool:
    """Whether results of some window or aggregate of a plan stay."""
    return any((isinstance(node, n.Window) and node.clause.internal)
               or (isinstance(node, n.GroupAggregate) and node.internal) for node in plan.walk())


def working_labels(labels: Labels) -> Labels:
    """The labels of a plan, and below results that stay those of the same plan with external windows."""
    if not has_internal(labels.plan):
        return labels
    edges: dict[n.Node, Edge] = dict(labels.edges)

    def visit(node: n.Node, inside: bool) -> None:
        if inside:
            same = externalised(node)
            edges[node] = label(same).edges[same]
        inside = not isinstance(node, STREAM_STARTS) and (inside or is_internal(node) or is_mixed(node))
        for child in node.inputs:
            visit(child, inside)

    visit(labels.plan, inside=False)
    return Labels(labels.plan, edges)
