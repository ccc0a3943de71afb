"""What ``explain`` prints of a whole query is what its running operators are and hold; one plan object is both."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import panewise as pw
from embedded.held import assert_runs_as_printed
from embedded.join_plans import aggregated, rows_out
from embedded.plans import aggregate, call, source
from embedded.test_nested_windows import NESTED, SCHEMAS
from embedded.test_window_kinds import plan as windowed
from panewise.api.query import plan_of
from panewise.core.errors import PanewiseError, PlanError, UnsupportedError
from panewise.core.ordinals import OrdinalKind
from panewise.dataflow import open_plan
from panewise.plan.dataflow import Entry, RelationStep, WindowAggregateStep
from panewise.plan.nodes import Node, RelationToStream
from panewise.planner.explain.physical_text import as_data, explain_physical
from panewise.windows.count import CountWindow
from panewise.windows.rows import RowWindow
from panewise.windows.session import SessionWindow
from panewise.windows.sliding import SlidingWindow
from relations.pair_plans import pair_windows
from relations.random_plans import EVERYTHING, STREAM_KINDS, cases, is_legal
from windows.window_strategies import SPECS

LATE = st.sampled_from(["drop", "side", "generous", "consistent", "error"])
PROGRESS = st.sampled_from(["source", "ordered", "late:3, lull=9", "rows:2", "substream:k=a|b|c"])
STATS = {"rows_per_unit": 3, "groups": 5}


@pytest.mark.parametrize("kind", sorted(SPECS))
@settings(max_examples=8, deadline=None)
@given(st.data(), LATE, st.sampled_from([None, STATS]))
def test_window_aggregates_of_every_kind(kind: str, data: st.DataObject, late: str, stats: Any) -> None:
    spec, by_rows = data.draw(SPECS[kind]), data.draw(st.booleans())
    attribute, ordinal = ("row-num", OrdinalKind.ROWS) if by_rows else ("ts", OrdinalKind.INTEGER)
    node = windowed(spec, data.draw(st.sampled_from([(), ("k",)])), data.draw(st.sampled_from([(), ("k",)])),
                    attribute=attribute, ordinal=ordinal, predicate=data.draw(st.sampled_from([None, "v > 0"])))
    options = {"late": late, "stats": stats, "strategy": data.draw(st.sampled_from(["auto", "wid", "buffering"])),
               "progress": data.draw(PROGRESS)}
    try:
        query = open_plan(node, **options)
    except PanewiseError:
        return
    plan = assert_runs_as_printed(query, **options)
    step = plan.steps[plan.windows or 0]
    assert isinstance(step, WindowAggregateStep)
    assert bool(step.choice is not None and step.choice.given) is (stats is not None)


@pytest.mark.parametrize("spec", [SlidingWindow(9, 4), SlidingWindow(5, 5), SessionWindow(4), RowWindow(6, 2),
                                  CountWindow(3)], ids=str)
@pytest.mark.parametrize("options", [
    {"strategy": "wid"}, {"strategy": "buffering: slack=7"}, {"strategy": "buffering: differential"},
    {"strategy": "two-level: slots=64, flush=slow, m=1, i=9"}, {"strategy": {"kernel": "two-level", "flush": "iop"}},
    {"strategy": "adaptive: unit=pane"}, {"strategy": "adaptive: hysteresis=0.5, estimate=model, wed_since=low"},
    {"emit": "early:3"}, {"empty_windows": True}, {"events": True}], ids=str)
def test_options_reach_the_operators(spec: Any, options: dict[str, Any]) -> None:
    counted = isinstance(spec, CountWindow | RowWindow)
    node = aggregate(source(), spec, attribute="row-num" if counted else "ts", calls=[call("n", "count")],
                     ordinal=OrdinalKind.ROWS if counted else OrdinalKind.INTEGER)
    try:
        query = open_plan(node, **options)
    except UnsupportedError as error:
        assert "does not run these" in str(error) or "empty" in str(error) or "early" in str(error)  # noqa: PT017
        return
    shown = {name: value for name, value in options.items() if name == "strategy"}
    if shown:
        assert_runs_as_printed(query, **shown)
    [step] = [step for step in query.physical.steps if isinstance(step, WindowAggregateStep)]  # type: ignore[union-attr]
    assert (step.emit, step.empty_windows, step.events) == (
        options.get("emit", "final"), options.get("empty_windows", False), options.get("events", False))


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 1 << 30), st.booleans(), LATE, PROGRESS)
def test_joins_of_streams_and_aggregates_over_them(seed: int, counts: bool, late: str, progress: str) -> None:
    node: Node = (aggregated if counts else rows_out)(Random(seed))
    try:
        query = open_plan(node, late=late, progress=progress)
    except PanewiseError:
        return
    assert_runs_as_printed(query, late=late, progress=progress)


@pytest.mark.parametrize("operator", EVERYTHING)
@settings(max_examples=8, deadline=None)
@given(st.data(), LATE, st.sampled_from(["auto", "negative", "direct"]))
def test_relations_of_every_operator(operator: str, data: st.DataObject, late: str, style: str) -> None:
    node, _ = data.draw(cases(operator, calendar=True, tables=True, again=True))
    if data.draw(st.integers(0, 3)) == 0:
        node = RelationToStream(node, data.draw(STREAM_KINDS))
    try:
        query = open_plan(node, late=late, strategy=style)
    except PanewiseError:
        return
    assert_runs_as_printed(query, late=late, strategy=style)


@settings(max_examples=30, deadline=None)
@given(pair_windows(), LATE)
def test_relations_over_joins_of_streams(node: Node, late: str) -> None:
    if is_legal(node):
        assert_runs_as_printed(open_plan(node, late=late), late=late)


@pytest.mark.parametrize("late", ["generous", "drop"])
@pytest.mark.parametrize("name", NESTED)
def test_nested_windows(name: str, late: str) -> None:
    assert_runs_as_printed(open_plan(plan_of(NESTED[name], SCHEMAS), late=late), late=late)


COUNTED = "SELECT {}count(*) [RANGE 10, SLIDE 5, WA ts] AS n FROM s{}"
GUARDED = {
    COUNTED.format("k, ", " WHERE v > 1 GROUP BY k"): ["WindowAggregation"],
    COUNTED.format("", " WHERE v > 1"): ["WindowAggregation"],
    COUNTED.format("k, ", " GROUP BY k"): [],
    "SELECT * FROM s [RANGE 3, WA ts], t [RANGE 3, WA ts] WHERE s.k = t.k AND s.v > 1": ["StreamJoin"],
}


@pytest.mark.parametrize("text", GUARDED)
def test_guards_and_what_describes_progress_are_printed(text: str) -> None:
    """A WHERE would hide late rows from what stands above it; results by substream hear of single substreams."""
    policy, grouped = "substream:k=a|b", "GROUP BY" in text
    plan = assert_runs_as_printed(open_plan(plan_of(text, SCHEMAS), late="drop", progress=policy), late="drop",
                                  progress=policy)
    entries = [step for step in plan.steps if isinstance(step, Entry)]
    printed = explain_physical(plan).splitlines()
    for entry in entries:
        assert [plan.steps[judge.step].operator for judge in entry.guard.judges] == GUARDED[text]
        assert entry.describe.substreams == ("k" if grouped else None)
        assert sum(f"for step {judge.step}" in line for line in printed for judge in entry.guard.judges) == (
            len(entries) if GUARDED[text] else 0)
    alone = "; each k by itself, too" if grouped else ""
    assert [line.split("describe")[1].strip() for line in printed if "describe" in line] == [
        f"{policy}{alone}"] * len(entries)


def test_equal_parts_are_one_step_that_is_printed_where_it_is_read() -> None:
    text = "SELECT * FROM a [RANGE 3, WA ts] AS l, a [RANGE 3, WA ts] AS r WHERE l.k = r.k"
    plan = open_plan(plan_of(text, {"a": SCHEMAS["s"]})).physical
    assert plan is not None
    assert [step.operator for step in plan.steps].count("StreamInput") == 1
    assert [path for path, number in plan.places.items() if number == 0] == [(0, 0), (1, 0)]


def kernels(text: str, **options: Any) -> list[tuple[str, str]]:
    query = open_plan(plan_of(text, SCHEMAS), **options)
    assert query.physical is not None
    choices = [step.choice for step in query.physical.steps if isinstance(step, WindowAggregateStep)]
    return [(choice.kernel, choice.reason) for choice in choices if choice is not None]


NESTS = ("SELECT max(n) [RANGE 20, SLIDE 20, WA window.time] AS top FROM "
         "(SELECT k, count(*) [{}] AS n FROM s GROUP BY k)")


def test_strategy_and_statistics_reach_aggregates_inside() -> None:
    inside = NESTS.format("RANGE 10, SLIDE 5, WA ts")
    assert [kernel for kernel, _ in kernels(inside, strategy="wid")] == ["wid", "wid"]
    assert all(reason.startswith(("least time", "least memory")) or "too near to be sure" in reason
               for _, reason in kernels(inside, stats=STATS))


def test_a_strategy_that_does_not_fit_an_aggregate_inside_says_so() -> None:
    found = kernels(NESTS.format("SESSION 5, WA ts"), strategy="wid")
    assert found == [("session", "the only kernel that runs session windows with these aggregates; the strategy 'wid' "
                                 "does not run session windows"), ("wid", "asked for")]


def test_aggregates_inside_relations_take_a_strategy() -> None:
    text = ("SELECT a.k FROM (SELECT k, count(*) [RANGE 10, SLIDE 5, WA ts] AS n FROM s GROUP BY k) AS a [RANGE 9], "
            "t [RANGE 5] WHERE a.k = t.k")
    assert kernels(text, strategy="buffering") == [("buffering", "asked for")]
    query = open_plan(plan_of(text, SCHEMAS), strategy={"kernel": "wid", "style": "negative"})
    assert query.physical is not None
    relation = next(step for step in query.physical.steps if isinstance(step, RelationStep))
    assert relation.relation.style.value == "negative"
    with pytest.raises(UnsupportedError, match="'session' does not run these sliding windows"):
        kernels(text, strategy="session")


@pytest.mark.parametrize(("strategy", "message"), [
    ("bufering", "'bufering' does not run these sliding windows.*did you mean 'buffering'"),
    ("buffering: slak=3", "no option 'slak'; there are differential, slack; did you mean 'slack'"),
    ("wid: slack=3", "no option 'slack'"),
    ({"slack": 3}, "has options and names no kernel"), ("auto: slack=3", "has options and names no kernel"),
    ("buffering: slack=soon", "slack is 'soon': expected an amount of the windowing attribute"),
    ("two-level: slots=1.5", "slots is '1.5': expected a whole number"),
    ("two-level: flush=quick", "flush is 'quick': expected one of lazy, slow, iop"),
    ("buffering: differential=perhaps", "expected true or false"),
    ("negative", "is a style of relations, and nothing of this query is one")])
def test_a_strategy_that_means_nothing_is_refused(strategy: Any, message: str) -> None:
    with pytest.raises(PanewiseError, match=message):
        kernels("SELECT count(*) [RANGE 10, SLIDE 5, WA ts] AS n FROM s", strategy=strategy)


def test_a_kernel_is_refused_where_there_is_no_window_aggregate() -> None:
    with pytest.raises(PlanError, match="names a kernel of window aggregates, and this query has none"):
        kernels("SELECT * FROM s [RANGE 3, WA ts], t [RANGE 3, WA ts] WHERE s.k = t.k", strategy="wid")
    with pytest.raises(PlanError, match="no execution style 'wid'"):
        kernels("SELECT DISTINCT k FROM s [RANGE 3]", strategy="wid")


@pytest.mark.parametrize("text", ["SELECT count(*) [RANGE 10, SLIDE 5, WA ts] AS n FROM s", NESTED["distinct"],
                                  "SELECT * FROM s [RANGE 3, WA ts], t [RANGE 3, WA ts] WHERE s.k = t.k"])
def test_the_plan_as_data_is_the_plan_that_runs(text: str) -> None:
    rows = pa.table({name: pa.array([], kind) for name, kind in SCHEMAS["s"].columns.items()})
    streams = {name: rows for name in ("s", "t") if f" {name}" in text.replace(" ts", "").replace("time", "")}
    shown = json.loads(pw.explain(text, format="json", streams=streams))
    query = open_plan(plan_of(text, {name: SCHEMAS[name] for name in streams}))
    assert query.physical is not None
    assert shown == json.loads(json.dumps(as_data(query.physical)))
    assert shown["version"] == 1
    assert [step["runs"] for step in shown["steps"]] == [step.operator for step in query.physical.steps]
