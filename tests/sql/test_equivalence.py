"""Different spellings of one query give one plan; texts that only look alike do not."""

from __future__ import annotations

import pytest

from panewise.plan.nodes import GroupAggregate, Project, WindowAggregate
from panewise.sql import parse
from plan_text import render
from sql.sql_cases import catalog

SAME = {
    "WATTR is WA": ("SELECT max(a) [RANGE 4 min, SLIDE 1 min, WA ts] FROM S",
                    "SELECT max(a) [WATTR ts RANGE 4 min SLIDE 1 min] FROM S"),
    "behind the aggregate, the source or GROUP BY": (
        "SELECT a, max(b) [RANGE 4 min, SLIDE 1 min, WA ts] FROM S GROUP BY a",
        "SELECT a, max(b) FROM S [RANGE 4 min, SLIDE 1 min, WA ts] GROUP BY a",
        "SELECT a, max(b) FROM S GROUP BY a [RANGE 4 min, SLIDE 1 min, WA ts]"),
    "GROUP BY in three spellings": ("SELECT a, max(b) FROM S GROUP BY a", "SELECT a, max(b) FROM S GROUP-BY a",
                                    "SELECT a, max(b) FROM S GROUPBY a"),
    "one attribute for time and rows is two": (
        "SELECT max(bid-price) FROM bids [RATTR timestamp RANGE 4 minutes SLIDE 1 tuple SATTR row-num]",
        "SELECT max(bid-price) FROM bids [WATTR timestamp RANGE 4 minutes SLIDE 1 tuple]"),
    "no SLIDE is every tick": ("SELECT * FROM S [RANGE 1 min]", "SELECT * FROM S [RANGE 1 min SLIDE 1 tick]",
                               "SELECT * FROM S [WINDOW 1 min]"),
    "the sign of union": ("SELECT * FROM Main1 UNION Main2", "SELECT * FROM Main1 ∪ Main2"),
    "PA, PATTR and PARTITION BY": ("SELECT * FROM Stocks [PA sector ROWS 5]",
                                   "SELECT * FROM Stocks [ROWS 5 PATTR sector]",
                                   "SELECT * FROM Stocks [PARTITION BY sector, ROWS 5]"),
    "a partition of a window of time": (
        "SELECT * FROM Stocks [RANGE 5 min]", "SELECT * FROM Stocks [PARTITION BY sector RANGE 5 min]",
        "SELECT * FROM Stocks [PA sector, RANGE 5 min]"),
    "a partition of a window of time that moves in steps": (
        "SELECT * FROM Stocks [RANGE TUMBLING 5 min]",
        "SELECT * FROM Stocks [RANGE TUMBLING 5 min PARTITION BY sector]"),
    "units": ("SELECT * FROM S [RANGE 90 seconds]", "SELECT * FROM S [RANGE 90s]", "SELECT * FROM S [RANGE 1.5 min]",
              "SELECT * FROM S [RANGE 90000 ms]"),
    "bare words are constants": ("SELECT * FROM S WHERE protocol = TCP", "SELECT * FROM S WHERE protocol = 'TCP'",
                                 'SELECT * FROM S WHERE protocol = "TCP"'),
    "count(1) is count(*)": ("SELECT count(1) AS n FROM S", "SELECT count(*) AS n FROM S"),
    "backticks": ("SELECT seg-id FROM Traffic", "SELECT `seg-id` FROM `Traffic`"),
    "one source may be named": ("SELECT a FROM S [ROWS 3] WHERE a > 1",
                                "SELECT x.a FROM S AS x [ROWS 3] WHERE x.a > 1"),
    "a double negation": (
        "SELECT a FROM S [ROWS 3] WHERE EXISTS (SELECT * FROM T [ROWS 3] WHERE T.b = S.b)",
        "SELECT a FROM S [ROWS 3] WHERE NOT (NOT EXISTS (SELECT * FROM T [ROWS 3] WHERE T.b = S.b))"),
}
DIFFERENT = {
    "partition and group": (
        "SELECT srcIP, max(length) [RANGE 10 rows, SLIDE 1 row, WA row-num, PA srcIP] FROM Main",
        "SELECT srcIP, max(length) [RANGE 10 rows, SLIDE 1 row, WA row-num] FROM Main GROUP BY srcIP"),
    "with WA and without": ("SELECT max(a) FROM S [RANGE 1 min SLIDE 1 min WA ts]",
                            "SELECT max(a) FROM S [RANGE 1 min SLIDE 1 min]"),
    "arrival and rank": ("SELECT max(a) FROM S [RANGE 1 min RATTR ts SLIDE 2 rows SATTR row-num]",
                         "SELECT max(a) FROM S [RANGE 1 min RATTR ts SLIDE 2 rows SATTR rank(ts)]"),
    "count before and after WHERE": ("SELECT sum(a) FROM S [ROWS 5] WHERE a > 1",
                                     "SELECT sum(a) [ROWS 5] FROM S WHERE a > 1"),
    "inside and outside the bracket": ("SELECT * FROM S [ROWS 5 WHERE a > 1]", "SELECT * FROM S [ROWS 5] WHERE a > 1"),
    "UNION and UNION ALL": ("SELECT a FROM S UNION SELECT a FROM S2", "SELECT a FROM S UNION ALL SELECT a FROM S2"),
    "subtraction and name": ("SELECT max(bid-price) FROM bids", "SELECT max(bid-price - 1) FROM bids"),
    "range on the left and on the right": (
        "SELECT * FROM Main1 [WA ts, RANGE 3 min], Main2 [WA ts, RANGE 2 min] WHERE Main1.srcIP = Main2.destIP",
        "SELECT * FROM Main1 [WA ts, RANGE 2 min], Main2 [WA ts, RANGE 3 min] WHERE Main1.srcIP = Main2.destIP"),
    "growing and disclosed": ("SELECT * FROM S [RANGE TUMBLING 1 min]",
                              "SELECT * FROM S [RANGE TUMBLING 1 min GROWING]"),
}


@pytest.mark.parametrize("texts", SAME.values(), ids=SAME)
def test_spellings_of_one_query_give_one_plan(texts: tuple[str, ...]) -> None:
    plans = [parse(text, catalog()) for text in texts]
    assert all(plan == plans[0] for plan in plans), "\n".join(map(render, plans))


@pytest.mark.parametrize("texts", DIFFERENT.values(), ids=DIFFERENT)
def test_queries_that_look_alike_stay_apart(texts: tuple[str, str]) -> None:
    one, two = (render(parse(text, catalog())) for text in texts)
    assert one != two


def test_keys_and_window_come_before_what_the_select_list_asks_for() -> None:
    plan = parse("SELECT max(a) AS m, user FROM S [RANGE 1 min SLIDE 1 min WA ts] GROUP BY user, protocol", catalog())
    assert isinstance(plan, WindowAggregate)
    assert plan.columns == ("user", "protocol", "window", "m")


def test_expressions_over_aggregates_keep_keys_and_window() -> None:
    plan = parse("SELECT max(a) / count(*) AS r FROM S [RANGE 1 min SLIDE 1 min WA ts] GROUP BY user", catalog())
    assert isinstance(plan, Project)
    assert plan.columns == ("user", "window", "r")


def test_one_aggregate_may_have_several_names() -> None:
    plan = parse("SELECT max(a) AS m, max(a), max(a) + 1 AS more FROM S", catalog())
    assert plan.columns == ("m", "max(a)", "more")


def test_lenient_mode_groups_by_plain_columns() -> None:
    plan = parse("SELECT user, max(a) FROM S", catalog(), lenient=True)
    assert isinstance(plan, GroupAggregate)
    assert [k.name for k in plan.keys] == ["user"]


def test_columns_of_a_join_are_short_where_that_is_unique() -> None:
    plan = parse("SELECT Main1.len, Main1.ts, Main2.ts FROM Main1 [ROWS 3], Main2 [ROWS 3]", catalog())
    assert plan.columns == ("len", "Main1.ts", "Main2.ts")
