"""Every window kind and aggregate through the streaming operator, without Spark: any cut, shard and restart."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.compare import assert_same_rows
from conformance.generated import AGGREGATES, BY_POSITION, BY_VALUE, VALUES_BY_POSITION, any_kind
from spark.in_process_rows import run_rows_in_process

KINDS = (*BY_VALUE, "RANGE 9, SLIDE 4, WA ts", "RANGE 7, SLIDE 10, WA ts, ORIGIN 3, LAG 2", *BY_POSITION,
         *VALUES_BY_POSITION)
PLAIN = tuple(a for a in AGGREGATES if " - " not in a)
"""Without expressions over results: Spark computes those."""


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from([1, 3, 8, 1000]), st.sampled_from([1, 2, 3]),
       st.sampled_from([0, 2_000, 1 << 20]))
def test_rows_without_the_bound_of_their_arrival_count_where_no_promise_is_broken(
        random: Random, rows_per_batch: int, shards: int, journal: int) -> None:
    case = any_kind(random, KINDS, grammatical=True, rows=25, aggregates=PLAIN)
    with tempfile.TemporaryDirectory() as folder:
        found = run_rows_in_process(case, Path(folder), random=random, rows_per_batch=rows_per_batch, shards=shards,
                                    journal=journal, stamped=False)
    assert_same_rows(found.rows, case.expected())
    assert found.late == 0


@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from([1, 3, 8, 1000]), st.sampled_from([1, 2, 3]),
       st.sampled_from([0, 2_000, 1 << 20]))
def test_the_lists_of_panes_of_rows_go_through_journals_and_snapshots(random: Random, rows_per_batch: int, shards: int,
                                                                      journal: int) -> None:
    case = any_kind(random, BY_POSITION[:6], grammatical=None, rows=25, aggregates=("frequent_items(v, 2)",))
    with tempfile.TemporaryDirectory() as folder:
        found = run_rows_in_process(case, Path(folder), random=random, rows_per_batch=rows_per_batch, shards=shards,
                                    journal=journal)
    assert_same_rows(found.rows, case.expected())


@pytest.mark.parametrize("bracket", KINDS)
@settings(max_examples=12, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from([1, 3, 8, 1000]), st.sampled_from([1, 2, 3]),
       st.sampled_from([0, 2_000, 1 << 20]))
def test_every_kind_gives_the_oracles_answer(bracket: str, random: Random, rows_per_batch: int, shards: int,
                                             journal: int) -> None:
    case = any_kind(random, (bracket,), grammatical=None, rows=20, aggregates=PLAIN)
    with tempfile.TemporaryDirectory() as folder:
        found = run_rows_in_process(case, Path(folder), random=random, rows_per_batch=rows_per_batch, shards=shards,
                                    journal=journal)
    assert_same_rows(found.rows, case.expected())
    if case.late == "side":
        assert len(found.late_rows) == found.late
        arrived = [i for i in case.streams["s"] if isinstance(i, dict)]
        assert all(json.loads(text) in arrived for text in found.late_rows)
