"""Erratum P18 and the algebraic laws of Patroumpas and Sellis: where they hold on any data, and where they fail.

Both sides of a law are plans; the oracle evaluates them at every instant. Further counter-examples (L2, L3, L4, L6,
L11) are in tests/oracle/test_scope_examples.py.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle.building import by_time, call, clause, grouped, joined, last, over_rows, project, rows, source
from oracle.questions import Oracle
from panewise.core.errors import SqlError
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.engines.oracle.tuples import Tup
from panewise.plan.nodes import (
    Distinct,
    Filter,
    Join,
    NamedScalar,
    Node,
    Project,
    Qualify,
    Union,
    Window,
    WindowClause,
)
from panewise.progress.timeline import Timeline
from panewise.sql import parse
from panewise.windows.base import WindowSpec
from panewise.windows.count import CountWindow, PartitionedCountWindow
from panewise.windows.landmark import BandWindow
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tumbling import Disclosure, TumblingWindow
from sql.sql_cases import catalog

A, B, C = (source(name, v=pa.string(), x=pa.int64()) for name in "abc")
ON = "`l.v` = `r.v`"
LARGE = Scalar.parse("x > 3")
COUNT, PER_VALUE = over_rows(CountWindow(2)), over_rows(PartitionedCountWindow(2), "v")
UP_TO_NOW = {
    "sliding": SlidingWindow.scoped(5),
    "landmark": BandWindow.since(3),
    "growing tumbling": TumblingWindow(5, disclosure=Disclosure.GROWING),
}
LOGICAL = UP_TO_NOW | {
    "sliding by 3": SlidingWindow.scoped(5, 3),
    "lagging": SlidingWindow.scoped(5, 1, lag=2),
    "disclosed tumbling": TumblingWindow.registered(5),
    "band": BandWindow(2, 6),
}
few = settings(max_examples=15)


def timeline_of(*streams: list[tuple[int, str, int]]) -> Timeline:
    return by_time(**{name: rows(*data, columns="ts v x") for name, data in zip("abc", streams, strict=False)})


cells = st.lists(st.tuples(st.integers(0, 12), st.sampled_from("pq"), st.integers(0, 6)), max_size=5)
one_stream = st.builds(timeline_of, cells)
two_streams = st.builds(timeline_of, cells, cells)
three_streams = st.builds(timeline_of, cells, cells, cells)
logical = st.sampled_from([clause(spec) for spec in LOGICAL.values()])
any_window = st.sampled_from([*(clause(spec) for spec in LOGICAL.values()), COUNT, PER_VALUE])


def history(plan: Node, items: Timeline) -> list[Counter[tuple[Any, ...]]]:
    """The bag at every instant; columns by name, so that their order does not count."""
    oracle = Oracle(plan, items)
    return [Counter(tuple(sorted(row.items())) for row in oracle.relation_at(tau)) for tau in range(24)]


def equal(one: Node, other: Node, items: Timeline) -> bool:
    return history(one, items) == history(other, items)


def on_both(bracket: WindowClause) -> tuple[Window, Window]:
    return Window(A, bracket), Window(B, bracket)


# -- L1: projection ----------------------------------------------------------------------------------------------------


@few
@given(one_stream, any_window)
def test_l1_projection_moves_through_a_window_that_keeps_what_it_needs(items: Timeline, bracket: WindowClause):
    assert equal(project(Window(A, bracket), "v"), Window(project(A, "v"), bracket), items)


def test_l1_without_its_partition_column_the_other_side_does_not_exist():
    assert parse("SELECT a FROM S [PARTITION BY b ROWS 2]", catalog()).columns == ("a",)
    with pytest.raises(SqlError, match="no column 'b'"):
        parse("SELECT a FROM (SELECT a FROM S) [PARTITION BY b ROWS 2]", catalog())


# -- L2: selection -----------------------------------------------------------------------------------------------------


@few
@given(one_stream, logical)
def test_l2_selection_moves_through_every_logical_window(items: Timeline, bracket: WindowClause):
    assert equal(Filter(Window(A, bracket), LARGE), Window(Filter(A, LARGE), bracket), items)


@few
@given(one_stream)
def test_l2_selection_on_the_partition_column_moves_through_a_partitioned_window(items: Timeline):
    first = Scalar.parse("v = 'p'")
    assert equal(Filter(Window(A, PER_VALUE), first), Window(Filter(A, first), PER_VALUE), items)


def test_l2_any_other_selection_does_not():
    items = timeline_of([(1, "p", 5), (2, "p", 1), (3, "p", 2)])
    for bracket in (COUNT, PER_VALUE):
        assert Oracle(Filter(Window(A, bracket), LARGE), items).relation_at(3) == []
        assert len(Oracle(Window(Filter(A, LARGE), bracket), items).relation_at(3)) == 1


# -- L3, L10: union ----------------------------------------------------------------------------------------------------


@few
@given(two_streams, logical)
def test_l3_a_logical_window_of_a_union_is_the_union_of_its_windows(items: Timeline, bracket: WindowClause):
    assert equal(Window(Union((A, B)), bracket), Union(on_both(bracket)), items)


@few
@given(cells, cells)
def test_l3_so_is_a_partitioned_window_of_streams_without_a_common_group(one: list[Any], two: list[Any]):
    items = timeline_of([(ts, "p", x) for ts, _, x in one], [(ts, "q", x) for ts, _, x in two])
    assert equal(Window(Union((A, B)), PER_VALUE), Union(on_both(PER_VALUE)), items)


def test_l3_other_signatures_and_shared_groups_break_it():
    items = timeline_of([(1, "p", 1), (4, "p", 2)], [(2, "p", 3), (3, "p", 4)])
    assert not equal(Window(Union((A, B)), PER_VALUE), Union(on_both(PER_VALUE)), items)
    unequal = Union((Window(A, last(3)), Window(B, last(5))))
    assert not equal(Window(Union((A, B)), last(3)), unequal, items)


@few
@given(three_streams, any_window, any_window, any_window)
def test_l10_union_is_commutative_and_associative_over_any_windows(
        items: Timeline, one: WindowClause, two: WindowClause, three: WindowClause):
    a, b, c = Window(A, one), Window(B, two), Window(C, three)
    assert equal(Union((a, b)), Union((b, a)), items)
    assert equal(Union((Union((a, b)), c)), Union((a, Union((b, c)))), items)


@few
@given(two_streams, logical, logical)
def test_l10_selection_and_projection_distribute_over_a_union_of_windows(
        items: Timeline, one: WindowClause, two: WindowClause):
    whole = Union((Window(A, one), Window(B, two)))
    assert equal(Filter(whole, LARGE), Union((Window(Filter(A, LARGE), one), Window(Filter(B, LARGE), two))), items)
    assert equal(project(whole, "v"), Union((Window(project(A, "v"), one), Window(project(B, "v"), two))), items)


def test_l10_selection_does_not_reach_below_count_windows():
    items = timeline_of([(1, "p", 5), (2, "p", 1), (3, "p", 2)], [(1, "q", 1)])
    below = Union((Window(Filter(A, LARGE), COUNT), Window(Filter(B, LARGE), COUNT)))
    assert not equal(Filter(Union(on_both(COUNT)), LARGE), below, items)


# -- L4, P18: duplicate elimination ------------------------------------------------------------------------------------


def members_at(plan: Node, items: Timeline, tau: int) -> list[Tup]:
    oracle = Oracle(plan, items)
    return oracle._definition.relation(plan, tau)


def windowed_distinct(spec: WindowSpec, policy: str, items: Timeline, tau: int) -> list[str]:
    """W(δ(S)): the distinct rows of everything that came, those of them in the scope of tau."""
    kept = members_at(Distinct(project(A, "v"), policy), items, tau)
    return sorted(t.values["v"] for t in kept if spec.scope(tau).contains(t.ts))


def distinct_of_window(spec: WindowSpec, policy: str, items: Timeline, tau: int) -> list[str]:
    plan = Distinct(project(Window(A, clause(spec)), "v"), policy)
    return sorted(t.values["v"] for t in members_at(plan, items, tau))


@pytest.mark.parametrize("name", UP_TO_NOW)
@few
@given(items=one_stream)
def test_p18_l4_holds_for_the_most_recent_row_where_the_window_reaches_up_to_now(name: str, items: Timeline):
    spec = UP_TO_NOW[name]
    for tau in range(20):
        assert distinct_of_window(spec, "recent", items, tau) == windowed_distinct(spec, "recent", items, tau)


@pytest.mark.parametrize(("spec", "policy", "stamps"), [
    (SlidingWindow.scoped(5), "keep", (1, 5)),                 # the first row is the one kept, and it has left
    (SlidingWindow.scoped(5, 5), "recent", (5, 7)),            # the newest row is not visible yet
    (SlidingWindow.scoped(5, 1, lag=2), "recent", (5, 7)),
    (BandWindow(2, 6), "recent", (5, 7)),                      # the newest row never will be
    (TumblingWindow.registered(5), "recent", (5, 7)),
], ids=["first row kept", "slide 5", "lag", "band", "disclosed tumbling"])
def test_p18_l4_as_printed_fails_for_other_logical_windows_and_policies(
        spec: WindowSpec, policy: str, stamps: tuple[int, int]):
    items = timeline_of([(ts, "a", 0) for ts in stamps])
    assert distinct_of_window(spec, policy, items, 7) == ["a"]
    assert windowed_distinct(spec, policy, items, 7) == []


def test_p18_l4_fails_for_count_windows():
    items = timeline_of([(1, "a", 0), (2, "b", 0), (3, "b", 0)])
    newest_two = sorted(members_at(Distinct(project(A, "v"), "recent"), items, 3), key=lambda t: t.age)[-2:]
    assert [t.values["v"] for t in newest_two] == ["a", "b"]
    assert Oracle(Distinct(project(Window(A, COUNT), "v"), "recent"), items).relation_at(3) == [{"v": "b"}]


# -- L5 to L8: joins ---------------------------------------------------------------------------------------------------


@few
@given(two_streams, any_window, any_window)
def test_l5_a_join_is_commutative(items: Timeline, one: WindowClause, two: WindowClause):
    left, right = Qualify(Window(A, one), "l"), Qualify(Window(B, two), "r")
    assert equal(Join(left, right, Scalar.parse(ON)), Join(right, left, Scalar.parse(ON)), items)


@few
@given(three_streams, any_window, any_window, any_window)
def test_l6_a_join_of_base_windows_is_associative(
        items: Timeline, one: WindowClause, two: WindowClause, three: WindowClause):
    a, b, c = (Qualify(Window(s, w), s.name) for s, w in ((A, one), (B, two), (C, three)))
    ab, bc = Scalar.parse("`a.v` = `b.v`"), Scalar.parse("`b.v` = `c.v`")
    assert equal(Join(Join(a, b, ab), c, bc), Join(a, Join(b, c, bc), ab), items)


def filtered_join(left: Scalar | None, right: Scalar | None, bracket: WindowClause) -> Node:
    """The join of windows over selected streams."""
    one, other = (s if f is None else Filter(s, f) for s, f in ((A, left), (B, right)))
    return joined(Window(one, bracket), Window(other, bracket), ON)


@few
@given(two_streams, logical)
def test_p18_l7_holds_for_a_conjunction_with_one_part_for_each_side(items: Timeline, bracket: WindowClause):
    whole = joined(*on_both(bracket), ON)
    both = Filter(whole, Scalar.parse("`l.x` > 3 AND `r.x` < 5"))
    assert equal(both, filtered_join(LARGE, Scalar.parse("x < 5"), bracket), items)
    crossing = Filter(whole, Scalar.parse("`l.x` > 3 AND `l.x` <> `r.x`"))  # what needs both sides stays above
    assert equal(crossing, Filter(filtered_join(LARGE, None, bracket), Scalar.parse("`l.x` <> `r.x`")), items)


@pytest.mark.parametrize("condition", ["`l.x` > 3", "`l.x` > 3 OR `r.x` > 3"], ids=["one side", "either side"])
def test_p18_l7_as_printed_filters_both_sides_and_loses_results(condition: str):
    items, five = timeline_of([(1, "p", 5)], [(2, "p", 1)]), last(5)
    assert len(Oracle(Filter(joined(*on_both(five), ON), Scalar.parse(condition)), items).relation_at(2)) == 1
    assert Oracle(filtered_join(LARGE, LARGE, five), items).relation_at(2) == []


def test_p18_l7_fails_for_count_windows():
    items = timeline_of([(1, "p", 5), (2, "p", 1), (3, "p", 2)], [(1, "p", 0)])
    above = Filter(joined(*on_both(COUNT), ON), Scalar.parse("`l.x` > 3"))
    assert Oracle(above, items).relation_at(3) == []
    assert len(Oracle(filtered_join(LARGE, None, COUNT), items).relation_at(3)) == 1


@few
@given(two_streams, any_window)
def test_l8_projection_reaches_below_a_join_that_keeps_its_columns(items: Timeline, bracket: WindowClause):
    narrow = joined(*(project(w, "v", "x") for w in on_both(bracket)), ON)
    assert equal(project(joined(*on_both(bracket), ON), "l.x", "r.x"), project(narrow, "l.x", "r.x"), items)


def test_l8_without_the_join_column_there_is_no_join():
    with pytest.raises(SqlError, match=r"no column 'x\.b'"):
        parse("SELECT x.a FROM (SELECT a FROM S [RANGE 1 min]) AS x, T [RANGE 1 min] WHERE x.b = T.b", catalog())


# -- L9, L11: windows over results -------------------------------------------------------------------------------------


def dated(plan: Node, function: str, spec: WindowSpec) -> Node:
    """A window over join results dated by ``least`` or ``greatest`` of both times."""
    date = NamedScalar("d", Scalar.parse(f"{function}(`l.ts`, `r.ts`)"))
    shown = tuple(NamedScalar.column(c) for c in plan.columns)
    return Window(Project(plan, (*shown, date)), WindowClause(spec, "d", OrdinalKind.INTEGER))


@pytest.mark.parametrize("name", UP_TO_NOW)
@few
@given(items=two_streams)
def test_l9_a_window_over_a_join_dated_by_the_older_row_is_the_join_of_windows(name: str, items: Timeline):
    spec = UP_TO_NOW[name]
    everything, of_windows = joined(A, B, ON), joined(*on_both(clause(spec)), ON)
    assert equal(project(dated(everything, "least", spec), *everything.columns), of_windows, items)
    larger = history(project(dated(everything, "greatest", spec), *everything.columns), items)
    assert all(part <= whole for part, whole in zip(history(of_windows, items), larger, strict=True))


def test_l9_dated_by_the_younger_row_it_holds_pairs_that_are_dead():
    items = timeline_of([(1, "p", 0)], [(4, "p", 0)])
    spec, everything = SlidingWindow.scoped(5), joined(A, B, ON)
    assert Oracle(joined(*on_both(clause(spec)), ON), items).relation_at(7) == []
    assert len(Oracle(dated(everything, "greatest", spec), items).relation_at(7)) == 1


def test_l11_aggregation_does_not_commute_with_the_window():
    items, five = timeline_of([(1, "p", 0), (6, "p", 0)]), last(5)
    of_window, of_stream = (grouped(node, call("n", "count"), keys=["v"]) for node in (Window(A, five), A))
    assert Oracle(of_window, items).relation_at(6) == [{"v": "p", "n": 1}]
    assert Oracle(Window(of_stream, five), items).relation_at(6) == [{"v": "p", "n": 2}]
