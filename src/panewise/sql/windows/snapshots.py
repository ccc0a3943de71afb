"""Rstream without a window over it: its last snapshot is the relation itself, so the relation is what is read.

``SELECT sum(n) FROM (SELECT Rstream(v, count(*) AS n) FROM s GROUP BY v) AS q`` sums the counts of now. Under a window,
in a window aggregate, in a join by times and at the top of a query Rstream is a stream of snapshots.
"""

from __future__ import annotations

from panewise.plan import nodes as n

PASSING = (n.Filter, n.Project, n.Explode, n.Qualify, n.Union, n.Lifetime)
"""What is read through them is read as they are."""
OF_STREAMS = (n.Window, n.WindowAggregate, n.TimePairs)


def read_as_relations(plan: n.Node, *, as_stream: bool = True) -> n.Node:
    """The plan without Rstream where its rows are read as a relation."""
    snapshots = isinstance(plan, n.RelationToStream) and plan.kind is n.RelationToStreamKind.RSTREAM
    if snapshots and not as_stream:
        return read_as_relations(plan.inputs[0], as_stream=False)
    if not plan.inputs:
        return plan
    below = as_stream if isinstance(plan, PASSING) else isinstance(plan, OF_STREAMS)
    read = [read_as_relations(part, as_stream=below) for part in plan.inputs]
    return plan if all(new is old for new, old in zip(read, plan.inputs, strict=True)) else plan.with_inputs(*read)
