"""Random plans with joins of streams, and random timelines for them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pyarrow as pa

from panewise.core.join_kinds import JoinKind
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceSchema
from panewise.dataflow import Query, open_plan
from panewise.plan.nodes import (
    AggregateCall,
    BandJoin,
    Filter,
    NamedScalar,
    Node,
    Project,
    Qualify,
    Source,
    TumblingJoin,
    Union,
    WindowAggregate,
    WindowClause,
)
from panewise.progress.late import LatePolicy
from panewise.progress.punctuation import Constant, Punctuation
from panewise.progress.timeline import Arrival, Timeline
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tumbling import TumblingWindow

COLUMNS = {"ts": pa.int64(), "k": pa.string(), "v": pa.int64(), "x": pa.float64()}
NAMED = tuple(NamedScalar.column(c) for c in COLUMNS)


KEYS: tuple[dict[str, Any], ...] = ({"k": "a"}, {"k": "b"}, {"k": "a"}, {"v": 1}, {"v": 2}, {"k": "a", "v": 1},
                                    {"x": -0.0}, {"x": 0.0}, {"x": float("nan")})
"""What promises about single keys are about."""


def stream(name: str) -> Source:
    return Source(name, SourceSchema(dict(COLUMNS), time="ts"))


def side(random: Random, names: tuple[str, ...], alias: str) -> Node:
    """One input of a join: a stream, or several, filtered or with columns renamed on the way."""
    node: Node = stream(names[0]) if len(names) == 1 else Union(tuple(stream(name) for name in names))
    if random.random() < 0.2:
        node = Filter(node, Scalar.parse("v > 0 OR v IS NULL"))
    if random.random() < 0.2:
        node = Project(node, (NamedScalar.column("ts"), NamedScalar("k", Scalar.parse("upper(k)")), *NAMED[2:]))
    node = Qualify(node, alias)
    return Filter(node, Scalar.parse(f"`{alias}.x` < 5")) if random.random() < 0.15 else node


def predicate(random: Random, left: str, right: str) -> Scalar | None:
    key = f"`{left}.k` = `{right}.k`"
    return random.choice((
        None, Scalar.parse(key), Scalar.parse(key), Scalar.parse(f"{key} AND `{left}.v` = `{right}.v`"),
        Scalar.parse(f"{key} AND `{left}.v` < `{right}.v`"), Scalar.parse(f"`{right}.x` = `{left}.x`"),
        Scalar.parse(f"`{left}.v` + 1 = `{right}.v`"), Scalar.parse(f"`{left}.ts` < `{right}.ts`"),
        Scalar.parse(f"`{left}.x` = `{right}.v`"),  # a number and a float: no key, a condition
        Scalar.parse(f"`{left}.ts` = `{right}.ts` AND `{left}.k` <> `{right}.k`"),
        Scalar.parse(f"`{left}.ts` = `{right}.v`"), Scalar.parse(f"{key} AND `{left}.v` = `{right}.ts`"),
    ))


def join(random: Random, left: Node, right: Node, names: tuple[str, str],
         kind: JoinKind = JoinKind.INNER) -> BandJoin | TumblingJoin:
    times, condition = (f"{names[0]}.ts", f"{names[1]}.ts"), predicate(random, *names)
    if random.random() < 0.35:
        return TumblingJoin(left, right, *times, random.randint(1, 9), condition, random.randint(-12, 12), kind=kind)
    reach, back = random.randint(0, 6), random.randint(0, 6)
    if random.random() < 0.4:  # partners wholly after, or wholly before
        reach, back = random.choice(((reach + back, -back), (-reach, reach + back)))
    return BandJoin(left, right, *times, reach, back, condition, random.choice(("both", "left", "right", "strict")),
                    kind=kind)


def joined(random: Random, kind: JoinKind = JoinKind.INNER) -> Node:
    """A join of two streams, of unions, of a stream with itself, or of a join with a stream."""
    shape = random.random()
    if shape < 0.15:
        return join(random, side(random, ("a",), "l"), side(random, ("a",), "r"), ("l", "r"), kind)
    left = side(random, ("a", "c") if random.random() < 0.25 else ("a",), "l")
    right = side(random, ("b", "d") if random.random() < 0.25 else ("b",), "r")
    found = join(random, left, right, ("l", "r"), kind)
    if shape < 0.35 and kind.whole:  # by a time that is always there
        above = kind if kind is JoinKind.INNER else random.choice((JoinKind.INNER, kind))
        by = random.choice(["lr"[number] for number in sorted(kind.whole)])
        return join(random, found, side(random, ("e",), "s"), (by, "s"),
                    above if above is not JoinKind.RIGHT else JoinKind.INNER)
    return found


def kind_of(random: Random) -> JoinKind:
    """As often pairs as all other kinds together."""
    return random.choice(list(JoinKind)) if random.random() < 0.5 else JoinKind.INNER


def rows_out(random: Random) -> Node:
    """A plan that puts out pairs, or rows that have found nobody or somebody."""
    kind = kind_of(random)
    node = joined(random, kind)
    if random.random() < 0.25:
        other = "l" if kind.left_only else "r"
        node = Filter(node, Scalar.parse(f"`l.v` >= 0 OR `{other}.k` = 'a'"))
    if random.random() < 0.3 and not kind.left_only:
        items = (NamedScalar("t", Scalar.column("l.ts")), NamedScalar("u", Scalar.column("r.ts")),
                 NamedScalar("both", Scalar.parse("`l.v` + `r.v`")), NamedScalar("k", Scalar.column("r.k")))
        node = Project(node, items)
    return node


def aggregated(random: Random) -> Node:
    """A window aggregate over joins."""
    kind = random.choice([kind for kind in JoinKind if kind.whole and random.random() < 0.5] or [JoinKind.INNER])
    below: Node = joined(random, kind)
    if kind.left_only:
        below = Project(below, (*(NamedScalar.column(f"l.{c}") for c in COLUMNS),
                                *(NamedScalar(f"r.{c}", Scalar.column(f"l.{c}")) for c in COLUMNS)))
    if random.random() < 0.3:
        below = Filter(below, Scalar.parse("`r.v` < 3"))
    attribute = random.choice([f"{'lr'[number]}.ts" for number in sorted(kind.whole)])
    spec = TumblingWindow(random.randint(1, 9)) if random.random() < 0.4 else \
        SlidingWindow(random.randint(1, 12), random.randint(1, 8))
    keys = random.choice(((), ("l.k",), ("r.ts",), ("l.k", "r.ts"), ("l.ts", "r.ts")))
    calls = [AggregateCall("n", "count"), AggregateCall("s", "sum", (Scalar.column("l.v"),)),
             AggregateCall("top", "max", (Scalar.column("r.x"),))]
    names = [n.name for n in below.walk() if isinstance(n, Source)]
    if kind is JoinKind.INNER and len(set(names)) == len(names) and \
            sum(isinstance(n, BandJoin | TumblingJoin) for n in below.walk()) == 1:
        calls.append(AggregateCall("newest", "last", (Scalar.column("r.v"),)))
    node: Node = WindowAggregate(below, WindowClause(spec, attribute, OrdinalKind.INTEGER),
                                 tuple(NamedScalar.column(k) for k in keys), tuple(random.sample(calls, 2)))
    return node


def timeline(random: Random, plan: Node, *, honest: bool, rows: int = 24) -> Timeline:
    """Rows of all streams with more or less disorder and skew; punctuation that is kept, or not."""
    names = sorted({n.name for n in plan.walk() if isinstance(n, Source)})
    skew, mess = {name: random.choice((0, 0, 8)) for name in names}, random.choice((0, 5, 40))
    found: Timeline = []
    for i in range(random.randint(0, rows)):
        name = random.choice(names)
        found.append(Arrival(name, {
            "ts": i - skew[name] + random.randint(-mess, mess), "k": random.choice(("a", "a", "b", None)),
            "v": random.choice((None, *range(-1, 4))), "x": random.choice((None, 0.0, -0.0, 1.0, 2.0, float("nan")))}))
    made: Timeline = []
    for i, arrival in enumerate(found):
        made.append(arrival)
        if random.random() < 0.5:
            name, keys = random.choice(names), random.choice(KEYS) if random.random() < 0.35 else {}
            ahead = [a.item["ts"] for a in found[i + 1 :] if a.stream == name  # type: ignore[index]
                     and all(Constant(value).matches(a.item[key]) for key, value in keys.items())]  # type: ignore[index]
            bound = min(ahead, default=60) if honest else random.randint(-10, 30)
            made.append(Arrival(name, Punctuation.below("ts", bound, **keys)))
    return made


def run(plan: Node, arrivals: Timeline, cuts: frozenset[int] = frozenset(), saves: frozenset[int] = frozenset(),
        **options: Any) -> tuple[list[dict[str, Any]], Query]:
    """Push a timeline; batches end at punctuation, at another stream and at the cuts; states are saved and restored."""
    query, results, batch = open_plan(plan, **options), [], []
    promises: list[Punctuation] = []

    def put_out(work: Callable[[], pa.Table]) -> None:
        before = list(promises)
        for row in work().to_pylist():
            broken = [str(p) for p in before if p.attributes <= row.keys() and p.matches(row)]
            takes_late = query.late is LatePolicy.GENEROUS and query.late_count  # promises are about rows in time
            assert not broken or takes_late or any(isinstance(n, WindowAggregate) for n in plan.walk()), (row, broken)
            results.append(row)

    query.on_punctuation(promises.append)
    for i, arrival in enumerate([*arrivals, Arrival("", Punctuation())]):
        if batch and (i in cuts or not arrival.is_row or arrival.stream != batch[-1].stream):
            put_out(partial(query.push, batch[-1].stream, [a.item for a in batch]))
            batch = []
        if i in saves:
            saved = query.snapshot()
            query = open_plan(plan, **options)
            query.restore(saved)
            query.on_punctuation(promises.append)
        if i == len(arrivals):
            break
        if isinstance(arrival.item, Punctuation):
            put_out(partial(query.push, arrival.stream, arrival.item))
        else:
            batch.append(arrival)
    put_out(query.finish)
    return results, query
