"""Plans that mean nothing are refused with what to write instead (Golab 1.8-1.10, property 19)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.core.errors import PlanError
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceKind
from panewise.plan import nodes as n
from panewise.plan.nodes import RelationToStreamKind as Kind
from panewise.planner.facts.labels import UpdatePattern, label
from panewise.planner.legal.legality import problems
from panewise.windows.count import CountWindow
from panewise.windows.landmark import BandWindow
from panewise.windows.sliding import SlidingWindow
from planner.plans import check_legal, clause, counted, filtered, over_windows, projected, source, table, window
from planner.random_plans import plans

MINUTE = SlidingWindow.scoped(60)
INTERNAL = window(MINUTE, internal=True)
PAIRS = n.Join(INTERNAL, window(MINUTE, "R", internal=True))


def rows(node: n.Node, **changes: object) -> n.RelationToStream:
    return n.RelationToStream(node, Kind.WSTREAM, output_window=clause(CountWindow(10)), **changes)  # type: ignore[arg-type]


REFUSED = {
    "negation below a table": (
        n.TableJoin(n.BagDifference(window(MINUTE), window(MINUTE, "R")), table()), "may be taken back"),
    "aggregate below a table": (
        n.TableJoin(counted(window(MINUTE), "a"), table()), "join the stream with the table first"),
    "retroactive join below a table": (
        n.TableJoin(n.TableJoin(window(MINUTE), table(kind=SourceKind.RELATION)), table("U")), "may be taken back"),
    "count window below a table": (n.TableJoin(window(CountWindow(5)), table()), "window by rows"),
    "rows of a stream of replaced values": (
        n.Window(n.RelationToStream(n.Distinct(window(MINUTE), "recent"), Kind.RSTREAM), window(CountWindow(5)).clause),
        "which value is the newest"),
    "rows of replaced values that leave": (
        n.Window(n.RelationToStream(n.Distinct(window(MINUTE), "recent"), Kind.DSTREAM), window(CountWindow(5)).clause),
        "which value is the newest"),
    "rows of a stream that is joined with itself": (
        n.Window(n.RelationToStream(n.Join(window(MINUTE), n.Qualify(window(MINUTE), "r")), Kind.ISTREAM),
                 window(CountWindow(5)).clause), "as old as each other"),
    "last of a stream that is joined with itself": (
        n.GroupAggregate(n.Join(window(MINUTE), n.Qualify(window(MINUTE), "r")), (),
                         (n.AggregateCall("z", "last", (Scalar.column("a"),)),)), "no first and last"),
    "output window by rows over a stream that is joined with itself": (
        rows(n.Join(window(MINUTE), n.Qualify(window(MINUTE), "r"))), "as old as each other"),
    "rows of a union that show one row twice": (
        n.Window(n.Union((projected(source(), "a"), projected(source(), "b"))), window(CountWindow(5)).clause),
        "two parts show rows of S"),
    "rows that meet one table twice": (
        n.Window(n.TableJoin(n.TableJoin(source(), table()), table()), window(CountWindow(5)).clause),
        "neither is the newest"),
    "internal under distinct": (n.Distinct(INTERNAL), "INTERNAL window under DISTINCT"),
    "internal under except": (n.BagDifference(INTERNAL, window(MINUTE, "R")), "INTERNAL window under EXCEPT ALL"),
    "internal on the right of except": (n.BagDifference(window(MINUTE, "R"), INTERNAL), "under EXCEPT ALL"),
    "internal under not exists": (n.AntiJoin(INTERNAL, window(MINUTE, "R")), "INTERNAL window under NOT EXISTS"),
    "internal under a join under distinct": (n.Distinct(projected(PAIRS, "a")), "under DISTINCT"),
    "internal aggregate under distinct": (n.Distinct(counted(source(), "a", internal=True)), "INTERNAL aggregate"),
    "wstream over not exists": (
        n.RelationToStream(projected(n.AntiJoin(window(MINUTE), window(MINUTE, "R")), "a"), Kind.WSTREAM),
        "Wstream makes"),
    "internal exists below a table": (
        n.TableJoin(n.SemiJoin(INTERNAL, window(MINUTE, "R", internal=True)), table()),
        "hidden by EXISTS and shown again"),
    "output window over distinct": (rows(n.Distinct(window(MINUTE))), "output window over DISTINCT"),
    "output window over except": (rows(n.BagDifference(window(MINUTE), window(MINUTE, "R"))), "over EXCEPT ALL"),
    "output window over not exists": (
        rows(projected(n.AntiJoin(window(MINUTE), window(MINUTE, "R")), "a")), "over NOT EXISTS"),
    "output window of another kind": (
        n.RelationToStream(PAIRS, Kind.WSTREAM, output_window=clause(BandWindow.since(3))), "not a band window"),
    "output window after istream": (
        n.RelationToStream(PAIRS, Kind.ISTREAM, output_window=clause(CountWindow(3))), "after Wstream"),
    "wstream-restore": (rows(PAIRS, restore=True), "Wstream-restore is not defined"),
    "dstream-restore": (n.RelationToStream(window(MINUTE), Kind.DSTREAM, restore=True), "Dstream-restore"),
    "restore with two slides": (
        n.RelationToStream(n.Join(window(SlidingWindow.scoped(60, 10)), window(SlidingWindow.scoped(60, 20), "R")),
                           Kind.RSTREAM, restore=True), "needs one SLIDE"),
    "restore that refreshes less often than a window is long": (
        n.RelationToStream(n.Join(window(SlidingWindow.scoped(60, 10)), window(SlidingWindow.scoped(10, 10), "R")),
                           Kind.ISTREAM, restore=True), "write a SLIDE smaller than every window"),
    "window over an external aggregate": (n.Window(counted(window(MINUTE)), clause(CountWindow(10))), "write INTERNAL"),
    "window over a window": (n.Window(filtered(window(MINUTE)), clause(MINUTE)), "changing relation"),
    "window aggregate over a relation": (over_windows(window(MINUTE), SlidingWindow(60, 60)), "takes a stream"),
    "window over a table": (n.Window(table(), clause(MINUTE)), "no order of arrival"),
    "band join of windows": (n.BandJoin(window(MINUTE), source("R"), "ts", "ts", 1, 1), "stream join takes a stream"),
    "table of later rows under not exists": (n.AntiJoin(window(MINUTE), table()), "no rows arrive at AntiJoin"),
    "table of later rows under a join": (n.Join(window(MINUTE), n.Qualify(table(), "t")), "no rows arrive at Join"),
    "table of later rows under distinct": (n.Distinct(filtered(table(), "a > 1")), "retroactive relation"),
    "table of later rows alone": (filtered(table(), "a > 1"), "no rows arrive at the result"),
    "lifetime of a table": (n.Lifetime(table(kind=SourceKind.RELATION), 5), "this query reads tables alone"),
    "window over a stream of rows that were always there": (
        n.Window(n.RelationToStream(table(kind=SourceKind.RELATION), Kind.ISTREAM), clause(MINUTE)),
        "give the table a time column"),
    "table join with a window": (n.TableJoin(window(MINUTE), window(MINUTE, "R")), "result of Window"),
    "table join with an aggregate of a table": (
        n.TableJoin(window(MINUTE), counted(table(), "a")), "result of GroupAggregate"),
    "unknown distinct policy": (n.Distinct(window(MINUTE), "first"), "use 'keep' or 'recent'"),
}

ACCEPTED = {
    "table join below a negation": n.AntiJoin(n.TableJoin(window(MINUTE), table()), window(MINUTE, "R")),
    "table join of a stream": n.TableJoin(source(), table()),
    "retroactive relation under not exists": n.AntiJoin(window(MINUTE), table(kind=SourceKind.RELATION)),
    "retroactive relation less a window": n.BagDifference(table(kind=SourceKind.RELATION), window(MINUTE)),
    "window over a stream of rows that a table lets through": n.Window(n.RelationToStream(
        n.SemiJoin(window(MINUTE), table(kind=SourceKind.RELATION)), Kind.ISTREAM), clause(MINUTE)),
    "retroactive relation alone": filtered(table(kind=SourceKind.RELATION), "a > 1"),
    "table join with part of a table": n.TableJoin(window(MINUTE), n.Qualify(filtered(table(), "a > 1"), "t")),
    "internal join": PAIRS,
    "internal semi-join": n.SemiJoin(INTERNAL, window(MINUTE, "R")),
    "internal exists over matches that stay, below a table": n.TableJoin(n.SemiJoin(INTERNAL, source("R")), table()),
    "output window over an internal join": rows(PAIRS),
    "nested sum": counted(n.Window(counted(INTERNAL, internal=True), clause(CountWindow(10)))),
    "distinct over a window of an internal aggregate": n.Distinct(n.Window(counted(INTERNAL), clause(CountWindow(10)))),
    "window over istream": n.Window(n.RelationToStream(window(MINUTE), Kind.ISTREAM), clause(MINUTE)),
    "window aggregate over a band join": over_windows(
        n.BandJoin(source(), source("R"), "ts", "ts", 3, 2), SlidingWindow(60, 60)),
    "restore with one slide": n.RelationToStream(
        n.Join(window(SlidingWindow.scoped(60, 10)), window(SlidingWindow.scoped(30, 10), "R")), Kind.RSTREAM, True),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_illegal_placement_is_refused_and_explained(case: str) -> None:
    plan, message = REFUSED[case]
    with pytest.raises(PlanError, match=message):
        check_legal(plan)


@pytest.mark.parametrize("case", ACCEPTED)
def test_a_legal_plan_is_labelled(case: str) -> None:
    plan = ACCEPTED[case]
    assert check_legal(plan) == label(plan)


def test_every_problem_is_reported_with_its_node() -> None:
    inner = n.Distinct(INTERNAL)
    outer = rows(inner)
    assert [problem.node for problem in problems(outer)] == [outer, inner]


@settings(max_examples=30, deadline=None)
@given(plans(4), st.sampled_from([SourceKind.NRR, SourceKind.RELATION]))
def test_property_19_a_table_meets_a_plan_exactly_if_nothing_is_taken_back(plan: n.Node, kind: SourceKind) -> None:
    strict = label(plan).output.downgrade().pattern is UpdatePattern.STR
    assert not list(problems(plan))
    assert bool(list(problems(n.TableJoin(plan, table(kind=kind))))) is strict


@settings(max_examples=20, deadline=None)
@given(plans(4), st.sampled_from([Kind.WSTREAM, Kind.DSTREAM]))
def test_property_19_no_plan_has_a_wstream_or_dstream_with_restore(plan: n.Node, kind: Kind) -> None:
    found = [problem.message for problem in problems(n.RelationToStream(plan, kind, restore=True))]
    assert any(f"{kind.value}-restore is not defined" in text for text in found)


@settings(max_examples=20, deadline=None)
@given(plans(4))
def test_property_19_a_plan_with_an_internal_window_may_not_have_distinct_or_negation_above_it(plan: n.Node) -> None:
    inside = with_internal_windows(plan)
    needs_expiry = any(isinstance(node, n.Distinct | n.BagDifference | n.AntiJoin) for node in plan.walk())
    assert bool(list(problems(inside))) is needs_expiry


def with_internal_windows(plan: n.Node) -> n.Node:
    if isinstance(plan, n.Window):
        return replace(plan, clause=replace(plan.clause, internal=True))
    return plan.with_inputs(*map(with_internal_windows, plan.inputs)) if plan.inputs else plan


def test_property_19_no_accepted_plan_feeds_strict_rows_to_a_table() -> None:
    for plan in ACCEPTED.values():
        labels = check_legal(plan)
        joins = [node for node in plan.walk() if isinstance(node, n.TableJoin)]
        assert all(labels[join.input].downgrade().pattern is not UpdatePattern.STR for join in joins)
