"""Rows of panewise's own sources on Spark: those that can be used, and what is told of the others.

A source that may go on with bad rows hands them on, marked in a side column, so that the query counts them or puts them
aside; a row without a time is handed on as it is, because WHERE may leave it out. Rows come in their order of arrival
here, so jumps of time are found here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from panewise.core.bad_rows import BadRow, BadRowAction, BadRowPolicy
from panewise.core.ordinals import Ordinals
from panewise.dataflow.times_of_rows import TimeRule, row_text
from panewise.engines.spark.host.wire import BAD, CONTROL, POSITION, ROW_BOUND
from panewise.engines.spark.io.file_pieces import Piece
from panewise.progress.watermarks import NO_BOUND


@dataclass(frozen=True)
class Gated:
    """What a piece comes to; places count its lines or rows from 0."""

    timed: pa.Table
    timed_places: Ordinals
    untimed: pa.Table
    untimed_places: Ordinals
    bad: dict[int, BadRow] = field(default_factory=dict)


@dataclass
class RowGate:
    """Looks at the pieces of a stream in their order."""

    attribute: str
    rule: TimeRule
    tolerant: bool
    newest: int | None = None
    """The newest time so far, where jumps are looked for."""

    @property
    def jumps(self) -> bool:
        """Whether the order of rows decides which are bad."""
        return self.rule.jump is not None

    def admit(self, piece: Piece) -> Gated:
        """The rows of a piece; one that is bad is an error, unless bad rows may be."""
        table, bad = piece.read()
        places = np.arange(piece.size) if not bad else np.setdiff1d(np.arange(piece.size), np.array(list(bad)))
        none = table.slice(0, 0), places[:0]
        if not (self.tolerant or self.jumps) or self.attribute not in table.column_names or not table.num_rows:
            return Gated(table, places, *none, bad)
        column = table.column(self.attribute)
        judged = self.rule.judged(column, self.newest)
        for at, reason in judged.wrong.items():
            bad[int(places[at])] = BadRow(piece.place(int(places[at])), reason, self.attribute, row_text(table, at))
        if not self.tolerant:
            BadRowPolicy(BadRowAction.STOP).refuse([bad[at] for at in sorted(bad)], piece.path.name)
        self.newest = judged.newest
        if judged.sound.all():
            return Gated(table, places, *none, bad)
        missing = column.is_null().to_numpy(zero_copy_only=False).astype(np.bool_)
        return Gated(table.filter(pa.array(judged.sound)), places[judged.sound], table.filter(pa.array(missing)),
                     places[missing], bad)


def wire_rows(rows: pa.Table, bounds: Ordinals | None, positions: Ordinals, schema: pa.Schema) -> pa.Table:
    """Rows with their side columns; ``bounds`` are null for none."""
    beside = {POSITION: pa.array(positions, pa.int64()),
              ROW_BOUND: pa.nulls(rows.num_rows, pa.int64()) if bounds is None else bounds}
    blank = (CONTROL, BAD)
    return pa.table([rows.column(f.name) if f.name in rows.column_names else
                     pa.nulls(rows.num_rows, f.type) if f.name in blank else beside[f.name] for f in schema],
                    schema=schema).combine_chunks()


def wire_bad(bad: dict[int, BadRow], first: int, schema: pa.Schema) -> pa.Table:
    """Bad rows on the wire: what is wrong with each, and nothing else."""
    places = sorted(bad)
    texts = [json.dumps({"place": b.place, "column": b.column, "reason": b.reason, "row": b.row}, ensure_ascii=False)
             for b in (bad[at] for at in places)]
    beside = {BAD: texts, POSITION: [first + at for at in places]}
    return pa.table([pa.array(beside.get(f.name, [None] * len(places)), f.type) for f in schema], schema=schema)


def control_rows(texts: list[str], bound: int, schema: pa.Schema) -> pa.Table:
    """Punctuation as rows; ``bound`` is what all of it together promises of all rows."""
    beside = {CONTROL: texts, ROW_BOUND: [bound if bound != NO_BOUND else None] * len(texts)}
    return pa.table([pa.array(beside.get(f.name, [None] * len(texts)), f.type) for f in schema], schema=schema)
