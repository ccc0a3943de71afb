"""Joins in another order have every condition they had: what follows from equal columns is left out, nothing else."""

from __future__ import annotations

from typing import Any

import pytest

import panewise as pw
from oracle.building import by_time
from oracle.questions import Oracle
from panewise.api.inputs import local_stream
from panewise.api.query import plan_of
from panewise.core.errors import PlanError
from panewise.core.scalar import Scalar
from panewise.plan import nodes as n
from panewise.planner.choose.optimizer import optimize
from panewise.planner.rewrites.join_orders import join_reorders
from panewise.planner.statistics.relation_statistics import declared_relations
from planner.random_plans import STREAMS, WINDOWS, equal, timeline_of

FROM = "FROM S1 [RANGE 9], S2 [RANGE 9], S3 [RANGE 9] WHERE"
STATS = {"S1.rows_per_second": 100, "S2.rows_per_second": 100, "S3.rows_per_second": 0.01, "S1.x": 3, "S2.x": 3,
         "S2.v": 100, "S3.v": 100, "S3.x": 1000}
Rows = list[dict[str, Any]]


def row(**values: Any) -> Rows:
    return [{"ts": 1, **values}]


def named(*streams: Rows) -> dict[str, Rows]:
    return {f"S{i}": rows for i, rows in enumerate(streams, start=1)}


@pytest.mark.parametrize(("condition", "streams", "results"), [
    ("S1.x = S2.x AND S1.x + S2.x > 3 AND S2.v = S3.v", named(*[row(x=1, v=1)] * 3), 0),
    ("S1.x = S2.x AND S1.x + S2.x > 3 AND S2.v = S3.v", named(*[row(x=2, v=1)] * 3), 1),
    ("S1.x = S2.x AND S1.x = S3.x AND S2.x = S3.x AND S1.x * S3.x <> 4", named(*[row(x=2)] * 3), 0),
    # equal columns of one type are a class, and a pair of two types is in none
    ("S1.x = S2.v AND S1.x = S3.x AND S2.v = S3.v", named(row(x=1), row(v=2.0), row(x=1, v=2.0)), 0),
    ("S1.x = S2.x AND S2.x = S3.x", named(row(x="1"), row(x=1), row(x="01")), 1),
], ids=["a sum", "a sum that is enough", "a product", "a pair of two types", "texts equal to a number"])
def test_no_condition_is_lost_and_none_is_added(condition: str, streams: dict[str, Rows], results: int) -> None:
    text = f"SELECT S1.x {FROM} {condition}"
    plan = plan_of(text, {name: local_stream(rows).schema for name, rows in streams.items()})
    items = by_time(**streams)
    expected = Oracle(plan, items).results()
    assert len(expected) == results
    found = optimize(plan, declared_relations(STATS))
    assert len(found.candidates) > 1
    for candidate in found.candidates:
        assert Oracle(candidate.plan, items).results() == expected, candidate.formula
    known = {f"{stream}.{item}" for stream, rows in streams.items() for item in ("rows_per_second", *rows[0])}
    stats = {name: value for name, value in STATS.items() if name in known}
    assert [dict(result) for result in pw.sql(text, stats=stats, **streams)] == expected


def test_a_further_pair_of_two_types_is_not_joined_at_once() -> None:
    text = f"SELECT S1.x {FROM} S1.x = S2.x AND S2.x = S3.x AND S1.v = S2.v"
    streams = named(row(x=1, v=1), row(x=1, v=2.0), row(x=1, v=1))
    assert not list(pw.sql(text, **streams))
    with pytest.raises(PlanError, match="at once"):
        pw.sql(text, joins="at once", **streams)


def test_a_column_that_is_equal_to_itself_is_not_null() -> None:
    one, other, third = (n.Qualify(n.Window(STREAMS[s], WINDOWS["last 5"]), s) for s in "abc")
    pair = n.Join(one, other, Scalar.parse("`a.v` = `b.v` AND `a.x` = `a.x`"))
    plan = n.Join(pair, third, Scalar.parse("`b.v` = `c.v`"))
    items = timeline_of([(1, "p", None)], [(2, "p", 0)], [(3, "p", 0)])  # type: ignore[list-item]
    assert join_reorders.apply(plan)
    assert all(equal(plan, moved, items) for moved in join_reorders.apply(plan))


def test_five_joins_in_the_order_of_the_heuristic_have_all_conditions() -> None:
    streams = {f"S{i}": row(x=1) for i in range(1, 6)}
    links = " AND ".join(f"S{i}.x = S{i + 1}.x" for i in range(1, 5))
    text = f"SELECT S1.x FROM {', '.join(f'{s} [RANGE 9]' for s in streams)} WHERE {links} AND S1.x + S2.x > 3"
    plan = plan_of(text, {name: local_stream(rows).schema for name, rows in streams.items()})
    known = declared_relations({f"S{i}": {"rows_per_unit": 10.0 / i, "x": 10} for i in range(1, 6)})
    by_heuristic = [c for c in optimize(plan, known, limit=5).candidates if "join order by heuristic" in c.by]
    assert by_heuristic
    assert not [c for c in by_heuristic if Oracle(c.plan, by_time(**streams)).results()]
