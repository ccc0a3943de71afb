"""Errata of query texts: where prose and query disagree, the query counts, and the plan shows what it says."""

from __future__ import annotations

from typing import Any

import pytest

from oracle.questions import Oracle
from panewise.core.errors import SqlError
from panewise.core.time import MINUTE, SECOND
from panewise.plan.nodes import Node, Source, TumblingJoin, WindowAggregate
from panewise.progress.timeline import Timeline, timeline
from panewise.sql import parse
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tuple_slide import TupleSlideWindow
from sql.sql_cases import catalog, load, options

QUERIES: dict[str, dict[str, Any]] = {case["id"]: case for case in load("queries.yaml")}


def plan_of(name: str, **overriding: Any) -> Node:
    case = QUERIES[name]
    return parse(case["text"], catalog(), **(options(case) | overriding))


def aggregate_of(plan: Node) -> WindowAggregate:
    return next(n for n in plan.walk() if isinstance(n, WindowAggregate))


def sources_of(plan: Node) -> set[str]:
    return {n.name for n in plan.walk() if isinstance(n, Source)}


# -- E18: numbers and names in the prose of Li's thesis ----------------------------------------------------------------


@pytest.mark.parametrize(("query", "in_prose", "in_query"), [
    ("li08-Q6-7", 10 * SECOND, 1 * SECOND),   # "every 10 seconds"; the study too runs a tumbling second
    ("li08-Q6-5", 10 * MINUTE, 5 * MINUTE),   # section 6.3.3 speaks of ten minutes
])
def test_e18_the_range_is_the_one_in_the_query(query: str, in_prose: int, in_query: int) -> None:
    spec = aggregate_of(plan_of(query)).window.spec
    assert isinstance(spec, SlidingWindow)
    assert spec.range == in_query != in_prose


def test_e18_the_tumbling_join_has_buckets_of_ten_seconds_not_of_ten_minutes() -> None:
    join, = (n for n in plan_of("li08-Q8-3").walk() if isinstance(n, TumblingJoin))
    assert join.range == 10 * SECOND != 10 * MINUTE


def test_e18_the_query_of_the_count_example_is_a_maximum() -> None:
    assert [call.function for call in aggregate_of(plan_of("li08-Q6-2")).aggregates] == ["max"]


def test_e18_queries_cited_under_another_number_are_told_by_their_streams() -> None:
    # Chapter 8 calls the plan over three links Q1-1; experiment 2 says Q3 and experiment 3 says Q8-4.
    assert sources_of(plan_of("li08-Q1-1")) == {"Main"}
    assert sources_of(plan_of("li08-Q1-2")) == {"Control", "Main1", "Main2"}
    assert sources_of(plan_of("li08-Q8-2")) == {"M1", "M2"}
    assert sources_of(plan_of("li08-Q8-3")) == {"A", "B", "C", "D"}  # the four links of experiment 3
    assert sources_of(plan_of("li08-Q8-4")) == {"M1", "M2", "C"}


# -- S3: a plain column beside an aggregate ----------------------------------------------------------------------------

PLAIN = ["sigmod05-Q3", "sigmod05-Q5"]


def traffic() -> Timeline:
    data = [("s1", 55.0, 10), ("s2", 50.0, 30), ("s1", 62.0, 45), ("s1", 40.0, 70), ("s2", 70.0, 80), ("s2", 61.0, 95)]
    return timeline(Traffic=[{"seg-id": seg, "speed": speed, "ts": at * SECOND} for seg, speed, at in data])


@pytest.mark.parametrize("query", PLAIN)
def test_s3_as_printed_the_plain_column_is_refused(query: str) -> None:
    with pytest.raises(SqlError, match="'seg-id' is neither grouped nor aggregated") as refused:
        plan_of(query, lenient=False)
    assert "GROUP BY seg-id" in refused.value.hint


@pytest.mark.parametrize("query", PLAIN)
def test_s3_lenient_mode_answers_as_if_it_were_grouped(query: str) -> None:
    text = QUERIES[query]["text"] + " GROUP BY seg-id"
    lenient, written_out = plan_of(query), parse(text, catalog())
    assert lenient == written_out
    found = Oracle(lenient, traffic()).results()
    assert found == Oracle(written_out, traffic()).results()
    assert {row["seg-id"] for row in found} == {"s1", "s2"}


def test_s3_a_partition_key_needs_no_grouping() -> None:
    assert [key.name for key in aggregate_of(plan_of("sigmod05-Q4", lenient=False)).keys] == ["seg-id"]


# -- N1: two units on one attribute ------------------------------------------------------------------------------------


def test_n1_a_slide_in_rows_on_a_time_attribute_is_read_as_range_and_slide_attribute() -> None:
    assert "WATTR timestamp" in QUERIES["panes05-Q2-printed"]["text"]  # RANGE in minutes, SLIDE in tuples
    assert isinstance(aggregate_of(plan_of("panes05-Q2-printed")).window.spec, TupleSlideWindow)
    assert plan_of("panes05-Q2-printed") == plan_of("panes05-Q2")
