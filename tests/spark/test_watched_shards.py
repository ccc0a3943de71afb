"""Statistics on Spark: they choose the plan of every part, and shards say when another one would be better."""

from __future__ import annotations

from unittest.mock import patch

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle.questions import Oracle
from panewise.core.schema import Catalog, SourceSchema
from panewise.kernels.relations.joins.many_join import ManyJoin
from panewise.planner.choose.optimizer import is_relational
from panewise.planner.statistics.relation_statistics import InputStatistics, RelationStatistics
from panewise.planner.statistics.watching import Watch
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Timeline
from panewise.sql import parse
from relations.plans import PLACES
from relations.random_plans import FOUR, cases, every_operator
from relations.running import bag
from spark.in_process_queries import Hosted

CATALOG = Catalog({name: SourceSchema({"ts": pa.int64(), "k": pa.int64(), "v": pa.int64()}, time="ts")
                   for name in "abc"})
RATES = st.sampled_from([0.01, 1.0, 100.0])
KNOWN = st.builds(lambda rates: RelationStatistics({s: InputStatistics(r, {"k": 3.0, "v": 4.0})
                                                    for s, r in zip(FOUR, rates, strict=True)}),
                  st.lists(RATES, min_size=len(FOUR), max_size=len(FOUR)))


@every_operator
@settings(max_examples=5, deadline=None)
@given(st.data(), KNOWN, PLACES, st.integers(1, 3), st.integers(0, 9))
def test_whatever_statistics_choose_the_answer_is_the_oracles(operator: str, data: st.DataObject,
                                                              known: RelationStatistics, cuts: frozenset[int],
                                                              shards: int, seed: int) -> None:
    plan, timeline = data.draw(cases(operator, streams=FOUR, apart=True, only=is_relational))
    hosted = Hosted(plan, shards, seed=seed, known=known)
    oracle = Oracle(plan, timeline)
    assert bag(hosted.run(timeline, cuts)) == bag(oracle.results())


def three_streams(*rates: int) -> Timeline:
    """So many rows per tick, a promise each ten ticks."""
    found: Timeline = []
    for ts in range(200):
        found += [Arrival(name, {"ts": ts, "k": (ts + i) % 6, "v": i})
                  for name, rate in zip("abc", rates, strict=True) for i in range(rate)]
        found += [Arrival(name, Punctuation.below("ts", ts)) for name in "abc" if ts % 10 == 9]
    return found


def known(**rates: float) -> RelationStatistics:
    return RelationStatistics({name: InputStatistics(rate, {"k": 6.0, "v": 6.0}) for name, rate in rates.items()})


def test_a_shard_sees_its_share_and_says_when_another_plan_is_better() -> None:
    plan = parse("SELECT a.v FROM a [RANGE 6], b [RANGE 6], c [RANGE 6] WHERE a.k = b.k AND b.k = c.k", CATALOG)
    as_declared, otherwise = (Hosted(plan, 2, known=known(a=4, b=4, c=1)) for _ in range(2))
    cuts = frozenset(range(0, 2000, 100))
    with patch.dict(Watch.__init__.__kwdefaults__, period=60):  # a worker that forgets its query begins a new period
        as_declared.run(three_streams(4, 4, 1), cuts)
        otherwise.run(three_streams(4, 1, 4), cuts)
    assert as_declared.proposals == set()
    assert any("rows of c per unit was 0.5, is" in said for said in otherwise.proposals)


def test_a_lower_part_is_watched_too() -> None:
    text = ("SELECT b.v, count(*) AS n FROM a [RANGE 6], b [RANGE 6], c [RANGE 6] WHERE a.k = b.k AND b.k = c.k "
            "GROUP BY b.v")
    hosted = Hosted(parse(text, CATALOG), 2, known=known(a=4, b=4, c=1))
    (below,) = hosted.below.values()
    with patch.dict(Watch.__init__.__kwdefaults__, period=60):
        hosted.run(three_streams(4, 1, 4), frozenset(range(0, 2000, 100)))
    assert hosted.config.watched is None
    assert any("rows of c per unit was 0.5, is" in said for said in below.proposals)


def test_a_shard_runs_the_very_plan_that_was_chosen() -> None:
    plan = parse("SELECT a.v FROM a [RANGE 6], b [RANGE 6], c [RANGE 6] WHERE a.k = b.k AND b.k = c.k AND a.v > 3",
                 CATALOG)
    config = Hosted(plan, 2, known=known(a=100, b=100, c=100)).config
    query = config.open()
    assert query.relation is not None
    assert query.relation.physical.running == config.plan
    assert config.decided is not None
    assert config.decided.at_once
    assert any(isinstance(stage.operator, ManyJoin) for stage in query.relation.root.walk())
