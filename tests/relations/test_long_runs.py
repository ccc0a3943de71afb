"""Long runs of small windows over ever new values: what is gone is forgotten, and nothing depends on it.

What an aggregate keeps, and what a row costs it in rows and states that are merged, is counted: where nothing leaves no
row is kept, and no cost grows with the length of the run or of the window.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceSchema
from panewise.dataflow import Query, open_plan
from panewise.kernels.relations.aggregates.group_aggregate import GroupAggregate as Grouped
from panewise.kernels.relations.leaves.count_window import CountedWindow
from panewise.kernels.relations.stores.queues import Calendar
from panewise.kernels.relations.streams.to_stream import RestoredSnapshots
from panewise.plan.nodes import (
    AntiJoin,
    BagDifference,
    Distinct,
    Filter,
    GroupAggregate,
    Join,
    NamedScalar,
    Node,
    Project,
    Qualify,
    RelationToStream,
    RelationToStreamKind,
    SemiJoin,
    Source,
    Union,
    Window,
    WindowClause,
)
from panewise.windows.count import CountWindow, PartitionedCountWindow
from panewise.windows.landmark import BandWindow, LandmarkWindow
from panewise.windows.sliding import SlidingWindow
from relations.many_joins import MANNERS
from relations.positive_plans import internal
from relations.test_group_aggregates import call

ROWS = 16_000
COLUMNS = {"ts": pa.int64(), "k": pa.int64(), "v": pa.int64()}


def shown(stream: str, spec: Any = None) -> Node:
    by_time = spec is None or isinstance(spec, SlidingWindow)
    attribute: Any = ("ts", OrdinalKind.INTEGER) if by_time else ("row-num", OrdinalKind.ROWS)
    clause = WindowClause(spec or SlidingWindow(150, 1), *attribute,
                          ("v",) if isinstance(spec, PartitionedCountWindow) else ())
    window = Window(Source(stream, SourceSchema(dict(COLUMNS), time="ts")), clause)
    return Project(window, (NamedScalar.column("k"), NamedScalar.column("v")))


A, B, COUNTED, PARTS = shown("a"), shown("b"), shown("a", CountWindow(90)), shown("b", PartitionedCountWindow(40, 3))
EQUAL, MORE = Scalar.parse("k = `r.k`"), Scalar.parse("k = `r.k` AND v <= `r.v`")
K = (NamedScalar.column("k"),)
PLANS: dict[str, Node] = {
    "join": Join(Qualify(A, "l"), Qualify(B, "r"), Scalar.parse("`l.k` = `r.k`")),
    "join by rows": Join(Qualify(COUNTED, "l"), Qualify(PARTS, "r"), Scalar.parse("`l.k` = `r.k`")),
    "join of times and rows": Join(Qualify(A, "l"), Qualify(PARTS, "r"), Scalar.parse("`l.k` = `r.k`")),
    "join by rows with a condition": Join(Qualify(COUNTED, "l"), Qualify(PARTS, "r"),
                                          Scalar.parse("`l.k` = `r.k` AND `l.v` < `r.v`")),
    "distinct": Distinct(A),
    "distinct by rows": Distinct(COUNTED),
    "not exists": AntiJoin(A, Qualify(B, "r"), EQUAL),
    "not exists with a condition": AntiJoin(A, Qualify(B, "r"), MORE),
    "exists by rows": SemiJoin(COUNTED, Qualify(PARTS, "r"), EQUAL),
    "difference": BagDifference(A, B),
    "aggregate": GroupAggregate(A, K, (call("n", "count"), call("top", "max", "v"), call("mean", "avg", "v"))),
    "aggregate of all": GroupAggregate(A, (), (call("top", "max", "v * 31 + k % 7"), call("newest", "last", "k"),
                                               call("mean", "avg", "v / 7.0"))),
    "aggregate of a stream": GroupAggregate(Source("a", SourceSchema(dict(COLUMNS), time="ts")), (
        NamedScalar("last", Scalar.parse("k % 40")),), (call("top", "max", "k"), call("newest", "last", "v"),
                                                        call("mean", "avg", "v / 7.0"))),
    "aggregate by rows": GroupAggregate(PARTS, K, (call("n", "count"), call("total", "sum", "v"))),
    "went": RelationToStream(Distinct(A), RelationToStreamKind.DSTREAM),
    "aggregate of a difference": GroupAggregate(BagDifference(A, COUNTED), (), (call("n", "count"),)),
    "internal exists": internal(SemiJoin(A, Qualify(B, "r"), EQUAL)),
    "internal exists by rows": internal(SemiJoin(COUNTED, Qualify(PARTS, "r"), EQUAL)),
    "pairs of internal exists": Join(Qualify(internal(SemiJoin(A, Qualify(B, "r"), EQUAL)), "l"), Qualify(A, "r"),
                                     Scalar.parse("`l.k` = `r.k`")),
    "internal beside rows": Join(Qualify(internal(A), "l"), Qualify(PARTS, "r"), Scalar.parse("`l.k` = `r.k`")),
    "internal beside not exists": Join(Qualify(internal(A), "l"),
                                       Qualify(AntiJoin(B, Qualify(COUNTED, "r"), EQUAL), "r"),
                                       Scalar.parse("`l.k` = `r.k`")),
    "internal with external matches": SemiJoin(internal(A), Qualify(PARTS, "r"), EQUAL),
    "internal aggregate of pairs": GroupAggregate(internal(Join(Qualify(A, "l"), Qualify(PARTS, "r"),
                                                                Scalar.parse("`l.k` = `r.k`"))),
                                                  (NamedScalar("k", Scalar.column("l.k")),), (call("n", "count"),)),
    "restored": RelationToStream(shown("a", SlidingWindow(150, 50)), RelationToStreamKind.RSTREAM, restore=True),
    "by rows that wait": GroupAggregate(shown("a", CountWindow(900, 700)), K, (call("n", "count"),)),
    "aggregate of many groups": GroupAggregate(A, (*K, NamedScalar.column("v")), (call("n", "count"),
                                                                                  call("mean", "avg", "k / 7.0"))),
    "aggregate of lives that grow": GroupAggregate(Union((shown("a", SlidingWindow(900, 1)), Filter(
        shown("b", SlidingWindow(9_000, 1)), Scalar.parse("k > 2500")))), (
        NamedScalar("last", Scalar.parse("k % 40")),), (call("n", "count"), call("top", "max", "v"))),
}


def rows_of(seed: int) -> pa.Table:
    """Keys near the time, so that old ones never come back."""
    rng = np.random.default_rng(seed)
    ts = np.arange(ROWS)
    return pa.table({"ts": ts, "k": ts // 4 + rng.integers(0, 12, ROWS), "v": rng.integers(0, 5, ROWS)})


def run(plan: Node, batch: int, restarts: tuple[int, ...] = (), **options: Any) -> tuple[Counter[Any], Query]:
    query = open_plan(plan, progress="ordered", **options)
    tables = {"a": rows_of(1), "b": rows_of(2)}
    found: Counter[Any] = Counter()
    for first in range(0, ROWS, batch):
        if first in restarts:
            saved = query.snapshot()
            query = open_plan(plan, progress="ordered", **options)
            query.restore(saved)
        for name in query.streams:
            found.update(_rows(query.push(name, tables[name].slice(first, batch))))
    kept = query.status()["state_bytes"]
    found.update(_rows(query.finish()))
    assert kept < 4_000_000, "what is gone was not forgotten"
    return found, query


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


@pytest.mark.parametrize("name", PLANS)
def test_small_steps_with_restarts_give_what_long_steps_give(name: str) -> None:
    small, query = run(PLANS[name], 500, restarts=(5_000, 11_500))
    large, _ = run(PLANS[name], ROWS)
    assert small == large
    assert sum(small.values()) > 200
    assert query.status()["state_bytes"] < 4_000_000


REACHED: dict[str, tuple[type, str, Callable[[Any], int]]] = {
    "restored": (RestoredSnapshots, "_forget", lambda it: len(it._codes)),
    "by rows that wait": (CountedWindow, "_forget", lambda it: len(it._held)),
    "aggregate of many groups": (Grouped, "_forget_groups", lambda it: len(it._codes)),
    "aggregate of lives that grow": (Calendar, "insert", lambda it: it._width if it._days else 0),
}
"""Plans that reach what is seldom done: of what class, in what method, and the number that shows that it was done."""


@pytest.mark.parametrize("name", REACHED)
def test_what_is_seldom_done_is_done_in_these_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, method, size = REACHED[name]
    original, done = getattr(kind, method), []

    def watched(self: Any, *arguments: Any) -> Any:
        before = size(self)
        result = original(self, *arguments)
        done.append(before > 0 and size(self) != before)
        return result

    monkeypatch.setattr(kind, method, watched)
    run(PLANS[name], 500)
    assert any(done)


SEVERAL = (call("n", "count"), call("top", "max", "v"), call("word", "min", "v / 3.0"), call("mean", "avg", "v / 7.0"),
           call("newest", "last", "v"), call("kinds", "count", "v", distinct=True), call("mid", "median", "v"))
STREAM = Source("a", SourceSchema(dict(COLUMNS), time="ts"))
ODD = (NamedScalar("odd", Scalar.parse("k % 5")),)
GROWING: dict[str, Node] = {
    "a stream": STREAM,
    "a landmark": Window(STREAM, WindowClause(LandmarkWindow(40), "ts", OrdinalKind.INTEGER)),
    "since": Window(STREAM, WindowClause(BandWindow.since(300), "ts", OrdinalKind.INTEGER)),
    "two streams": Union((STREAM, Source("b", SourceSchema(dict(COLUMNS), time="ts")))),
}


def kept_after(plan: Node, rows: tuple[int, ...], style: str, batch: int = 400) -> list[tuple[int, int]]:
    """Rows and bytes that the aggregate keeps after so many rows of the input."""
    query = open_plan(plan, progress="ordered", strategy=style)
    tables = {"a": rows_of(1), "b": rows_of(2)}
    found = []
    for first in range(0, rows[-1], batch):
        for name in query.streams:
            query.push(name, tables[name].slice(first, batch))
        if first + batch in rows:
            counters = next(o for o in query.status()["operators"] if o["operator"] == "GroupAggregate")
            found.append((counters["rows"], counters["bytes"]))
    return found


@pytest.mark.parametrize("style", ["upa", "negative", "direct"])
@pytest.mark.parametrize("keys", [(), ODD], ids=["all", "by group"])
@pytest.mark.parametrize("below", GROWING)
def test_state_over_rows_that_never_leave_is_flat(below: str, keys: tuple[NamedScalar, ...], style: str) -> None:
    plan = GroupAggregate(GROWING[below], keys, SEVERAL)
    (early, early_bytes), (late, late_bytes) = kept_after(plan, (ROWS // 2, ROWS), style)
    assert (early, late) == (0, 0)
    assert max(early_bytes, late_bytes) < 150_000  # replaced values are swept out now and then: up and down, not up


@pytest.mark.parametrize("spec", [SlidingWindow(150, 1), CountWindow(150)], ids=["by time", "by rows"])
def test_state_over_a_window_is_bounded_by_the_window(spec: Any) -> None:
    plan = GroupAggregate(shown("a", spec if isinstance(spec, CountWindow) else None), ODD, SEVERAL)
    (early, early_bytes), (late, late_bytes) = kept_after(plan, (4_000, ROWS), "upa")
    assert early == late
    assert late <= 151
    assert late_bytes <= 1.5 * early_bytes < 1_000_000


def merged_per_row(below: Node, keys: tuple[NamedScalar, ...], full: int, batch: int = 40) -> float:
    """Rows and states that a row costs when the windows are full."""
    query: Any = open_plan(GroupAggregate(below, keys, (call("top", "max", "v"),)), progress="ordered")
    tables = {"a": rows_of(1), "b": rows_of(2)}

    def merged() -> int:
        contents = next(s.operator.contents for s in query.relation.root.walk() if hasattr(s.operator, "contents"))
        return int(contents.blocks.merged)

    rows = 3_000
    for first in range(0, full, 1_000):
        for name in query.streams:
            query.push(name, tables[name].slice(first, 1_000))
    before = merged()
    for first in range(full, full + rows, batch):
        for name in query.streams:
            query.push(name, tables[name].slice(first, batch))
    return (merged() - before) / (rows * len(query.streams))


@pytest.mark.parametrize("keys", [(), ODD], ids=["all", "by group"])
def test_what_a_row_costs_does_not_grow_with_the_window(keys: tuple[NamedScalar, ...]) -> None:
    """Beyond a level of blocks for every factor of 32, of which a step touches the first and the last."""
    short, long = (merged_per_row(Window(STREAM, WindowClause(SlidingWindow(n, 1), "ts", OrdinalKind.INTEGER)), keys,
                                  n + 1_000 - n % 1_000) for n in (500, 10_000))
    assert long < 2 * short < 20


def test_what_a_row_costs_grows_by_levels_where_rows_leave_in_any_order() -> None:
    def pairs(n: int) -> Node:
        sides = [Window(Source(name, SourceSchema(dict(COLUMNS), time="ts")),
                        WindowClause(SlidingWindow(length, 1), "ts", OrdinalKind.INTEGER))
                 for name, length in (("a", n), ("b", n // 3))]
        return Union(tuple(sides))

    short, long = merged_per_row(pairs(500), (), 1_000), merged_per_row(pairs(8_000), (), 9_000)
    assert long < 2 * short < 20


def of_three(*sides: Node) -> Node:
    one, two, three = (Qualify(side, name) for side, name in zip(sides, "xyz", strict=True))
    return Join(Join(one, two, Scalar.parse("`x.k` = `y.k`")), three, Scalar.parse("`y.k` = `z.k`"))


@pytest.mark.parametrize("how", ["at once", *MANNERS])
@pytest.mark.parametrize("plan", [of_three(A, B, A), of_three(A, PARTS, B),
                                  of_three(COUNTED, A, AntiJoin(B, Qualify(COUNTED, "r"), MORE))],
                         ids=["by time", "by rows", "not exists"])
def test_windows_joined_at_once_give_what_they_give_by_twos(plan: Node, how: str) -> None:
    small, query = run(plan, 500, restarts=(5_000, 11_500), joins=how)
    assert any("runs" in state for state in query.status()["operators"])
    assert small == run(plan, ROWS)[0]
    assert sum(small.values()) > 200
