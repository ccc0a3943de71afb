"""A running plan that was chosen by statistics is watched: what comes, passes and leaves early, period by period."""

from __future__ import annotations

from panewise.dataflow.relations.tree import Stage
from panewise.plan.nodes import AntiJoin, BagDifference, Filter, SemiJoin
from panewise.planner.choose.optimizer import Optimized
from panewise.planner.statistics.condition_names import taking_back_key
from panewise.planner.statistics.replan import Proposal
from panewise.planner.statistics.watching import Watch


class PlanWatch(Watch):
    """Counts for one query; ``proposed`` is another way to run it, if the latest period asks for one."""

    def __init__(self, running: Optimized) -> None:
        super().__init__(running)
        self.proposed: Proposal | None = None
        self._before: dict[int, tuple[int, int, int]] = {}

    def judge(self, root: Stage) -> None:
        """When a period is over its figures are compared with those the plan was chosen by.

        Asked when instants are complete: then all inputs have been heard.
        """
        if not self.ready:
            return
        for place, stage in enumerate(root.walk()):
            self._report(place, stage)
        self.proposed = self.proposal()

    def _report(self, place: int, stage: Stage) -> None:
        """What a condition or a negation has done since the last period."""
        node = stage.node
        if not isinstance(node, Filter | AntiJoin | SemiJoin | BagDifference) or not stage.inputs:
            return
        now = (stage.told.lives, stage.told.ends, stage.inputs[0].told.lives)
        before = self._before.get(place, (0, 0, 0))
        self._before[place] = now
        lives, ends, came = (one - other for one, other in zip(now, before, strict=True))
        if isinstance(node, Filter):
            self.passed(node.predicate, lives, came, node.input)
        else:
            self.left(taking_back_key(node), min(ends, lives), lives)
