"""What tasks hear of progress in a micro-batch, and what a shard makes of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.ordinals import Ordinals
from panewise.engines.spark.host.wire import CONTROL, INPUT, SILENT
from panewise.engines.spark.lower.fragment import ORDINAL
from panewise.engines.spark.lower.lineage import SINGLE, Origin
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import NO_BOUND

PROGRESS_COLUMN = "__pw_progress"
"""The ordinal that the bound follows, where an input has another column for it (progress policy ``column:c``)."""


@dataclass
class Heard:
    """What one task hears: punctuation among its rows, and the largest values where bounds follow them."""

    origins: tuple[Origin, ...]
    followed: tuple[str, ...]
    promises: list[list[Any]] = field(default_factory=list)
    highest: dict[str, int] = field(default_factory=dict)
    silent: dict[str, list[Any]] = field(default_factory=dict)
    """Of inputs that fell silent or woke up, where in the stream that was, and which it is."""

    def listen(self, table: pa.Table) -> pa.Table:
        """Take in a batch; its data rows."""
        if CONTROL in table.column_names:
            is_control = pc.is_valid(table.column(CONTROL))
            if pc.any(is_control).as_py():
                self._learn(table.filter(is_control))
                table = table.filter(pc.invert(is_control))
        if self.followed and table.num_rows:
            self._note_highest(table, table.column(ORDINAL).to_numpy())
        return table

    def news(self) -> dict[str, Any]:
        """For the shards."""
        return {"promises": self.promises, "highest": self.highest, "silent": self.silent}

    def _learn(self, rows: pa.Table) -> None:
        origins = {o.tag: o for o in self.origins}
        for tag, text in zip(_tags(rows), rows.column(CONTROL).to_pylist(), strict=True):
            said = json.loads(text)
            if SILENT in said:
                self.silent[tag] = max(self.silent.get(tag, [0, False]), [said["position"], said[SILENT]])
                continue
            for promise in origins[tag].read(said):
                self.promises.append([tag, promise.to_state()])

    def _note_highest(self, table: pa.Table, values: Ordinals) -> None:
        bounds = values
        if PROGRESS_COLUMN in table.column_names:
            bounds = pc.fill_null(table.column(PROGRESS_COLUMN), NO_BOUND).to_numpy()
        tags = np.array(_tags(table)) if INPUT in table.column_names else None
        for tag in self.followed:
            mine = bounds if tags is None else bounds[tags == tag]
            if len(mine):
                self.highest[tag] = max(self.highest.get(tag, NO_BOUND), int(mine.max()))


def told(news: Iterable[Mapping[str, Any]], behind: Mapping[str, tuple[str, int]]) -> list[tuple[str, Punctuation]]:
    """The promises that tasks heard in a micro-batch, each with its input.

    ``behind`` says of inputs whose bound follows their largest value which attribute it is of, and how far behind.
    """
    highest: dict[str, int] = {}
    promises: list[tuple[str, Punctuation]] = []
    for said in news:
        for tag, patterns in said.get("promises", []):
            promises.append((tag, Punctuation.from_state(patterns)))
        for tag, value in said.get("highest", {}).items():
            highest[tag] = max(highest.get(tag, NO_BOUND), int(value))
    for tag, value in highest.items():
        attribute, delay = behind[tag]
        if value >= NO_BOUND + delay:
            promises.append((tag, Punctuation.below(attribute, value - delay)))
    return promises


def silences(news: Iterable[Mapping[str, Any]]) -> dict[str, bool]:
    """The inputs that fell silent in a micro-batch, or woke up; of one that did both, what it did last."""
    last: dict[str, list[Any]] = {}
    for said in news:
        for tag, found in said.get("silent", {}).items():
            last[tag] = max(last.get(tag, [0, False]), found)
    return {tag: bool(silent) for tag, (_, silent) in last.items()}


def _tags(table: pa.Table) -> list[str]:
    return table.column(INPUT).to_pylist() if INPUT in table.column_names else [SINGLE] * table.num_rows
