"""Rows that a query has something to say about: constants of its text occur, keys meet, and some meet nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any

import pyarrow as pa
from sqlglot import exp

from panewise.core.scalar import Scalar
from panewise.plan.nodes import AntiJoin, BagDifference, Lifetime, Named, Node, WindowClause
from panewise.progress.timeline import Arrival, Timeline
from panewise.windows.landmark import BandWindow

WORDS = ("TCP", "ftp", "a", "SYN")
START = datetime(2026, 1, 1, tzinfo=UTC)
BEHIND = [timedelta(seconds=seconds) for seconds in (0, 1, 0, 4)]
"""How much later than the input before it one is, in turns."""
STEP, PAUSE, BEFORE = timedelta(minutes=3), timedelta(minutes=27), timedelta(minutes=10)


def arrivals(plan: Node, rows: int, seed: int = 8) -> Timeline:
    """So many rows for every input, in turns and in the order of their times."""
    return AskedFor(plan).arrivals(rows, Random(seed))


class AskedFor:
    """What the conditions of a plan compare: constants, and columns with each other."""

    def __init__(self, plan: Node) -> None:
        self.inputs = {node.name: node.schema for node in plan.walk() if isinstance(node, Named)}
        self.taken_away = {node.name for above in plan.walk() if isinstance(above, AntiJoin | BagDifference)
                           for node in above.right.walk() if isinstance(node, Named)}
        self.constants: dict[str, list[Any]] = defaultdict(list)
        self.groups: dict[str, frozenset[str]] = {}
        ends = []
        for part in parts(plan):
            if isinstance(part, Scalar):
                self._read(part.tree)
            elif isinstance(part, WindowClause) and isinstance(part.spec, BandWindow):
                ends += [end for end in (part.spec.upper, part.spec.lower) if end is not None][:1]
        before = timedelta() if any(isinstance(node, Lifetime) for node in plan.walk()) else BEFORE
        self.start = datetime.fromtimestamp(min(ends) / 1e6, UTC) - before if ends else START

    def _read(self, tree: exp.Expr) -> None:
        for condition in tree.find_all(exp.Predicate, exp.Binary):
            names = [bare(column) for column in condition.find_all(exp.Column)]
            if not isinstance(condition, exp.Connector):
                together = frozenset(names).union(*(self.groups.get(name, frozenset()) for name in names))
                self.groups |= dict.fromkeys(together, together)
                for literal in condition.find_all(exp.Literal):
                    self.constants[names[0]] += around(literal) if names else []

    def values(self, column: str, data_type: pa.DataType) -> list[Any]:
        """What a column may have, in an order that equal columns share."""
        asked = [value for name in sorted(self.groups.get(column, {column})) for value in self.constants[name]]
        if pa.types.is_string(data_type):
            return [*sorted({v for v in asked if isinstance(v, str)}), *([] if asked else WORDS[:3]), "other"]
        numbers = sorted({float(v) for v in asked if not isinstance(v, str)})
        if pa.types.is_integer(data_type):
            return [int(v) for v in numbers] or [0, 1, 2, 3]
        return numbers or [float(v) for v in range(20, 41)]

    def arrivals(self, rows: int, random: Random) -> Timeline:
        """Most rows have the theme of their time, so that they meet; the others anything."""
        return [Arrival(name, self._row(name, number, place, random))
                for place in range(rows) for number, name in enumerate(self.inputs)]

    def _row(self, name: str, number: int, place: int, random: Random) -> dict[str, Any]:
        on_theme, row = random.random() < 0.7, {}
        for column, data_type in self.inputs[name].columns.items():
            if pa.types.is_timestamp(data_type):
                row[column] = self.start + place * STEP + PAUSE * (place > 8) + number * BEHIND[place % len(BEHIND)]
            elif pa.types.is_date(data_type):
                row[column] = date(2026, 1, 1) + timedelta(days=place)
            else:
                values = self.values(column, data_type)
                if name in self.taken_away:  # something is left
                    values = values[1:]
                theme = place // 4 + number * (place // 2 % 2 == 0) if self.constants.get(column) else place // 2
                row[column] = values[theme % len(values)] if on_theme else random.choice(values)
        return row


def parts(value: Any) -> Iterator[Any]:
    """A plan's nodes, clauses and expressions."""
    if isinstance(value, tuple):
        for item in value:
            yield from parts(item)
    elif is_dataclass(value):
        yield value
        for field in fields(value):
            yield from parts(getattr(value, field.name))


def bare(column: exp.Column) -> str:
    return column.name.rsplit(".", 1)[-1]


def around(literal: exp.Literal) -> list[Any]:
    """A number and its neighbours; a word, or one that a pattern matches."""
    if literal.is_string:
        return [str(literal.this).replace(".*", "").replace("%", "x")]
    value = float(literal.this)
    return [value - 1, value, value + 1, value + 2]
