"""The border of the embedded engine: rows are checked, numbered and given the bound in force when they came."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from panewise.core.bad_rows import BadRow, BadRowPolicy
from panewise.core.columns import INT64
from panewise.core.errors import SchemaError, shown
from panewise.core.names import unknown_name
from panewise.core.ordinals import LIMIT, OrdinalKind, Ordinals, to_ordinals
from panewise.core.schema import SourceSchema
from panewise.core.tables import as_table, once_each
from panewise.dataflow.batch import Batch
from panewise.dataflow.guard import Describe, Guard
from panewise.dataflow.origins import in_words
from panewise.dataflow.signs import column_of_signs, signs_of, tells_signs
from panewise.dataflow.times_of_rows import TimeRule, row_text
from panewise.planner.facts.result_forms import CHANGE
from panewise.progress.generators import Bounds
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import NO_BOUND

RowsIn: TypeAlias = pa.RecordBatch | pa.Table | Sequence[Mapping[str, Any]] | Mapping[str, Any]
"""Rows as a program has them: Arrow, one row, or several; also whatever has ``__arrow_c_stream__``, pandas included."""

PLAIN = pa.timestamp("us", tz="UTC"), INT64
"""Types whose values are ordinals as they stand."""


def plain_rows(item: RowsIn, stream: str) -> RowsIn:
    """Arrow rows or a list of mappings, of whatever a program pushes."""
    if isinstance(item, pa.RecordBatch | pa.Table):
        return item
    found = as_table(item, stream)
    if found is not None:
        return found
    if not isinstance(item, Iterable):
        raise SchemaError(f"stream {stream!r}: rows cannot be a {type(item).__name__}: push a mapping, a list of "
                          "mappings, or a table of Arrow, pandas or Polars")
    return [item] if isinstance(item, Mapping) else item if isinstance(item, Sequence) else list(item)


@dataclass(frozen=True)
class Checked:
    """Rows under the declared columns."""

    table: pa.Table
    bad: dict[int, BadRow] = field(default_factory=dict)
    """What is wrong with the others, by place."""
    places: Ordinals | None = None
    """Where the rows of the table stood; None: all of them are there."""
    signs: Ordinals | None = None
    """Of a table, which rows come and which go, by place; None: all come."""

    def without(self, bad: Mapping[int, BadRow]) -> Checked:
        """With more rows left out, by their places."""
        if not bad:
            return self
        before = np.arange(self.table.num_rows) if self.places is None else self.places
        keep = ~np.isin(before, list(bad))
        return replace(self, table=self.table.filter(pa.array(keep)).combine_chunks(), bad={**bad, **self.bad},
                       places=before[keep])


class StreamInput:
    """One stream at the border: its columns, its rows so far, and what has been promised of it."""

    def __init__(self, name: str, schema: SourceSchema, attribute: str | None, needed: Sequence[str],
                 describe: Describe) -> None:
        self.name, self.schema, self.attribute, self.describe = name, schema, attribute, describe
        self.guard, self.generator = Guard(attribute), describe.generator
        self.needed = [*dict.fromkeys([*needed, *self.generator.columns, *([attribute] if attribute else [])])]
        self.first: int | None = None
        """The earliest instant at which a row came, where ``notes_first``; a late one, at its bound, if that counts."""
        self.notes_first = self.notes_late = False
        self.rows = 0
        self.place: Callable[[int], str] | None = None
        """Where a row stands, by its number, if its source knows."""
        self.places_aside = False
        """Whether it is also asked for rows that are put aside."""
        self.after = 0
        """What is added to the numbers of its rows among all: where streams are ordered, they follow those before."""
        self.numbered = True
        """Whether its rows are all there are, so that their numbers are those of the stream."""
        self.finished = False
        self._names = list(schema.columns)
        self._usual: pa.Schema | None = None

    def take(self, table: pa.Table, arrived: int, places: Ordinals | None = None) -> tuple[Batch, list[Punctuation]]:
        """Number checked rows; also the promises the generator makes of them, to be passed on after them.

        ``places`` say where the rows stood among those that arrived, where some were left out.
        """
        count, table = table.num_rows, self._complete(table)
        values, made = None, []
        if self.attribute is None:
            bounds: Bounds = np.full(count, NO_BOUND, np.int64)
        else:
            values, high = self._looked_at(table, self.attribute)
            seen = self.describe.observe(table, values, high)
            bounds, made = self.guard.stamp(table, values, seen), self.describe.promises(seen.after)
        first, arrived = self.rows + 1, self.after + arrived
        numbers = range(first, first + count) if places is None else first + places
        batch = Batch(table, self.name, numbers, range(arrived + 1, arrived + 1 + count), bounds,
                      values, told=None if self.numbered and self.place is None else self._told)
        return batch, made

    def _told(self, batch: Batch, at: int) -> str:
        """A row that has no number here, or stands in a file."""
        if self.numbered:
            return in_words(self.name, int(batch.rows[at]), self.place)
        of = f"stream {self.name!r}"
        if batch.values is None or self.attribute is None:
            return of
        time = self.schema.ordinal_kind(self.attribute).text(int(batch.values[at]))
        return f"{of}, a row of {self.attribute} = {time}"

    def _complete(self, table: pa.Table) -> pa.Table:
        """All declared columns; those that were not given are null."""
        columns = self.schema.columns
        if not columns or table.column_names == self._names:
            return table
        given = set(table.column_names)
        return pa.table([table.column(n) if n in given else pa.nulls(table.num_rows, t) for n, t in columns.items()],
                        names=self._names)

    def came(self, batch: Batch) -> None:
        """Rows have been taken in."""
        if self.notes_first and batch.values is not None:
            times = np.maximum(batch.values, batch.bounds) if self.notes_late else \
                batch.values[batch.values >= batch.bounds]
            if len(times):
                earliest = int(times.min())
                self.first = earliest if self.first is None else min(self.first, earliest)

    def promise(self, punctuation: Punctuation) -> bool:
        """Take in a promise; False when it says nothing new."""
        self.finished |= punctuation.covers_everything
        return self.guard.promise(punctuation)

    # -- checking

    def no_rows(self) -> pa.Table:
        """No rows, with the declared columns."""
        return pa.schema(list(self.schema.columns.items())).empty_table()

    def checked(self, item: RowsIn) -> Checked:
        """The rows as a table of the declared columns; a column that does not fit is an error, a row that does not is
        bad."""
        if isinstance(item, pa.RecordBatch):
            table = pa.Table.from_batches([item])
            if self._usual is not None and item.schema.equals(self._usual):
                return Checked(table)
        elif isinstance(item, pa.Table):
            table = item.combine_chunks()
            if self._usual is not None and item.schema.equals(self._usual):
                return Checked(table)
        else:
            plain = plain_rows(item, self.name)
            return self.checked(plain) if isinstance(plain, pa.Table) else self._from_rows(plain)  # type: ignore[arg-type]
        given = dict.fromkeys(table.column_names)  # asked for once: Arrow makes the list anew each time
        if len(given) < table.num_columns:
            once_each(table.column_names, f"stream {self.name!r}, row {self.rows + 1}")
        for name in self.needed:
            if name not in given:
                raise SchemaError(f"stream {self.name!r}, row {self.rows + 1}: "
                                  f"{unknown_name('column', name, table.column_names)}")
        if not self.schema.columns:
            return Checked(table)
        for name in given:
            if name not in self.schema.columns and not tells_signs(self.schema, (name,)):
                raise SchemaError(f"stream {self.name!r}, row {self.rows + 1}: the rows have a column {name!r}, which "
                                  f"was not declared: {unknown_name('column', name, self.schema.columns)}")
        names = [n for n in self.schema.columns if n in given]
        if names == table.column_names and all(table.schema.field(n).type == self.schema.columns[n] for n in names):
            self._usual = table.schema  # the next batches of this schema need no look
            return Checked(table)
        columns, unfit = [], dict[int, BadRow]()
        for name in names:
            column, reasons = self._typed(table.column(name), name, self.schema.columns[name])
            columns.append(column)
            for at, reason in reasons.items():
                unfit.setdefault(at, BadRow.of_stream(self.name, self.rows + 1 + at, reason, name, row_text(table, at)))
        checked = Checked(pa.table(columns, names=names)).without(unfit)
        if not tells_signs(self.schema, table.column_names):
            return checked
        signs, wrong = column_of_signs(self.name, self.schema, table.column(CHANGE))
        bad = {at: BadRow.of_stream(self.name, self.rows + 1 + at, reason, CHANGE, row_text(table, at))
               for at, reason in wrong.items()}
        return replace(checked, signs=signs).without(bad)

    def _typed(self, column: pa.ChunkedArray, name: str,
               expected: pa.DataType) -> tuple[pa.ChunkedArray, dict[int, str]]:
        """A column in its type, and by place what is wrong with the values that this cannot hold."""
        if column.type == expected:
            return column, {}
        text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type) or \
            pa.types.is_string_view(column.type)
        wanted = pa.types.is_string(expected) or pa.types.is_large_string(expected)
        truth = pa.types.is_boolean(column.type) != pa.types.is_boolean(expected)
        if ((text != wanted and not pa.types.is_dictionary(column.type)) or truth) and column.type != pa.null():
            raise SchemaError(f"stream {self.name!r}, row {self.rows + 1}: {name!r} is {column.type}, expected "
                              f"{expected}; convert the column before it is pushed")
        try:
            column.slice(0, 0).cast(expected)
        except pa.ArrowException as error:
            raise SchemaError(f"stream {self.name!r}, from row {self.rows + 1}: {name!r} is {column.type}, expected "
                              f"{expected}: {error}") from error
        wrong: dict[int, tuple[str, str]] = {}
        parts = list(_cast(column, expected, 0, wrong))
        return pa.chunked_array(parts, expected).combine_chunks(), {
            at: f"{name!r} is {value}, expected {expected}{why}" for at, (value, why) in wrong.items()}

    def _from_rows(self, rows: Sequence[Mapping[str, Any]]) -> Checked:
        for i, row in enumerate(rows):
            if not isinstance(row, Mapping):
                raise SchemaError(f"stream {self.name!r}, row {self.rows + 1 + i}: a row is a mapping from columns to "
                                  f"values, not {type(row).__name__}: {str(row)[:60]}")
        columns = self.schema.columns
        if not columns:
            return self.checked(pa.Table.from_pylist(list(rows)))
        bad: dict[int, BadRow] = {}
        known = columns.keys()
        for i, row in enumerate(rows):
            if not row.keys() <= known and (wrong := [n for n in row if n not in known
                                                      and not tells_signs(self.schema, (n,))]):
                bad[i] = self._bad(row, i, wrong[0], unknown_name("column", wrong[0], columns))
        arrays = []
        for name, kind in columns.items():
            array, wrong_at = fitted([row.get(name) for row in rows], kind)
            arrays.append(array)
            for i in wrong_at:
                problem = f"{name!r} is {shown(rows[i].get(name))}, expected {kind}"
                bad.setdefault(i, self._bad(rows[i], i, name, problem))
        signs = None
        if any(tells_signs(self.schema, tuple(row)) for row in rows):  # a row that does not say so comes
            signs, neither = signs_of(self.name, self.schema, [row.get(CHANGE, 1) for row in rows])
            for i, reason in neither.items():
                bad.setdefault(i, self._bad(rows[i], i, CHANGE, reason))
        return Checked(pa.table(arrays, names=list(columns)), signs=signs).without(bad)

    def _bad(self, row: Mapping[str, Any], at: int, column: str, reason: str) -> BadRow:
        return BadRow.of_stream(self.name, self.rows + 1 + at, reason, column, text_of_row(row))

    def ordinals(self, table: pa.Table, name: str) -> Ordinals:
        """A column by which rows are ordered; an error names the row."""
        return self._looked_at(table, name)[0]

    def _looked_at(self, table: pa.Table, name: str) -> tuple[Ordinals, int | None]:
        """The windowing attribute, and its largest value if that is known."""
        column = table.column(name)
        usual = column.type in PLAIN and column.num_chunks == 1
        if usual and column.null_count == 0 and len(column):  # without a copy
            array = column.chunk(0)
            values: Ordinals = np.frombuffer(array.buffers()[1], np.int64, len(array), 8 * array.offset)
            values.flags.writeable = False  # whatever memory it is: compiled loops know two kinds of arrays
            high = int(np.maximum.reduce(values))
            if high < LIMIT and np.minimum.reduce(values) > -LIMIT:
                return values, high
        try:
            return to_ordinals(column, name, first_row=self.rows + 1), None
        except SchemaError as error:
            raise self._unordered(column, name, error) from error

    def _unordered(self, column: pa.ChunkedArray, name: str, error: SchemaError) -> SchemaError:
        """What to say of times that cannot order rows: it is one row, or the column."""
        try:
            wrong = TimeRule(name).judged(column).wrong
        except SchemaError:
            wrong = {}
        if not wrong:
            return SchemaError(f"stream {self.name!r}, from row {self.rows + 1}: {error}")
        at = min(wrong)
        bad = BadRow.of_stream(self.name, self.rows + 1 + at, wrong[at], name)
        return BadRowPolicy.error(bad.located(self.place), self.name)

    # -- saving

    def snapshot(self) -> dict[str, Any]:
        """The state as data that JSON can hold."""
        return {"rows": self.rows, "finished": self.finished, "first": self.first,
                "generator": self.generator.snapshot(), "bounds": self.guard.bounds.snapshot()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Become what ``snapshot`` saved."""
        self.generator.restore(state["generator"])
        self.guard.bounds.restore(state["bounds"])
        self.rows, self.finished, self.first = state["rows"], state["finished"], state["first"]


def text_of_row(row: Mapping[str, Any]) -> str:
    """A row of a program as text, to be put aside."""
    try:
        return str(dict(row))
    except ValueError:  # an integer of thousands of digits
        return ", ".join(f"{name!r}: {shown(value)}" for name, value in row.items())


def fitted(values: Sequence[Any], expected: pa.DataType) -> tuple[pa.Array, list[int]]:
    """The values in their type, and the places of those that it cannot hold without a loss."""
    whole = pa.types.is_integer(expected) or pa.types.is_timestamp(expected) or pa.types.is_date(expected)
    read = OrdinalKind.of(expected).parse if whole and not pa.types.is_integer(expected) else None

    def one(value: Any) -> Any:
        if read is not None and isinstance(value, str | date):
            return read(value)
        if whole and isinstance(value, float | Decimal) and value != int(value):
            raise ValueError("it is no whole number")
        if isinstance(value, bool) and not pa.types.is_boolean(expected) and pa.types.is_primitive(expected):
            raise ValueError("it is a truth value")
        return value

    try:
        return pa.array([one(v) for v in values], expected), []
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        found: list[Any] = []
        wrong: list[int] = []
        for i, value in enumerate(values):
            try:
                found.append(pa.array([one(value)], expected)[0])
            except (pa.ArrowException, ValueError, TypeError, OverflowError):
                found.append(None)
                wrong.append(i)
        return pa.array([None if v is None else v.as_py() if not whole or read is None else v.value
                         for v in found], expected), wrong


def _cast(column: pa.ChunkedArray, expected: pa.DataType, start: int,
          wrong: dict[int, tuple[str, str]]) -> Iterator[pa.Array]:
    """The values of each half in their type, down to the single ones that it cannot hold: these are null, and noted."""
    why = ""
    try:
        found = column.cast(expected)
        if not (pa.types.is_date(expected) and pa.types.is_timestamp(column.type)) or \
                found.cast(column.type).equals(column):
            yield from found.chunks
            return
        why = ": a date has no time of day"
    except pa.ArrowException:
        pass
    if len(column) == 1:
        try:
            wrong[start] = shown(column[0].as_py()), why
        except (OverflowError, ValueError):  # a time that Python has no datetime for
            wrong[start] = str(column.cast(pa.string())[0]), why
        yield pa.nulls(1, expected)
        return
    half = len(column) // 2
    yield from _cast(column.slice(0, half), expected, start, wrong)
    yield from _cast(column.slice(half), expected, start + half, wrong)
