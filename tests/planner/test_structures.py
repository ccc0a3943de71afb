"""State per edge: the structure follows the update pattern, the style, and how much leaves early (Golab 3.5.2)."""

from __future__ import annotations

import pytest

from panewise.core.errors import PlanError
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceKind
from panewise.plan import nodes as n
from panewise.planner.labels import label
from panewise.planner.relation_flow import Flows
from panewise.planner.relation_statistics import declared_relations
from panewise.planner.structures import (
    Algorithm,
    Negatives,
    Structure,
    Structures,
    Style,
    announced,
    choose_structures,
)
from panewise.windows.base import WindowSpec
from panewise.windows.count import CountWindow, PartitionedCountWindow
from panewise.windows.landmark import BandWindow
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tumbling import TumblingWindow
from planner.plans import counted, filtered, projected, table, window

MINUTE = SlidingWindow.scoped(60)
HASH, FIFO, CALENDAR = Structure.HASH, Structure.FIFO, Structure.CALENDAR
EQUAL = Scalar.parse("`l.a` = `r.a`")


def sides(left: WindowSpec = MINUTE, right: WindowSpec = MINUTE) -> tuple[n.Node, n.Node]:
    return n.Qualify(window(left, "S"), "l"), n.Qualify(window(right, "R"), "r")


def chosen(plan: n.Node, style: Style = "upa", **stats: object) -> Structures:
    flows = Flows(plan, declared_relations(stats)) if stats else None
    return choose_structures(plan, style=style, flows=flows)


def kept(plan: n.Node, style: Style = "upa", **stats: object) -> dict[tuple[int, ...], Structure]:
    return {choice.path: choice.structure for choice in chosen(plan, style, **stats).edges}


JOIN = n.Join(*sides(), EQUAL)
NEGATION = n.AntiJoin(*sides(), EQUAL)


def test_a_join_of_time_windows_keeps_queues_and_its_result_in_a_calendar():
    assert kept(JOIN) == {(): CALENDAR, (0,): FIFO, (1,): FIFO}


def test_an_aggregate_is_kept_by_group_and_sends_no_negatives():
    found = chosen(counted(window(MINUTE), "a"))
    assert found.edge(()).structure is Structure.GROUPS  # type: ignore[union-attr]
    assert all(choice.negatives is Negatives.NONE for choice in found.edges)


def test_what_never_leaves_is_appended():
    assert kept(n.Join(*sides(BandWindow.since(3), BandWindow.since(3)), EQUAL))[()] is Structure.APPEND


def test_rows_that_leave_by_arrivals_have_a_queue_and_their_pairs_a_catalogue():
    assert kept(n.Join(*sides(CountWindow(10), MINUTE), EQUAL)) == {
        (): Structure.CATALOGUE, (0,): FIFO, (1,): FIFO}
    per_key = window(PartitionedCountWindow(3), partition=("k",))
    assert kept(counted(per_key, "a"))[(0,)] is Structure.CATALOGUE


@pytest.mark.parametrize(("node", "algorithm"), [
    (n.Distinct(window(MINUTE)), Algorithm.DELTA_STAR),
    (n.Distinct(projected(JOIN, "l.a")), Algorithm.DELTA_STAR),
    (n.Distinct(NEGATION), Algorithm.COUNTERS),
    (n.Distinct(window(CountWindow(5))), Algorithm.COUNTERS),
    (n.Distinct(window(BandWindow.since(3))), Algorithm.FIRST_ROW),
    (n.Distinct(window(MINUTE), "recent"), Algorithm.NEWEST_ROW),
    (n.Distinct(window(TumblingWindow(60)), "recent"), Algorithm.NEWEST_ROW),
], ids=["window", "join", "negation", "count", "landmark", "newest row", "newest row, not up to now"])
def test_duplicate_elimination_runs_by_what_its_input_promises(node: n.Distinct, algorithm: Algorithm):
    assert chosen(node).operator(()).algorithm is algorithm  # type: ignore[union-attr]


def test_by_law_4_the_window_below_need_not_be_kept():
    assert (0,) not in kept(n.Distinct(filtered(window(MINUTE)), "recent"))
    assert (0,) in kept(n.Distinct(filtered(window(MINUTE))))


def test_above_a_negation_the_share_that_leaves_early_decides():
    rare = {"S": {"rows_per_unit": 1, "a": 10000}, "R": {"rows_per_unit": 1, "a": 10000}}
    above = counted(n.Distinct(NEGATION), "l.a")
    assert kept(above, **rare)[0, 0] is CALENDAR
    assert chosen(above, **rare).edge((0, 0)).negatives is Negatives.EARLY  # type: ignore[union-attr]
    assert announced(chosen(above, **rare)) == frozenset()
    nearly_all = {**rare, "premature": {EQUAL.sql: 0.99}}
    assert kept(above, **nearly_all)[0, 0] is HASH
    assert announced(chosen(above, **nearly_all)) == {NEGATION}
    assert kept(NEGATION, **nearly_all)[()] is CALENDAR  # with nobody above, one calendar is enough
    assert kept(above)[0, 0] is CALENDAR  # nothing is known


def test_a_measured_share_replaces_the_estimate():
    above = counted(n.Distinct(NEGATION), "l.a")
    stats = {"S": {"rows_per_unit": 1000, "a": 50}, "R": {"rows_per_unit": 10, "a": 50}}
    shares = {share: chosen(above, **stats, premature={EQUAL.sql: share}).edge((0, 0)) for share in (0.01, 0.5, 1.0)}
    assert [choice.negatives for choice in shares.values() if choice is not None] == [
        Negatives.EARLY, Negatives.EARLY, Negatives.ALL]
    assert "50% leave early" in str(shares[0.5])


def test_negatives_begin_above_the_strict_operator_and_stay():
    plan = n.Join(NEGATION, n.Qualify(window(MINUTE, "T"), "t"), Scalar.parse("`l.a` = `t.a`"))
    found = chosen(plan)
    assert {c.path: c.negatives for c in found.edges} == {
        (): Negatives.EARLY, (0,): Negatives.EARLY, (0, 0): Negatives.NONE, (0, 1): Negatives.NONE,
        (1,): Negatives.NONE}
    nearly_all = chosen(plan, S={"rows_per_unit": 1}, R={"rows_per_unit": 1}, premature={EQUAL.sql: 1.0})
    assert {c.path: c.negatives for c in nearly_all.edges}.items() >= {
        (): Negatives.ALL, (0,): Negatives.ALL, (1,): Negatives.NONE}.items()


def test_the_negative_style_keeps_every_window_and_hashes_everything():
    found = kept(filtered(JOIN, "`l.a` > 3"), "negative")
    assert set(found.values()) == {HASH}
    assert {(0, 0, 0), (0, 1, 0)} <= found.keys()  # the windows themselves
    assert chosen(n.Distinct(window(MINUTE)), "negative").operator(()).algorithm is (  # type: ignore[union-attr]
        Algorithm.COUNTERS)


def test_the_direct_style_keeps_lists_and_finds_what_leaves_by_arrivals_by_number():
    assert set(kept(JOIN, "direct").values()) == {Structure.LIST}
    assert chosen(NEGATION, "direct").edge(()).negatives is Negatives.EARLY  # type: ignore[union-attr]
    by_rows = chosen(n.Distinct(window(CountWindow(5))), "direct").edge((0,))
    assert by_rows is not None
    assert by_rows.held == "rows by number"


def test_an_unknown_style_is_refused():
    with pytest.raises(PlanError, match="upa, negative, direct"):
        choose_structures(JOIN, style="lazy")  # type: ignore[arg-type]


def test_only_a_retroactive_table_needs_the_window_kept():
    assert (0,) not in kept(n.TableJoin(window(MINUTE), table(kind=SourceKind.NRR)))
    assert (0,) in kept(n.TableJoin(window(MINUTE), table(kind=SourceKind.RELATION)))


def test_the_result_is_what_a_stream_is_made_from():
    shown = n.RelationToStream(JOIN, n.RelationToStreamKind.RSTREAM)
    assert kept(shown) == {(0,): CALENDAR, (0, 0): FIFO, (0, 1): FIFO}


def test_every_edge_says_why():
    for style in ("upa", "negative"):
        for choice in chosen(counted(NEGATION, "l.a"), style).edges:  # type: ignore[arg-type]
            assert choice.reason
            assert label(choice.node)
