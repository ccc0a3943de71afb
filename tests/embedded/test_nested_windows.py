"""Window aggregates over whatever only adds rows: other windows, DISTINCT, Istream, rows beside a table."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded.plans import bag, run_timeline
from oracle.questions import Oracle
from panewise.api.query import plan_of
from panewise.core.errors import PanewiseError, UnsupportedError
from panewise.core.schema import SourceKind, SourceSchema
from panewise.dataflow import open_plan
from panewise.plan.nodes import Node
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Timeline, timeline

COLUMNS = {"ts": pa.int64(), "k": pa.string(), "v": pa.int64()}
SCHEMAS = {"s": SourceSchema(COLUMNS, time="ts"), "t": SourceSchema(COLUMNS, time="ts"),
           "names": SourceSchema({"k": pa.string(), "name": pa.string()}, kind=SourceKind.NRR)}
COUNTS = "SELECT k, count(*) [RANGE 10, SLIDE 5, WA ts] AS n FROM s GROUP BY k"
SESSIONS = "SELECT k, count(*) [SESSION 3, WA ts] AS n FROM s GROUP BY k"
DOUBLED = "SELECT k, 2 * count(*) [RANGE 10, SLIDE 5, WA ts] AS d FROM s GROUP BY k"
SUMS = f"SELECT k, sum(n) [RANGE 20, SLIDE 10, WA window.time] AS c FROM ({COUNTS}) GROUP BY k"
BOTH = "SELECT k, ts FROM s UNION ALL SELECT k, ts FROM t"
PAIRED = "SELECT Istream(s.ts AS ts) FROM s [RANGE 4], t [RANGE 4] WHERE s.k = t.k"
NESTED = {
    "the end of a window": f"SELECT max(n) [RANGE 20, SLIDE 20, WA window.end] AS m FROM ({COUNTS})",
    "its last instant": f"SELECT max(n) [RANGE 20, SLIDE 10, WA window.time] AS m FROM ({COUNTS}) AS q WHERE n > 1",
    "its start": f"SELECT k, sum(n) [RANGE 6, SLIDE 3, WA window.start] AS m FROM ({COUNTS}) GROUP BY k",
    "under a name": f"SELECT k, sum(n) [RANGE 20, SLIDE 5, WA q.window.time] AS m FROM ({COUNTS}) AS q GROUP BY k",
    "three levels": f"SELECT max(c) [RANGE 40, SLIDE 20, WA window.time] AS m FROM ({SUMS})",
    "sessions of windows": f"SELECT k, count(*) [SESSION 6, WA window.time] AS c FROM ({COUNTS}) GROUP BY k",
    "windows of sessions": f"SELECT sum(n) [RANGE 20, SLIDE 20, WA window.time] AS m FROM ({SESSIONS})",
    "computed columns": f"SELECT max(d) [RANGE 20, SLIDE 20, WA window.end] AS m FROM ({DOUBLED})",
    "distinct": "SELECT count(*) [RANGE 10, SLIDE 5, WA ts] AS n FROM (SELECT DISTINCT k, ts FROM s)",
    "distinct of two streams": "SELECT k, count(*) [RANGE 10, SLIDE 5, WA ts] AS n FROM (SELECT DISTINCT k, ts FROM "
                               f"({BOTH})) GROUP BY k",
    "what comes in": "SELECT k, sum(v) [RANGE 10, SLIDE 5, WA ts] AS m FROM (SELECT Istream(k, v, ts) FROM s "
                     "[RANGE 5]) GROUP BY k",
    "joined windows": f"SELECT count(*) [RANGE 10, SLIDE 5, WA ts] AS n FROM ({PAIRED})",
    "results by number": f"SELECT sum(n) [RANGE 3 rows, SLIDE 1 row, WA row-num] AS m FROM ({COUNTS})",
    "by number of each group": "SELECT k, sum(n) [RANGE 2 rows, SLIDE 2 rows, WA row-num, PA k] AS m "
                               f"FROM ({COUNTS}) GROUP BY k",
    "the first and the last": "SELECT first(n) [RANGE 20, SLIDE 10, WA window.time] AS f, last(k) AS l "
                              f"FROM ({COUNTS})",
    "sessions by number": f"SELECT sum(n) [RANGE 3 rows, SLIDE 2 rows, WA row-num] AS m FROM ({SESSIONS})",
    "beside a table": "SELECT names.name, count(*) [RANGE 10, SLIDE 5, WA s.ts] AS n FROM s, names "
                      "WHERE s.k = names.k GROUP BY names.name",
}
TABLE = [Arrival("names", {"k": k, "name": name}) for k, name in (("a", "one"), ("b", "two"))]
TABLE.append(Arrival("names", Punctuation()))

items = st.lists(st.one_of(
    st.builds(lambda s, ts, k, v: Arrival(s, {"ts": ts, "k": k, "v": v}), st.sampled_from("sst"), st.integers(0, 40),
              st.sampled_from("ab"), st.integers(0, 3)),
    st.builds(lambda s, bound: Arrival(s, Punctuation.below("ts", bound)), st.sampled_from("st"), st.integers(0, 40)),
    st.builds(lambda s, bound, k: Arrival(s, Punctuation.below("ts", bound, k=k)), st.sampled_from("st"),
              st.integers(0, 40), st.sampled_from("ab")),
), max_size=22)
PLACES = st.frozensets(st.integers(0, 25), max_size=5)


def plan(name: str) -> Node:
    return plan_of(NESTED[name], SCHEMAS)


def read_by(node: Node, timeline: Timeline) -> Timeline:
    streams = open_plan(node).streams
    return [*(TABLE if "names" in streams else []), *(a for a in timeline if a.stream in streams)]


@pytest.mark.parametrize("name", NESTED)
@settings(max_examples=25, deadline=None)
@given(timeline=items, cuts=PLACES, saves=PLACES, late=st.sampled_from(["generous", "drop"]))
def test_nested_windows_are_the_oracles(name: str, timeline: Timeline, cuts: frozenset[int], saves: frozenset[int],
                                        late: str) -> None:
    node = plan(name)
    timeline = read_by(node, timeline)
    found, query = run_timeline(open_plan(node, late=late), timeline, cuts, saves, late=late)
    oracle = Oracle(node, timeline, late=late)
    assert bag(found) == bag(oracle.results())
    assert query.late_count == len(oracle.late_rows())


def rows(*times: int, stream: str = "s") -> list[Any]:
    return [{"ts": ts, "k": "ab"[ts % 2], "v": 1} for ts in times]


@pytest.mark.parametrize("name", sorted(NESTED.keys() - {"sessions of windows"}))
def test_a_nested_window_closes_with_the_promise_that_completes_it(name: str) -> None:
    query = open_plan(plan(name))
    for arrival in TABLE if "names" in query.streams else ():
        query.push(arrival.stream, [arrival.item] if arrival.is_row else arrival.item)
    early = 0
    for ts in range(0, 400, 4):
        for stream in set(query.streams) - {"names"}:
            early += query.push(stream, rows(ts, ts + 1, ts + 2)).num_rows
            early += query.push(stream, Punctuation.below("ts", ts)).num_rows
    kept = query.status()["state_bytes"]
    final = query.finish().num_rows
    assert early > 3 * final, "most results have left before the end"
    assert kept < 200_000


def results_of(query: Any, text: str, *items: Any) -> list[Any]:
    found = [tuple(row.values()) for item in items for row in query.push("s", item).to_pylist()] \
        + [tuple(row.values()) for row in query.finish().to_pylist()]
    assert found == [tuple(row.values()) for row in Oracle(plan_of(text, SCHEMAS), timeline(s=[
        each for item in items for each in (item if isinstance(item, list) else [item])])).results()]
    return found


@pytest.mark.parametrize("key", ["k", "v", "map_keys(map(k, v))", "named_struct('a', v, 'b', k)", "nullif(k, 'a')"])
def test_results_of_one_window_stand_by_group_whatever_closed_them(key: str) -> None:
    text = f"SELECT sum(n) [RANGE 1 row, SLIDE 1 row, WA row-num] AS n FROM (SELECT {key} AS g, count(*) " \
           f"[RANGE 10, SLIDE 10, WA ts] AS n FROM s GROUP BY {key})"
    came = [[{"ts": 3, "k": k, "v": v}] for k, v in (("b", 1), ("b", 1), ("a", 10), ("a", 10), ("a", 10), ("c", 9))]
    assert len({n for _, n in results_of(open_plan(plan_of(text, SCHEMAS)), text, *came)}) == 3


def test_the_first_of_a_window_is_that_of_the_first_group() -> None:
    text = f"SELECT first(n) [RANGE 10, SLIDE 10, WA window.time] AS n, last(k) AS k FROM ({COUNTS})"
    came = [[{"ts": 5, "k": k, "v": 0}] for k in ("b", "b", "a", None)]
    closing = [Punctuation.below("ts", 20, k="b"), Punctuation.below("ts", 20)]
    found = results_of(open_plan(plan_of(text, SCHEMAS)), text, *came, *closing)
    assert [row[1:] for row in found] == [(1, "b"), (1, "b")], "the group without a name, then a, then b"


def test_a_session_whose_end_was_promised_is_still_open() -> None:
    """A row at 8 would prolong the session from 3 to 8, so it is put out behind the bound 8."""
    text = "SELECT sum(n) [RANGE 4, SLIDE 4, WA window.time] AS n FROM (SELECT count(*) [SESSION 5, WA ts] AS n FROM s)"
    query = open_plan(plan_of(text, SCHEMAS))
    came = [[{"ts": 3, "k": "a", "v": 0}], Punctuation.below("ts", 8), Punctuation.below("ts", 9)]
    assert results_of(query, text, *came) == [({"start": 4, "end": 8}, 1)]
    text = "SELECT n FROM (SELECT count(*) [SESSION 5, WA ts] AS n FROM s) AS q [RANGE 4]"
    assert results_of(open_plan(plan_of(text, SCHEMAS)), text, *came) == [(1, 7, 11)]


@pytest.mark.parametrize("below", [
    f"SELECT n FROM ({COUNTS}) AS p UNION ALL SELECT v AS n FROM t",
    "SELECT k, count(*) [RANGE 2 rows, SLIDE 2 rows, WA row-num, PA k] AS n FROM s GROUP BY k"])
@pytest.mark.parametrize("above", ["sum(n) [RANGE 3 rows, SLIDE 1 row, WA row-num]"])
def test_an_order_that_no_running_query_keeps_is_refused(above: str, below: str) -> None:
    with pytest.raises(UnsupportedError, match="goes by the order of its rows"):
        open_plan(plan_of(f"SELECT {above} AS m FROM ({below})", SCHEMAS))


def test_results_tell_how_far_they_are() -> None:
    query, heard = open_plan(plan("its last instant")), []
    query.on_punctuation(lambda promise: heard.append(str(promise)))
    query.push("s", rows(3, 9, 14))
    query.push("s", Punctuation.below("ts", 30))
    assert heard == ["(window.time < 39)"]  # the next window ends at 40
    for bound in 33, 36, 39:
        query.push("s", Punctuation.below("ts", bound))
    assert heard == ["(window.time < 39)"]
    query.finish()
    assert heard[-1] == "(*)"


def test_only_results_that_show_their_window_can_be_windowed_by_it() -> None:
    with pytest.raises(PanewiseError, match="window"):
        plan_of("SELECT count(*) [RANGE 5, SLIDE 5, WA window.time] AS n FROM s", SCHEMAS)
