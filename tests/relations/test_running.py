"""Relational queries as they are run: progress policies, late rows, checkpoints, the public functions."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import panewise as pw
from oracle.questions import Oracle
from panewise.core.errors import CheckpointError, LateRowError, PlanError, UnsupportedError
from panewise.core.scalar import Scalar
from panewise.dataflow import open_plan
from panewise.engines.embedded import EmbeddedRun
from panewise.plan.nodes import AntiJoin, Node, Qualify
from panewise.planner.legal.capabilities import check
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Timeline, timeline
from panewise.windows.sliding import SlidingWindow
from relations.plans import PLACES, columns, source, timelines, window
from relations.running import assert_like_the_oracle, bag, run_relation


def plan() -> Node:
    left, right = (columns(window(source(s), SlidingWindow(5, 1)), "k", "v") for s in ("s", "t"))
    return AntiJoin(left, Qualify(right, "r"), Scalar.parse("k = `r.k`"))


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(["ordered", "late:2", "rows:1", "source"]),
       st.sampled_from(["generous", "drop", "side", "consistent"]), timelines(("s", "t"), rows=18), PLACES, PLACES)
def test_progress_policies_and_late_policies(progress: str, late: str, items: Timeline, cuts: frozenset[int],
                                             saves: frozenset[int]) -> None:
    assert_like_the_oracle(plan(), items, cuts, saves, progress=progress, late=late)


@settings(max_examples=15, deadline=None)
@given(timelines(("s", "t"), rows=18))
def test_late_rows_go_to_the_side(items: Timeline) -> None:
    _, query = run_relation(plan(), items, late="side")
    rows = query.late_rows.to_pylist()
    assert bag(rows) == bag(Oracle(plan(), items, late="side").late_rows())
    assert query.late_report.num_rows == len(rows)


def test_a_late_row_is_an_error_if_wanted_and_leaves_the_query_as_it_was() -> None:
    query = open_plan(plan(), late="error")
    query.push("s", Punctuation.below("ts", 5))
    before = query.snapshot()
    with pytest.raises(LateRowError, match="row 1 of s is late: ts is 3, but punctuation had promised"):
        query.push("s", [{"ts": 3, "k": "a", "v": 1}])
    assert query.snapshot() == before


def test_a_group_that_is_ahead_makes_its_own_rows_late_and_completes_nothing() -> None:
    items = timeline(s=[{"ts": 1, "k": "a", "v": 1}, Punctuation.below("ts", 9, k="a"), {"ts": 4, "k": "a", "v": 2},
                        {"ts": 4, "k": "b", "v": 3}])
    assert_like_the_oracle(plan(), [*items, Arrival("t", {"ts": 2, "k": "b", "v": 0})])


def test_a_run_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    rows = [{"ts": i, "k": "ab"[i % 2], "v": i} for i in range(40)]
    inputs = {"s": [pa.RecordBatch.from_pylist(rows[i : i + 4]) for i in range(0, 40, 4)],
              "t": [pa.RecordBatch.from_pylist(rows[i : i + 8]) for i in range(0, 16, 8)]}
    whole = [row for table in EmbeddedRun(open_plan(plan(), progress="ordered"), inputs).tables()
             for row in table.to_pylist()]
    found: list[dict[str, object]] = []
    for _ in range(20):
        run = EmbeddedRun(open_plan(plan(), progress="ordered"), inputs, checkpoint=tmp_path, checkpoint_rows=1)
        for table in run.tables():
            found += table.to_pylist()
            run.stop()
    assert bag(found) == bag(whole)
    other = open_plan(plan(), progress="ordered", strategy="negative")
    with pytest.raises(CheckpointError, match="another query"):
        next(iter(EmbeddedRun(other, inputs, checkpoint=tmp_path).tables()), None)


def test_the_public_functions_run_relations() -> None:
    text = "SELECT DISTINCT k FROM s [RANGE 10]"
    rows = [{"ts": 1, "k": "a"}, {"ts": 4, "k": "a"}, {"ts": 30, "k": "b"}]
    expected = [{"k": "a", "valid_from": 1, "expires_at": 11}, {"k": "a", "valid_from": 11, "expires_at": 14},
                {"k": "b", "valid_from": 30, "expires_at": 40}]
    assert list(pw.sql(text, engine="embedded", s=rows)) == expected
    assert list(pw.run(text, s=rows)) == expected
    query = pw.open_query(text, progress="ordered", s="ts bigint, k string")
    assert query.push("s", rows).num_rows == 2
    assert query.finish().to_pylist() == expected[2:]
    assert query.status()["operators"][-1]["operator"] == "Distinct"


def test_a_group_without_aggregates_is_there_while_it_has_rows() -> None:
    rows = [{"ts": 1, "k": "a"}, {"ts": 3, "k": "a"}, {"ts": 20, "k": None}]
    assert list(pw.sql("SELECT k FROM s [RANGE 10] GROUP BY k", engine="embedded", s=rows)) == [
        {"k": "a", "valid_from": 1, "change": 1}, {"k": "a", "valid_from": 13, "change": -1},
        {"k": None, "valid_from": 20, "change": 1}, {"k": None, "valid_from": 30, "change": -1}]


def test_what_makes_no_sense_for_relations_is_said() -> None:
    with pytest.raises(PlanError, match="early results"):
        open_plan(plan(), emit="change")
    with pytest.raises(PlanError, match="no execution style 'fast'"):
        open_plan(plan(), strategy="fast")
    with pytest.raises(PlanError, match="does not read a stream 'x'"):
        open_plan(plan()).push("x", [{"ts": 1}])
    with pytest.raises(PlanError, match="nothing opens or closes"):
        open_plan(plan()).on_window(print)


def test_what_is_not_run_is_refused_by_name() -> None:
    text = "SELECT DISTINCT a.k FROM s AS a [RANGE 3, WA v], s AS b [RANGE 2, WA v] WHERE a.k = b.k"
    with pytest.raises(UnsupportedError, match=r"on a\.v, which does not say when its rows came"):
        pw.sql(text, engine="embedded", s=[{"ts": 1, "k": 1, "v": 1}])
    check(plan(), "embedded")
