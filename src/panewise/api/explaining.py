"""``explain``: the plan, the strategy of every window aggregate with its estimate, and, after a run, what happened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from panewise.api.analysis import notes, steps
from panewise.api.inputs import LocalStream, ordered_by
from panewise.api.local import windowing_attribute
from panewise.core.errors import PlanError
from panewise.engines.embedded.analyze import analyze
from panewise.plan.nodes import Node
from panewise.planner.capabilities import check
from panewise.planner.choices import Stats, choices, explained
from panewise.planner.explain import Format
from panewise.planner.explain import explain as explain_plan
from panewise.planner.sampling import measured
from panewise.planner.statistics import parse_statistics

MEASURE = "measure"
"""Given as statistics: look at the first rows of the streams."""


def explain_streams(plan: Node, streams: Mapping[str, LocalStream] | None = None, format: Format = "text", *,
                    stats: Stats | str = None, strategy: str = "auto") -> str:
    """A plan with the strategies the embedded engine would take.

    ``stats`` are what the user declares, as a mapping or as the text of the command line, or ``"measure"``.
    """
    return explain_plan(plan, format, **explained(choices(plan, statistics(plan, streams, stats), strategy=strategy)))


def analyze_streams(plan: Node, streams: Mapping[str, LocalStream], *, stats: Stats | str = None,
                    strategy: str = "auto", late: str = "drop", progress: str | Mapping[str, str] = "source") -> str:
    """A plan, what the embedded engine did when it ran, and how that compares with the estimate.

    The kernel is the one a run would take. Without statistics it is chosen by rule, as always, and the estimates it is
    compared with are measured on the streams.
    """
    given = statistics(plan, streams, stats)
    chosen = choices(plan, given, strategy=strategy)
    by_cost = choices(plan, statistics(plan, streams, MEASURE)) if given is None else chosen
    if not chosen:
        check(plan, "embedded")
    attribute = windowing_attribute(plan)
    kernel = next(iter(chosen.values())).choice.kernel if chosen else strategy
    found = analyze(plan, lambda: {n: s.items(attribute=ordered_by(s, attribute)) for n, s in streams.items()},
                    late=late, progress=progress, strategy=kernel)
    lines = notes(plan, found, {node: c.choice for node, c in by_cost.items()})
    shown = explained(chosen)
    shown["notes"] = {node: [*(by_cost[node].notes if node in by_cost else ()), *lines.get(node, ())]
                      for node in plan.walk()}
    return f"{explain_plan(plan, **shown)}\n\n{steps(found)}"


def statistics(plan: Node, streams: Mapping[str, LocalStream] | None, stats: Stats | str) -> Stats:
    """Statistics in the form the planner takes."""
    if not isinstance(stats, str):
        return stats
    if stats != MEASURE:
        return parse_statistics(stats)
    if not streams:
        raise PlanError("statistics are measured on streams, and none were given: name their files, or declare "
                        "statistics such as rows_per_second=5000,groups=1000")
    return measured(plan, {name: _tables(stream, windowing_attribute(plan)) for name, stream in streams.items()})


def _tables(stream: LocalStream, attribute: str | None) -> Iterator[pa.Table]:
    for item in stream.items(attribute=ordered_by(stream, attribute)):
        if isinstance(item, pa.RecordBatch):
            yield pa.Table.from_batches([item])
