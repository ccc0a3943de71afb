"""The embedded engine behind the contract of all engines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from panewise.engines.contract import (
    ALONE,
    Around,
    Engine,
    InputStream,
    RunningResults,
    Watcher,
    ordered_by,
    windowing_attribute,
)
from panewise.engines.embedded.explaining import explain_streams
from panewise.engines.embedded.run import start_run
from panewise.files.reader import Item
from panewise.plan.nodes import Node
from panewise.planner.explain.plan_text import Format
from panewise.planner.legal.capabilities import check
from panewise.planner.options import Mode, RunOptions


class EmbeddedEngine(Engine):
    """In process, columnar, out of order; inputs take turns, one item each."""

    def check(self, plan: Node, inputs: Mapping[str, InputStream], options: RunOptions) -> None:
        """Refuse what a query refuses when it is opened."""
        check(plan, "embedded")
        options.refuse_for(plan, Mode.EMBEDDED)

    def explain(self, plan: Node, inputs: Mapping[str, InputStream], options: RunOptions,
                format: Format = "text") -> str:
        """The plan that a query of the same options obeys."""
        return explain_streams(plan, inputs, format, options)

    def run(self, plan: Node, inputs: Mapping[str, InputStream], options: RunOptions,
            around: Around = ALONE) -> RunningResults:
        """Results as windows close; with a checkpoint those of earlier runs come first."""
        attribute = windowing_attribute(plan)
        read = {n: _watched(n, stream.items(attribute=ordered_by(stream, attribute)), around.watch)
                for n, stream in inputs.items()}
        running = start_run(plan, read, inputs, options, on_late=around.on_late, beside=around.beside,
                            keep_results=True)
        query = running.query
        return RunningResults(running.tables(), lambda: (query.late_rows, query.status()), query.nothing(),
                              lambda: query.late_report, lambda: query.bad_rows)


def _watched(name: str, items: Iterator[Item], watch: Watcher | None) -> Iterator[Item]:
    for item in items:
        yield item
        if watch is not None:
            watch.item(name, item)
