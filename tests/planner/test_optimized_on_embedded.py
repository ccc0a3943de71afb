"""Optimized plans on the embedded engine: the results of the query as written, and a run that is watched."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

from panewise.core.schema import Catalog
from panewise.dataflow import open_plan
from panewise.engines.oracle.tuples import sorted_rows
from panewise.plan import nodes as n
from panewise.planner.choose.optimizer import optimize
from panewise.planner.statistics.relation_statistics import RelationStatistics, declared_relations
from panewise.planner.statistics.watching import Watch
from panewise.progress.punctuation import Punctuation
from panewise.sql import parse

SCHEMA = pa.schema({"ts": pa.int64(), "a": pa.int64(), "b": pa.int64()})
CATALOG = Catalog.of(**dict.fromkeys(("S1", "S2", "S3"), SCHEMA))
JOINS = "FROM S1 [RANGE 20], S2 [RANGE 20], S3 [RANGE 20] WHERE S1.a = S2.a AND S2.a = S3.a"
NEGATION = ("FROM S1 [RANGE 20], S2 [RANGE 20] WHERE S1.a = S2.a AND S1.b > 3 AND NOT EXISTS "
            "(SELECT * FROM S3 [RANGE 10] WHERE S3.a = S1.a)")
QUERIES = [f"SELECT * {JOINS}", f"SELECT S1.b, S3.b {JOINS} AND S2.b > 2", f"SELECT * {NEGATION}",
           f"SELECT S1.a, S2.b {NEGATION}"]


def stats(*streams: tuple[float, float]) -> RelationStatistics:
    return declared_relations({f"S{i}": {"rows_per_unit": rate, "a": values}
                               for i, (rate, values) in enumerate(streams, start=1)})


def rows(start: int, count: int, values: int, random: Random) -> pa.Table:
    times = sorted(random.randrange(start, start + 100) for _ in range(count))
    return pa.table({"ts": times, "a": [random.randrange(values) for _ in times],
                     "b": [random.randrange(8) for _ in times]})


def results(plan: n.Node) -> list[dict[str, object]]:
    query, random, found = open_plan(plan), Random(5), []
    for start in (0, 100):
        for name, count in (("S1", 40), ("S2", 60), ("S3", 15)):
            found += query.push(name, rows(start, count, 6, random)).to_pylist()
        for name in ("S1", "S2", "S3"):
            found += query.push(name, Punctuation.below("ts", start + 100)).to_pylist()
    return sorted_rows([*found, *query.finish().to_pylist()])


@pytest.mark.parametrize("query", QUERIES)
def test_the_optimized_plan_gives_the_results_of_the_query_as_written(query: str) -> None:
    plan = parse(query, CATALOG)
    expected = results(plan)
    assert expected
    plans = [optimize(plan, known).plan for known in (
        stats((10, 10), (10, 10), (0.1, 10)), stats((0.1, 10), (10, 10), (10, 10)), stats((10, 10), (10, 10), (9, 10)))]
    assert set(plans) != {plan}
    for found in plans:
        assert results(found) == expected


def test_a_watched_run_proposes_another_plan_when_its_streams_change() -> None:
    chosen = optimize(parse(QUERIES[0], CATALOG), stats((4, 6), (4, 6), (0.1, 6)))
    assert chosen.chosen.formula == "π((S1[] ⋈ S3[]) ⋈ S2[])"
    query, watch, random = open_plan(chosen.plan), Watch(chosen, period=800), Random(5)
    proposals = []
    for start, (second, third) in ((0, (400, 10)), (100, (400, 10)), (200, (10, 400)), (300, (10, 400))):
        for name, count in (("S1", 400), ("S2", second), ("S3", third)):
            batch = rows(start, count, 6, random)
            watch.rows(name, batch)
            query.push(name, batch)
        proposals.append(watch.proposal())
    assert proposals[0] is None
    assert proposals[2] is not None
    assert "rows of S3 per unit was 0.1, is 4" in proposals[2].reason


AS_DECLARED, OTHERWISE = (400, 10), (10, 400)
"""Rows of S2 and S3 in a hundred units."""


def proposals_of(*rounds: tuple[int, int]) -> list[str | None]:
    """What a query that was declared four rows of S1 and S2 a unit and few of S3 proposes after each round."""
    figures = {"S1": {"rows_per_unit": 4, "a": 6}, "S2": {"rows_per_unit": 4, "a": 6},
               "S3": {"rows_per_unit": 0.1, "a": 6}}
    query, random, said = open_plan(parse(QUERIES[0], CATALOG), stats=figures, progress="ordered"), Random(5), []
    assert query.relation.watch is not None
    query.relation.watch.period = 800
    for number, (second, third) in enumerate(rounds):
        for name, count in (("S1", 400), ("S2", second), ("S3", third)):
            query.push(name, rows(100 * number, count, 6, random))
        assert query.status().get("replan") == query.proposal
        said.append(query.proposal)
    return said


def test_a_query_that_was_given_statistics_watches_itself() -> None:
    said = proposals_of(AS_DECLARED, AS_DECLARED, OTHERWISE, OTHERWISE)
    assert said[0] is None
    assert "rows of S3 per unit was 0.1, is" in str(said[-1])
    assert open_plan(parse(QUERIES[0], CATALOG)).relation.watch is None  # there is nothing to drift from


def test_an_input_that_was_silent_for_a_period_is_taken_to_be_as_it_was() -> None:
    chosen = optimize(parse(QUERIES[0], CATALOG), stats((4, 6), (4, 6), (0.1, 6)))
    watch, random = Watch(chosen, period=800), Random(5)
    watch.rows("S1", rows(0, 900, 6, random))  # nine a unit instead of four
    assert watch.proposal() is None  # the others are not taken to have the usual rate: the plan is still the best


def test_a_proposal_is_taken_back_when_streams_are_as_they_were() -> None:
    said = proposals_of(OTHERWISE, OTHERWISE, AS_DECLARED, AS_DECLARED)
    assert said[0] is not None
    assert said[-1] is None


def test_what_passes_a_condition_and_what_leaves_early_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    query, random = open_plan(parse(QUERIES[2], CATALOG), stats={"S1": {"rows_per_unit": 1}}), Random(5)
    assert query.relation.watch is not None
    watch, seen = query.relation.watch, []
    monkeypatch.setattr(watch, "period", 1)
    monkeypatch.setattr(watch, "proposal", lambda: seen.append(watch.statistics()))
    for start in range(0, 500, 100):
        for name in ("S1", "S2", "S3"):
            query.push(name, rows(start, 60, 6, random))
            query.push(name, Punctuation.below("ts", start + 100))
    assert any(0 < share < 1 for share in seen[-1].passing.values())
    assert any(0 < share < 1 for share in seen[-1].premature.values())
