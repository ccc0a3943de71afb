"""State per edge: the structure follows the update pattern, the style, and how much leaves early (Golab 3.5.2)."""

from __future__ import annotations

import pytest

from panewise.core.errors import PlanError
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceKind
from panewise.plan import nodes as n
from panewise.plan.physical import Algorithm, Departures, Layout, Path, PhysicalNode, RelationPlan, State, Structure
from panewise.planner.choose.physical import relation_plan
from panewise.planner.statistics.relation_statistics import declared_relations
from panewise.windows.base import WindowSpec
from panewise.windows.count import CountWindow, PartitionedCountWindow
from panewise.windows.landmark import BandWindow
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tumbling import TumblingWindow
from planner.plans import counted, filtered, projected, table, window

MINUTE = SlidingWindow.scoped(60)
FIFO, CALENDAR, NUMBERS = Structure.FIFO, Structure.CALENDAR, Structure.NUMBERS
EQUAL = Scalar.parse("`l.a` = `r.a`")


def sides(left: WindowSpec = MINUTE, right: WindowSpec = MINUTE) -> tuple[n.Node, n.Node]:
    return n.Qualify(window(left, "S"), "l"), n.Qualify(window(right, "R"), "r")


def chosen(plan: n.Node, style: str = "upa", **stats: object) -> RelationPlan:
    return relation_plan(plan, known=declared_relations(stats) if stats else None, style=style)


def kept(plan: n.Node, style: str = "upa", **stats: object) -> dict[Path, State]:
    """By path what is kept of the output of a node, and of the result."""
    found = chosen(plan, style, **stats)
    states = {below.path: state for operator in found.walk() if operator.kernel != "AnnouncedEnds"
              for below, state in zip(operator.inputs, operator.keeps, strict=False) if state is not None}
    return {**states, **({found.root.path: found.result} if found.result is not None else {})}


def told(plan: n.Node, style: str = "upa", **stats: object) -> dict[Path, Departures]:
    return {node.path: node.departures for node in chosen(plan, style, **stats).walk()}


def announced(plan: n.Node, **stats: object) -> list[Path]:
    return [node.path for node in chosen(plan, **stats).walk() if node.kernel == "AnnouncedEnds"]


def running(plan: n.Node, style: str = "upa") -> PhysicalNode:
    found = chosen(plan, style).at(())
    assert found is not None
    return found


JOIN = n.Join(*sides(), EQUAL)
NEGATION = n.AntiJoin(*sides(), EQUAL)


def test_a_join_of_time_windows_finds_rows_by_key_and_says_of_its_result_when_it_leaves():
    assert {path: str(state) for path, state in kept(JOIN).items()} == {
        (): "not kept", (0,): "chains by key", (1,): "chains by key"}
    assert told(JOIN)[()] is Departures.ANY_ORDER
    assert told(JOIN)[0,] is told(JOIN)[1,] is Departures.IN_ORDER


def test_rows_of_an_aggregate_are_replaced():
    plan = counted(window(MINUTE), "a")
    assert told(plan)[()] is Departures.REPLACED
    assert kept(plan) == {(): State(Layout.ROWS, NUMBERS), (0,): State(Layout.ROWS, FIFO)}


def test_of_what_never_leaves_an_aggregate_keeps_states():
    join = n.Join(*sides(BandWindow.since(3), BandWindow.since(3)), EQUAL)
    assert told(join)[()] is Departures.NEVER
    assert kept(counted(join, "l.a"))[0,] == State(Layout.STATES)


def test_rows_that_leave_by_arrivals_are_told_and_their_pairs_carry_vectors():
    join = n.Join(*sides(CountWindow(10), MINUTE), EQUAL)
    assert told(counted(join, "l.a")).items() >= {(0,): Departures.VECTORS, (0, 0): Departures.ALL,
                                                  (0, 1): Departures.IN_ORDER}.items()
    assert kept(counted(join, "l.a"))[0,] == State(Layout.ROWS, CALENDAR, ("l",))
    per_key = window(PartitionedCountWindow(3), partition=("k",))
    assert kept(counted(per_key, "a"))[0,] == State(Layout.ROWS, NUMBERS)


def test_pairs_that_leave_a_result_are_named():
    join = n.Join(*sides(CountWindow(10), MINUTE), EQUAL)
    assert told(join)[()] is Departures.NAMED
    assert str(kept(join)[()]) == "not kept"


@pytest.mark.parametrize(("node", "algorithm"), [
    (n.Distinct(window(MINUTE)), Algorithm.DELTA_STAR),
    (n.Distinct(projected(JOIN, "l.a")), Algorithm.DELTA_STAR),
    (n.Distinct(NEGATION), Algorithm.COUNTERS),
    (n.Distinct(window(CountWindow(5))), Algorithm.COUNTERS),
    (n.Distinct(window(BandWindow.since(3))), Algorithm.FIRST_ROW),
    (n.Distinct(window(MINUTE), "recent"), Algorithm.NEWEST_ROW),
    (n.Distinct(window(TumblingWindow(60)), "recent"), Algorithm.DELTA_STAR),
], ids=["window", "join", "negation", "count", "landmark", "newest row", "all leave together"])
def test_duplicate_elimination_runs_by_what_its_input_promises(node: n.Distinct, algorithm: Algorithm):
    assert running(node).algorithm is algorithm


def test_by_law_4_the_rows_of_the_window_below_need_not_be_kept():
    assert kept(n.Distinct(filtered(window(MINUTE)), "recent"))[0,] == State(Layout.LAST_ENDS, CALENDAR)
    assert kept(n.Distinct(filtered(window(MINUTE))))[0,] == State(Layout.SPARES, CALENDAR)


RARE = {"S": {"rows_per_unit": 1, "a": 10000}, "R": {"rows_per_unit": 1, "a": 10000}}


def test_above_a_negation_the_share_that_leaves_early_decides():
    above = counted(n.Distinct(NEGATION), "l.a")
    assert kept(above, **RARE)[0, 0].structure is CALENDAR
    assert told(above, **RARE)[0, 0] is Departures.EARLY
    assert announced(above, **RARE) == []
    nearly_all = {**RARE, "premature": {EQUAL.sql: 0.99}}
    assert kept(above, **nearly_all)[0, 0].structure is NUMBERS
    assert announced(above, **nearly_all) == [(0, 0)]
    assert announced(NEGATION, **nearly_all) == []  # with nobody above, one calendar is enough
    assert kept(above)[0, 0].structure is CALENDAR  # nothing is known


def test_a_measured_share_replaces_the_estimate():
    above = counted(n.Distinct(NEGATION), "l.a")
    stats = {"S": {"rows_per_unit": 1000, "a": 50}, "R": {"rows_per_unit": 10, "a": 50}}
    found = {share: chosen(above, **stats, premature={EQUAL.sql: share}).at((0, 0)) for share in (0.01, 0.5, 1.0)}
    assert [node.departures for node in found.values() if node is not None] == [
        Departures.EARLY, Departures.EARLY, Departures.ALL]
    assert found[0.5] is not None
    assert found[0.5].because == "50% leave early"


def test_ends_are_sent_above_the_strict_operator():
    plan = n.Join(NEGATION, n.Qualify(window(MINUTE, "T"), "t"), Scalar.parse("`l.a` = `t.a`"))
    assert told(plan).items() >= {(): Departures.NAMED, (0,): Departures.EARLY, (0, 0): Departures.IN_ORDER,
                                  (1,): Departures.IN_ORDER}.items()
    nearly_all = told(plan, S={"rows_per_unit": 1}, R={"rows_per_unit": 1}, premature={EQUAL.sql: 1.0})
    assert nearly_all.items() >= {(0,): Departures.ALL, (1,): Departures.IN_ORDER}.items()


def test_the_negative_style_sends_every_end_and_finds_rows_by_number():
    plan = counted(n.Distinct(filtered(projected(JOIN, "l.a"), "`l.a` > 3")), "l.a")
    states = kept(plan, "negative").values()
    assert {state.structure for state in states} <= {NUMBERS, None}
    assert [state.layout for state in states].count(Layout.TO_SEND) == 2  # the windows themselves
    assert {node.departures for node in chosen(plan, "negative").walk() if node.kernel != "SourceRows"} <= {
        Departures.ALL, Departures.REPLACED}
    assert running(n.Distinct(window(MINUTE)), "negative").algorithm is Algorithm.COUNTERS


def test_the_direct_style_keeps_lists_and_finds_what_leaves_by_arrivals_by_number():
    assert kept(counted(window(MINUTE), "a"), "direct")[0,].structure is Structure.LIST
    assert told(NEGATION, "direct")[()] is Departures.EARLY
    assert str(kept(n.Distinct(window(CountWindow(5))), "direct")[0,]) == "rows by number"


def test_an_unknown_style_is_refused():
    with pytest.raises(PlanError, match="upa, negative, direct"):
        relation_plan(JOIN, style="lazy")


def test_only_a_retroactive_table_needs_the_window_kept():
    assert (0,) not in kept(n.TableJoin(window(MINUTE), table(kind=SourceKind.NRR)))
    assert (0,) in kept(n.TableJoin(window(MINUTE), table(kind=SourceKind.RELATION)))


def test_a_stream_of_a_relation_keeps_its_rows():
    shown = n.RelationToStream(JOIN, n.RelationToStreamKind.ISTREAM)
    assert kept(shown)[0,] == State(Layout.ROWS, CALENDAR)
    assert chosen(shown).result is None


def test_every_operator_says_why():
    for style in ("upa", "negative", "direct"):
        assert all(node.because for node in chosen(counted(NEGATION, "l.a"), style).walk())
