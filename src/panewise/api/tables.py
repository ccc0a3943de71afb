"""Inputs that are tables: what is declared of them, and the columns that follow from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from panewise.core.errors import PlanError, SchemaError
from panewise.core.names import unknown_name
from panewise.core.schema import SourceKind, SourceSchema
from panewise.planner.facts.result_forms import CHANGE


@dataclass(frozen=True)
class TableInput:
    """An input that is a table; ``value`` is its data, or its columns where rows are pushed."""

    value: Any
    kind: SourceKind = SourceKind.NRR
    time: str | None = None
    key: tuple[str, ...] = ()

    def timed(self, time: str | None) -> TableInput:
        """With the time column that an option beside the table names."""
        if time is None or time == self.time:
            return self
        if self.time is not None:
            raise PlanError(f"the time column of a table is said twice: {self.time!r} and {time!r}; say it once")
        return replace(self, time=time)

    @property
    def rows(self) -> Any:
        """The data; of rows as Python has them, those that do not say whether they come or go come."""
        rows = self.value
        if isinstance(rows, Sequence) and any(isinstance(row, Mapping) and CHANGE in row for row in rows):
            return [{CHANGE: 1, **row} if isinstance(row, Mapping) else row for row in rows]
        return rows

    def schema(self, found: SourceSchema) -> SourceSchema:
        """The schema of a table with these columns; whether a row comes or goes is none of them.

        >>> columns = SourceSchema({"k": pa.string(), "at": pa.int64(), "change": pa.int64()})
        >>> list(TableInput(None, time="at", key=("k",)).schema(columns).columns)
        ['k', 'at']
        """
        columns = dict(found.columns)
        sign = columns.pop(CHANGE, None)
        if sign is not None and not (pa.types.is_integer(sign) or sign == pa.null()):
            raise SchemaError(f"the column {CHANGE!r} of a table says whether a row comes (+1) or goes (-1), and it is "
                              f"{sign}: give integers, or rename a column that means something else")
        if sign is not None and self.time is None:
            raise SchemaError(f"a table has a column {CHANGE!r}, which says that rows come and go, and no time column "
                              "that says when: name it, as in pw.table(..., time='at'), or on the command line "
                              f"--table NAME=PATH,time=at; rename {CHANGE!r} if it means something else")
        if not found.open:
            for what, name in (("time column", self.time), *(("key column", name) for name in self.key)):
                if name is not None and name not in columns:
                    raise SchemaError(unknown_name(what, name, columns))
        return replace(found, columns=columns, time=self.time, kind=self.kind, key=self.key)


def table(value: Any, *, time: str | None = None, key: str | Sequence[str] = (),
          retroactive: bool = False, **unknown: Any) -> TableInput:
    """Say that an input is a table, not a stream: rows that streams are joined with.

    ``value`` is its data; for :func:`open_query`, where rows are pushed, its columns. Without ``time`` its rows are
    always there. With it a row is there from the instant in that column on; where a column ``change`` of integers is
    -1, the oldest row with the same values leaves at that instant. ``change`` itself is +1 or -1 and cannot be asked
    for. ``key`` names the columns that tell rows apart: there is never more than one row of a key.

    A change applies to rows of a stream that come after it, or with ``retroactive`` also to those that came before. If
    it does not reach back, a key that has left may not come back; without ``key`` that is said of whole rows.

    >>> from panewise import sql
    >>> names = table([{"k": 1, "name": "one"}])
    >>> rows = [{"ts": 5, "k": 1}, {"ts": 6, "k": 2}]
    >>> list(sql("SELECT s.ts, n.name FROM s, n WHERE s.k = n.k", s=rows, n=names))
    [{'ts': 5, 'name': 'one'}]
    """
    for name in unknown:
        raise PlanError(unknown_name("option", name, ("time", "key", "retroactive")))
    if isinstance(value, TableInput):
        raise SchemaError("a table of a table: give the data itself")
    names = (key,) if isinstance(key, str) else tuple(key)
    if not all(isinstance(name, str) for name in (*names, *(() if time is None else (time,)))):
        raise SchemaError("time= names a column, and key= one or several: key='id' or key=['k', 'name']")
    if time in names:
        raise SchemaError(f"the time column {time!r} says when a row comes, and is no part of its key: leave it out of "
                          "key=")
    return TableInput(value, SourceKind.RELATION if retroactive else SourceKind.NRR, time, names)


def plain_inputs(streams: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs without the word that they are tables."""
    return {n: v.value if isinstance(v, TableInput) else v for n, v in streams.items()}
