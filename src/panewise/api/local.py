"""Run a plan in process, on the embedded engine or the oracle, with results as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from panewise.api.checkpoints import CheckpointLabel
from panewise.api.inputs import LocalStream, ordered_by, timeline_of
from panewise.api.results import Results
from panewise.core.bad_rows import BadRow, BadRowAction, bad_row_table
from panewise.core.errors import PlanError
from panewise.engines.embedded import RunningQuery, open_plan, run_embedded
from panewise.engines.embedded.sinks import Transaction
from panewise.engines.oracle import Oracle
from panewise.files.reader import Item
from panewise.plan.nodes import Node, WindowAggregate
from panewise.plan.run_instant import begun_at, instant_now, reads_the_clock
from panewise.planner.choices import Stats
from panewise.progress.late import LatePolicy
from panewise.progress.policy import check_policies
from panewise.queries.admission import AsideFile, InputRules

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
    bad_rows: Callable[[], pa.Table] | None = None
    """The bad rows that were put aside."""

    def collect(self) -> Results:
        """Everything at once."""
        tables = list(self.tables)
        late, status = self.finish()
        report = self.late_report() if self.late_report is not None else None
        bad = self.bad_rows() if self.bad_rows is not None else None
        return Results(pa.concat_tables(tables) if tables else self.empty, late, status, report, bad)


def run_local(plan: Node, streams: Mapping[str, LocalStream], *, engine: str, late: str = "generous",
              progress: str | Mapping[str, str] = "source", checkpoint: str | Path | None = None,
              on_item: OnItem | None = None, emit: str = "final", strategy: str = "auto",
              stats: Stats = None, joins: str = "auto", rules: InputRules | None = None,
              on_late: Callable[[pa.Table], object] | None = None,
              beside: Mapping[str, Transaction] | None = None) -> LocalRun:
    """Start a run; ``on_item`` sees everything that is read, for a progress display, and ``on_late`` late rows.

    Where ``on_late`` takes late rows none is kept. ``beside`` are outputs that take part in checkpoints.
    """
    if engine == "oracle":
        check_final(emit, engine)
        if checkpoint is not None:
            raise PlanError("the oracle keeps no checkpoint: it reads everything each time; leave the checkpoint out")
        for option, given in (("strategy", strategy), ("joins", joins), ("stats", stats or "auto")):
            if given != "auto":
                raise PlanError(f"{option}={given!r}: the oracle computes by definition, and there is nothing to "
                                f"choose; leave out {option}")
        check_policies(progress, streams)
        return _on_oracle(begun_at(plan, instant_now()), streams, late, progress, rules or InputRules(), on_late)

    def opened(instant: datetime) -> RunningQuery:
        found = open_plan(begun_at(plan, instant), late=late, progress=progress, emit=emit, strategy=strategy,
                         stats=stats, joins=joins, rules=rules)
        if on_late is not None:
            found.on_late(on_late)
        return found

    began = instant_now()
    query = opened(began)  # what is refused is refused before a checkpoint is touched
    attribute = windowing_attribute(plan)
    inputs = {n: _watched(n, streams[n].items(attribute=ordered_by(streams[n], attribute)), on_item)
              for n in query.streams if n in streams}
    label = None if checkpoint is None else CheckpointLabel.claim(
        Path(checkpoint), plan, streams, engine=engine, late=late, progress=progress, began=began)
    if label is not None and label.began_before(began) and reads_the_clock(plan):
        query = opened(label.began)
    tables = run_embedded(plan, inputs, query=query, checkpoint=None if label is None else label.store,
                          keep_results=True, beside=beside)
    if label is not None:
        tables = _labelled(tables, label)
    return LocalRun(tables, lambda: (query.late_rows, query.status()), query.nothing(), lambda: query.late_report,
                    lambda: query.bad_rows)


def check_final(emit: str, engine: str) -> None:
    """The oracle corrects nothing: it knows everything before it speaks."""
    if emit.strip().lower() != "final":
        raise PlanError(f"early results (emit={emit!r}) come from the embedded engine and from streams on Spark; the "
                        f"{engine} gives final ones")


def _labelled(tables: Iterator[pa.Table], label: CheckpointLabel) -> Iterator[pa.Table]:
    try:
        yield from tables
        label.end()
    finally:
        label.close()


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
               progress: str | Mapping[str, str], rules: InputRules,
               on_late: Callable[[pa.Table], object] | None = None) -> LocalRun:
    found: list[tuple[str, BadRow]] = []

    def note(stream: str, bad: Iterable[BadRow]) -> None:
        rows = tuple(bad)
        rules.bad_rows.refuse(rows, stream)
        found.extend((stream, row) for row in rows)

    timeline = timeline_of(streams, windowing_attribute(plan), note)
    oracle = Oracle(plan, timeline, late=late, progress=progress, max_jump=rules.max_jump,
                    tolerant=not rules.bad_rows.stops)
    table = oracle.table()
    late_rows = oracle.late_rows()
    for stream, reason, row in oracle.bad_rows():
        note(stream, [BadRow(f"stream {stream!r}", reason, row=str(row))])
    aside = rules.bad_rows.action is BadRowAction.ASIDE
    if aside and rules.bad_rows.path is not None and found:
        AsideFile(rules.bad_rows.path).add(found)
    rows = sum(arrival.is_row for arrival in timeline)
    if on_late is not None and late_rows:
        on_late(pa.Table.from_pylist(late_rows))
    kept = late_rows[max(0, len(late_rows) - rules.late_keep) :] if on_late is None else []
    status = {"rows": rows, "late": len(late_rows), "bad": len(found), "late_policy": LatePolicy.parse(late).value,
              "late_forgotten": len(late_rows) - len(kept) if on_late is None else 0}
    return LocalRun(iter([table]), lambda: (pa.Table.from_pylist(kept), status), table.slice(0, 0),
                    bad_rows=lambda: bad_row_table(found if aside and rules.bad_rows.path is None else []))
