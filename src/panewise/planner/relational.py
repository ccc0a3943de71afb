"""Plans that are relations at every instant: what an engine must have to run them."""

from __future__ import annotations

from collections.abc import Iterator

from panewise.plan import nodes as n


def is_relational(plan: n.Node) -> bool:
    """Whether a plan is something else than a window aggregate with selections and projections around it."""
    node = plan
    while isinstance(node, n.Project | n.Filter):
        node = node.input
    return not isinstance(node, n.WindowAggregate)


def relational_gaps(plan: n.Node) -> Iterator[str]:
    """What the kernels of continuous relations cannot do yet, of nodes and windows they do have."""
    for node in plan.walk():
        match node:
            case n.Window(clause=clause) if clause.spec.clock is None:
                yield f"a {clause.spec.kind} window's changing contents are not defined"
            case n.Window(clause=clause) if clause.internal:
                yield "INTERNAL windows as relations are not yet run"
            case n.Source(schema=schema) if schema.columns and schema.time is None:
                yield f"the stream {node.name!r} without a time column is not yet run"
            case _:
                pass
