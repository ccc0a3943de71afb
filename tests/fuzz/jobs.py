"""The job that is broken again and again: a window query with kept results, result parts and a sender that forgets.

It uses everything that state on disk is for: a labelled checkpoint, results kept inside it, parts in a directory, and a
source that never again gives what was acknowledged. Whatever happens to it, when it is started often enough it must end
with the rows of the definition.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from embedded.disordered import PLAN, cut, disordered
from embedded.plans import bag
from oracle.questions import Oracle
from panewise.core.errors import PanewiseError
from panewise.dataflow import open_plan
from panewise.engines.checkpoints import CheckpointLabel
from panewise.engines.embedded import EmbeddedRun
from panewise.engines.embedded.positions import AnyItem, Position, skip
from panewise.engines.embedded.sinks import PartsSink
from panewise.engines.embedded.sources.base import StreamSource
from panewise.planner.options import RunOptions
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival

ROWS = 240
CHECKPOINT_ROWS = 60
LATE = "drop"


def quiet() -> None:
    """Say nothing."""


class ForgetfulSender(StreamSource):
    """Gives rows and promises after a position, and has forgotten all that were ever acknowledged."""

    def __init__(self, memory: Path, batch: int, say: Callable[[], object] = quiet) -> None:
        self.memory, self.batch, self.say = memory, batch, say

    def items(self, after: Position) -> Iterator[AnyItem]:
        """What follows; a run that asks for what was acknowledged has lost it."""
        rows, promises = json.loads(self.memory.read_text()) if self.memory.exists() else (0, 0)
        if after.rows < rows or after.punctuation < promises:
            raise AssertionError(f"{rows} rows and {promises} promises were acknowledged, not {after}")
        for item in skip(cut(disordered(ROWS), [self.batch]), after, "s"):
            self.say()
            yield item

    def acknowledge(self, position: Position) -> None:
        """Forget what came before."""
        staged = self.memory.with_suffix(".new")
        staged.write_text(json.dumps([position.rows, position.punctuation]))
        staged.replace(self.memory)


def run_job(home: Path, *, batch: int = 20, say: Callable[[], object] = quiet) -> list[dict[str, Any]]:
    """Start it, or go on with it; all its results, those of earlier runs first."""
    label = CheckpointLabel.claim(home / "state", PLAN, {"s": "a sender"}, RunOptions(late=LATE),
                                  engine="embedded")
    try:
        run = EmbeddedRun(open_plan(PLAN, late=LATE), {"s": ForgetfulSender(home / "acknowledged", batch, say)},
                          checkpoint=label.store, checkpoint_rows=CHECKPOINT_ROWS, keep_results=True,
                          sinks=[PartsSink(home / "out", ".ndjson")])
        rows = [row for table in run.tables() for row in table.to_pylist()]
        label.end()
        return rows
    finally:
        label.close()


def parts(home: Path) -> list[dict[str, Any]]:
    """What a reader of the result directory finds."""
    found = sorted((home / "out").glob("part-*.ndjson"))
    return [json.loads(line) for part in found for line in part.read_text().splitlines()]


def defined() -> Counter[str]:
    """What the job must end with."""
    arrivals = [Arrival("s", one) for item in cut(disordered(ROWS), [20])
                for one in ([item] if isinstance(item, Punctuation) else _rows(item))]
    return bag(Oracle(PLAN, arrivals, late=LATE).results())


def _rows(item: Any) -> list[dict[str, Any]]:
    return item.to_pylist() if isinstance(item, pa.RecordBatch | pa.Table) else list(item)


def wrong(home: Path, expected: Counter[str]) -> str:
    """Finish the job and say what is wrong with its results; nothing, if they are right."""
    kept, seen = bag(run_job(home)), bag(parts(home))
    if kept != expected:
        return f"kept: {kept - expected} too many, {expected - kept} missing"
    return "" if seen == expected else f"parts: {seen - expected} too many, {expected - seen} missing"


def refused_or_right(home: Path, expected: Counter[str]) -> str:
    """What a job whose files were damaged does: ``refused`` with its reason, or ``right``; all else is an error."""
    try:
        problem = wrong(home, expected)
    except PanewiseError as error:
        return f"refused: {error}"
    if problem:
        raise AssertionError(problem)
    return "right"
