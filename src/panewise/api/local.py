"""Run a plan in process, on the embedded engine or the oracle, with results as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from panewise.api.checkpoints import CheckpointLabel
from panewise.api.inputs import LocalStream, ordered_by, timeline_of
from panewise.api.results import Results
from panewise.core.errors import PlanError
from panewise.engines.embedded import open_plan, run_embedded
from panewise.engines.oracle import Oracle, run_oracle
from panewise.files.reader import Item
from panewise.plan.nodes import Node, WindowAggregate
from panewise.planner.choices import Stats

OnItem = Callable[[str, Item], None]


@dataclass
class LocalRun:
    """A run that yields tables of results and then knows what happened."""

    tables: Iterator[pa.Table]
    finish: Callable[[], tuple[pa.Table, dict[str, Any]]]
    """The late rows and the counters, once the tables are used up."""
    empty: pa.Table = field(default_factory=lambda: pa.table({}))
    """The result columns, for a run without results."""
    late_report: Callable[[], pa.Table] | None = None
    """The late rows with the reason of each, where the engine knows it."""

    def collect(self) -> Results:
        """Everything at once."""
        tables = list(self.tables)
        late, status = self.finish()
        report = self.late_report() if self.late_report is not None else None
        return Results(pa.concat_tables(tables) if tables else self.empty, late, status, report)


def run_local(plan: Node, streams: Mapping[str, LocalStream], *, engine: str, late: str = "drop",
              progress: str | Mapping[str, str] = "source", checkpoint: str | Path | None = None,
              on_item: OnItem | None = None, emit: str = "final", strategy: str = "auto",
              stats: Stats = None, joins: str = "auto") -> LocalRun:
    """Start a run; ``on_item`` sees everything that is read, for a progress display."""
    if engine == "oracle":
        check_final(emit, engine)
        if checkpoint is not None:
            raise PlanError("the oracle keeps no checkpoint: it reads everything each time; leave the checkpoint out")
        return _on_oracle(plan, streams, late, progress)
    query = open_plan(plan, late=late, progress=progress, emit=emit, strategy=strategy, stats=stats, joins=joins)
    attribute = windowing_attribute(plan)
    inputs = {n: _watched(n, streams[n].items(attribute=ordered_by(streams[n], attribute)), on_item)
              for n in query.streams if n in streams}
    label = None if checkpoint is None else CheckpointLabel.claim(
        Path(checkpoint), plan, streams, engine=engine, late=late, progress=progress)
    tables = run_embedded(plan, inputs, query=query, checkpoint=checkpoint, keep_results=True)
    if label is not None:
        tables = _labelled(tables, label)
    return LocalRun(tables, lambda: (query.late_rows, query.status()), query.nothing(), lambda: query.late_report)


def check_final(emit: str, engine: str) -> None:
    """The oracle corrects nothing: it knows everything before it speaks."""
    if emit.strip().lower() != "final":
        raise PlanError(f"early results (emit={emit!r}) come from the embedded engine and from streams on Spark; the "
                        f"{engine} gives final ones")


def _labelled(tables: Iterator[pa.Table], label: CheckpointLabel) -> Iterator[pa.Table]:
    yield from tables
    label.end()


def windowing_attribute(plan: Node) -> str | None:
    """The attribute whose bounds close the plan's windows."""
    for node in plan.walk():
        if isinstance(node, WindowAggregate):
            return node.window.attribute
    return None


def _watched(name: str, items: Iterator[Item], on_item: OnItem | None) -> Iterator[Item]:
    for item in items:
        yield item
        if on_item is not None:
            on_item(name, item)


def _on_oracle(plan: Node, streams: Mapping[str, LocalStream], late: str,
               progress: str | Mapping[str, str]) -> LocalRun:
    timeline = timeline_of(streams, windowing_attribute(plan))
    table = run_oracle(plan, timeline, late=late, progress=progress)
    late_rows = Oracle(plan, timeline, late=late, progress=progress).late_rows()
    rows = sum(arrival.is_row for arrival in timeline)
    status = {"rows": rows, "late": len(late_rows)}
    return LocalRun(iter([table]), lambda: (pa.Table.from_pylist(late_rows), status), table.slice(0, 0))
