"""Statistics collected while running, how they drift, and the plan that is proposed then."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from panewise.core.scalar import Scalar
from panewise.core.schema import Catalog
from panewise.plan import nodes as n
from panewise.planner.choose.optimizer import optimize
from panewise.planner.statistics.collecting import Collector, Values
from panewise.planner.statistics.relation_sampling import measured_relations
from panewise.planner.statistics.relation_statistics import RelationStatistics, declared_relations
from panewise.planner.statistics.replan import drifts, propose_replan
from panewise.planner.statistics.watching import Watch
from panewise.sql import parse

SCHEMA = pa.schema({"ts": pa.int64(), "a": pa.int64(), "b": pa.int64()})
CATALOG = Catalog.of(**dict.fromkeys(("S1", "S2", "S3"), SCHEMA))
QUERY = ("SELECT * FROM S1 [RANGE 100], S2 [RANGE 100] WHERE S1.a = S2.a AND S1.b > 3 AND NOT EXISTS "
         "(SELECT * FROM S3 [RANGE 100] WHERE S3.a = S1.a)")


def stats(**inputs: tuple[float, float]) -> RelationStatistics:
    return declared_relations({name: {"rows_per_unit": rate, "a": values} for name, (rate, values) in inputs.items()})


FEW_PAIRS = stats(S1=(10, 1000), S2=(0.05, 1000), S3=(1, 1000))
MANY_PAIRS = stats(S1=(10, 20), S2=(10, 20), S3=(10, 20))


def batch(count: int, values: int, *, start: int = 0, every: int = 1) -> pa.Table:
    return pa.table({"ts": [start + i // every for i in range(count)], "a": [i * 7 % values for i in range(count)],
                     "b": [i % 8 for i in range(count)]})


def test_a_plan_that_has_become_dear_is_replaced():
    written = parse(QUERY, CATALOG)
    running = optimize(written, FEW_PAIRS).chosen.plan
    proposal = propose_replan(running, FEW_PAIRS, MANY_PAIRS)
    assert proposal is not None
    assert proposal.plan != running
    assert proposal.proposed.cost.total < 0.8 * proposal.running.cost.total
    assert "values of S1.a was 1,000, is 20" in proposal.reason
    assert "less" in proposal.reason


def test_nothing_is_proposed_while_statistics_stay():
    running = optimize(parse(QUERY, CATALOG), FEW_PAIRS).chosen.plan
    slightly = stats(S1=(12, 1000), S2=(0.05, 1000), S3=(1, 1000))
    assert not drifts(FEW_PAIRS, slightly)
    assert propose_replan(running, FEW_PAIRS, slightly) is None


def test_nothing_is_proposed_if_the_plan_is_still_the_cheapest():
    running = optimize(parse(QUERY, CATALOG), MANY_PAIRS).chosen.plan
    thrice = stats(S1=(30, 20), S2=(30, 20), S3=(30, 20))
    assert len(drifts(MANY_PAIRS, thrice)) == 3
    assert propose_replan(running, MANY_PAIRS, thrice) is None


def test_a_running_plan_without_spare_columns_is_compared_with_plans_of_the_query_as_written():
    written = parse("SELECT S1.a FROM S1 [RANGE 100], S2 [RANGE 100], S3 [RANGE 100] WHERE S1.a = S2.a AND S2.a = S3.a",
                    CATALOG)
    small_last = stats(S1=(0.1, 10), S2=(10, 10), S3=(10, 10))
    small_first = stats(S1=(10, 10), S2=(10, 10), S3=(0.1, 10))
    running = optimize(written, small_last).plan
    proposal = propose_replan(running, small_last, small_first, written=written)
    assert proposal is not None
    assert propose_replan(running, small_last, small_last, written=written) is None


def test_other_state_for_the_same_plan_is_a_proposal_as_well():
    query = ("SELECT a, count(*) AS n FROM (SELECT DISTINCT a FROM S1 [RANGE 100] WHERE NOT EXISTS "
             "(SELECT * FROM S2 [RANGE 100] WHERE S2.a = S1.a)) AS alone GROUP BY a")
    plan = parse(query, CATALOG)
    rare, often = (replace(stats(S1=(1, 10000), S2=(1, 10000)), premature={"`S2.a` = a": share})
                   for share in (0.1, 0.99))
    proposal = propose_replan(plan, rare, often)
    assert proposal is not None
    assert proposal.plan == plan
    assert proposal.moved
    assert "every end is sent" in proposal.reason


def test_a_collector_finds_rates_values_and_shares():
    collector = Collector(parse(QUERY, CATALOG))
    for start in range(0, 100, 10):
        collector.rows("S1", batch(100, 50, start=start, every=10))
    collector.rows("S2", batch(10, 5).to_batches()[0])
    collector.rows("other", batch(10, 5))
    collector.passed(Scalar.parse("`S1.b` > 3"), 50, 100)
    collector.left("`S1.a` = `S3.a`", 40, 100)
    found = collector.statistics()
    assert found.measured
    assert found.input("S1").rate == pytest.approx(10, rel=0.05)
    assert found.input("S1").values["a"] == 50
    assert found.input("S2").values["a"] == 5
    assert found.passing == {"`S1.b` > 3": 0.5}
    assert found.premature == {"`S1.a` = `S3.a`": 0.4}
    assert set(found.inputs) == {"S1", "S2"}


@pytest.mark.parametrize("count", [10, 500, 20_000])
def test_values_are_estimated_in_little_memory(count: int):
    seen = Values()
    for start in range(0, count, 2_000):
        seen.add(pa.chunked_array([list(range(start, min(count, start + 2_000)))]))
    assert seen.estimate == pytest.approx(count, rel=0.15)
    assert len(seen.smallest) <= 512


def test_statistics_are_measured_on_the_first_rows():
    plan = parse(QUERY, CATALOG)
    found = measured_relations(plan, {"S1": [batch(1000, 50, every=10)], "S2": [batch(100, 5)]})
    assert found.input("S1").rate == pytest.approx(10, rel=0.05)
    assert found.passing["`S1.b` > 3"] == 0.5
    assert not [node for node in plan.walk() if isinstance(node, n.Table)]


def feed(watch: Watch, *, pairs: int, start: int) -> None:
    """A hundred steps of three streams, with so many values of the join column."""
    for stream, every in (("S1", 10), ("S2", 10), ("S3", 10)):
        watch.rows(stream, batch(100 * every, pairs, start=start, every=every))


def test_a_watched_plan_is_judged_period_by_period():
    watch = Watch(optimize(parse(QUERY, CATALOG), FEW_PAIRS), period=2_500)
    watch.rows("S1", batch(1_000, 20, every=10))
    assert watch.proposal() is None  # too early to say
    feed(watch, pairs=20, start=100)
    proposal = watch.proposal()
    assert proposal is not None
    assert proposal.plan != watch.running.chosen.plan
    assert watch.proposal() is None  # a new period has begun


def test_a_plan_chosen_without_statistics_is_judged_by_its_first_period():
    watch = Watch(optimize(parse(QUERY, CATALOG)), period=2_500)
    feed(watch, pairs=900, start=0)
    assert watch.proposal() is None
    assert watch.known is not None
    feed(watch, pairs=20, start=100)
    assert watch.proposal() is not None
