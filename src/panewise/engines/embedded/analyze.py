"""Run a query and keep account: what every operator took in, put out and kept, late rows, windows, time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.bad_rows import BadRowAction, BadRowPolicy, BadRows
from panewise.dataflow import Query, open_plan
from panewise.dataflow.aggregate import WindowAggregation
from panewise.dataflow.graph import Node as Running
from panewise.dataflow.inputs import RowsIn
from panewise.dataflow.profile import Profile
from panewise.engines.embedded.run import run_embedded
from panewise.kernels.panes.pane_tables import WINDOW_ID
from panewise.plan.dataflow import KernelChoice, PhysicalPlan
from panewise.plan.nodes import Node
from panewise.planner.options import DEFAULTS, RunOptions
from panewise.progress.punctuation import Punctuation

COUNTED = ("buffered", "partials", "window_groups", "open_windows", "bytes")
KERNEL_STEPS = ("count", "advance", "ripe")
"""The steps of an aggregate in which the kernel works; the others evaluate expressions and present results."""


@dataclass
class Windows:
    """What happened in one window aggregate."""

    choice: KernelChoice
    rows: int = 0
    results: int = 0
    seen: set[int] = field(default_factory=set)
    """The ids of windows that were put out."""
    peak: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTED, 0))
    """The largest value each counter of the state had, looked at after every batch before it closes anything."""
    kernel_seconds: float = 0.0


@dataclass
class Analysis:
    """What happened in one run."""

    plan: PhysicalPlan
    profile: Profile
    windows: dict[int, Windows]
    """By step."""
    late_policy: str
    rows: int = 0
    late: int = 0
    results: int = 0
    streams: dict[str, dict[str, Any]] = field(default_factory=dict)
    seconds: float = 0.0
    """The whole run, reading included."""


def analyze(plan: Node, inputs: Callable[[], Mapping[str, Iterable[RowsIn | Punctuation]]],
            options: RunOptions = DEFAULTS, told: Callable[[Query], object] = lambda query: None) -> Analysis:
    """Run a plan to the end of its inputs and say what it took.

    ``inputs`` is called twice: a few rows go through a query of their own first, so that loading and compiling code is
    not taken for work. ``told`` is called with the query before it runs.
    """
    _warm_up(open_plan(plan, replace(options, bad_rows=BadRowPolicy(BadRowAction.SKIP), max_jump=None)), inputs())
    query = open_plan(plan, options)
    told(query)
    assert query.physical is not None, "columns are known"
    profile = Profile(query)
    windows = {number: _observe(made.operator) for number, made in enumerate(query.made)
               if isinstance(made, Running) and isinstance(made.operator, WindowAggregation)}
    found = Analysis(query.physical, profile, windows, query.late.value)
    before = perf_counter()
    for table in run_embedded(query.plan, inputs(), query=query):
        found.results += table.num_rows
    found.seconds = perf_counter() - before
    status = query.status(windows=0)
    found.rows, found.late, found.streams = status["rows"], status["late"], status["streams"]
    for number, seen in windows.items():
        parts = found.profile.parts[number]
        seen.rows, seen.results = parts["count"].rows, found.profile.steps[number].out
        seen.kernel_seconds = sum(parts[step].seconds for step in KERNEL_STEPS)
    return found


def _warm_up(query: Query, inputs: Mapping[str, Iterable[RowsIn | Punctuation]]) -> None:
    for name in query.streams:
        items = (item for item in inputs.get(name, ()) if not isinstance(item, Punctuation | BadRows))
        rows = next((item for item in items if _length(item)), None)
        if rows is not None:
            query.push(name, rows[:100] if isinstance(rows, list) else rows.slice(0, 100))  # type: ignore[union-attr]
    query.finish()


def _length(item: RowsIn) -> int:
    return item.num_rows if isinstance(item, pa.RecordBatch | pa.Table) else len(item)


def _observe(stage: WindowAggregation) -> Windows:
    """Look at the state after every batch, and at the ids of all windows that come out; outside the measured time."""
    found, kernel, counted = Windows(stage.choice), stage.kernel, stage.count

    def count(*args: Any, **named: Any) -> Any:
        late = counted(*args, **named)
        now = kernel.counters()
        found.peak |= {name: max(found.peak[name], now.get(name, 0)) for name in COUNTED}
        return late

    def noted(closing: Callable[..., pa.Table]) -> Callable[..., pa.Table]:
        def close(*args: Any) -> pa.Table:
            results = closing(*args)
            found.seen.update(np.unique(results.column(WINDOW_ID).to_numpy()).tolist())
            return results
        return close

    for owner, name, observed in ((stage, "count", count), (kernel, "advance", noted(kernel.advance)),
                                  (kernel, "ripe", noted(kernel.ripe))):
        setattr(owner, name, observed)
    return found
