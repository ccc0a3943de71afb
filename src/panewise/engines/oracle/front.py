"""The oracle behind the contract of all engines: everything is read, then there is one answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa

from panewise.core.bad_rows import BadRow, BadRowAction, BadRowPolicy, BadRows, bad_row_table
from panewise.engines.contract import (
    ALONE,
    Around,
    Engine,
    InputStream,
    RunningResults,
    ordered_by,
    place_in,
    windowing_attribute,
)
from panewise.engines.oracle.engine import Oracle
from panewise.engines.oracle.usable import Bad
from panewise.plan.nodes import Node
from panewise.plan.run_instant import begun_at, instant_now
from panewise.planner.explain.plan_text import Format, explain
from panewise.planner.legal.capabilities import check
from panewise.planner.options import Mode, RunOptions
from panewise.progress.late import LatePolicy
from panewise.progress.policy import check_policies
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Timeline
from panewise.storage.side_file import AsideFile


class OracleEngine(Engine):
    """By definition: slow, and obviously right."""

    def check(self, plan: Node, inputs: Mapping[str, InputStream], options: RunOptions) -> None:
        """It runs every plan, and has nothing to choose."""
        check(plan, "oracle")
        options.refuse_for(plan, Mode.ORACLE)
        check_policies(options.progress, inputs)

    def explain(self, plan: Node, inputs: Mapping[str, InputStream], options: RunOptions,
                format: Format = "text") -> str:
        """What the plan means: there is no other way to compute it."""
        return explain(plan, format)

    @staticmethod
    def _placed(bad: Bad, stream: InputStream, attribute: str | None, policy: BadRowPolicy) -> BadRow:
        """A bad row as reports have it; the one that stops a run with its place."""
        if not policy.stops:
            return BadRow(f"stream {bad.stream!r}", bad.problem, row=str(bad.row))
        return BadRow.of_stream(bad.stream, bad.number, bad.problem).located(place_in(stream, attribute))

    def run(self, plan: Node, inputs: Mapping[str, InputStream], options: RunOptions,
            around: Around = ALONE) -> RunningResults:
        """All results, in one table."""
        self.check(plan, inputs, options)
        found: list[tuple[str, BadRow]] = []

        def note(stream: str, bad: Iterable[BadRow]) -> None:
            rows = tuple(bad)
            options.bad_rows.refuse(rows, stream)
            found.extend((stream, row) for row in rows)

        timeline: Timeline = []
        attribute = windowing_attribute(plan)
        for name, stream in inputs.items():
            for item in stream.items(attribute=ordered_by(stream, attribute)):
                if isinstance(item, BadRows):
                    note(name, item.rows)
                elif isinstance(item, Punctuation):
                    timeline.append(Arrival(name, item))
                else:
                    timeline.extend(Arrival(name, row) for row in item.to_pylist())
        oracle = Oracle(begun_at(plan, instant_now()), timeline, late=options.late.value, progress=options.progress,
                        max_jump=options.max_jump, tolerant=True)
        for bad in oracle.bad_rows():
            note(bad.stream, [self._placed(bad, inputs[bad.stream], attribute, options.bad_rows)])
        table, late_rows = oracle.table(), oracle.late_rows()
        aside = found if options.bad_rows.action is BadRowAction.ASIDE else []
        if options.bad_rows.path is not None and aside:
            AsideFile(options.bad_rows.path).add(aside)
        if around.on_late is not None and late_rows:
            around.on_late(pa.Table.from_pylist(late_rows))
        keeps = around.on_late is None and options.late is not LatePolicy.DROP
        kept = late_rows[max(0, len(late_rows) - options.late_keep) :] if keeps else []
        status = {"rows": sum(arrival.is_row for arrival in timeline), "late": len(late_rows), "bad": len(found),
                  "late_policy": options.late.value,
                  "late_forgotten": len(late_rows) - len(kept) if keeps else 0}
        return RunningResults(iter([table]), lambda: (pa.Table.from_pylist(kept), status), table.slice(0, 0),
                              bad_rows=lambda: bad_row_table(aside if options.bad_rows.path is None else []))
