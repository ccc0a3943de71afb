"""What a user says about how a plan runs, before anything is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from panewise.plan import nodes as n
from panewise.plan.physical import RelationPlan
from panewise.planner.choose.optimizer import Optimized
from panewise.planner.options import DEFAULTS, RunOptions
from panewise.planner.statistics.declared import Statistics, declared
from panewise.planner.statistics.relation_statistics import RelationStatistics

Stats = Statistics | RelationStatistics | Mapping[str, Any] | Mapping[n.Node, Statistics] | None
"""Statistics of the window aggregates, as a user declares them or of each, or of the inputs of a relation."""


@dataclass(frozen=True)
class Choices:
    """What a user says about how a plan runs, and what was chosen before."""

    options: RunOptions = DEFAULTS
    stats: Stats = None
    decided: RelationPlan | None = None
    """How the relation runs, where that was chosen before."""
    watched: Optimized | None = None
    """The choice that is then watched."""

    def policy(self, stream: str) -> str:
        """Where promises about a stream come from."""
        given = self.options.progress
        return given if isinstance(given, str) else given.get(stream, "source")


def statistics_for(node: n.WindowAggregate, stats: Stats) -> Statistics | None:
    """Statistics in the unit of the aggregate's windowing attribute."""
    if stats is None or isinstance(stats, Statistics):
        return stats
    if isinstance(stats, RelationStatistics) or not stats:
        return None
    by_node = {key: value for key, value in stats.items() if isinstance(value, Statistics)}
    if by_node:
        return by_node.get(node)
    return declared({str(name): value for name, value in stats.items()}, node.window.ordinal)
