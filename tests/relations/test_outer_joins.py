"""Outer, semi and anti joins of relations hold at every instant what the definition of the join says of both sides."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded.plans import bag, run_timeline
from oracle.questions import Oracle
from panewise.api.query import plan_of
from panewise.core.errors import SqlError
from panewise.core.schema import SourceKind, SourceSchema
from panewise.dataflow import open_plan
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.timeline import Arrival, Timeline

COLUMNS = {"ts": pa.int64(), "k": pa.string(), "v": pa.int64()}
SCHEMAS = {"s": SourceSchema(COLUMNS, time="ts"), "t": SourceSchema(COLUMNS, time="ts"),
           "names": SourceSchema({"k": pa.string(), "name": pa.string()}, kind=SourceKind.NRR),
           "cities": SourceSchema({"k": pa.string(), "name": pa.string()}, kind=SourceKind.RELATION)}
KINDS = ("LEFT", "RIGHT", "FULL", "SEMI", "ANTI")
COUNTS = "(SELECT k, count(*) [RANGE 6, SLIDE 3, WA ts] AS v FROM {} GROUP BY k)"
SIDES = {
    "windows": ("s [RANGE 5]", "t [RANGE 4]"),
    "windows by rows": ("s [ROWS 3]", "t [RANGE 4]"),
    "values": ("(SELECT DISTINCT k, v FROM s [RANGE 5])", "(SELECT k, max(v) AS v FROM t [RANGE 4] GROUP BY k)"),
    "streams": ("s", "(SELECT k, v FROM t WHERE v > 0)"),
}
"""Left and right, of which rows meet where their k are equal."""

items = st.lists(st.one_of(
    st.builds(lambda s, ts, k, v: Arrival(s, {"ts": ts, "k": k, "v": v}), st.sampled_from("st"), st.integers(0, 12),
              st.sampled_from(["a", "b", None]), st.integers(0, 2)),
    st.builds(lambda s, bound: Arrival(s, Punctuation.below("ts", bound)), st.sampled_from("st"), st.integers(0, 12)),
), max_size=10)
PLACES = st.frozensets(st.integers(0, 12), max_size=3)


def text_of(kind: str, left: str, right: str, on: str = "l.k = r.k") -> str:
    shown = "l.k AS lk, l.v AS lv" + ("" if kind in {"SEMI", "ANTI"} else ", r.k AS rk, r.v AS rv")
    return f"SELECT {shown} FROM {left} AS l {kind} JOIN {right} AS r ON {on}"


def by_definition(kind: str, left: list[tuple[Any, ...]], right: list[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    """The join of two bags of (k, v)."""
    def meet(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
        return one[0] is not None and one[0] == other[0]

    pairs = [one + other for one in left for other in right if meet(one, other)]
    lone = [one for one in left if not any(meet(one, other) for other in right)]
    alone = [other for other in right if not any(meet(one, other) for one in left)]
    if kind == "ANTI":
        return Counter(lone)
    if kind == "SEMI":
        return Counter(one for one in left if one not in lone)
    return Counter(pairs + [(*one, None, None) for one in lone if kind in {"LEFT", "FULL"}]
                   + [(None, None, *other) for other in alone if kind in {"RIGHT", "FULL"}])


@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8, deadline=None)
@given(timeline=items)
def test_the_oracle_holds_what_the_definition_says_at_every_instant(kind: str, sides: str, timeline: Timeline) -> None:
    left, right = SIDES[sides]
    oracle = Oracle(plan_of(text_of(kind, left, right), SCHEMAS), timeline)
    parts = [Oracle(plan_of(f"SELECT k, v FROM {side} AS q", SCHEMAS), timeline) for side in (left, right)]
    for tau in range(20):
        one, other = ([(row["k"], row["v"]) for row in part.relation_at(tau)] for part in parts)
        assert Counter(tuple(row.values()) for row in oracle.relation_at(tau)) == by_definition(kind, one, other)


@pytest.mark.parametrize("sides", [*SIDES, "results of windows"])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8, deadline=None)
@given(timeline=items, cuts=PLACES, saves=PLACES)
def test_the_embedded_engine_gives_the_oracles_answer(kind: str, sides: str, timeline: Timeline, cuts: frozenset[int],
                                                      saves: frozenset[int]) -> None:
    on = "l.k = r.k" + (" AND l.window = r.window" if sides == "results of windows" else " AND l.v <= r.v + 1")
    left, right = SIDES.get(sides, (COUNTS.format("s"), COUNTS.format("t")))
    plan = plan_of(text_of(kind, left, right, on), SCHEMAS)
    found, _ = run_timeline(open_plan(plan), timeline, cuts, saves, late="generous")
    assert bag(found) == bag(Oracle(plan, timeline).results())


def test_a_row_without_a_partner_has_one_when_it_comes() -> None:
    query = open_plan(plan_of(text_of("LEFT", "s [RANGE 5]", "t [RANGE 5]"), SCHEMAS))
    told: list[dict[str, Any]] = []
    for stream, item in (("s", [{"ts": 1, "k": "a", "v": 7}]), ("t", [{"ts": 3, "k": "a", "v": 9}]), ("s", END),
                         ("t", END)):
        told += query.push(stream, item).to_pylist()
    assert [(row["valid_from"], row["rv"], row["change"]) for row in told] == [(1, None, 1), (3, None, -1), (3, 9, 1),
                                                                               (6, 9, -1)]


def test_a_table_may_be_a_side_if_its_changes_reach_back() -> None:
    plan = plan_of("SELECT l.k, r.name FROM s [RANGE 5] AS l LEFT JOIN cities AS r ON l.k = r.k", SCHEMAS)
    timeline = [Arrival("cities", {"k": "a", "name": "one"}), Arrival("cities", END),
                *(Arrival("s", {"ts": ts, "k": k, "v": 0}) for ts, k in ((1, "a"), (2, "b"))), Arrival("s", END)]
    found, _ = run_timeline(open_plan(plan), timeline, frozenset(), frozenset({2}), late="generous")
    assert {(row["k"], row["name"]) for row in found} == {("a", "one"), ("b", None)}
    assert bag(found) == bag(Oracle(plan, timeline).results())
    with pytest.raises(SqlError, match="a left join with a table whose changes do not reach back"):
        plan_of("SELECT l.k, r.name FROM s [RANGE 5] AS l LEFT JOIN names AS r ON l.k = r.k", SCHEMAS)
    with pytest.raises(SqlError, match="needs the columns of both sides"):
        plan_of(text_of("LEFT", "x [RANGE 5]", "y [RANGE 5]"),
                {name: SourceSchema(time="ts", open=True) for name in "xy"})


MET = {kind: text_of(kind, COUNTS.format("s"), COUNTS.format("t"), "l.k = r.k AND l.window = r.window")
       for kind in ("INNER", "LEFT", "FULL", "SEMI", "ANTI")}
MET["by their ends"] = text_of("LEFT", COUNTS.format("s"), COUNTS.format("t"),
                               "l.k = r.k AND l.window.end = r.window.end AND l.v < r.v + 100")
MET["NOT EXISTS"] = f"SELECT l.k FROM {COUNTS.format('s')} AS l WHERE NOT EXISTS (SELECT * FROM {COUNTS.format('t')} " \
                    "AS r WHERE l.k = r.k AND l.window = r.window)"


@pytest.mark.parametrize("kind", MET)
def test_joined_results_of_windows_are_forgotten_with_their_windows(kind: str) -> None:
    """Of two window aggregates that meet where their windows are the same, only open windows are kept."""
    query, kept, results = open_plan(plan_of(MET[kind], SCHEMAS)), [], 0
    windows = 20_000 if kind == "LEFT" else 3_000
    for start in range(0, 3 * windows, 600):
        for stream, keys in (("s", 3), ("t", 2)):
            times = range(start, start + 600, 2)
            rows = {"ts": times, "k": ["abc"[ts // 2 % keys] for ts in times], "v": [1] * 300}
            results += query.push(stream, pa.table(rows, schema=pa.schema(COLUMNS))).num_rows
            results += query.push(stream, Punctuation.below("ts", start + 600)).num_rows
        if start % 1_800 == 0:
            kept.append((query.status()["state_bytes"], len(query.snapshot())))
    assert results >= windows - 100
    assert max(size for size, _ in kept) < 50_000, "what the aggregates keep of open windows"
    assert max(saved for _, saved in kept[1:]) < 60_000


def windows_over(kind: str) -> str:
    shown = MET[kind].replace("l.k AS lk", "l.k AS k, l.window.end AS w").replace(
        "SELECT l.k FROM", "SELECT l.k AS k, l.window.end AS w FROM")
    return f"SELECT k, count(*) [RANGE 12, SLIDE 6, WA w] AS n FROM ({shown}) AS q GROUP BY k"


@pytest.mark.parametrize("kind", sorted(MET.keys() - {"FULL"}))
def test_what_met_at_one_instant_is_never_taken_back_and_may_have_windows(kind: str) -> None:
    plan = plan_of(windows_over(kind), SCHEMAS)
    timeline: Timeline = []
    for start in range(0, 60, 6):
        timeline += [Arrival(s, {"ts": start + i, "k": "abc"[i % m], "v": 1}) for s, m in (("s", 3), ("t", 2))
                     for i in range(6) if (start + i) % 5]
        timeline += [Arrival(s, Punctuation.below("ts", start + 6)) for s in "st"]
    expected = Oracle(plan, timeline).results()
    assert expected
    found, _ = run_timeline(open_plan(plan), timeline, frozenset({7, 20}), frozenset({9, 33}), late="generous")
    assert bag(found) == bag(expected)


def test_a_window_on_a_time_that_rows_without_a_partner_do_not_have_is_refused() -> None:
    with pytest.raises(SqlError, match=r"a window on w, which is null in rows of the outer join below"):
        plan_of(windows_over("FULL"), SCHEMAS)
