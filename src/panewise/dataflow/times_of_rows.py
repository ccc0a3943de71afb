"""What the time of a row has to be: there, near enough to zero to compute with, and no jump ahead of the newest row."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.errors import PlanError, QuantityError
from panewise.core.ordinals import LIMIT, OrdinalKind, Ordinals, to_ordinals
from panewise.core.schema import SourceSchema
from panewise.core.tables import shown_rows
from panewise.core.time import AmountGiven, Quantity


@dataclass(frozen=True)
class Judged:
    """What was found of the times of some rows."""

    sound: npt.NDArray[np.bool_]
    wrong: dict[int, str]
    """What is wrong with the others, by place; a time that is missing is not among it."""
    newest: int | None
    """The newest of all rows so far whose time is sound."""


@dataclass(frozen=True)
class TimeRule:
    """The rule of one column of one stream; ``max_jump`` is how far ahead of the newest row one may be."""

    column: str
    kind: OrdinalKind = OrdinalKind.INTEGER
    """What a value is, where a jump is measured."""
    max_jump: AmountGiven | None = None
    jump: int | None = None

    @classmethod
    def of(cls, stream: str, column: str, schema: SourceSchema, max_jump: AmountGiven | None) -> TimeRule:
        """From the option of an entry point."""
        if max_jump is None:
            return cls(column)
        kind = schema.ordinal_kind(column)
        try:
            found = kind.amount(Quantity.parse(max_jump if isinstance(max_jump, int | timedelta) else str(max_jump)))
        except QuantityError as error:
            raise PlanError(f"max_jump={max_jump!r} for {column!r} of stream {stream!r}: {error}") from error
        if found <= 0:
            raise PlanError(f"max_jump={max_jump!r}: the largest allowed jump must be greater than zero")
        return cls(column, kind, max_jump, found)

    def judged(self, column: pa.ChunkedArray, newest: int | None = None) -> Judged:
        """Look at times in their order of arrival, after those of which ``newest`` was the newest.

        >>> rule = TimeRule("ts", max_jump=10, jump=10)
        >>> rule.judged(pa.chunked_array([[1, None, 900, 6]]))
        Judged(sound=array([ True, False, False,  True]), wrong={2: "'ts' is 900, further ahead of the newest row than \
max_jump=10 allows"}, newest=6)
        """
        sound = column.is_valid().to_numpy(zero_copy_only=False).astype(np.bool_)
        values = _values(column, self.column, sound)
        wrong = {}
        for at in np.flatnonzero(sound & ((values >= LIMIT) | (values <= -LIMIT))).tolist():
            sound[at] = False
            wrong[at] = too_far(self.column, str(values[at]))
        if self.jump is not None:
            ahead, newest = _ahead(values, sound, self.jump, newest)
            for at in ahead:
                sound[at] = False
                wrong[at] = (f"{self.column!r} is {self.kind.text(int(values[at]))}, further ahead of the newest row "
                             f"than max_jump={self.max_jump!r} allows")
        return Judged(sound, wrong, newest)


def no_time(column: str) -> str:
    """What is wrong with a row without a time."""
    return f"{column!r} is null; every row needs a value of the windowing attribute"


def too_far(column: str, value: str) -> str:
    """What is wrong with a row whose time is no instant one can compute with."""
    return f"{column!r} is {value}, too far from zero to compute windows with: values must lie between -{LIMIT} and " \
           f"{LIMIT}"


def row_text(table: pa.Table, at: int) -> str:
    """A row of a table as text, to be put aside."""
    row = table.slice(at, 1)
    try:
        return json.dumps(shown_rows(row)[0], default=str, ensure_ascii=False)
    except pa.ArrowException:  # a time that no column of ours can hold
        return " ".join(row.to_string(preview_cols=row.num_columns).split())


def _values(column: pa.ChunkedArray, name: str, sound: npt.NDArray[np.bool_]) -> Ordinals:
    """Times as integers, with anything in the place of those that are missing; the largest stand for larger ones."""
    if pa.types.is_uint64(column.type):
        column = pc.min_element_wise(column, pa.scalar(2**63 - 1, pa.uint64())).cast(pa.int64())
    values = np.zeros(len(sound), np.int64)
    values[sound] = to_ordinals(column.drop_null() if column.null_count else column, name, limit=None)
    return values


def _ahead(values: Ordinals, sound: npt.NDArray[np.bool_], jump: int,
           newest: int | None) -> tuple[Sequence[int], int | None]:
    """Which rows jump, and the newest that does not: each is compared with the newest before it that did not."""
    places = np.flatnonzero(sound)
    if not len(places):
        return [], newest
    times = values[places]
    start = int(times[0]) if newest is None else newest
    before = np.maximum.accumulate(np.concatenate([[start], times[:-1]]))
    if not (times - before > jump).any():
        return [], max(start, int(times.max()))
    found: list[int] = []
    for place, time in zip(places.tolist(), times.tolist(), strict=True):  # a batch with a jump is rare
        if time - start > jump:
            found.append(place)
        elif time > start:
            start = time
    return found, start
