"""Early results of window aggregates over other windows, over joins and relations: changes that add up, everywhere."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.compare import assert_same_rows
from embedded.plans import run_timeline
from embedded.test_nested_windows import NESTED, PLACES, SCHEMAS, items, read_by
from oracle.questions import Oracle
from panewise.api.query import plan_of
from panewise.core.errors import PlanError
from panewise.dataflow import open_plan
from panewise.progress.timeline import Timeline
from spark.in_process_queries import Hosted

PAIRS = "SELECT s.k AS k, count(*) [RANGE 10, SLIDE 5, WA s.ts] AS n FROM s [RANGE 4, WA ts], t [RANGE 4, WA ts] " \
        "WHERE s.k = t.k GROUP BY s.k"
ALONE = "SELECT count(t.k) [RANGE 6, SLIDE 3, WA s.ts] AS n FROM s [RANGE 4, WA ts] LEFT JOIN t [RANGE 3, WA ts] " \
        "ON s.k = t.k"
TEXTS = NESTED | {"pairs": PAIRS, "rows without a partner": ALONE, "chosen pairs": f"SELECT n FROM ({PAIRS}) AS q "
                  "WHERE n > 1"}


def left_over(changes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that still hold after all corrections."""
    holding: list[dict[str, Any]] = []
    for row in changes:
        if row.pop("change") > 0:
            holding.append(row)
        else:
            holding.remove(row)  # an error when it was never said
    return holding


@pytest.mark.parametrize("shards", [0, 2])
@pytest.mark.parametrize("name", TEXTS)
@settings(deadline=None, max_examples=10)
@given(items, PLACES, st.sampled_from(["change", "early:5"]), st.integers(0, 99))
def test_changes_add_up(name: str, shards: int, timeline: Timeline, cuts: frozenset[int], emit: str,
                        seed: int) -> None:
    """In process, and by the shards of a query on Spark, where a micro-batch is one arrival."""
    node = plan_of(TEXTS[name], SCHEMAS)
    emit = "early:5 rows" if emit != "change" and "row-num" in TEXTS[name] else emit
    timeline = read_by(node, timeline)
    expected = Oracle(node, timeline).results()
    if shards:
        assert_same_rows(left_over(Hosted(node, shards, seed=seed, emit=emit).run(timeline, cuts)), expected)
        return
    found, _ = run_timeline(open_plan(node, emit=emit), timeline, cuts, cuts, emit=emit)
    assert_same_rows(left_over(found), expected)


def test_they_come_before_a_window_is_complete_and_are_taken_back() -> None:
    query = open_plan(plan_of(PAIRS, SCHEMAS), emit="change")
    told = [(row["n"], row["change"]) for ts in (1, 2) for stream in "st"
            for row in query.push(stream, {"k": "a", "v": 1, "ts": ts}).to_pylist() if row["window"]["end"] == 10]
    assert told == [(1, 1), (1, -1), (2, 1), (2, -1), (4, 1)]


@pytest.mark.parametrize(("text", "message"), [
    ("SELECT s.k FROM s [RANGE 5, WA ts], t [RANGE 5, WA ts] WHERE s.k = t.k", "are final when they are found"),
    ("SELECT DISTINCT k FROM s [RANGE 5]", "a relation tells every change when its instant is complete"),
    ("SELECT k FROM s", "is about window aggregates, and this query has none")])
def test_what_is_never_corrected_is_never_early(text: str, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        open_plan(plan_of(text, SCHEMAS), emit="change")
