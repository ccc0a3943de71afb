"""The strategies of a whole plan on the embedded engine, in the words of ``explain``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from panewise.core.errors import UnsupportedError
from panewise.plan import nodes as n
from panewise.planner.capabilities import supports
from panewise.planner.requests import request_of
from panewise.planner.statistics import Statistics, declared, describe_statistics
from panewise.planner.strategy import Choice, choose

Stats = Statistics | Mapping[str, Any] | Mapping[n.Node, Statistics] | None
"""Statistics of the one aggregate, as a user declares them, or of every aggregate."""


@dataclass(frozen=True)
class Chosen:
    """What was chosen for one window aggregate, and on which figures."""

    node: n.WindowAggregate
    choice: Choice
    statistics: Statistics | None

    @property
    def headline(self) -> str:
        """The kernel and the reason."""
        return f"{self.choice.kernel}: {self.choice.reason}"

    @property
    def notes(self) -> list[tuple[str, str]]:
        """The statistics and the estimate of every candidate, one line each."""
        if self.statistics is None:
            return []
        lines = [("given", describe_statistics(self.statistics, self.node.window.ordinal))]
        return lines + [("estimate", str(found)) for found in self.choice.estimates]


def statistics_for(node: n.WindowAggregate, stats: Stats) -> Statistics | None:
    """Statistics in the unit of the aggregate's windowing attribute."""
    if stats is None or isinstance(stats, Statistics):
        return stats
    by_node = {key: value for key, value in stats.items() if isinstance(value, Statistics)}
    if by_node or not stats:
        return by_node.get(node)
    return declared({str(name): value for name, value in stats.items()}, node.window.ordinal)


def choices(plan: n.Node, stats: Stats = None, *, strategy: str = "auto") -> dict[n.Node, Chosen]:
    """A choice for every window aggregate the embedded engine runs and whose column types are known."""
    if not supports(plan, "embedded"):
        return {}
    found: dict[n.Node, Chosen] = {}
    for node in plan.walk():
        if not isinstance(node, n.WindowAggregate):
            continue
        known = statistics_for(node, stats)  # a misspelt one is an error, whether or not there is a choice to make
        if (request := request_of(node)) is not None:
            try:
                found[node] = Chosen(node, choose(request, known, strategy=strategy), known)
            except UnsupportedError:
                if strategy != "auto":
                    raise
                continue  # no kernel yet; the list of engines says so
    return found


def explained(chosen: Mapping[n.Node, Chosen]) -> dict[str, Any]:
    """The choices as arguments of ``explain``."""
    return {"strategy": {node: c.headline for node, c in chosen.items()},
            "notes": {node: c.notes for node, c in chosen.items()}}
