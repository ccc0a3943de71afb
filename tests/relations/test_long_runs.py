"""Long runs of small windows over ever new values: what is gone is forgotten, and nothing depends on it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceSchema
from panewise.plan.nodes import (
    AntiJoin,
    BagDifference,
    Distinct,
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
    Window,
    WindowClause,
)
from panewise.queries.relations import RelationQuery
from panewise.windows.count import CountWindow, PartitionedCountWindow
from panewise.windows.sliding import SlidingWindow
from relations.many_joins import MANNERS
from relations.test_group_aggregates import call

ROWS = 16_000
COLUMNS = {"ts": pa.int64(), "k": pa.int64(), "v": pa.int64()}


def shown(stream: str, spec: Any = None) -> Node:
    attribute: Any = ("ts", OrdinalKind.INTEGER) if spec is None else ("row-num", OrdinalKind.ROWS)
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
    "distinct": Distinct(A),
    "distinct by rows": Distinct(COUNTED),
    "not exists": AntiJoin(A, Qualify(B, "r"), EQUAL),
    "not exists with a condition": AntiJoin(A, Qualify(B, "r"), MORE),
    "exists by rows": SemiJoin(COUNTED, Qualify(PARTS, "r"), EQUAL),
    "difference": BagDifference(A, B),
    "aggregate": GroupAggregate(A, K, (call("n", "count"), call("top", "max", "v"), call("mean", "avg", "v"))),
    "aggregate by rows": GroupAggregate(PARTS, K, (call("n", "count"), call("total", "sum", "v"))),
    "went": RelationToStream(Distinct(A), RelationToStreamKind.DSTREAM),
    "aggregate of a difference": GroupAggregate(BagDifference(A, COUNTED), (), (call("n", "count"),)),
}


def rows_of(seed: int) -> pa.Table:
    """Keys near the time, so that old ones never come back."""
    rng = np.random.default_rng(seed)
    ts = np.arange(ROWS)
    return pa.table({"ts": ts, "k": ts // 4 + rng.integers(0, 12, ROWS), "v": rng.integers(0, 5, ROWS)})


def run(plan: Node, batch: int, restarts: tuple[int, ...] = (), **options: Any) -> tuple[Counter[Any], RelationQuery]:
    query = RelationQuery(plan, progress="ordered", **options)
    tables = {"a": rows_of(1), "b": rows_of(2)}
    found: Counter[Any] = Counter()
    for first in range(0, ROWS, batch):
        if first in restarts:
            saved = query.snapshot()
            query = RelationQuery(plan, progress="ordered", **options)
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
