"""Random query texts that nest operators of every family, windows anywhere, and the rows they read.

A part of a text either only adds rows (a *stream*: columns k, v and a time ts) or is a relation whose rows come and go
(columns k and v). Any stream may stand where a stream is read, so families meet in ways that no list of texts has. Two
tables stand beside them: one whose rows only come and meet later rows, one whose changes reach back.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from conformance.cases import Case
from panewise.core.schema import SourceKind
from panewise.plan import nodes as n
from panewise.progress.punctuation import Punctuation

STREAMS = ("s", "t", "u")
NAMES, CITIES = "names", "cities"
TABLES = {NAMES: SourceKind.NRR, CITIES: SourceKind.RELATION}
COLUMNS = {"ts": pa.int64(), "k": pa.string(), "v": pa.int64()}
TOLD = {"ts": pa.int64(), "k": pa.string(), "w": pa.int64(), "change": pa.int64()}
SPANS = (4, 6, 8, 12)
FAMILIES = {n.Explode: "explode", n.Union: "union", n.WindowAggregate: "window aggregate", n.Window: "window",
            n.GroupAggregate: "group aggregate", n.Distinct: "distinct", n.Join: "join", n.BandJoin: "band join",
            n.TumblingJoin: "tumbling join", n.TableJoin: "table join", n.SemiJoin: "exists", n.AntiJoin: "not exists",
            n.BagDifference: "except", n.Lifetime: "lifetime"}
"""What may be nested: everything but inputs and what looks at one row."""


class Nested:
    """Draws texts; what it draws depends on the seed alone."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self._names = 0

    def query(self, depth: int) -> str:
        """A query that nests this deep."""
        return self.stream(depth) if self.draw.random() < 0.4 else self.relation(depth)

    # -- what only adds rows

    def stream(self, depth: int) -> str:
        """Columns k, v and ts; nothing is ever taken back."""
        if depth == 0:
            return f"SELECT k, v, ts FROM {self.draw.choice(STREAMS)}"
        return self._any(self._selected, self._windowed, self._windowed, self._windowed, self._united, self._distinct,
                         self._came, self._paired, self._kept, self._exploded, self._beside)(depth)

    def _selected(self, depth: int) -> str:
        return f"SELECT k, v + 1 AS v, ts FROM {self._of(depth)} WHERE v <> 2"

    def _windowed(self, depth: int) -> str:
        """Results of windows, by one of the times that these have."""
        name = self._name()
        time = self.draw.choice(("window.end - 1", "window.end", "window.start"))
        return f"SELECT {name}.k AS k, {name}.v AS v, {name}.{time} AS ts FROM ({self._aggregate(depth)}) AS {name}"

    def _aggregate(self, depth: int, window: str = "") -> str:
        """A window aggregate over a stream that nests one less."""
        below, time = self._timed(depth)
        return f"SELECT k, {self._call()} [{window or self._window()}, WA {time}] AS v FROM {below} GROUP BY k"

    def _united(self, depth: int) -> str:
        return f"{self.stream(depth - 1)} UNION ALL {self.stream(self._less(depth))}"

    def _distinct(self, depth: int) -> str:
        return f"SELECT DISTINCT k, v, ts FROM {self._of(depth)}"

    def _came(self, depth: int) -> str:
        return f"SELECT Istream(k, v, ts) FROM {self._of(depth)} [RANGE {self._span()}]"

    def _kept(self, depth: int) -> str:
        return f"SELECT k, v, ts FROM {self._of(depth)} [RANGE {self._span()}, INTERNAL]"

    def _exploded(self, depth: int) -> str:
        name = self._name()
        return f"SELECT {name}.k AS k, e AS v, {name}.ts AS ts FROM {self._named(depth, name)} " \
               f"LATERAL VIEW explode(array(v, v + 3)) x AS e"

    def _beside(self, depth: int) -> str:
        """Rows with those of a table that came before them."""
        name = self._name()
        return f"SELECT {name}.k AS k, {name}.v + m.w AS v, {name}.ts AS ts FROM {self._named(depth, name)}, " \
               f"{NAMES} AS m WHERE {name}.k = m.k"

    def _paired(self, depth: int) -> str:
        """Streams that meet by their times."""
        kind = self.draw.choice(("JOIN", "JOIN", "LEFT JOIN", "SEMI JOIN"))
        both = "l.v + r.v" if kind == "JOIN" else "l.v"
        one = self.draw.choice(STREAMS) if self.draw.random() < 0.5 else f"({self.stream(depth - 1)})"
        other = self.draw.choice(STREAMS)
        windows = [f"[RANGE {self._span()}, WA ts]" for _ in range(2)]
        if self.draw.random() < 0.3:
            windows = [f"[RANGE TUMBLING {self._span()}, WA ts]"] * 2
            if kind == "JOIN":
                windows[0] = ""
        return (f"SELECT l.k AS k, {both} AS v, l.ts AS ts FROM {one} AS l {windows[0]} {kind} "
                f"{other} AS r {windows[1]} ON l.k = r.k")

    # -- relations

    def relation(self, depth: int) -> str:
        """Columns k and v; rows come and go."""
        if depth <= 1:
            return f"SELECT k, v FROM {self._of(depth)} [{self._range()}]"
        return self._any(self._grouped, self._values, self._joined, self._joined, self._aggregates_joined, self._exists,
                         self._exists, self._less_than, self._unions, self._streamed, self._with_table,
                         self._output, self._ended)(depth)

    def _grouped(self, depth: int) -> str:
        return f"SELECT k, {self._call()} AS v FROM ({self.relation(depth - 1)}) AS {self._name()} GROUP BY k"

    def _values(self, depth: int) -> str:
        return f"SELECT DISTINCT k, v FROM ({self.relation(depth - 1)}) AS {self._name()}"

    def _joined(self, depth: int) -> str:
        kind = self.draw.choice(("JOIN", "JOIN", "LEFT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN"))
        shown = "l.k AS k, l.v AS v" if kind in {"SEMI JOIN", "ANTI JOIN"} else "l.k AS k, l.v + coalesce(r.v, 0) AS v"
        one, other = self.relation(depth - 1), self.relation(self._less(depth))
        return f"SELECT {shown} FROM ({one}) AS l {kind} ({other}) AS r ON l.k = r.k"

    def _aggregates_joined(self, depth: int) -> str:
        """Results of windows that meet where their windows are the same."""
        kind, window = self.draw.choice(("JOIN", "JOIN", "LEFT JOIN", "FULL JOIN")), self._window()
        one, other = self._aggregate(depth - 1, window), self._aggregate(self._less(depth), window)
        return (f"SELECT l.k AS k, l.v + coalesce(r.v, 0) AS v FROM ({one}) AS l {kind} ({other}) AS r "
                f"ON l.k = r.k AND l.window = r.window")

    def _exists(self, depth: int) -> str:
        one, other = self.relation(depth - 1), self.relation(self._less(depth))
        name, negated = self._name(), self.draw.choice(("", "NOT "))
        return (f"SELECT {name}.k AS k, {name}.v AS v FROM ({one}) AS {name} WHERE {negated}EXISTS (SELECT * FROM "
                f"({other}) AS x WHERE x.k = {name}.k)")

    def _less_than(self, depth: int) -> str:
        return f"SELECT k, v FROM ({self.relation(depth - 1)}) AS {self._name()} EXCEPT ALL " \
               f"SELECT k, v FROM ({self.relation(self._less(depth))}) AS {self._name()}"

    def _unions(self, depth: int) -> str:
        every = self.draw.choice(("", " ALL"))
        return f"SELECT k, v FROM ({self.relation(depth - 1)}) AS {self._name()} UNION{every} " \
               f"SELECT k, v FROM ({self.relation(self._less(depth))}) AS {self._name()}"

    def _streamed(self, depth: int) -> str:
        """A relation as a stream, which has a window again."""
        kind = self.draw.choice(("Istream", "Dstream", "Rstream"))
        return f"SELECT k, v FROM (SELECT {kind}(k, v) FROM ({self.relation(depth - 1)}) AS {self._name()}) AS " \
               f"{self._name()} [RANGE {self._span()}]"

    def _with_table(self, depth: int) -> str:
        """Rows with those that a table has now."""
        kind = self.draw.choice(("JOIN", "JOIN", "LEFT JOIN"))
        return f"SELECT l.k AS k, l.v + coalesce(r.w, 0) AS v FROM ({self.relation(depth - 1)}) AS l {kind} " \
               f"{CITIES} AS r ON l.k = r.k"

    def _output(self, depth: int) -> str:
        """The newest results."""
        window = self.draw.choice((f"ROWS {self.draw.randint(1, 4)}", f"RANGE {self._span()}"))
        return f"SELECT Wstream(k, v) [{window}] FROM {self._of(depth)} [RANGE {self._span()}]"

    def _ended(self, depth: int) -> str:
        return f"SELECT k, v FROM ({self.relation(depth - 1)}) AS {self._name()} LIFETIME {4 * self._span()}"

    # -- pieces

    def _any(self, *ways: Callable[[int], str]) -> Callable[[int], str]:
        return self.draw.choice(ways)

    def _less(self, depth: int) -> int:
        """The other side of a pair is shallow, so that texts stay readable."""
        return self.draw.randint(0, min(depth - 1, 1))

    def _name(self) -> str:
        self._names += 1
        return f"q{self._names}"

    def _of(self, depth: int) -> str:
        """A stream in FROM, with its time in ts."""
        return self.draw.choice(STREAMS) if depth <= 1 else f"({self.stream(depth - 1)}) AS {self._name()}"

    def _named(self, depth: int, name: str) -> str:
        """A stream in FROM under a name."""
        return f"{self.draw.choice(STREAMS)} AS {name}" if depth <= 1 else f"({self.stream(depth - 1)}) AS {name}"

    def _timed(self, depth: int) -> tuple[str, str]:
        """A stream in FROM, and what its time is called there: results of windows are also read as they are."""
        if depth <= 1 or self.draw.random() < 0.6:
            return self._of(depth), "ts"
        name = self._name()
        time = self.draw.choice(("window.time", "window.time", "window.end", "window.start"))
        return f"({self._aggregate(depth - 1)}) AS {name}", f"{name}.{time}"

    def _span(self) -> int:
        return self.draw.choice(SPANS)

    def _range(self) -> str:
        return self.draw.choice((f"RANGE {self._span()}", f"RANGE {self._span()}", f"ROWS {self.draw.randint(1, 4)}",
                                 f"RANGE {self._span()}, SLIDE 2", "NOW"))

    def _window(self) -> str:
        span = self._span()
        return self.draw.choice((f"RANGE {span}, SLIDE {span}", f"RANGE {2 * span}, SLIDE {span}",
                                 f"RANGE {span + 1}, SLIDE 2", "SESSION 3", f"RANGE TUMBLING {span}"))

    def _call(self) -> str:
        return self.draw.choice(("sum(v)", "count(*)", "max(v)", "min(v)", "count(DISTINCT v)"))


def rows_of(draw: random.Random, rows: int) -> list[Any]:
    """Rows in some disorder, with promises that most of them keep."""
    items: list[Any] = []
    for number in range(rows):
        at = max(0, 2 * number + draw.randint(-5, 5))
        items.append({"ts": at, "k": draw.choice("abc"), "v": draw.randint(0, 3)})
        if number % 4 == 3:
            items.append(Punctuation.below("ts", 2 * number - 4))
    return items


def changes_of(draw: random.Random, kind: SourceKind) -> list[Any]:
    """What happens to a table: rows come, and of one whose changes reach back some go."""
    items: list[Any] = []
    there: list[dict[str, Any]] = []
    for at in range(0, 30, 6):
        if there and kind is SourceKind.RELATION and draw.random() < 0.6:
            gone = there.pop(draw.randrange(len(there)))
            items.append({**gone, "ts": at, "change": -1})
        row = {"ts": at, "k": draw.choice("abc"), "w": draw.randint(0, 2)}
        there.append(row)
        items += [{**row, "change": 1}, Punctuation.below("ts", at + 1)]
    return items


def case_of(seed: int, depth: int, rows: int = 16) -> Case:
    """A text and its inputs, one after the other: engines that read them in parallel know no order between them."""
    text = Nested(seed).query(depth)
    columns = dict.fromkeys(STREAMS, COLUMNS) | dict.fromkeys(TABLES, TOLD)
    case = Case(f"nested {seed}", text, {}, columns, tables=TABLES)
    read = {node.name for node in case.plan.walk() if isinstance(node, n.Named)}
    draw = random.Random(seed)
    made = {name: changes_of(draw, kind) for name, kind in TABLES.items() if name in read}
    made |= {name: rows_of(draw, rows) for name in STREAMS if name in read}
    return replace(case, streams=made, columns={name: columns[name] for name in made})


def families_of(plan: n.Node) -> Counter[str]:
    """How often each family of operators is in a plan."""
    found = Counter(FAMILIES[type(node)] for node in plan.walk() if type(node) in FAMILIES)
    found.update(node.kind.value for node in plan.walk() if isinstance(node, n.RelationToStream))
    return found


def nesting(plan: n.Node) -> int:
    """How many operators stand over each other on the longest way down."""
    below = max((nesting(part) for part in plan.inputs), default=0)
    return below + (type(plan) in FAMILIES or isinstance(plan, n.RelationToStream))
