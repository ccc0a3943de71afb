"""Window aggregates by id: every kind of window, numbering, late rows, and when windows close."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from oracle.building import arrivals, call, clause, over_rows, per_window, project, rows, source, window
from oracle.questions import Oracle
from panewise.core.errors import LateRowError, PlanError, ProgressError, SchemaError
from panewise.core.scalar import Scalar
from panewise.plan.nodes import Filter, Lifetime, NamedScalar, Project, Union
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.timeline import timeline
from panewise.windows.base import WindowSpec
from panewise.windows.landmark import LandmarkWindow
from panewise.windows.rows import PartitionedRowWindow, RowWindow
from panewise.windows.session import SessionWindow
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tumbling import TumblingWindow
from panewise.windows.tuple_slide import TupleSlideWindow

S = source(v=pa.int64())
COUNT = call("n", "count")
TEN = clause(TumblingWindow(10))


def counts(oracle: Oracle, name: str = "wid") -> list[tuple[Any, int]]:
    return [(row[name] if name == "wid" else row["window"]["start"], row["n"]) for row in oracle.results()]


def at(*times: int) -> list[dict[str, int]]:
    return rows(*((t, i) for i, t in enumerate(times)))


# -- kinds ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("spec", "times", "expected"), [
    (LandmarkWindow(10), (5, 25, 3), [(0, 2), (1, 2), (2, 3)]),
    (TupleSlideWindow(10, every=2), (1, 5, 20, 11), [(5, 2), (11, 2)]),
    (TupleSlideWindow(10, every=2, by="rank"), (1, 5, 20, 11), [(5, 2), (20, 2)]),
    (TupleSlideWindow(10), (5, 5, 7), [(5, 2), (7, 3)]),
])
def test_kinds_with_ids(spec: WindowSpec, times: tuple[int, ...], expected: list[tuple[int, int]]):
    assert counts(Oracle(per_window(S, clause(spec), COUNT), timeline(s=at(*times)))) == expected


def test_sessions_of_each_key_end_after_a_pause_of_that_key():
    keyed = source(k=pa.string())
    plan = per_window(keyed, clause(SessionWindow(5), partition=("k",)), COUNT, keys=["k"])
    data = rows((1, "a"), (3, "b"), (6, "a"), (12, "a"), (9, "b"), columns="ts k")
    found = Oracle(plan, timeline(s=data)).results()
    sessions = [(r["k"], *r["window"].values(), r["n"]) for r in found]
    assert sessions == [("b", 3, 8, 1), ("a", 1, 11, 2), ("b", 9, 14, 1), ("a", 12, 17, 1)]


def test_a_session_stays_open_until_a_bound_passes_its_end():
    plan = per_window(S, clause(SessionWindow(5)), COUNT)
    items = timeline(s=[*at(1), Punctuation.below("ts", 6), Punctuation.below("ts", 7), *at(20)])
    assert [(c.row["window"]["start"], c.place) for c in Oracle(plan, items).closings()] == [(1, 2), (20, 4)]


def test_row_windows_count_arrivals_at_the_operator():
    plan = per_window(Filter(S, Scalar.parse("v <> 1")), over_rows(RowWindow(2, 2)), call("v", "max", "v"))
    found = Oracle(plan, timeline(s=at(9, 8, 7, 6, 5))).results()
    assert [(row["wid"], row["v"]) for row in found] == [(0, 2), (1, 4)]


def test_partitioned_row_windows_count_each_partition_by_itself():
    keyed = source(k=pa.string())
    data = rows(*((i, k) for i, k in enumerate("aabab")), columns="ts k")
    split_first = per_window(keyed, over_rows(PartitionedRowWindow(2, 2), "k"), COUNT, keys=["k"])
    window_first = per_window(keyed, over_rows(RowWindow(2, 2)), COUNT, keys=["k"])
    assert [(r["k"], r["wid"], r["n"]) for r in Oracle(split_first, timeline(s=data)).results()] == [
        ("a", 0, 2), ("b", 0, 2), ("a", 1, 1)]
    assert [(r["k"], r["wid"], r["n"]) for r in Oracle(window_first, timeline(s=data)).results()] == [
        ("a", 0, 2), ("a", 1, 1), ("b", 1, 1), ("b", 2, 1)]


def test_partitioning_a_time_window_is_grouping():
    keyed = source(k=pa.string())
    data = timeline(s=rows((1, "a"), (4, "b"), (12, "a"), (9, "a"), columns="ts k"))
    partitioned = per_window(keyed, clause(SlidingWindow(10, 5), partition=("k",)), COUNT, keys=["k"])
    assert Oracle(partitioned, data).results() == Oracle(
        per_window(keyed, clause(SlidingWindow(10, 5)), COUNT, keys=["k"]), data).results()


def test_rows_of_a_union_are_numbered_in_the_order_they_arrive():
    a, b = source("a", v=pa.int64()), source("b", v=pa.int64())
    plan = per_window(Union((a, b)), over_rows(RowWindow(2, 2)), call("v", "sum", "v"))
    data = [("a", 1, 1), ("b", 1, 10), ("b", 0, 20), ("a", 2, 2)]
    items = arrivals(*((name, {"ts": ts, "v": v}) for name, ts, v in data))
    assert [row["v"] for row in Oracle(plan, items).results()] == [11, 22]


def test_a_predicate_in_the_window_filters_before_rows_are_counted():
    plan = per_window(S, over_rows(RowWindow(2, 2), predicate=Scalar.parse("v % 2 = 0")), call("v", "sum", "v"))
    assert [row["v"] for row in Oracle(plan, timeline(s=at(*range(8)))).results()] == [2, 10]


def test_rows_in_the_gaps_are_in_no_window():
    gapped = per_window(S, clause(SlidingWindow(3, 10)), COUNT)
    assert counts(Oracle(gapped, timeline(s=at(6, 7, 9))), "window") == [(7, 2)]


def test_a_window_aggregate_can_be_windowed_again():
    inner = per_window(S, TEN, COUNT)
    outer = per_window(inner, clause(TumblingWindow(20)), call("n", "max", "n"))
    assert counts(Oracle(outer, timeline(s=at(1, 2, 15, 31))), "window") == [(0, 2), (20, 1)]


def test_expressions_group_and_aggregate():
    plan = per_window(S, TEN, call("total", "sum", "v * 2"), call("kinds", "count", "v % 2", distinct=True))
    found = Oracle(plan, timeline(s=at(1, 2, 3))).results()
    assert found == [{"window": {"start": 0, "end": 10}, "total": 6, "kinds": 2}]


def test_first_and_last_go_by_arrival():
    plan = per_window(S, TEN, call("f", "first", "ts"), call("l", "last", "ts"))
    assert [(r["f"], r["l"]) for r in Oracle(plan, timeline(s=at(5, 1, 3))).results()] == [(5, 3)]


def test_a_lifetime_ends_the_query():
    plan = Lifetime(per_window(S, TEN, COUNT), 20)
    assert counts(Oracle(plan, timeline(s=at(5, 15, 25)), registered_at=0), "window") == [(0, 1), (10, 1)]
    assert counts(Oracle(plan, timeline(s=at(5, 15, 25))), "window") == [(0, 1), (10, 1)]  # from 5, the first row


def test_results_as_a_table():
    table = Oracle(per_window(S, TEN, COUNT), timeline(s=at(1, 2))).table()
    assert table.to_pylist() == [{"window": {"start": 0, "end": 10}, "n": 2}]
    assert Oracle(per_window(S, TEN, COUNT), []).table().column_names == ["window", "n"]


# -- late rows -----------------------------------------------------------------------------------------------------

SLIDING = clause(SlidingWindow(20, 10))
LATE = timeline(s=[*at(25), Punctuation.below("ts", 20), *at(15, 5)])


@pytest.mark.parametrize(("policy", "expected", "late"), [
    ("drop", [(10, 1), (20, 1)], [15, 5]),
    ("side", [(10, 1), (20, 1)], [15, 5]),
    ("generous", [(10, 2), (20, 1)], [15, 5]),
    ("consistent", [(10, 1), (20, 1)], [15, 5]),
])
def test_late_policies(policy: str, expected: list[tuple[int, int]], late: list[int]):
    oracle = Oracle(per_window(S, SLIDING, COUNT), LATE, late=policy)
    assert counts(oracle, "window") == expected
    assert [row["ts"] for row in oracle.late_rows()] == late


def test_a_row_below_the_bound_whose_windows_are_all_open_counts_under_slack():
    items = timeline(s=[*at(25), Punctuation.below("ts", 17), *at(15)])
    plan = per_window(S, TEN, COUNT)
    for policy, expected in (("drop", [(20, 1)]), ("generous", [(10, 1), (20, 1)]), ("consistent", [(10, 1), (20, 1)])):
        oracle = Oracle(plan, items, late=policy)
        assert counts(oracle, "window") == expected
        assert len(oracle.late_rows()) == (policy == "drop")


def test_the_error_policy_names_the_row_and_the_bound():
    with pytest.raises(LateRowError, match=r"'ts': 15.*below 20"):
        Oracle(per_window(S, SLIDING, COUNT), LATE, late="error").results()


def test_a_punctuation_of_another_group_makes_no_row_late():
    keyed = source(k=pa.string())
    items = timeline(s=[Punctuation.below("ts", 10, k="a"), *rows((5, "a"), (5, "b"), columns="ts k")])
    oracle = Oracle(per_window(keyed, TEN, COUNT, keys=["k"]), items)
    assert [row["k"] for row in oracle.results()] == ["b"]
    assert oracle.late_rows() == [{"ts": 5, "k": "a"}]


def test_late_rows_are_found_under_another_name_and_each_source_answers_for_itself():
    a = Project(source("a"), (NamedScalar("t", Scalar.column("ts")),))
    b = Project(source("b"), (NamedScalar("t", Scalar.column("ts")),))
    plan = per_window(Union((a, b)), TEN, COUNT)
    renamed = per_window(plan.input, type(TEN)(TEN.spec, "t", TEN.ordinal), COUNT)
    items = arrivals(("a", Punctuation.below("ts", 10)), ("a", {"ts": 5}), ("b", {"ts": 6}), ("a", {"ts": 12}))
    oracle = Oracle(renamed, items)
    assert counts(oracle, "window") == [(0, 1), (10, 1)]
    assert oracle.late_rows() == [{"ts": 5}]


@pytest.mark.parametrize(("progress", "late"), [
    ("source", []), ("ordered", [3, 14]), ("late:2", [3]), ("late:13", []), ("rows:1", [3, 14]), ("rows:3", []),
])
def test_generated_progress_decides_what_is_late(progress: str, late: list[int]):
    oracle = Oracle(per_window(S, TEN, COUNT), timeline(s=at(5, 15, 16, 3, 14)), progress=progress, late="drop")
    assert [row["ts"] for row in oracle.late_rows()] == late


def test_each_stream_can_have_a_progress_policy_of_its_own():
    plan = per_window(Union((source("a"), source("b"))), TEN, COUNT)
    items = arrivals(*((name, {"ts": ts}) for name, ts in (("a", 5), ("b", 5), ("a", 3), ("b", 3))))
    assert Oracle(plan, items, progress={"a": "ordered"}, late="drop").late_rows() == [{"ts": 3}]
    assert len(Oracle(plan, items, progress="ordered", late="drop").late_rows()) == 2


def test_a_column_can_carry_the_bound():
    plan = per_window(source(v=pa.int64()), TEN, COUNT)
    items = timeline(s=rows((5, None), (15, 10), (9, None), (10, 0)))
    assert [row["ts"] for row in Oracle(plan, items, progress="column:v").late_rows()] == [9]


# -- closing -------------------------------------------------------------------------------------------------------


def test_windows_close_at_the_first_item_that_settles_them():
    items = timeline(s=[*at(1, 12), Punctuation.below("ts", 9), Punctuation.below("ts", 10), *at(13)])
    oracle = Oracle(per_window(S, TEN, COUNT), items)
    assert [(c.row["window"]["start"], c.place) for c in oracle.closings()] == [(0, 3), (10, 5)]


def test_a_union_waits_for_its_slowest_input():
    a, b = source("a"), source("b")
    items = arrivals(("a", {"ts": 1}), ("a", Punctuation.below("ts", 10)), ("b", Punctuation.below("ts", 7)),
                     ("b", Punctuation.below("ts", 30)), ("a", END))
    oracle = Oracle(per_window(Union((a, b)), TEN, COUNT), items)
    assert [c.place for c in oracle.closings()] == [3]


def test_a_constant_without_a_bound_closes_its_group_for_ever():
    keyed = source(k=pa.string())
    items = timeline(s=[*rows((5, "a"), (5, "b"), columns="ts k"), Punctuation.below("ts", 0), Punctuation.of(
        {"k": Punctuation.below("ts", 0, k="a").pattern("k")})])
    oracle = Oracle(per_window(keyed, TEN, COUNT, keys=["k"]), items)
    assert {c.row["k"]: c.place for c in oracle.closings()} == {"a": 3, "b": 4}


def test_row_windows_close_with_the_row_that_fills_them():
    oracle = Oracle(per_window(S, over_rows(RowWindow(2, 2)), COUNT), timeline(s=at(1, 2, 3)))
    assert [(c.row["wid"], c.place) for c in oracle.closings()] == [(0, 1), (1, 3)]


def test_generated_progress_closes_windows_too():
    oracle = Oracle(per_window(S, TEN, COUNT), timeline(s=at(1, 9, 15, 12)), progress="late:5")
    assert [c.place for c in oracle.closings()] == [2, 4]


# -- what is refused -----------------------------------------------------------------------------------------------


def test_unknown_policies_are_refused():
    with pytest.raises(ProgressError, match="no late policy 'ignore'"):
        Oracle(S, [], late="ignore")
    with pytest.raises(ProgressError, match="does not know the progress policy 'magic'"):
        Oracle(per_window(S, TEN, COUNT), timeline(s=at(1)), progress="magic").results()


def test_a_null_time_is_refused():
    with pytest.raises(SchemaError, match="'ts' is null"):
        Oracle(per_window(S, TEN, COUNT), timeline(s=[{"ts": None, "v": 1}])).results()


def test_an_unknown_column_is_refused():
    with pytest.raises(SchemaError, match="no column 'w'"):
        Oracle(project(S, "w"), timeline(s=at(1))).results()


def test_relations_do_not_put_out_row_after_row():
    view = window(S, 5)
    with pytest.raises(PlanError, match="relation_at"):
        Oracle(view, []).results_after(0)
    with pytest.raises(PlanError, match="nothing closes"):
        Oracle(view, []).closings()
