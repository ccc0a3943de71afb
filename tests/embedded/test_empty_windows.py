"""Empty windows on request: silent groups have results of no rows, and nothing else changes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.compare import assert_same_rows
from embedded.plans import call, run_timeline, source
from oracle.questions import Oracle
from panewise.api.query import open_query
from panewise.core.errors import UnsupportedError, WindowSpecError
from panewise.core.ordinals import OrdinalKind
from panewise.dataflow import open_plan
from panewise.plan.nodes import NamedScalar, WindowAggregate, WindowClause
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival
from panewise.windows import CountWindow, LinearWindow, NowWindow, SessionWindow, SlidingWindow, WindowSpec

specs = st.one_of(st.builds(SlidingWindow, st.integers(1, 9), st.integers(1, 9), st.integers(-3, 3)),
                  st.builds(LinearWindow, st.integers(1, 3), st.integers(-4, 4), st.integers(2, 4), st.integers(-4, 4)))
rows = st.fixed_dictionaries({"ts": st.integers(-10, 30), "k": st.sampled_from(["a", "b", None]),
                              "g": st.integers(0, 1), "v": st.integers(-3, 3).map(float)})
promises = st.builds(lambda bound, c: Punctuation.below("ts", bound, **c), st.integers(-12, 32),
                     st.sampled_from([{}, {}, {"k": "a"}, {"g": 1}]))
places = st.frozensets(st.integers(0, 18), max_size=5)


def plan(spec: WindowSpec, keys: tuple[str, ...] = ("k",), attribute: str = "ts",
         ordinal: OrdinalKind = OrdinalKind.INTEGER) -> WindowAggregate:
    return WindowAggregate(source(), WindowClause(spec, attribute, ordinal), tuple(map(NamedScalar.column, keys)),
                           (call("n", "count"), call("total", "sum", "v"), call("kinds", "count", "v", distinct=True)))


def wid_of(spec: WindowSpec, row: dict[str, Any]) -> int:
    return row["wid"] if "wid" in row else next(
        w for w in range(-60, 60) if (spec.extent(w).start, spec.extent(w).end) == tuple(row["window"].values()))


def filled(spec: WindowSpec, keys: tuple[str, ...], found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The definition: every group from its first window to the newest window of any group."""
    by_place = {(*(r[k] for k in keys), wid_of(spec, r)): r for r in found}
    newest = max((place[-1] for place in by_place), default=0)
    for group in {place[:-1] for place in by_place}:
        first = min(place[-1] for place in by_place if place[:-1] == group)
        for wid in range(first, newest + 1):
            extent = spec.extent(wid)
            name = {"window": {"start": extent.start, "end": extent.end}} if isinstance(spec, SlidingWindow) else \
                {"wid": wid}
            by_place.setdefault((*group, wid), {**dict(zip(keys, group, strict=True)), **name, "n": 0, "total": None,
                                                "kinds": 0})
    return list(by_place.values())


@settings(max_examples=75, deadline=None)
@given(specs, st.sampled_from([(), ("k",), ("k", "g")]), st.lists(st.one_of(rows, rows, promises), max_size=18), places,
       places, st.sampled_from(["drop", "generous"]))
def test_silent_groups_have_results_of_no_rows(spec: WindowSpec, keys: tuple[str, ...], items: list[Any],
                                               cuts: frozenset[int], saves: frozenset[int], late: str) -> None:
    node, timeline = plan(spec, keys), [Arrival("s", item) for item in items]
    options = {"late": late, "empty_windows": True}
    found, _ = run_timeline(open_plan(node, **options), timeline, cuts, saves, **options)
    assert_same_rows(found, filled(spec, keys, Oracle(node, timeline, late=late).results()))


def test_an_empty_window_comes_out_when_it_is_closed_and_a_later_one_has_rows() -> None:
    query = open_plan(plan(SlidingWindow(10, 10)), empty_windows=True)
    query.push("s", [{"ts": 1, "k": "a", "g": 0, "v": 1.0}, {"ts": 25, "k": "b", "g": 0, "v": 1.0}])
    assert query.push("s", Punctuation.below("ts", 20)).num_rows == 1
    out = query.push("s", Punctuation.below("ts", 30)).to_pylist()
    assert [(r["k"], r["window"]["start"], r["n"], r["total"]) for r in out] == [
        ("a", 10, 0, None), ("b", 20, 1, 1.0), ("a", 20, 0, None)]


def test_a_promise_about_one_group_shows_no_empty_windows_of_others() -> None:
    query = open_plan(plan(SlidingWindow(10, 10)), empty_windows=True)
    query.push("s", [{"ts": t, "k": k, "g": 0, "v": 1.0} for t, k in ((1, "a"), (1, "b"), (31, "a"))])
    query.push("s", Punctuation.below("ts", 10))
    out = query.push("s", Punctuation.below("ts", 40, k="a")).to_pylist()
    assert [(r["k"], r["window"]["start"], r["n"]) for r in out] == [("a", 10, 0), ("a", 20, 0), ("a", 30, 1)]
    query.push("s", [{"ts": 12, "k": "b", "g": 0, "v": 1.0}])
    assert [(r["window"]["start"], r["n"]) for r in query.finish().to_pylist()] == [(10, 1), (20, 0), (30, 0)]


@pytest.mark.parametrize("node", [plan(SessionWindow(5)), plan(CountWindow(3), (), "row-num", OrdinalKind.ROWS),
                                  plan(NowWindow(), (), "row-num", OrdinalKind.ROWS)], ids=lambda n: n.window.spec.kind)
def test_windows_that_follow_from_their_rows_are_never_empty(node: WindowAggregate) -> None:
    with pytest.raises(UnsupportedError, match="none of them is empty"):
        open_plan(node, empty_windows=True)


def test_more_empty_windows_than_memory_could_hold_are_refused() -> None:
    query = open_plan(plan(SlidingWindow(1, 1)), empty_windows=True)
    query.push("s", [{"ts": t, "k": "a", "g": 0, "v": 1.0} for t in (0, 10**9)])
    with pytest.raises(WindowSpecError, match="choose a longer SLIDE, or leave out empty_windows"):
        query.finish()


def test_a_query_can_be_opened_with_empty_windows() -> None:
    query = open_query("SELECT count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s", s="ts bigint", empty_windows=True)
    query.push("s", [{"ts": 3}, {"ts": 32}])
    assert query.finish().column("n").to_pylist() == [1, 0, 0, 1]
