"""Windows on a time and a constant, and on the later or the sooner of two joined times: they close by promises."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from embedded.plans import bag, run_timeline
from panewise.api.query import plan_of
from panewise.core.schema import SourceSchema
from panewise.dataflow import open_plan
from panewise.engines.oracle import Oracle
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Timeline

COLUMNS = {"ts": pa.int64(), "k": pa.string(), "v": pa.int64()}
SCHEMAS = {name: SourceSchema(COLUMNS, time="ts") for name in "st"}
COUNT = "SELECT k, count(*) [RANGE 3, SLIDE 1, WA g] AS n FROM ({}) AS q GROUP BY k"
PAIRS = "SELECT l.k AS k, {} AS g FROM s AS l [RANGE 3, WA ts], t AS r [RANGE {}, WA ts] WHERE l.k = r.k"
TEXTS = {
    "a time and a constant": COUNT.format("SELECT k, ts + 2 AS g FROM s"),
    "of some rows": COUNT.format("SELECT k, ts - 2 AS g FROM s WHERE v > 0"),
    "of two streams": COUNT.format("SELECT k, 2 + ts AS g FROM s WHERE v > 0 UNION ALL "
                                   "SELECT k, ts AS g FROM t WHERE v > 1"),
    "twice": "SELECT count(*) [RANGE 3, SLIDE 1, WA h] AS n FROM (SELECT g + 1 AS h FROM "
             "(SELECT ts + 2 AS g FROM s) AS q) AS r",
    "sessions": "SELECT k, count(*) [SESSION 2, WA g] AS n FROM (SELECT k, ts + 2 AS g FROM s) AS q GROUP BY k",
    "of one side of a join": COUNT.format(PAIRS.format("l.ts + 3", 2)),
    "the later of both": COUNT.format(PAIRS.format("greatest(l.ts, r.ts)", 2)),
    "the later, far apart": COUNT.format(PAIRS.format("greatest(l.ts + 9, r.ts) - 1", 2)),
    "the sooner of both": COUNT.format(PAIRS.format("least(l.ts, r.ts)", 2)),
    "the sooner, apart": COUNT.format(PAIRS.format("least(l.ts, r.ts - 2) + 1", 6)),
    "a relation above": "SELECT k, count(*) AS n FROM (" + COUNT.format(PAIRS.format("greatest(l.ts, r.ts)", 2))
                        + ") AS z [RANGE 4] GROUP BY k",
    "a join above": "SELECT q.k, t.v FROM (SELECT k, ts + 2 AS g FROM s) AS q [RANGE 3, WA g], t [RANGE 3, WA ts] "
                    "WHERE q.k = t.k",
}


def timeline_of(draw: random.Random, streams: tuple[str, ...]) -> Timeline:
    """Rows of all streams in disorder, with promises that some of them break."""
    found: Timeline = []
    for at in range(20):
        for name in draw.sample(streams, len(streams)):
            found.append(Arrival(name, {"ts": max(0, at + draw.randint(-6, 3)), "k": draw.choice("ab"),
                                        "v": draw.randint(0, 3)}))
            if draw.random() < 0.35:
                key = {} if draw.random() < 0.8 else {"k": draw.choice("ab")}
                found.append(Arrival(name, Punctuation.below("ts", max(0, at - draw.randint(0, 3)), **key)))
    return found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", TEXTS)
def test_the_oracle_agrees_also_on_late_rows(name: str, seed: int) -> None:
    draw, plan = random.Random(seed), plan_of(TEXTS[name], SCHEMAS)
    late = ("generous", "drop", "consistent")[seed % 3]
    timeline = timeline_of(draw, open_plan(plan).streams)
    cuts, saves = (frozenset(draw.sample(range(60), 5)) for _ in range(2))
    found, query = run_timeline(open_plan(plan, late=late), timeline, cuts, saves, late=late)
    oracle = Oracle(plan, timeline, late=late)
    assert bag(found) == bag(oracle.results())
    assert query.late_count == len(oracle.late_rows())


@pytest.mark.parametrize("name", [name for name in TEXTS if name not in {"sessions", "a relation above"}])
def test_most_windows_close_before_the_end(name: str) -> None:
    query, early = open_plan(plan_of(TEXTS[name], SCHEMAS)), 0
    for at in range(0, 200, 4):
        for stream in query.streams:
            early += query.push(stream, [{"ts": at + i, "k": "ab"[i % 2], "v": 2} for i in range(4)]).num_rows
            early += query.push(stream, Punctuation.below("ts", at + 4)).num_rows
    assert early > 5 * query.finish().num_rows


def test_a_box_closes_what_no_slab_does() -> None:
    """Both streams are at 10, so no pair with both times below comes; a left time below 10 may still come."""
    query = open_plan(plan_of(COUNT.format(PAIRS.format("greatest(l.ts, r.ts)", 2)), SCHEMAS))
    heard: list[str] = []
    query.on_punctuation(lambda promise: heard.append(str(promise)))
    for stream in "st":
        query.push(stream, [{"ts": 8, "k": "a", "v": 0}])
    query.push("s", Punctuation.below("ts", 10))
    told = query.push("t", Punctuation.below("ts", 10)).to_pylist()
    assert [row["window"]["end"] for row in told] == [9, 10]
    assert heard[-1] == "(window.time < 10)"
