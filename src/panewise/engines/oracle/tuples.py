"""Rows as the definitions see them: values with a birth, an end where it is known, an identity, a place in the order.

Everything the relational definitions compare is here: equality of values (bags), identity (which copy of a value),
age (birth, then arrival) and the integers of a time column.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from panewise.core.errors import PlanError, SchemaError
from panewise.core.ordinals import OrdinalKind


@dataclass(frozen=True, eq=False)
class Tup:
    """One row with its life (Golab 1.1): valid at every instant ``ts <= tau < expiry``."""

    values: dict[str, Any]
    ts: int
    key: Hashable
    """Which row this is: equal rows of a bag have different keys, derived rows the keys of what they come from."""
    order: tuple[int, ...]
    """Arrival: the position of the newest row it comes from in the timeline, then of the others, then its rows of
    tables (`core.ages`)."""
    expiry: int | None = None
    """None for a row that never leaves, or leaves at a moment that is not known beforehand."""
    late_by: int | None = None
    """The bound that was in force when it arrived, if it is late; of a pair what its row of one side says."""
    entered: int | None = None
    """Of what a join has made: when the last of its rows came in, a late one at the bound that it came behind."""
    own_time: int | None = None
    """Its own time, where it is born later than that: a late row that a window by time still takes in."""
    origin: Mapping[str, Any] | None = None
    """The row as it came, for the late output."""
    told: int | None = None
    """Of a result of a window aggregate: the place of what closed the window of its group, which may be before that of
    other groups."""
    counts_at: int | None = None
    """The value at which a session counts a late row that a closed session would have been joined by."""

    @property
    def age(self) -> tuple[int, tuple[int, ...]]:
        """Sorts from oldest to youngest: by birth, ties by arrival (erratum P4), then by rows of tables."""
        return self.ts, self.order

    @property
    def enters(self) -> int:
        """When it comes in: at its own time, or at the bound that it came behind."""
        if self.entered is not None:
            return self.entered
        return self.ts if self.late_by is None else max(self.ts, self.late_by)

    @property
    def comes_late(self) -> bool:
        """Whether it is late for a relation, which goes by instants, whatever times a pair has."""
        return self.late_by is not None if self.entered is None else self.entered > self.ts

    def with_values(self, values: dict[str, Any]) -> Tup:
        """The same row showing other columns."""
        return replace(self, values=values)


def joined(left: Tup, right: Tup) -> Tup:
    """Both rows as one: born with the younger, dead with the first to die (rule U6)."""
    ends = [e for e in (left.expiry, right.expiry) if e is not None]
    return Tup({**left.values, **right.values}, max(left.ts, right.ts), (left.key, right.key),
               tuple(sorted(left.order + right.order, reverse=True)), min(ends, default=None))


def ordinal(value: Any, column: str, kind: OrdinalKind | None = None) -> int:
    """A time value as an integer; without a kind the value's own type says what one step is.

    >>> ordinal(7, "ts"), ordinal("1970-01-01T00:00:01Z", "ts"), ordinal(date(1970, 1, 3), "day")
    (7, 1000000, 2)
    """
    if value is None:
        raise SchemaError(f"{column!r} is null in a row; every row needs a value of the windowing attribute")
    if kind is None:
        if isinstance(value, datetime | str):
            kind = OrdinalKind.TIMESTAMP
        else:
            kind = OrdinalKind.DATE if isinstance(value, date) else OrdinalKind.INTEGER
    return kind.parse(value)


def attribute_of(row: Tup, attribute: str, kind: OrdinalKind | None = None) -> int:
    """The windowing attribute of a row; a column that was projected away is still the row's time."""
    if attribute in row.values:
        return ordinal(row.values[attribute], attribute, kind)
    return row.ts if row.own_time is None else row.own_time


def partitions(rows: Iterable[Tup], columns: Sequence[str]) -> list[list[Tup]]:
    """Rows with equal values of the columns, in the order the groups were first seen."""
    found: dict[Hashable, list[Tup]] = {}
    for row in rows:
        for column in columns:
            if column not in row.values:
                raise SchemaError(f"the window is partitioned by {column!r}, which its input does not have; there are "
                                  f"{', '.join(row.values)}")
        found.setdefault(tuple(frozen(row.values[c]) for c in columns), []).append(row)
    return list(found.values())


def frozen(value: Any) -> Hashable:
    """A value as something that can be counted: NaN equals NaN, lists and structs are compared by content.

    >>> frozen(float("nan")) == frozen(float("nan")), frozen([1, {"a": 2}])
    (True, (1, (('a', 2),)))
    """
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, Mapping):
        return tuple((k, frozen(v)) for k, v in value.items())
    if isinstance(value, list | tuple | set):
        return tuple(frozen(v) for v in value)
    return value if isinstance(value, Hashable) else repr(value)


def one_zero(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row as it is shown where rows are compared: two zeros are one value, and it is 0.0."""
    return {name: value + 0.0 if isinstance(value, float) else value for name, value in row.items()}


def value_of(row: Mapping[str, Any]) -> Hashable:
    """The value of a row in a bag: its columns by position."""
    return tuple(frozen(v) for v in row.values())


def sortable(value: Any) -> tuple[Any, ...]:
    """A sort key over values of any type, as Spark orders those of one: nulls first, NaN behind all numbers.

    >>> sorted([2, None, "b", 1.5, "a", Decimal(10), math.nan], key=sortable)
    [None, 1.5, 2, Decimal('10'), nan, 'a', 'b']
    """
    match value:
        case None:
            return (0,)
        case bool() | int() | float() | Decimal():
            return (1, value != value, 0 if value != value else value)  # noqa: PLR0124  (only NaN differs from itself)
        case timedelta():
            return 1, False, value // timedelta(microseconds=1)
        case Mapping():
            return (3, *(sortable(v) for v in value.values()))
        case list() | tuple():
            return (3, *(sortable(v) for v in value))
        case bytes():
            return 2, value.hex()
    return (2, value if isinstance(value, str) else value.isoformat() if isinstance(value, date) else repr(value))


def sorted_rows(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows in an order that depends on nothing but their values."""
    return [dict(r) for r in sorted(rows, key=lambda r: tuple(sortable(v) for v in r.values()))]


def renamed(row: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The row's columns by position under other names."""
    if names and len(names) != len(row):
        raise PlanError(f"UNION needs inputs with as many columns: one has {len(row)} ({', '.join(row)}), "
                        f"the first has {len(names)} ({', '.join(names)})")
    return dict(zip(names, row.values(), strict=True)) if names else dict(row)
