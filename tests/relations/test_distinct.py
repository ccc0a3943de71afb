"""DISTINCT over windows of any kind, with both policies."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from panewise.core.errors import PlanError
from panewise.core.scalar import Scalar
from panewise.core.schema import Catalog, SourceSchema
from panewise.plan.nodes import Distinct, Join, Qualify, Union, Window
from panewise.planner.legal.legality import problems
from panewise.progress.timeline import Arrival, Timeline
from panewise.progress.timeline import timeline as timeline_of
from panewise.sql import parse
from planner.plans import check_legal
from relations.plans import PLACES, TIME_WINDOWS, columns, timelines, windows
from relations.running import assert_like_the_oracle, run_relation

POLICIES = st.sampled_from(["keep", "recent"])


@settings(max_examples=30, deadline=None)
@given(windows("s"), POLICIES, st.sampled_from([("k",), ("k", "v")]), timelines(("s",), rows=18), PLACES, PLACES)
def test_distinct_values_of_a_window(window: Window, policy: str, names: tuple[str, ...], timeline: Timeline,
                                     cuts: frozenset[int], saves: frozenset[int]) -> None:
    assert_like_the_oracle(Distinct(columns(window, *names), policy), timeline, cuts, saves)


@settings(max_examples=30, deadline=None)
@given(windows("s"), windows("t", TIME_WINDOWS), POLICIES, timelines(("s", "t"), rows=18), PLACES, PLACES)
def test_distinct_values_of_a_join(left: Window, right: Window, policy: str, timeline: Timeline,
                                   cuts: frozenset[int], saves: frozenset[int]) -> None:
    pairs = Join(Qualify(left, "l"), Qualify(right, "r"), Scalar.parse("`l.v` = `r.v`"))
    assert_like_the_oracle(Distinct(columns(pairs, "l.k", "r.k"), policy), timeline, cuts, saves)


@settings(max_examples=30, deadline=None)
@given(windows("s"), windows("t"), POLICIES, timelines(("s", "t"), rows=18), PLACES, PLACES)
def test_a_join_above_distinct_of_a_union(left: Window, right: Window, policy: str, timeline: Timeline,
                                          cuts: frozenset[int], saves: frozenset[int]) -> None:
    both = Distinct(Union((columns(left, "k"), columns(right, "k"))), policy)
    plan = Join(Qualify(both, "l"), Qualify(columns(right, "k", "v"), "r"), Scalar.parse("`l.k` = `r.k`"))
    assert_like_the_oracle(plan, timeline, cuts, saves)


@settings(max_examples=30, deadline=None)
@given(windows("s", TIME_WINDOWS), st.sampled_from([("k",), ("k", "v")]), timelines(("s",), rows=18), PLACES, PLACES)
def test_searched_for_the_same_representatives_follow(window: Window, names: tuple[str, ...], timeline: Timeline,
                                                      cuts: frozenset[int], saves: frozenset[int]) -> None:
    """The direct style keeps all rows and looks through them; what it finds is what delta* had ready."""
    assert_like_the_oracle(Distinct(columns(window, *names)), timeline, cuts, saves, style="direct")


@settings(max_examples=20, deadline=None)
@given(windows("s", TIME_WINDOWS), timelines(("s",), rows=18))
def test_delta_star_keeps_at_most_two_rows_per_value(window: Window, timeline: Timeline) -> None:
    _, query = run_relation(Distinct(columns(window, "k")), timeline)
    assert query.status()["operators"][-1]["rows"] <= 2 * 3


@settings(max_examples=20, deadline=None)
@given(windows("s", TIME_WINDOWS), timelines(("s",), rows=18), PLACES)
def test_duplicates_that_replace_each_other_need_one_end_per_value(window: Window, timeline: Timeline,
                                                                   cuts: frozenset[int]) -> None:
    _, query = run_relation(Distinct(columns(window, "k"), "recent"), timeline, cuts)
    assert query.status()["operators"][-1]["rows"] <= 3


ROWS = SourceSchema({"ts": pa.int64(), "v": pa.int64()}, time="ts")
KEYED = Catalog({name: SourceSchema({"ts": pa.int64(), "k": pa.string(), "v": pa.int64()}, time="ts") for name in "st"})


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 3)), max_size=14).map(sorted), PLACES)
def test_the_order_of_representatives_is_the_oracles(rows: list[tuple[int, int]], cuts: frozenset[int]) -> None:
    """Of rows that leave together the youngest follows."""
    plan = parse("SELECT first(v) AS a, last(v) AS z FROM (SELECT DISTINCT v FROM s [RANGE 5]) AS q",
                 Catalog({"s": ROWS}))
    assert_like_the_oracle(plan, timeline_of(s=[{"ts": ts, "v": v} for ts, v in rows]), cuts, frozenset())


BRACKETS = ["RANGE 5", "RANGE 6 SLIDE 4", "RANGE 3 SLIDE 3", "NOW", "ROWS 3", "ROWS 4 SLIDE 2", "PARTITION BY v ROWS 2",
            "UNBOUNDED"]
NOWHERE: frozenset[int] = frozenset()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 20) | st.integers(0, 3), st.integers(0, 3)), max_size=14),
       st.sampled_from(["", "KEEP", "RECENT"]), st.sampled_from(BRACKETS),
       st.sampled_from(["upa", "direct", "negative"]), PLACES, PLACES)
@example([(0, 2), (0, 0), (0, 2), (1, 1)], "RECENT", "ROWS 3", "upa", NOWHERE, NOWHERE)
@example([(0, 2), (0, 0), (0, 2), (1, 1)], "RECENT", "RANGE 5", "negative", NOWHERE, NOWHERE)
@example([(0, 2), (0, 0), (0, 2), (1, 1)], "RECENT", "NOW", "upa", NOWHERE, NOWHERE)
@example([(0, 2), (0, 0), (0, 2), (1, 1)], "RECENT", "RANGE 3 SLIDE 3", "direct", NOWHERE, NOWHERE)
def test_values_of_an_instant_come_in_the_oracles_order(rows: list[tuple[int, int]], policy: str, bracket: str,
                                                        style: str, cuts: frozenset[int],
                                                        saves: frozenset[int]) -> None:
    """A window by rows above counts them one by one: of equal rows of an instant the youngest counts with RECENT."""
    plan = parse(f"SELECT * FROM (SELECT Istream(DISTINCT {policy} v) FROM s [{bracket}]) AS q [ROWS 2]",
                 Catalog({"s": ROWS}))
    arrivals = timeline_of(s=[{"ts": ts, "v": v} for ts, v in sorted(rows, key=lambda row: row[0])])
    assert_like_the_oracle(plan, arrivals, cuts, saves, style=style)


@pytest.mark.parametrize(("stream", "known"), [
    ("SELECT Istream(v) FROM (SELECT DISTINCT RECENT v FROM s [ROWS 3]) AS d", True),
    ("SELECT Istream(v + 1 AS v) FROM (SELECT DISTINCT v FROM s [RANGE 5]) AS d", True),
    ("SELECT Istream(DISTINCT v) FROM (SELECT DISTINCT k, v FROM s [ROWS 3]) AS d", True),
    ("SELECT Istream(v) FROM s [ROWS 3] WHERE NOT EXISTS (SELECT DISTINCT v FROM t [ROWS 3])", True),
    ("SELECT Istream(v) FROM (SELECT DISTINCT k, v FROM s [ROWS 3]) AS d", False),
    ("SELECT Istream(v + 1 AS v) FROM (SELECT DISTINCT RECENT v FROM s [RANGE 5]) AS d", False),
    ("SELECT Istream(l.v) FROM (SELECT DISTINCT v FROM s [ROWS 3]) AS l, t [RANGE 5] AS r WHERE l.v = r.v", False),
    ("SELECT Istream(v) FROM (SELECT DISTINCT v FROM s [ROWS 3] UNION ALL SELECT v FROM t [RANGE 5]) AS d", False),
    ("SELECT Istream(v, count(*) AS c) FROM (SELECT DISTINCT k, v FROM s [ROWS 3]) AS d GROUP BY v", False),
    ("SELECT Dstream(DISTINCT v) FROM s [ROWS 3]", False),
    ("SELECT Rstream(DISTINCT RECENT v) FROM s [RANGE 5]", False),
])
@pytest.mark.parametrize("above", ["SELECT v FROM ({}) AS q [ROWS 2]", "SELECT last(v) AS z FROM ({}) AS q [RANGE 5]"])
def test_an_order_of_values_that_is_not_kept_is_asked_for_in_vain(stream: str, known: bool, above: str) -> None:
    """An age is known when a value comes, and not of one that is there: nothing between may take one for the other."""
    found = [problem.message for problem in problems(parse(above.format(stream), KEYED))]
    assert known == (not found)
    assert all("which copy of a value counts as its row is not kept" in message for message in found)


@pytest.mark.parametrize("inner", ["DISTINCT RECENT v FROM s [RANGE 5]", "DISTINCT v FROM s [ROWS 5]"])
def test_first_and_last_of_values_without_a_row_of_their_own_are_refused(inner: str) -> None:
    plan = parse(f"SELECT last(v) AS z FROM (SELECT {inner}) AS q", Catalog({"s": ROWS}))
    with pytest.raises(PlanError, match="use min or max"):
        check_legal(plan)


@pytest.mark.parametrize("text", [
    "SELECT last(v) AS z FROM (SELECT DISTINCT v FROM s [RANGE 5]) AS q",
    "SELECT v FROM (SELECT Rstream(DISTINCT v) FROM s [RANGE 5]) AS q [ROWS 2]",
    "SELECT last(v) AS z FROM (SELECT Dstream(DISTINCT RECENT v) FROM s [NOW]) AS q [RANGE 5]",
])
def test_where_copies_are_only_counted_nobody_asks_for_the_age_of_a_value(text: str) -> None:
    plan = parse(text, KEYED)
    run_relation(plan, [])
    with pytest.raises(PlanError, match="with negative tuples: copies of a value are counted"):
        run_relation(plan, [], style="negative")


@pytest.mark.parametrize("style", ["upa", "direct"])
@pytest.mark.parametrize("parts", [("s [RANGE 8]", "s"), ("s", "s [RANGE 8]"), ("s [RANGE 3]", "s [RANGE 8]")])
def test_of_rows_that_are_as_old_as_each_other_the_one_that_stays_longest_is_shown(parts: tuple[str, str],
                                                                                  style: str) -> None:
    """One row comes by both parts of a union, and which of its copies is shown must not depend on how they meet."""
    plan = parse("SELECT DISTINCT l.v FROM t [RANGE 9] AS l, "
                 f"(SELECT v FROM {parts[0]} UNION ALL SELECT v FROM {parts[1]}) AS r WHERE l.v = r.v",
                 Catalog({"s": ROWS, "t": ROWS}))
    rows = [{"ts": ts, "v": v} for ts, v in [(1, 1), (2, 2), (2, 1), (12, 1)]]
    assert_like_the_oracle(plan, timeline_of(s=rows, t=rows), style=style)


@pytest.mark.parametrize("cuts", [frozenset(), frozenset(range(9))], ids=["one batch", "row by row"])
def test_a_younger_duplicate_that_leaves_sooner_is_not_kept_in_place_of_one_that_stays(cuts: frozenset[int]) -> None:
    """Erratum G-E8: of the duplicates that wait the one that stays longest follows, not the youngest."""
    plan = parse("SELECT DISTINCT x.k FROM s AS x [RANGE 9], t AS y [RANGE 4] WHERE x.v = y.v", KEYED)
    rows = [("s", 1, "a", 0), ("s", 3, "a", 1), ("t", 5, "", 1), ("t", 7, "", 1), ("t", 8, "", 0)]
    items = [Arrival(stream, {"ts": ts, "k": k, "v": v}) for stream, ts, k, v in rows]
    found, _ = run_relation(plan, items, cuts)
    assert sorted((row["valid_from"], row["expires_at"]) for row in found) == [(5, 9), (9, 11)]
    assert_like_the_oracle(plan, items, cuts)
