"""Rows that a query has something to say about: constants of its text occur, keys meet, and some meet nothing."""

from __future__ import annotations

from collections import defaultdict
from random import Random
from typing import Any

import pyarrow as pa
from sqlglot import exp

from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.plan.nodes import (
    AggregateCall,
    AntiJoin,
    BagDifference,
    BandJoin,
    Named,
    Node,
    SemiJoin,
    TimePairs,
    WindowClause,
)
from panewise.progress.timeline import Arrival, Timeline
from panewise.windows.count import CountWindow
from panewise.windows.rows import RowWindow
from sql.moments import Moments
from sql.plan_parts import clauses, counts_results, counts_what_passes, parts

WORDS = ("TCP", "ftp", "a", "SYN", "b", "c")
FEW = 24
"""Rows of an input where no window counts more."""
MORE = 76
"""Rows of an input where pairs meet for a moment."""
TOO_MANY = 200
"""A relation of so many rows costs the oracle too much at every instant."""
BEHIND = (0, 1, 60, -30, 59, 90, -60, 4, -90, 59, -31)
"""How much later than the input before it one is, in turns, in sixtieths of a window."""

AWAY = (0, 1, 0, -1)
"""How far from the theme of the input before it one is, in turns, where constants are asked for."""


def arrivals(plan: Node, most: int | None = None, seed: int = 23) -> Timeline:
    """Rows for every input in the order of their times: as many as fill the plan's windows, but at most so many."""
    wanted = enough(plan)
    return AskedFor(plan).arrivals(wanted if most is None else min(wanted, most), Random(seed))


def enough(plan: Node) -> int:
    """How many rows of an input fill the largest window by rows, and some more."""
    found = [FEW]
    if meets_for_a_moment(plan):
        found.append(MORE * (1 + asks_for_many(plan)))
    if any(isinstance(node, SemiJoin) for node in plan.walk()):
        found.append(FEW + FEW // 3)
    for spec in (clause.spec for clause in clauses(plan, OrdinalKind.ROWS)):
        if isinstance(spec, RowWindow):
            found.append(spec.range + spec.range // 8 + 2 * spec.slide + 8)
        elif isinstance(spec, CountWindow) and spec.n < TOO_MANY:
            size = spec.n * (2 if counts_what_passes(plan) else 1)
            found.append(size + size // 2 + 2 * spec.slide + 8 + 8 * counts_results(plan))
    return max(found)


def meets_for_a_moment(plan: Node) -> bool:
    """Whether rows of streams meet by their times."""
    return any(isinstance(node, TimePairs) for node in plan.walk())


def asks_for_many(plan: Node) -> bool:
    """Whether rows whose times are near have to agree in many columns."""
    return any(isinstance(node, BandJoin) and node.predicate is not None and len(node.predicate.columns) > 6
               for node in plan.walk())


class AskedFor:
    """What a plan asks of its rows: constants, columns that meet, values to sum up."""

    def __init__(self, plan: Node) -> None:
        self.inputs = {node.name: node.schema for node in plan.walk() if isinstance(node, Named)}
        self.taken_away = {node.name for above in plan.walk() if isinstance(above, AntiJoin | BagDifference)
                           for node in above.right.walk() if isinstance(node, Named)}
        self.moment, self.many = meets_for_a_moment(plan), asks_for_many(plan)
        self.constants: dict[str, list[Any]] = defaultdict(list)
        self.groups: dict[str, frozenset[str]] = {}
        for scalar in (part for part in parts(plan) if isinstance(part, Scalar)):
            self._read(scalar.tree)
        self.measured = {name.rsplit(".", 1)[-1] for call in parts(plan) if isinstance(call, AggregateCall)
                         for argument in call.arguments for name in argument.columns} - self.groups.keys()
        self.ordered = {clause.attribute: clause.ordinal for clause in parts(plan) if isinstance(clause, WindowClause)}
        self.moments = {kind: Moments(plan, kind) for kind in OrdinalKind if kind is not OrdinalKind.ROWS}

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
            words = sorted({v for v in asked if isinstance(v, str)})
            if words and self.many:  # it is seldom enough that the rest agrees
                return words
            return [*words, *([] if asked else WORDS if self.moment else WORDS[:3]), "other"]
        numbers = sorted({float(v) for v in asked if not isinstance(v, str)})
        numbers = numbers[1::2] + numbers[::2]  # the ends of a range come early
        if pa.types.is_integer(data_type):
            return [int(v) for v in numbers] or list(range(7 if self.moment else 4))
        return numbers or [float(v) for v in range(20, 41)]

    def arrivals(self, rows: int, random: Random) -> Timeline:
        """Most rows have the theme of their time, so that they meet; some are off it in one column, some in all.

        At an instant that two rows have the second is a copy of the first, every other time.
        """
        clocks = {kind: list(moments.instants(rows)) for kind, moments in self.moments.items()}
        made: list[tuple[int, Arrival]] = []
        last: dict[str, Arrival] = {}
        for place in range(rows):
            at, length = clocks[OrdinalKind.TIMESTAMP][place]
            for number, name in enumerate(self.inputs):
                behind = number * length * BEHIND[place % len(BEHIND)] // 60
                moment = {kind: instants[place][0] + behind * (kind is OrdinalKind.TIMESTAMP)
                          for kind, instants in clocks.items()}
                arrival = Arrival(name, self._row(name, number, place, moment, random))
                if place % 5 == 4 and at == clocks[OrdinalKind.TIMESTAMP][place - 1][0]:
                    arrival = last[name]
                last[name] = arrival
                made.append((at + behind, arrival))
        return [arrival for _, arrival in sorted(made, key=lambda item: item[0])]

    def _row(self, name: str, number: int, place: int, moment: dict[OrdinalKind, int],
             random: Random) -> dict[str, Any]:
        columns = self.inputs[name].columns
        off = self._off(list(columns), place, random)
        row: dict[str, Any] = {}
        for column, data_type in columns.items():
            kind = self.ordered.get(column)
            if pa.types.is_temporal(data_type) or (kind is OrdinalKind.INTEGER and column not in self.groups):
                kind = OrdinalKind.of(data_type)
                row[column] = kind.present(moment[kind])
                continue
            values = self.values(column, data_type)
            if name in self.taken_away:  # something is left
                values = values[1:]
            if column in self.measured and not pa.types.is_string(data_type):  # rises, so that there are new maxima
                row[column] = (int if pa.types.is_integer(data_type) else float)(2 * place + random.randrange(40))
            elif column in off:
                row[column] = random.choice(values)
            else:
                away = number * AWAY[place % len(AWAY)] * bool(self.constants.get(column))
                row[column] = values[(place // self._hold(column, len(values)) + away) % len(values)]
        return row

    def _off(self, columns: list[str], place: int, random: Random) -> set[str]:
        """The columns that are not on the theme: none of the first rows, then none, one or all."""
        compared, drawn = [column for column in columns if column in self.groups], random.random()
        if place < 2 or drawn > (0.3 if self.many else 0.5):
            return set()
        return set(columns) if drawn < 0.1 or not compared else {random.choice(compared)}

    def _hold(self, column: str, values: int) -> int:
        """How many rows a value stays; columns that do not meet change at different times."""
        apart = sorted({min(group) for group in self.groups.values()})
        if values > 4:
            return 1 if self.moment else 2
        return 3 + apart.index(min(self.groups[column])) % 3 if column in self.groups else 4


def bare(column: exp.Column) -> str:
    return column.name.rsplit(".", 1)[-1]


def around(literal: exp.Literal) -> list[Any]:
    """A number and its neighbours; a word, or one that a pattern matches."""
    if literal.is_string:
        return [str(literal.this).replace(".*", "").replace("%", "x")]
    value = float(literal.this)
    return [value - 1, value, value + 1, value + 2]
