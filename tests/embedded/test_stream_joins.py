"""Joins of streams on the embedded engine: the oracle's answer whatever the order, cuts, promises and restarts."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.compare import assert_same_rows
from embedded.join_plans import aggregated, rows_out, run, timeline
from oracle.questions import Oracle
from panewise.plan.nodes import Node

randoms = st.randoms(use_true_random=False)
places = st.frozensets(st.integers(0, 50), max_size=8)


def check(plan: Node, random: Random, cuts: frozenset[int], saves: frozenset[int]) -> None:
    honest = random.random() < 0.6
    arrivals = timeline(random, plan, honest=honest)
    options = {"late": "drop" if honest else random.choice(("drop", "side", "generous", "consistent")),
               "progress": "source" if honest else random.choice(("source", "source", "ordered", "late:4", "rows:2"))}
    oracle = Oracle(plan, arrivals, **options)
    found, query = run(plan, arrivals, cuts, saves, **options)
    assert_same_rows(found, oracle.results())
    assert query.late_count == len(oracle.late_rows())
    if options["late"] == "side":
        assert_same_rows(query.late_rows.to_pylist(), oracle.late_rows())
    assert query.status(windows=0)["buffered"] == 0


@settings(max_examples=60, deadline=None)
@given(randoms, places, places)
def test_pairs_are_the_oracles(random: Random, cuts: frozenset[int], saves: frozenset[int]) -> None:
    check(rows_out(random), random, cuts, saves)


@settings(max_examples=50, deadline=None)
@given(randoms, places, places)
def test_window_aggregates_over_joins_are_the_oracles(random: Random, cuts: frozenset[int],
                                                      saves: frozenset[int]) -> None:
    check(aggregated(random), random, cuts, saves)
