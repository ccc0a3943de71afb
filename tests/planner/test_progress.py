"""Which attribute progresses on each edge, and what happens to punctuation (Li 8)."""

from __future__ import annotations

import pyarrow as pa
import pytest

from panewise.core.scalar import Scalar
from panewise.plan import nodes as n
from panewise.plan.nodes import RelationToStreamKind as Kind
from panewise.planner.facts.progress import Progress, PunctuationRule, progress
from panewise.windows.count import CountWindow
from panewise.windows.landmark import BandWindow
from panewise.windows.rows import RowWindow
from panewise.windows.sliding import SlidingWindow
from planner.plans import clause, counted, filtered, over_windows, projected, source, table, window

MINUTE = SlidingWindow.scoped(60)


def flow(plan: n.Node) -> Progress:
    return progress(plan)[plan]


def named(stream: str, spec: SlidingWindow | BandWindow | CountWindow = MINUTE) -> n.Node:
    return n.Qualify(window(spec, stream), stream)


@pytest.mark.parametrize(("plan", "attributes", "rule"), [
    (source(), ("ts",), PunctuationRule.GENERATE),
    (filtered(source()), ("ts",), PunctuationRule.PASS),
    (n.Distinct(source()), ("ts",), PunctuationRule.PASS),
    (n.TableJoin(source(), table()), ("ts",), PunctuationRule.PASS),
    (n.RelationToStream(window(MINUTE), Kind.ISTREAM), ("ts",), PunctuationRule.PASS),
    (n.Qualify(source(), "M"), ("M.ts",), PunctuationRule.TRANSLATE),
    (n.Union((source(), source("R"))), ("ts",), PunctuationRule.MELD),
    (over_windows(source(), SlidingWindow(60, 20), "k"), ("window",), PunctuationRule.TO_WINDOW),
    (counted(source(), "k"), (), PunctuationRule.ABSORB),
    (counted(source(), "k", "ts"), ("ts",), PunctuationRule.TRANSLATE),
    (n.Join(named("S"), named("R")), ("S.ts", "R.ts"), PunctuationRule.JOIN),
    (n.AntiJoin(named("S"), named("R")), ("S.ts",), PunctuationRule.MELD),
    (n.BandJoin(n.Qualify(source(), "L"), n.Qualify(source(), "R"), "L.ts", "R.ts", 3, 2), ("L.ts", "R.ts"),
     PunctuationRule.JOIN),
    (table(), (), PunctuationRule.NONE),
], ids=lambda x: type(x).__name__ if isinstance(x, n.Node) else "")
def test_each_operator_has_its_rule(plan: n.Node, attributes: tuple[str, ...], rule: PunctuationRule) -> None:
    found = flow(plan)
    assert (found.attributes, found.rule, found.note) == (attributes, rule, "")


def test_projecting_the_progressing_attribute_away_is_reported() -> None:
    plan = over_windows(projected(source(), "a", "k"), SlidingWindow(60, 20))
    notes = progress(plan).notes()
    assert notes[0] == "ts is projected away"
    assert "no punctuation on ts reaches the window" in notes[1]
    assert flow(projected(source(), "a")).lost == ("ts",)


def test_a_final_projection_without_the_window_is_no_reason_to_warn() -> None:
    plan = projected(over_windows(source(), SlidingWindow(60, 20), "k"), "k", "n")
    assert flow(plan).lost == ("window",)
    assert progress(plan).notes() == []


def test_a_renamed_attribute_still_progresses_a_computed_one_does_not() -> None:
    renamed = n.Project(source(), (n.NamedScalar("t", Scalar.column("ts")),))
    assert flow(renamed).attributes == ("t",)
    assert flow(n.Project(source(), (n.NamedScalar("t", Scalar.parse("ts % 10")),))).attributes == ()


def test_a_union_progresses_on_columns_at_one_position() -> None:
    other = source("R", pa.schema({"time": pa.int64(), "a": pa.int64(), "k": pa.string()}))
    moved = source("R", pa.schema({"a": pa.int64(), "ts": pa.int64(), "k": pa.string()}))
    assert flow(n.Union((source(), other))).attributes == ("ts",)
    assert "one common column" in flow(n.Union((source(), moved))).note


def test_a_join_side_that_keeps_rows_for_ever_does_not_progress() -> None:
    assert flow(n.Join(named("S", BandWindow.since(3)), named("R"))).attributes == ("R.ts",)
    assert flow(n.Join(named("S", CountWindow(3)), named("R"))).attributes == ("R.ts",)
    forever = flow(n.Join(n.Qualify(source(), "S"), n.Qualify(source("R"), "R")))
    assert forever.attributes == ()
    assert "give at least one side a time window" in forever.note


def test_windows_by_rows_progress_by_arrival_alone() -> None:
    timeless = source("T", pa.schema({"a": pa.int64()}))
    assert "only its row positions progress" in flow(timeless).note
    rows = n.WindowClause(RowWindow(4, 2), "row-num", clause(CountWindow(1)).ordinal)
    plan = n.WindowAggregate(timeless, rows, (), (n.AggregateCall("n", "count"),))
    assert (flow(plan).attributes, flow(plan).note) == (("wid",), "")


def test_a_stream_join_without_progress_on_a_side_says_so() -> None:
    joined = n.BandJoin(source(), projected(source("R"), "a"), "ts", "ts", 3, 2)
    assert "keeps rows until the input ends" in flow(joined).note
