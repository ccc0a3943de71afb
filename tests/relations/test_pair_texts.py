"""Queries over joins of streams as texts: what the language says over pairs runs, and says what the oracle says."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle.questions import Oracle
from panewise.core.errors import UnsupportedError
from panewise.core.schema import Catalog, SourceSchema
from panewise.dataflow import open_plan
from panewise.planner.legal.capabilities import check
from panewise.progress.timeline import Arrival, Timeline
from panewise.sql import parse
from relations.plans import COLUMNS, PLACES, timelines
from relations.running import assert_like_the_oracle, bag

CATALOG = Catalog({name: SourceSchema(dict(COLUMNS), time="ts") for name in "abc"})
PAIRS = "a [RANGE 3, WA ts], b [RANGE 2, WA ts] WHERE a.k = b.k"
LEFT = "a [RANGE 3, WA ts] LEFT JOIN b [RANGE 2, WA ts] ON a.k = b.k"
QUERIES = {
    "not exists": f"SELECT a.k, b.v FROM {PAIRS} AND NOT EXISTS (SELECT * FROM c [RANGE 4] WHERE c.k = a.k)",
    "exists": f"SELECT a.k, b.v FROM {PAIRS} AND EXISTS (SELECT * FROM c [RANGE 4] WHERE c.k = a.k)",
    "except all": f"SELECT a.k FROM {PAIRS} EXCEPT ALL SELECT k FROM c [RANGE 4]",
    "istream": f"SELECT Istream(a.k, b.v) FROM {PAIRS}",
    "rstream": f"SELECT Rstream(k, v) FROM (SELECT a.k AS k, b.v AS v FROM {PAIRS}) AS p [RANGE 2]",
    "dstream": f"SELECT Dstream(k, v) FROM (SELECT a.k AS k, b.v AS v FROM {PAIRS}) AS p [RANGE 2]",
    "wstream": f"SELECT Wstream(a.k, b.v) [ROWS 2] FROM {PAIRS}",
    "lifetime": f"SELECT a.k, b.v FROM {PAIRS} LIFETIME 6",
    "the newest three pairs": f"SELECT k, v FROM (SELECT a.k AS k, b.v AS v FROM {PAIRS}) AS p [ROWS 3]",
    "pairs of the last three ticks": f"SELECT k, v FROM (SELECT a.k AS k, b.v AS v FROM {PAIRS}) AS p [RANGE 3]",
    "counted by key": f"SELECT k, count(*) AS n FROM (SELECT a.k AS k FROM {PAIRS}) AS p [RANGE 3] GROUP BY k",
    "beside another window": f"SELECT p.v, c.v FROM (SELECT a.k AS k, b.v AS v FROM {PAIRS}) AS p [RANGE 3], "
                             "c [RANGE 2] WHERE p.k = c.k",
    "distinct, some without a partner": f"SELECT DISTINCT a.k, b.v FROM {LEFT}",
    "joined again, some without a partner": "SELECT DISTINCT x.k, c.v FROM (SELECT a.k AS k, a.ts AS ts "
                                            f"FROM {LEFT}) AS x [RANGE 3, WA ts], c [RANGE 2, WA ts] WHERE x.k = c.k",
    "counted, some without a partner": f"SELECT a.k, count(*) AS n, count(b.v) AS met FROM {LEFT} GROUP BY a.k",
    "three streams": "SELECT DISTINCT a.k, c.v FROM a [RANGE 3, WA ts], b [RANGE 2, WA ts], c [RANGE 4, WA ts] "
                     "WHERE a.k = b.k AND b.k = c.k",
    "three streams in buckets": "SELECT a.k, count(*) AS n FROM a, b, c [RANGE TUMBLING 5, WA ts] "
                                "WHERE a.k = b.k AND b.k = c.k GROUP BY a.k",
    "by both times": f"SELECT a.ts, b.ts, count(*) AS n FROM {PAIRS} GROUP BY a.ts, b.ts",
    "a count of pairs, windowed": f"SELECT n FROM (SELECT count(*) [RANGE 4, SLIDE 2, WA a.ts] AS n FROM {PAIRS}) "
                                  "AS p [RANGE 3]",
}


@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES)
@settings(max_examples=12, deadline=None)
@given(items=timelines(("a", "b", "c"), rows=24, times=10), cuts=PLACES, saves=PLACES)
def test_a_query_over_pairs_gives_the_oracles_answer(text: str, items: Timeline, cuts: frozenset[int],
                                                     saves: frozenset[int]) -> None:
    assert_like_the_oracle(parse(text, CATALOG), items, cuts, saves)


@settings(max_examples=30, deadline=None)
@given(timelines(("a", "b", "c"), rows=24, times=10), st.randoms(use_true_random=False))
def test_three_streams_meet_if_every_two_of_them_do(items: Timeline, random: Random) -> None:
    reach = {name: random.randint(1, 4) for name in "abc"}
    windows = ", ".join(f"{name} [RANGE {reach[name]}, WA ts]" for name in "abc")
    plan = parse(f"SELECT a.v, b.v, c.v FROM {windows} WHERE a.k = b.k AND b.k = c.k", CATALOG)
    rows = [arrival for arrival in items if arrival.is_row]
    found = open_plan(plan)
    results = [row for arrival in rows for row in found.push(arrival.stream, [arrival.item]).to_pylist()]
    expected = [{"a.v": a["v"], "b.v": b["v"], "c.v": c["v"]} for a in _of(rows, "a") for b in _of(rows, "b")
                for c in _of(rows, "c") if a["k"] is not None and a["k"] == b["k"] == c["k"]
                and all(y["ts"] <= x["ts"] + reach[n] for n, x in (("a", a), ("b", b), ("c", c)) for y in (a, b, c))]
    assert bag(results + found.finish().to_pylist()) == bag(expected) == bag(Oracle(plan, rows).results())


def _of(rows: Timeline, stream: str) -> list[dict[str, int]]:
    return [dict(arrival.item) for arrival in rows if arrival.stream == stream]  # type: ignore[call-overload]


def test_streams_that_conditions_tie_to_one_before_them_are_joined_in_bands() -> None:
    text = ("SELECT a.v, c.v FROM a, b, c WHERE a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 5 "
            "AND c.ts BETWEEN b.ts AND b.ts + 2")
    plan = parse(text, CATALOG)
    rows = [Arrival("a", {"ts": 1, "k": "x", "v": 1}), Arrival("b", {"ts": 4, "k": "x", "v": 2}),
            Arrival("c", {"ts": 6, "k": "y", "v": 3}), Arrival("c", {"ts": 7, "k": "y", "v": 4})]
    assert Oracle(plan, rows).results() == [{"a.v": 1, "c.v": 3}]
    query = open_plan(plan)
    assert [r for row in rows for r in query.push(row.stream, [row.item]).to_pylist()] == [{"a.v": 1, "c.v": 3}]


@pytest.mark.parametrize(("text", "why"), [
    (f"SELECT DISTINCT x.k FROM (SELECT a.k AS k, b.ts AS ts FROM {LEFT}) AS x [RANGE 3, WA ts], "
     "c [RANGE 2, WA ts] WHERE x.k = c.k", "null in rows of the left join"),
    ("SELECT DISTINCT a.k FROM a [RANGE 3, WA v], b [RANGE 2, WA v] WHERE a.k = b.k",
     "which does not say when its rows came"),
])
def test_what_is_not_run_is_refused_by_name(text: str, why: str) -> None:
    with pytest.raises(UnsupportedError, match=why):
        check(parse(text, CATALOG), "embedded")
