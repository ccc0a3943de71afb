"""What may be given as a stream: files, Arrow or pandas tables, Python rows with punctuation, Spark DataFrames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from panewise.api.naming import time_of
from panewise.api.tables import TableInput
from panewise.core.bad_rows import MAX_LINE, BadRow, BadRowPolicy, BadRows
from panewise.core.errors import SchemaError, shown
from panewise.core.schema import SourceSchema
from panewise.core.tables import as_table
from panewise.dataflow.inputs import fitted, text_of_row
from panewise.files.json_rows import in_order
from panewise.files.reader import FileStream, Item
from panewise.files.types import normal_schema, normalise
from panewise.planner.options import RunOptions
from panewise.progress.punctuation import Punctuation

NOT_FITTING = pa.ArrowException, OverflowError, ValueError, TypeError
"""What Arrow raises at values of Python that it has no type for, or no one type."""


@dataclass(frozen=True)
class MemoryStream:
    """A finite stream in memory, in arrival order."""

    schema: SourceSchema
    arrow: pa.Schema
    parts: tuple[Item, ...]

    @classmethod
    def of_table(cls, table: pa.Table, time: str | None = None) -> MemoryStream:
        """All rows of a table, no punctuation."""
        arrow = normal_schema(table.schema)
        batches = normalise(table, arrow).to_batches()
        return cls(SourceSchema.of(arrow, time=time), arrow, tuple(batches))

    @classmethod
    def of_items(cls, items: Iterable[Mapping[str, Any] | Punctuation | pa.RecordBatch | pa.Table],
                 time: str | None = None, *, name: str = "stream", tolerant: bool = False) -> MemoryStream:
        """Rows (mappings), Arrow batches and punctuation, mixed, in arrival order.

        The type of a column is that of its values from the first on, as far as there is one for them; a row with
        another is an error, or if ``tolerant`` a bad row among the others.
        """
        runs: list[list[Mapping[str, Any]] | Punctuation | pa.Table] = []
        for item in items:
            if isinstance(item, Punctuation):
                runs.append(item)
            elif (found := as_table(item, name)) is not None:
                runs.append(found)
            elif not isinstance(item, Mapping):
                raise SchemaError(f"a stream is made of rows (mappings), tables and punctuation, and item "
                                  f"{sum(map(_length, runs)) + 1} is a {type(item).__name__}: {str(item)[:60]}")
            elif runs and isinstance(runs[-1], list):
                runs[-1].append(item)
            else:
                runs.append([item])
        rows = [row for run in runs if isinstance(run, list) for row in run]
        tables = [run for run in runs if isinstance(run, pa.Table)]
        if not rows and not tables:
            raise SchemaError("the stream has no row to learn its columns from: give an Arrow table with a schema")
        names = dict.fromkeys(name for row in rows for name in row if isinstance(name, str))  # not every row has all
        try:
            of_rows = pa.schema([pa.field(n, _type_of([row.get(n) for row in rows])) for n in names])
            schemas = [of_rows, *(t.schema for t in tables)]
            arrow = normal_schema(pa.unify_schemas(schemas, promote_options="permissive"))
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise SchemaError(f"a column of the stream has values of different types: {error}") from error
        schema = SourceSchema.of(arrow, time=time)
        parts: list[Item] = []
        before = 0
        for run in runs:
            if isinstance(run, Punctuation):
                parts.append(run.arriving(schema, "stream"))
                continue
            table, bad = _fitting(run, arrow, name, before) if isinstance(run, list) else (normalise(run, arrow), {})
            if bad and not tolerant:
                raise BadRowPolicy.error(bad[min(bad)], name)
            for part in in_order(table, bad, 0, len(run)):
                parts.extend([part] if isinstance(part, BadRows) else part.to_batches())
            before += len(run)
        return cls(schema, arrow, tuple(parts))

    @property
    def has_punctuation(self) -> bool:
        """Whether the data carries promises of its own."""
        return any(isinstance(p, Punctuation) for p in self.parts)

    def items(self, *, attribute: str | None = None) -> Iterator[Item]:
        """Batches and punctuation in arrival order."""
        del attribute  # punctuation objects already name theirs
        return iter(self.parts)

    def table(self) -> pa.Table:
        """All rows."""
        return pa.Table.from_batches([p for p in self.parts if isinstance(p, pa.RecordBatch)], schema=self.arrow)


def _type_of(values: list[Any]) -> pa.DataType:
    """The type of a column of Python values: one for all of them, or for as many as agree with those before."""
    try:
        return pa.array(values).type
    except NOT_FITTING:
        found = pa.null()
    for value in values:
        try:
            both = [pa.schema([("", kind)]) for kind in (found, pa.array([value]).type)]
            found = pa.unify_schemas(both, promote_options="permissive").field(0).type
        except NOT_FITTING:
            continue
    return found


def _fitting(rows: list[Mapping[str, Any]], schema: pa.Schema, stream: str,
             before: int) -> tuple[pa.Table, dict[int, BadRow]]:
    """The rows that fit the columns, and what is wrong with the others, by place."""
    columns, bad = [], dict[int, BadRow]()
    for at, row in enumerate(rows):
        if not named_by_text(row):
            key = next(name for name in row if not isinstance(name, str))
            bad[at] = BadRow.of_stream(stream, before + 1 + at, f"the key {shown(key)} is no text, which is what names "
                                       "a column", None, text_of_row(row))
    try:
        if not bad:
            return pa.Table.from_pylist(rows, schema=schema), {}
    except NOT_FITTING:
        pass
    for field in schema:
        column, wrong = fitted([row.get(field.name) for row in rows], field.type)
        columns.append(column)
        for at in wrong:
            value = rows[at].get(field.name)
            why = f"expected {field.type}: the column has values of different types" if _fits_somewhere(value) else \
                "which no column can hold: give text, a decimal, a float or an integer of 64 bits"
            bad.setdefault(at, BadRow.of_stream(stream, before + 1 + at, f"{field.name!r} is {shown(value)}, {why}",
                                                field.name, text_of_row(rows[at])))
    table = pa.Table.from_arrays(columns, schema=schema)
    keep = pa.array([at not in bad for at in range(len(rows))], pa.bool_())
    return table.filter(keep).combine_chunks() if columns else table, bad


def named_by_text(row: Mapping[Any, Any]) -> bool:
    """Whether the keys of a row can be names of columns."""
    return all(isinstance(name, str) for name in row)


def _fits_somewhere(value: Any) -> bool:
    try:
        pa.array([value])
    except NOT_FITTING:
        return False
    return True


LocalStream: TypeAlias = FileStream | MemoryStream


def is_dataframe(value: Any) -> bool:
    """Whether a value is a Spark DataFrame, classic or Connect, without importing Spark."""
    return any(c.__module__.startswith("pyspark.sql") and c.__name__ == "DataFrame" for c in type(value).__mro__)


def has_dataframe(streams: Mapping[str, Any]) -> bool:
    """Whether a query is for Spark."""
    return any(is_dataframe(value.value if isinstance(value, TableInput) else value) for value in streams.values())


def local_stream(value: Any, *, time: str | None = None, tolerant: bool = False,
                 max_line: int = MAX_LINE, name: str = "stream") -> LocalStream:
    """Anything but a Spark DataFrame as a stream an engine can read; ``tolerant`` looks for columns past bad rows."""
    if isinstance(value, TableInput):
        given = value.timed(time)
        stream = local_stream(given.rows, time=given.time, tolerant=tolerant, max_line=max_line, name=name)
        return replace(stream, schema=given.schema(stream.schema))
    if isinstance(value, FileStream | MemoryStream):
        return value
    if isinstance(value, str | Path):
        return FileStream.open(value, time=time, tolerant=tolerant, max_line=max_line)
    if (table := as_table(value, name)) is not None:
        return MemoryStream.of_table(table, time)
    if isinstance(value, Mapping):
        return MemoryStream.of_items([value], time, name=name, tolerant=tolerant)
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return MemoryStream.of_items(value, time, name=name, tolerant=tolerant)
    raise SchemaError(f"a stream cannot be a {type(value).__name__}: give a path, a table of Arrow, pandas or Polars, "
                      "rows, or a DataFrame")


def local_streams(given: Mapping[str, Any], options: RunOptions) -> dict[str, LocalStream]:
    """The inputs of a call as streams an engine can read."""
    return {name: local_stream(value, time=time_of(options.time, name, given), tolerant=not options.bad_rows.stops,
                               max_line=options.max_line, name=name) for name, value in given.items()}


def _length(run: Sequence[Any] | Punctuation | pa.Table) -> int:
    return 1 if isinstance(run, Punctuation) else len(run)
