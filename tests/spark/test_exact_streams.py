"""The streaming operator by itself: any window, disorder, promise, cut, number of shards and restart, one answer."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.core.errors import LateRowError
from panewise.windows.sliding import SlidingWindow
from spark.cases import judged, with_missed
from spark.in_process import run_in_process

windows = st.builds(SlidingWindow, st.integers(1, 40), st.integers(1, 25), st.integers(-9, 9),
                    st.sampled_from([0, 3, 50]))
rows = st.fixed_dictionaries(
    {"k": st.sampled_from("abc"), "t": st.integers(-60, 120), "v": st.integers(-5, 5) | st.none()})
promises = st.fixed_dictionaries({"t": st.integers(-60, 130)}, optional={"k": st.sampled_from("abc")})
items = st.lists(rows | promises.map(lambda p: {"punctuation": p}), max_size=60).map(
    lambda found: [{"k": "a", "t": 0, "v": 0}, *found])


def cut(found: list[dict[str, Any]], files: int) -> list[list[dict[str, Any]]]:
    size = -(-len(found) // files)
    return [found[i: i + size] for i in range(0, len(found), size)]


@settings(max_examples=20, deadline=None)
@given(items, windows, st.sampled_from(["drop", "consistent", "generous"]),
       st.sampled_from(["source", "late:10", "rows:7"]), st.sampled_from([1, 7, 1000]), st.sampled_from([1, 2, 5]),
       st.sampled_from([("k",), ()]), st.sampled_from([1, 3]))
def test_every_cut_into_micro_batches_files_and_shards_gives_the_answer_by_definition(
        found: list[dict[str, Any]], window: SlidingWindow, policy: str, progress: str, rows_per_batch: int,
        shards: int, keys: tuple[str, ...], files: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        results, late, partials = run_in_process(
            Path(folder) / "in", cut(found, files), window, policy=policy, keys=keys, progress=progress,
            rows_per_batch=rows_per_batch, shards=shards)
    kept, late_rows = judged(found, window, policy, progress)
    assert results == with_missed(kept, window, keys)
    assert late == late_rows
    assert partials[-1] == 0, "nothing is kept after the end"


def test_state_holds_no_more_panes_than_open_windows_need(tmp_path: Path) -> None:
    found: list[dict[str, Any]] = []
    for t in range(500):
        found += [{"k": "a", "t": t, "v": 1}, {"punctuation": {"t": t}}]
    window = SlidingWindow(20, 10)
    _, _, kept = run_in_process(tmp_path / "in", [found], window, rows_per_batch=50)
    assert len(kept) > 20
    assert max(kept) == 2, "one pane of the open window that has begun, one of the next"


def test_a_promise_about_one_group_closes_the_windows_of_that_group_only(tmp_path: Path) -> None:
    window = SlidingWindow(10, 10)
    found = [{"k": "a", "t": 1, "v": 1}, {"k": "b", "t": 2, "v": 2}, {"punctuation": {"t": 10, "k": "a"}},
             {"k": "b", "t": 3, "v": 3}, {"k": "a", "t": 4, "v": 4}]
    results, late, _ = run_in_process(tmp_path / "in", [found], window, rows_per_batch=1)
    assert set(results) == {("a", 0, 10, 1, 1, 1.0), ("b", 0, 10, 2, 3, 2.5)}
    assert late == 1


def test_the_late_policy_error_stops_at_the_first_late_row(tmp_path: Path) -> None:
    found = [{"k": "a", "t": 1, "v": 1}, {"punctuation": {"t": 10}}, {"k": "b", "t": 3, "v": 3}]
    with pytest.raises(LateRowError, match="'t' is 3"):
        run_in_process(tmp_path / "in", [found], SlidingWindow(10, 5), policy="error")
