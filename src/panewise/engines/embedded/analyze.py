"""Run a query and keep account: state at its largest, windows, late rows, and the time every step took."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.bad_rows import BadRows
from panewise.core.errors import PlanError
from panewise.engines.embedded.run import run_embedded
from panewise.kernels.panes import WINDOW_ID
from panewise.plan.nodes import Node
from panewise.planner.choices import Stats
from panewise.planner.relational import is_relational
from panewise.planner.strategy import Choice
from panewise.planner.stream_joins import has_stream_join
from panewise.progress.late import DEFAULT_LATE, LatePolicy
from panewise.progress.punctuation import Punctuation
from panewise.queries.admission import InputRules
from panewise.queries.aggregate import WindowStage
from panewise.queries.inputs import RowsIn
from panewise.queries.profile import Profile
from panewise.queries.query import Progress, WindowQuery

COUNTED = ("buffered", "partials", "window_groups", "open_windows", "bytes")
KERNEL_STEPS = ("count", "advance", "ripe")
"""The steps of the aggregate in which the kernel works; the others evaluate expressions and present results."""


@dataclass
class Analysis:
    """What happened in one run."""

    choice: Choice
    rows: int = 0
    late: int = 0
    late_policy: str = ""
    results: int = 0
    windows: int = 0
    """Different windows that were output."""
    peak: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTED, 0))
    """The largest value each counter of the state had, looked at after every batch before it closes anything."""
    streams: dict[str, dict[str, Any]] = field(default_factory=dict)
    profile: Profile = field(default_factory=Profile)
    seconds: float = 0.0
    """The whole run, reading included."""

    @property
    def kernel_seconds(self) -> float:
        """Time in the kernel."""
        return sum(spent.seconds for step, spent in self.profile.items()
                   if step.startswith("aggregate: ") and step.removeprefix("aggregate: ") in KERNEL_STEPS)


def analyze(plan: Node, inputs: Callable[[], Mapping[str, Iterable[RowsIn | Punctuation]]], *,
            late: str | LatePolicy = DEFAULT_LATE, progress: Progress = "source", strategy: str = "auto",
            stats: Stats = None, rules: InputRules | None = None) -> Analysis:
    """Run a plan to the end of its inputs and say what it took.

    ``inputs`` is called twice: a few rows go through a query of their own first, so that loading and compiling code is
    not taken for work.
    """
    if has_stream_join(plan) or is_relational(plan):
        raise PlanError("what a run took is measured for window aggregates of streams; run this query and ask its "
                        "status() how many rows each join and operator keeps")

    def query(rules: InputRules | None) -> WindowQuery:
        return WindowQuery(plan, late=late, progress=progress, strategy=strategy, stats=stats, profile=True,
                           rules=rules)

    _warm_up(query(InputRules.parse("skip")), inputs())
    running = query(rules)
    stage = running._running
    found = Analysis(stage.choice)
    if running.profile is not None:
        found.profile = running.profile
    seen = _observe(stage, found)
    before = perf_counter()
    for table in run_embedded(plan, inputs(), query=running):
        found.results += table.num_rows
    found.seconds = perf_counter() - before
    status = running.status(windows=0)
    found.late_policy = running.late.value
    found.rows, found.late, found.streams, found.windows = status["rows"], status["late"], status["streams"], len(seen)
    return found


def _warm_up(query: WindowQuery, inputs: Mapping[str, Iterable[RowsIn | Punctuation]]) -> None:
    for name in query.streams:
        items = (item for item in inputs.get(name, ()) if not isinstance(item, Punctuation | BadRows))
        rows = next((item for item in items if _length(item)), None)
        if rows is not None:
            query.push(name, rows[:100] if isinstance(rows, list) else rows.slice(0, 100))  # type: ignore[union-attr]
    query.finish()


def _length(item: RowsIn) -> int:
    return item.num_rows if isinstance(item, pa.RecordBatch | pa.Table) else len(item)


def _observe(stage: WindowStage, found: Analysis) -> set[int]:
    """Look at the state after every batch, and at the ids of all windows that come out; outside the measured time."""
    seen: set[int] = set()

    def count(*args: Any, **named: Any) -> Any:
        late = counted(*args, **named)
        now = stage.kernel.counters()
        for name in COUNTED:
            found.peak[name] = max(found.peak[name], now.get(name, 0))
        return late

    def noted(closing: Callable[..., pa.Table]) -> Callable[..., pa.Table]:
        def close(*args: Any) -> pa.Table:
            results = closing(*args)
            seen.update(np.unique(results.column(WINDOW_ID).to_numpy()).tolist())
            return results
        return close

    counted = stage.count
    for name, observed in (("count", count), ("advance", noted(stage.advance)), ("ripe", noted(stage.ripe))):
        setattr(stage, name, observed)
    return seen
