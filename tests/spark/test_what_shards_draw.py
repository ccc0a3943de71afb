"""Random plans in shards are worth what they draw: more than one shard, parts of both kinds, and results."""

from __future__ import annotations

from oracle.questions import Oracle
from relations.random_plans import OPERATORS
from relations.test_what_is_drawn import examples
from spark import test_query_shards as shards
from spark.in_process_queries import Hosted


def test_many_examples_have_results_in_more_than_one_shard_and_some_are_cut_in_two() -> None:
    filled = several = cut = 0
    test = shards.test_random_plans_give_the_oracles_answer_in_any_number_of_shards
    for example in examples(test, shards, "operator", OPERATORS):
        plan, timeline = example["case"]
        hosted = Hosted(plan, example["shards"])
        if Oracle(plan, timeline).results():
            filled += 1
            several += len(hosted.labels) > 1 or any(len(part.labels) > 1 for part in hosted.below.values())
            cut += bool(hosted.below)
    assert filled >= 40
    assert several >= 15
    assert cut >= 4
