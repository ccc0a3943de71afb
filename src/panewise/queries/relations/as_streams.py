"""A relation as a stream: the stages of Istream, Dstream and Rstream."""

from __future__ import annotations

from panewise.kernels.relations.operator import RelationOperator
from panewise.kernels.relations.refresh import RefreshClock
from panewise.kernels.relations.to_stream import ChangesAsStream, RestoredSnapshots, SnapshotStream
from panewise.plan import nodes as n
from panewise.planner.refreshing import common_slide, restored, windows_move_in_steps
from panewise.queries.relations.kept import Compiles
from panewise.queries.relations.styles import queue_for
from panewise.queries.relations.tree import Stage
from panewise.queries.relations.watches import Watch


def to_stream(compiler: Compiles, node: n.RelationToStream) -> Stage:
    """Istream, Dstream, Rstream, put out as they happen or at the refreshes."""
    kinds, ticking, every = n.RelationToStreamKind, compiler.watch.ticking, compiler.watch.ordered
    if (continuous := restored(node)) is not None:
        spec = common_slide(node.input)
        shown = RefreshClock()
        with compiler.watching(Watch(every=every, ordered=every, clock=shown)):
            (below,) = compiler.with_vectors(compiler.relation(continuous))
        queues = queue_for(below.label, compiler.style), queue_for(below.label, compiler.style)
        operator: RelationOperator
        if node.kind is kinds.RSTREAM:
            operator = RestoredSnapshots(below.schema, compiler.uids, queues, spec, shown, ticking=ticking)
        else:
            operator = ChangesAsStream(below.schema, compiler.uids, queues[0], sign=1, refreshes=spec, ticking=ticking)
        return compiler.stage(node, operator, below)
    if node.kind is kinds.RSTREAM:
        clock = RefreshClock() if windows_move_in_steps(node.input) else None
        with compiler.watching(Watch(clock=clock, ticking=clock is None, every=every, ordered=every)):
            (below,) = compiler.with_vectors(compiler.relation(node.input))
        queue = queue_for(below.label, compiler.style)
        return compiler.stage(node, SnapshotStream(below.schema, compiler.uids, queue, clock, ticking=ticking), below)
    with compiler.watching(Watch(every=every, ordered=every)):
        (below,) = compiler.with_vectors(compiler.relation(node.input))
    sign = 1 if node.kind is kinds.ISTREAM else -1
    operator = ChangesAsStream(below.schema, compiler.uids, queue_for(below.label, compiler.style), sign=sign,
                               ticking=ticking)
    return compiler.stage(node, operator, below)
