"""Relations over joins of streams: aggregates by both times, distinct pairs, as the oracle has them."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.compare import assert_same_rows
from embedded.join_plans import join, side, timeline
from oracle.questions import Oracle
from panewise.core.errors import CheckpointError
from panewise.core.scalar import Scalar
from panewise.dataflow import open_plan
from panewise.plan.nodes import AggregateCall, Distinct, GroupAggregate, NamedScalar, Node, Project, Union
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Timeline
from panewise.sql import parse
from sql.rows import arrivals
from sql.sql_cases import catalog, options
from sql.test_queries_run import CASES


def relation(random: Random) -> Node:
    """An aggregate or distinct values over a join, or over the union of two."""
    def pairs() -> Node:
        found = join(random, side(random, ("a",), "l"), side(random, ("b",), "r"), ("l", "r"))
        return Project(found, tuple(NamedScalar(n, Scalar.column(c)) for n, c in
                                    (("lts", "l.ts"), ("rts", "r.ts"), ("k", "l.k"), ("v", "r.v"))))

    below = Union((pairs(), pairs())) if random.random() < 0.2 else pairs()
    if random.random() < 0.3:
        return Distinct(Project(below, (NamedScalar.column("k"), NamedScalar.column("v"))))
    keys = random.choice((("lts", "rts"), ("k",), ("lts", "rts", "k"), ()))
    return GroupAggregate(below, tuple(NamedScalar.column(k) for k in keys),
                          (AggregateCall("n", "count"), AggregateCall("s", "sum", (Scalar.column("v"),))))


def run(plan: Node, items: Timeline, saves: frozenset[int], **how: Any) -> tuple[list[dict[str, Any]], Any]:
    query, results = open_plan(plan, **how), []
    for i, arrival in enumerate(items):
        item = arrival.item if isinstance(arrival.item, Punctuation) else [arrival.item]
        results += query.push(arrival.stream, item).to_pylist()
        if i in saves:
            saved, query = query.snapshot(), open_plan(plan, **how)
            query.restore(saved)
    return results + query.finish().to_pylist(), query


@settings(max_examples=30, deadline=None)
@given(st.randoms(use_true_random=False), st.frozensets(st.integers(0, 40), max_size=4))
def test_relations_of_pairs_are_the_oracles(random: Random, saves: frozenset[int]) -> None:
    plan = relation(random)
    honest = random.random() < 0.6
    items = timeline(random, plan, honest=honest, rows=14)
    late = "drop" if honest else random.choice(("drop", "side"))
    oracle = Oracle(plan, items, late=late)
    found, query = run(plan, items, saves, late=late)
    assert query.relation is not None
    assert_same_rows(found, oracle.results())
    assert query.status()["streams"].keys() == {"a", "b"}


def test_q7_1_counts_connections_by_both_times_when_their_instant_is_complete() -> None:
    case = next(c for c in CASES if c["id"] == "li08-Q7-1")
    plan = parse(case["text"], catalog(), **options(case))
    query = open_plan(plan)
    row = next(a.item for a in arrivals(plan, 1) if a.stream == "S0")
    there = {**row, "srcIP": "x", "destIP": "y", "srcPort": 1, "destPort": 2}  # type: ignore[dict-item]
    back = {**there, "srcIP": "y", "destIP": "x", "srcPort": 2, "destPort": 1}
    start = 1_767_225_600_000_000
    query.push("S0", [{**there, "ts": start, "flag": "SYN"}, {**there, "ts": start, "flag": "SYN"}])
    query.push("S1", [{**back, "ts": start + 5, "flag": "SYN_ACK"}])
    assert query.push("S0", Punctuation.below("ts", start + 6)).num_rows == 0
    found = query.push("S1", Punctuation.below("ts", start + 6)).to_pylist()  # a box: both times are over
    assert [(r["count(*)"], r["change"]) for r in found] == [(2, 1)]
    assert found[0]["valid_from"] == found[0]["S1.ts"]
    assert query.finish().num_rows == 0


def test_what_is_not_ours_is_refused() -> None:
    random = Random(5)
    plan = GroupAggregate(join(random, side(random, ("a",), "l"), side(random, ("b",), "r"), ("l", "r")), (),
                          (AggregateCall("n", "count"),))
    other = GroupAggregate(plan.input, (NamedScalar.column("l.k"),), plan.aggregates)
    with pytest.raises(CheckpointError, match="another query"):
        open_plan(other).restore(open_plan(plan).snapshot())
