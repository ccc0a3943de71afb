"""Bucket: ids of windows as data, made once for all that have these windows, and bounds on them that say something."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded.held import assert_runs_as_printed
from embedded.test_nested_windows import NESTED, SCHEMAS
from panewise.api.query import plan_of
from panewise.dataflow import Query, open_plan
from panewise.dataflow.batch import Batch
from panewise.dataflow.graph import Node
from panewise.dataflow.operators.bucket import WID, Bucket
from panewise.plan.dataflow import BucketStep, WindowAggregateStep
from panewise.progress.punctuation import Punctuation
from panewise.windows.base import WindowSpec
from panewise.windows.sliding import SlidingWindow
from windows.window_strategies import SPECS

BY_VALUE = ("sliding", "tumbling", "varying", "linear")
COUNTS = "SELECT k, {} [RANGE 10, SLIDE 5, WA ts] AS n FROM s GROUP BY k"
TWICE = f"SELECT * FROM ({COUNTS.format('count(*)')}) AS a UNION ALL SELECT * FROM ({COUNTS.format('sum(v)')}) AS b"
ASCENDING = st.lists(st.integers(-30, 30), min_size=1, max_size=8).map(sorted)


def bucket(spec: WindowSpec) -> Bucket:
    return Bucket(spec, "ts", pa.schema({"ts": pa.int64()}))


def windows(spec: WindowSpec) -> list[tuple[int, Any]]:
    return [(wid, spec.extent(wid)) for wid in range(-150, 150)]


@pytest.mark.parametrize("kind", BY_VALUE)
@settings(max_examples=25, deadline=None)
@given(st.data(), st.lists(st.integers(-20, 20), min_size=1, max_size=5))
def test_a_row_has_the_ids_of_the_windows_it_is_in(kind: str, data: st.DataObject, values: list[int]) -> None:
    spec = data.draw(SPECS[kind])
    tags = bucket(spec).take(0, Batch.made(pa.table({"ts": values}))).tags
    assert tags is not None
    assert tags.values.tolist() == values
    for value, first, end in zip(values, tags.first.tolist(), tags.end.tolist(), strict=True):
        inside = [wid for wid, extent in windows(spec) if extent.start <= value < extent.end]
        assert list(range(max(first, -150), min(end, 150))) == inside


@pytest.mark.parametrize("kind", BY_VALUE)
@settings(max_examples=25, deadline=None)
@given(st.data(), ASCENDING)
def test_bounds_on_ids_come_when_a_window_is_over_and_never_twice(kind: str, data: st.DataObject,
                                                                  bounds: list[int]) -> None:
    spec = data.draw(SPECS[kind])
    made, said = bucket(spec), [-1000]
    for bound in bounds:
        asked = Punctuation.below("ts", bound)
        promise, *news = made.advance(0, asked)
        first = next(wid for wid, extent in windows(spec) if extent.end > bound)
        assert promise is asked
        assert news == ([Punctuation.below(WID, first)] if first > said[-1] else [])
        said.append(first)


def test_bounds_of_single_groups_are_about_their_ids() -> None:
    made = bucket(SlidingWindow(10, 5))
    told = [str(item) for bound, k in ((12, "a"), (13, "a"), (12, "b"), (11, "b"), (15, "a"))
            for item in list(made.advance(0, Punctuation.below("ts", bound, k=k)))[1:]]
    assert told == ["(<wid> < 2, k = a)", "(<wid> < 2, k = b)", "(<wid> < 3, k = a)"]
    again = bucket(SlidingWindow(10, 5))
    again.become(*made.saved())
    assert len(list(again.advance(0, Punctuation.below("ts", 14, k="b")))) == 1
    assert len(list(again.advance(0, Punctuation.below("ts", 15, k="b")))) == 2


def opened(text: str, **options: Any) -> Query:
    return open_plan(plan_of(text, SCHEMAS), **options)


def test_aggregates_of_one_window_over_one_input_share_their_bucket() -> None:
    query = opened(TWICE, strategy="wid")
    plan = assert_runs_as_printed(query, strategy="wid")
    [number] = [number for number, step in enumerate(plan.steps) if isinstance(step, BucketStep)]
    above = [step.inputs for step in plan.steps if isinstance(step, WindowAggregateStep)]
    assert above == [(number,), (number,)]
    other = opened(TWICE.replace("RANGE 10, SLIDE 5, WA ts] AS n FROM s GROUP BY k) AS b",
                                 "RANGE 20, SLIDE 5, WA ts] AS n FROM s GROUP BY k) AS b"), strategy="wid")
    assert other.physical is not None
    assert sum(isinstance(step, BucketStep) for step in other.physical.steps) == 2


def test_the_kernel_gets_the_ids_of_the_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids that are moved by one window move the results: nothing else says which windows a row is in."""
    query = opened(COUNTS.format("count(*)"), strategy="wid")
    [node] = [made for made in query.made if isinstance(made, Node) and isinstance(made.operator, Bucket)]
    honest = node.operator.take

    def moved(port: int, batch: Batch) -> Batch:
        found = honest(port, batch)
        assert isinstance(found, Batch)
        assert found.tags is not None
        found.tags.first[:] += 1
        found.tags.end[:] += 1
        return found

    monkeypatch.setattr(node.operator, "take", moved)
    query.push("s", {"k": "a", "v": 1, "ts": 12})
    assert [row["window"]["start"] for row in query.finish().to_pylist()] == [10, 15]


@pytest.mark.parametrize("strategy", ["auto", "wid", "adaptive", "buffering", "two-level"])
def test_results_promise_the_same_whatever_runs_them(strategy: str) -> None:
    """A promise for each window that is over: what is left ends at the next multiple of the SLIDE, or later."""
    heard: list[str] = []
    query = opened(NESTED["its last instant"], strategy=strategy)
    query.on_punctuation(lambda promise: heard.append(str(promise)))
    for bound in range(20, 45):
        query.push("s", {"k": "a", "v": 1, "ts": bound})
        query.push("s", Punctuation.below("ts", bound))
    assert heard == [f"(window.time < {end - 1})" for end in (30, 40, 50)]
