"""A relation as a stream: the operators of Istream, Dstream and Rstream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from panewise.plan import nodes as n
from panewise.plan.physical import Asked, Layout, Path, PhysicalNode, State
from panewise.planner.facts.refreshing import common_slide, restored, windows_move_in_steps

if TYPE_CHECKING:
    from panewise.planner.choose.relation_plan import RelationPlanner


def to_stream(planner: RelationPlanner, node: n.RelationToStream, path: Path) -> PhysicalNode:
    """Put out as it happens, or at the refreshes."""
    every, whole = planner.asked.ordered, node.kind is n.RelationToStreamKind.RSTREAM
    continuous = restored(node)
    clock = planner.clock() if continuous is not None or (whole and windows_move_in_steps(node.input)) else None
    asked = Asked(clock=clock, ticking=whole and clock is None, every=every, ordered=every)
    with planner.asking(asked):
        below = planner.relation(node.input if continuous is None else continuous, (*path, 0), planner.vectors)
    spec = None if continuous is None else common_slide(node.input)
    kernel = "ChangesAsStream" if not whole else "SnapshotStream" if spec is None else "RestoredSnapshots"
    state = State(Layout.ROWS, planner.store(below), planner.catalogues(below))
    return planner.made(kernel, node, path, below, keeps=(state,), options={
        "clock": clock, "refreshes": spec, "sign": 1 if node.kind is n.RelationToStreamKind.ISTREAM else -1})
