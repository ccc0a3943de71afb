"""Run a plan over finite or endless inputs, with checkpoints from which a killed run goes on exactly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from panewise.core.errors import CheckpointError, PlanError
from panewise.engines.embedded.checkpoint import CheckpointDirectory
from panewise.engines.embedded.inputs import RowsIn
from panewise.engines.embedded.query import EmbeddedQuery, Progress
from panewise.files.parts import NumberedParts
from panewise.plan.nodes import Node
from panewise.progress.late import LatePolicy
from panewise.progress.punctuation import Punctuation

CHECKPOINT_ROWS = 1_000_000
RESULTS = "results"
"""The folder of a checkpoint that keeps results."""


@dataclass
class Position:
    """How much of one input was taken: it does not depend on how the input is cut into batches."""

    rows: int = 0
    punctuation: int = 0

    def count(self, item: RowsIn | Punctuation) -> None:
        """One more item was taken."""
        if isinstance(item, Punctuation):
            self.punctuation += 1
        else:
            self.rows += _length(item)


def run_embedded(plan: Node, inputs: Mapping[str, Iterable[RowsIn | Punctuation]], *, late: str | LatePolicy = "drop",
                 progress: Progress = "source", checkpoint: str | Path | None = None,
                 checkpoint_rows: int = CHECKPOINT_ROWS, keep_results: bool = False,
                 query: EmbeddedQuery | None = None) -> Iterator[pa.Table]:
    """Results as windows close, until all inputs have ended.

    Inputs take turns, one item each. With a ``checkpoint`` directory the state is saved every ``checkpoint_rows`` rows
    and at the end; what was yielded before is then never yielded again. After a restart inputs are read from their
    beginning and what the checkpoint has counted is skipped. Pass ``query`` to look at its status while it runs.

    With ``keep_results`` the checkpoint holds the results as well, and a run yields those of all runs before it first:
    its rows are exactly those of a run that was never interrupted.
    """
    running = query or EmbeddedQuery(plan, late=late, progress=progress)
    if missing := [name for name in running.streams if name not in inputs]:
        raise PlanError(f"no input for the stream {missing[0]!r}; given: {', '.join(inputs) or 'none'}")
    return _run(running, {name: inputs[name] for name in running.streams},
                None if checkpoint is None else CheckpointDirectory(checkpoint), checkpoint_rows,
                NumberedParts(Path(checkpoint) / RESULTS) if checkpoint is not None and keep_results else None)


def _run(query: EmbeddedQuery, inputs: Mapping[str, Iterable[RowsIn | Punctuation]],
         directory: CheckpointDirectory | None, every: int, parts: NumberedParts | None) -> Iterator[pa.Table]:
    positions = {name: Position() for name in inputs}
    turn = 0
    if directory is not None and (data := directory.load()) is not None:
        positions, turn = _restored(query, data, list(inputs))
    if parts is not None:
        parts.drop_above(turn)  # written, but the state that counts them was not: they come again
        yield from map(parts.read, parts.numbers())
    pending: list[pa.Table] = []
    names = list(inputs)
    items = {name: _skip(iter(inputs[name]), positions[name], name) for name in names}
    unsaved = 0
    while items:
        name = names[turn % len(names)]
        turn += 1
        if name not in items:
            continue
        item = next(items[name], None)
        if item is None:
            del items[name]
            results = query.finish(name)
        else:
            results = query.push(name, item)
            positions[name].count(item)
            unsaved += 0 if isinstance(item, Punctuation) else _length(item)
        if results.num_rows:
            if parts is not None:
                pending.append(results)
            yield results
        if directory is not None and (unsaved >= every or not items):
            if parts is not None and pending:
                parts.write(turn, pa.concat_tables(pending))
            pending.clear()
            directory.save(query.snapshot(_extra(positions, turn)))
            unsaved = 0


def _extra(positions: Mapping[str, Position], turn: int) -> dict[str, Any]:
    return {"positions": {n: [p.rows, p.punctuation] for n, p in positions.items()}, "turn": turn}


def _restored(query: EmbeddedQuery, data: bytes, names: list[str]) -> tuple[dict[str, Position], int]:
    extra = query.restore(data)
    saved = extra.get("positions", {})
    if sorted(saved) != sorted(names):
        raise CheckpointError(f"the checkpoint has positions of {', '.join(saved) or 'no input'}, "
                              f"the run has {', '.join(names)}")
    return {n: Position(*saved[n]) for n in names}, int(extra["turn"])


def _skip(items: Iterator[RowsIn | Punctuation], done: Position, name: str) -> Iterator[RowsIn | Punctuation]:
    """What comes after the position."""
    rows, promises = done.rows, done.punctuation
    for item in items:
        if isinstance(item, Punctuation):
            if promises == 0:
                yield item
            promises = max(promises - 1, 0)
        elif rows >= (length := _length(item)):
            rows -= length
            if not length:
                yield item
        else:
            yield item[rows:] if isinstance(item, list) else item.slice(rows) if rows else item  # type: ignore[union-attr]
            rows = 0
    if rows or promises:
        raise CheckpointError(f"the input {name!r} has fewer rows or punctuation than the checkpoint has counted: "
                              "it is not the input the checkpoint was made with")


def _length(item: RowsIn) -> int:
    return item.num_rows if isinstance(item, pa.RecordBatch | pa.Table) else len(item)
