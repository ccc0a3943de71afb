"""Every guard is needed: without it the rewrite gives another answer, and with it the rule does not apply."""

from __future__ import annotations

from dataclasses import replace

import pytest

from oracle.building import call, clause, joined, last, over_rows
from oracle.questions import Oracle
from panewise.core.errors import SchemaError
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceSchema
from panewise.plan import nodes as n
from panewise.planner.rewrites import Rule
from panewise.planner.rewrites.closure import steps
from panewise.planner.rewrites.distinct import (
    distinct_below_existence,
    distinct_below_union,
    newest_row_is_enough,
)
from panewise.planner.rewrites.negation import negation_above_aggregate, negation_above_join
from panewise.planner.rewrites.never import moved_above
from panewise.planner.rewrites.projections import (
    projection_below_join,
    projection_below_union,
    projection_through_window,
)
from panewise.planner.rewrites.selections import (
    selection_below_aggregate,
    selection_below_join,
    selection_below_union,
    selection_through_window,
)
from panewise.planner.rewrites.windows import window_of_join
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival
from panewise.windows.base import WindowSpec
from panewise.windows.count import CountWindow, PartitionedCountWindow
from panewise.windows.landmark import BandWindow
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tumbling import TumblingWindow
from planner.laws import LAWS, join_associates, join_commutes, union_reorders, window_of_union
from planner.random_plans import STREAMS, equal, history, timeline_of

A, B, C = (STREAMS[name] for name in "abc")
FIVE, TWO_ROWS, TWO_OF_EACH = last(5), over_rows(CountWindow(2)), over_rows(PartitionedCountWindow(2), "v")
ON = "`l.v` = `r.v`"


def where(node: n.Node, condition: str) -> n.Filter:
    return n.Filter(node, Scalar.parse(condition))


def shown(node: n.Node, *columns: str) -> n.Project:
    return n.Project(node, tuple(n.NamedScalar.column(c) for c in columns))


def size(plan: n.Node, items: object, tau: int) -> int:
    return len(Oracle(plan, items).relation_at(tau))  # type: ignore[arg-type]


# -- L1 ------------------------------------------------------------------------------------------------------------


def test_l1_a_projection_that_drops_the_partition_stays_above():
    plan = shown(n.Window(A, TWO_OF_EACH), "x")
    assert not projection_through_window.apply(plan)
    with pytest.raises(SchemaError, match="partitioned by 'v'"):
        Oracle(n.Window(shown(A, "x"), TWO_OF_EACH), timeline_of([(1, "p", 1)])).relation_at(1)


def test_l1_a_projection_that_changes_the_windowing_attribute_stays_above():
    later = n.Project(n.Window(A, FIVE), (n.NamedScalar("ts", Scalar.parse("ts + 3")),))
    assert not projection_through_window.apply(later)
    assert not equal(later, n.Window(n.Project(A, later.items), FIVE), timeline_of([(1, "p", 1)]))


def test_l1_a_projection_that_drops_the_columns_of_the_windows_condition_stays_above():
    plan = shown(n.Window(A, last(5, predicate=Scalar.parse("x > 1"))), "ts", "v")
    assert not projection_through_window.apply(plan)


# -- L2 ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bracket", [TWO_ROWS, TWO_OF_EACH], ids=["count", "partitioned"])
def test_l2_a_selection_stays_above_a_window_by_rows(bracket: n.WindowClause):
    items = timeline_of([(1, "p", 5), (2, "p", 1), (3, "p", 2)])
    plan = where(n.Window(A, bracket), "x > 3")
    assert not selection_through_window.apply(plan)
    assert (size(plan, items, 3), size(n.Window(where(A, "x > 3"), bracket), items, 3)) == (0, 1)


@pytest.mark.parametrize("function", ["rand()", "now()", "current_timestamp", "localtimestamp()", "localtimestamp",
                                      "sysdate()", "getdate()", "systimestamp()", "unix_timestamp()", "randstr(3)"])
def test_l2_a_selection_that_differs_each_time_stays_where_it_is(function: str):
    assert not selection_through_window.apply(where(n.Window(A, FIVE), f"x > {function}"))


# -- L3 ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bracket", [TWO_ROWS, TWO_OF_EACH], ids=["count", "partitioned"])
def test_l3_a_window_by_rows_of_a_union_stays_one_window(bracket: n.WindowClause):
    items = timeline_of([(1, "p", 1), (3, "p", 3)], [(2, "p", 2), (4, "p", 4)])
    plan, apart = n.Window(n.Union((A, B)), bracket), n.Union((n.Window(A, bracket), n.Window(B, bracket)))
    assert not window_of_union.apply(plan)
    assert not window_of_union.apply(apart)
    assert (size(plan, items, 4), size(apart, items, 4)) == (2, 4)


@pytest.mark.parametrize("other", [last(3), last(5, 2), clause(SlidingWindow(5, 1, lag=1))])
def test_l3_windows_of_other_signatures_do_not_become_one(other: n.WindowClause):
    items = timeline_of([(1, "p", 1)], [(2, "p", 2)])
    plan = n.Union((n.Window(A, FIVE), n.Window(B, other)))
    assert not window_of_union.apply(plan)
    assert not equal(plan, n.Window(n.Union((A, B)), FIVE), items)


@pytest.mark.parametrize(("one", "other", "apart"), [
    ("x = 1", "x = 2", True), ("x = 1", "x = 1.0", False), ("x = 1", "x = 1e0", False), ("x = 1", "x = '01'", False),
    ("v = 'p'", "v = 'q'", True), ("v = 'p'", "v = 'p'", False), ("v = '1'", "v = 1", False)])
def test_l3_groups_are_apart_only_if_their_constants_are_other_values(one: str, other: str, apart: bool):
    bracket = over_rows(PartitionedCountWindow(2), one[0])
    parts = (where(A, one), where(B, other))
    plan, moved = n.Window(n.Union(parts), bracket), n.Union(tuple(n.Window(part, bracket) for part in parts))
    assert bool(window_of_union.apply(plan)) is bool(window_of_union.apply(moved)) is apart
    items = timeline_of([(1, "1", 1), (2, "p", 1), (3, "p", 1)], [(4, "1", 1), (5, "p", 1), (6, "q", 2)])
    assert not apart or equal(plan, moved, items)


def test_l3_equal_numbers_that_read_differently_are_one_group():
    bracket, items = over_rows(PartitionedCountWindow(1), "x"), timeline_of([(1, "p", 1)], [(2, "p", 1)])
    parts = (where(A, "x = 1"), where(B, "x = 1.0"))
    plan, unguarded = n.Window(n.Union(parts), bracket), n.Union(tuple(n.Window(part, bracket) for part in parts))
    assert (size(plan, items, 2), size(unguarded, items, 2)) == (1, 2)


# -- L4 ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("spec", "policy", "enough"), [
    (SlidingWindow.scoped(5), "recent", True), (BandWindow.since(3), "recent", True),
    (SlidingWindow.scoped(5), "keep", False), (SlidingWindow.scoped(5, 5), "recent", False),
    (SlidingWindow.scoped(5, 1, lag=2), "recent", False), (BandWindow(2, 6), "recent", False),
    (TumblingWindow(5), "recent", False),
])
def test_l4_the_newest_row_is_enough_only_where_the_law_holds(spec: WindowSpec, policy: str, enough: bool):
    """That it fails elsewhere is shown in tests/errata/test_patroumpas_sellis_laws.py, case by case."""
    plan = n.Distinct(shown(n.Window(A, clause(spec)), "v"), policy)
    assert newest_row_is_enough(plan) is enough


# -- L5 to L8 ------------------------------------------------------------------------------------------------------


def test_l5_sides_with_a_name_in_common_do_not_commute():
    items, plan = timeline_of([(1, "p", 1)], [(1, "q", 2)]), n.Join(n.Window(A, FIVE), n.Window(B, FIVE))
    assert not join_commutes.apply(plan)
    assert not equal(plan, n.Join(plan.right, plan.left), items)


def test_l6_a_window_between_two_joins_is_not_moved():
    items = timeline_of([(1, "p", 0)], [(8, "p", 0)], [(12, "p", 0)])
    ten = last(10)
    streams = joined(A, B, "`l.v` = `r.v`")
    date = (*(n.NamedScalar.column(c) for c in streams.columns),
            n.NamedScalar("d", Scalar.parse("greatest(`l.ts`, `r.ts`)")))
    again = n.Window(n.Project(streams, date), n.WindowClause(SlidingWindow.scoped(10), "d", OrdinalKind.INTEGER))
    third = n.Qualify(n.Window(C, ten), "c")
    rewindowed = n.Join(again, third, Scalar.parse("`l.v` = `c.v`"))
    base = n.Join(joined(n.Window(A, ten), n.Window(B, ten), ON), third, Scalar.parse("`l.v` = `c.v`"))
    assert not join_associates.apply(rewindowed)
    assert (size(rewindowed, items, 12), size(base, items, 12)) == (1, 0)


@pytest.mark.parametrize("condition", ["`l.x` > 3", "`l.x` > 3 OR `r.x` > 3"])
def test_l7_a_condition_goes_only_to_the_side_that_it_speaks_of(condition: str):
    items = timeline_of([(1, "p", 5)], [(2, "p", 1)])
    plan = where(joined(n.Window(A, FIVE), n.Window(B, FIVE), ON), condition)
    (moved,) = selection_below_join.apply(plan)
    assert size(moved, items, 2) == size(plan, items, 2) == 1
    printed = joined(where(n.Window(A, FIVE), "x > 3"), where(n.Window(B, FIVE), "x > 3"), ON)
    assert size(printed, items, 2) == 0


def test_l8_the_columns_of_the_condition_stay():
    (moved,) = projection_below_join.apply(shown(joined(n.Window(A, FIVE), n.Window(B, FIVE), ON), "l.x"))
    join = moved.inputs[0]
    assert [side.columns for side in join.inputs] == [("l.v", "l.x"), ("r.v",)]


def test_l8_without_the_columns_of_the_condition_there_is_nothing_to_join():
    """Dropped with its condition, a join pairs everything; with the condition it cannot be computed."""
    items = timeline_of([(1, "p", 1)], [(2, "p", 2), (3, "q", 3)])
    join = joined(n.Window(A, FIVE), n.Window(B, FIVE), ON)
    plan, narrow = shown(join, "l.x"), n.Join(shown(join.left, "l.x"), shown(join.right, "r.x"))
    assert (size(plan, items, 3), size(shown(narrow, "l.x"), items, 3)) == (1, 2)
    with pytest.raises(SchemaError):
        size(shown(replace(narrow, predicate=join.predicate), "l.x"), items, 3)
    (moved,) = projection_below_join.apply(plan)
    assert equal(plan, moved, items)


# -- L10 -----------------------------------------------------------------------------------------------------------


CROSSED = n.Union((shown(n.Window(A, FIVE), "ts", "x"), shown(n.Window(B, FIVE), "x", "ts")))
"""A union is by position: what the first part calls ts is x in the second."""
CROSSED_ROWS = timeline_of([(1, "p", 7)], [(2, "p", 9)])


def test_l10_a_selection_is_on_the_column_of_its_position():
    plan = where(CROSSED, "x > 5")
    by_name = n.Union(tuple(where(part, "x > 5") for part in CROSSED.parts))
    assert (size(plan, CROSSED_ROWS, 2), size(by_name, CROSSED_ROWS, 2)) == (1, 2)
    (moved,) = selection_below_union.apply(plan)
    assert equal(plan, moved, CROSSED_ROWS)


def test_l10_a_projection_is_of_the_column_of_its_position():
    plan, by_name = shown(CROSSED, "x"), n.Union(tuple(shown(part, "x") for part in CROSSED.parts))
    assert not equal(plan, by_name, CROSSED_ROWS)
    (moved,) = projection_below_union.apply(plan)
    assert equal(plan, moved, CROSSED_ROWS)


def test_l10_parts_in_another_order_keep_the_names_of_the_first():
    turned = n.Union(CROSSED.parts[::-1])
    assert not equal(CROSSED, turned, CROSSED_ROWS)
    assert not equal(CROSSED, shown(turned, "ts", "x"), CROSSED_ROWS)  # nor is it enough to sort the names
    assert [equal(CROSSED, moved, CROSSED_ROWS) for moved in union_reorders.apply(CROSSED)] == [True]


@pytest.mark.parametrize("rule", [selection_below_union, projection_below_union])
def test_l10_what_differs_each_time_stays_above_the_union(rule: Rule):
    plans = [where(CROSSED, "x > rand()"), n.Project(CROSSED, (n.NamedScalar("y", Scalar.parse("x + rand()")),))]
    assert not [found for plan in plans for found in rule.apply(plan)]


# -- L9, L11 -------------------------------------------------------------------------------------------------------


def window_of_pairs(function: str, spec: WindowSpec) -> n.Window:
    join = joined(A, B, ON)
    items = (*(n.NamedScalar.column(c) for c in join.columns),
             n.NamedScalar("d", Scalar.parse(f"{function}(`l.ts`, `r.ts`)")))
    return n.Window(n.Project(join, items), n.WindowClause(spec, "d", OrdinalKind.INTEGER))


@pytest.mark.parametrize(("function", "spec", "stamps", "tau"), [
    ("greatest", SlidingWindow.scoped(5), (1, 4), 7),             # the pair outlives its older row
    ("least", SlidingWindow.scoped(5, 5), (5, 7), 7),             # the younger row is not visible yet
    ("least", SlidingWindow.scoped(5, 1, lag=2), (1, 3), 3),
    ("least", BandWindow(2, 6), (5, 7), 7),                       # and never will be
], ids=["dated by the younger", "slide", "lag", "band"])
def test_l9_needs_pairs_dated_by_the_older_row_and_a_window_up_to_now(
        function: str, spec: WindowSpec, stamps: tuple[int, int], tau: int):
    items = timeline_of([(stamps[0], "p", 0)], [(stamps[1], "p", 0)])
    plan = window_of_pairs(function, spec)
    assert not window_of_join.apply(plan)
    assert size(plan, items, tau) == 1
    assert size(joined(n.Window(A, clause(spec)), n.Window(B, clause(spec)), ON), items, tau) == 0


@pytest.mark.parametrize("operator", ["difference", "negation", "aggregate"])
def test_l11_no_rule_moves_a_window_above_what_it_does_not_commute_with(operator: str):
    one, other = n.Window(shown(A, "ts", "v"), FIVE), n.Window(shown(B, "ts", "v"), FIVE)
    count = (call("n", "count"),)
    below, above = {
        "difference": (n.BagDifference(shown(one, "v"), shown(other, "v")),
                       n.Window(n.BagDifference(shown(A, "v"), shown(B, "v")), FIVE)),
        "negation": (n.AntiJoin(one, n.Qualify(other, "r"), Scalar.parse("v = `r.v`")),
                     n.Window(n.AntiJoin(shown(A, "ts", "v"), n.Qualify(B, "r"), Scalar.parse("v = `r.v`")), FIVE)),
        "aggregate": (n.GroupAggregate(one, (n.NamedScalar.column("v"),), count),
                      n.Window(n.GroupAggregate(A, (n.NamedScalar.column("v"),), count), FIVE)),
    }[operator]
    items = timeline_of([(1, "a", 0), (6, "a", 0)], [(2, "a", 0)] if operator == "difference" else [(0, "a", 0)])
    assert not equal(below, above, items)
    assert moved_above(below, above)
    assert all(not isinstance(step.plan, n.Window) for step in steps(below))


# -- the rest ------------------------------------------------------------------------------------------------------


def test_a_condition_on_the_value_of_an_aggregate_stays_above_it():
    groups = n.GroupAggregate(n.Window(A, FIVE), (n.NamedScalar.column("v"),), (call("top", "max", "x"),))
    plan = where(groups, "top > 1")
    assert not selection_below_aggregate.apply(plan)
    below = replace(groups, input=where(groups.input, "x > 1"))
    items = timeline_of([(1, "p", 1)])
    assert equal(plan, below, items)  # here the group vanishes both ways
    low = replace(plan, predicate=Scalar.parse("top < 2"))
    wrong = replace(groups, input=where(groups.input, "x < 2"))
    assert not equal(low, wrong, timeline_of([(1, "p", 1), (1, "p", 3)]))


def test_distinct_does_not_go_below_a_difference():
    one, other = shown(n.Window(A, FIVE), "v"), shown(n.Window(B, FIVE), "v")
    plan = n.Distinct(n.BagDifference(one, other))
    items = timeline_of([(1, "p", 0), (1, "p", 0)], [(1, "p", 0)])
    assert not distinct_below_existence.apply(plan)
    assert not equal(plan, n.BagDifference(n.Distinct(one), other), items)


def test_negation_on_both_sides_of_a_join_stays_above_it():
    pair = joined(n.Window(A, FIVE), n.Window(B, FIVE), ON)
    plan = n.AntiJoin(pair, n.Qualify(n.Window(C, FIVE), "c"), Scalar.parse("`l.x` = `c.x` AND `r.v` = `c.v`"))
    assert not negation_above_join.apply(plan)


def test_negation_on_more_than_the_key_stays_below_the_aggregate():
    left, right = n.Qualify(n.Window(A, FIVE), "a"), n.Qualify(n.Window(C, FIVE), "c")
    rows = n.AntiJoin(left, right, Scalar.parse("`a.x` = `c.x`"))
    plan = n.GroupAggregate(rows, (n.NamedScalar.column("a.v"),), (call("n", "count"),))
    assert not negation_above_aggregate.apply(plan)


def test_below_rstream_no_selection_changes_which_instants_are_reported():
    filtered = where(n.Window(A, FIVE), "x > 1")
    items = timeline_of([(1, "p", 2), (3, "p", 0)])
    plan = n.RelationToStream(filtered, n.RelationToStreamKind.RSTREAM)
    moved = replace(plan, input=selection_through_window.apply(filtered)[0])
    assert len(Oracle(plan, items).results()) != len(Oracle(moved, items).results())
    assert not list(steps(plan, [selection_through_window]))
    assert list(steps(filtered, [selection_through_window]))


@pytest.mark.parametrize("kind", [n.RelationToStreamKind.ISTREAM, n.RelationToStreamKind.RSTREAM])
def test_below_a_restore_form_every_movement_of_a_window_counts(kind: n.RelationToStreamKind):
    filtered = where(n.Window(A, last(5, 3)), "x > 1")
    assert not list(steps(n.RelationToStream(filtered, kind, restore=True), [selection_through_window]))
    assert list(steps(n.RelationToStream(filtered, n.RelationToStreamKind.ISTREAM), [selection_through_window]))


def test_no_selection_hides_a_late_row():
    plan = where(n.Window(A, FIVE), "x > 1")
    (moved,) = selection_through_window.apply(plan)
    items = [*timeline_of([(9, "p", 2)]), Arrival("a", Punctuation.below("ts", 9)), *timeline_of([(1, "p", 0)])]
    assert [len(Oracle(found, items).late_rows()) for found in (plan, moved)] == [1, 1]


def test_below_a_window_no_other_row_is_chosen_for_a_value():
    windowed = n.Window(n.Distinct(n.Union((shown(A, "ts", "v"), shown(B, "ts", "v")))), FIVE)
    assert distinct_below_union.apply(windowed.input)
    assert not [step for step in steps(windowed) if "distinct below union" in step.by]


def test_where_results_are_shown_with_their_lives_no_other_row_is_chosen():
    lives = n.Distinct(n.Union((shown(n.Window(A, FIVE), "v"), shown(n.Window(B, last(3)), "v"))))
    assert distinct_below_union.apply(lives)
    assert not [step for step in steps(lives) if "distinct below union" in step.by]
    changes = n.AntiJoin(lives, n.Qualify(n.Window(C, FIVE), "c"), Scalar.parse("v = `c.v`"))
    assert [step for step in steps(changes) if "distinct below union" in step.by]


def test_where_columns_are_not_known_no_order_is_changed():
    anything = [n.Qualify(n.Window(n.Source(s, SourceSchema(time="ts", open=True)), FIVE), s) for s in "ab"]
    plan = n.Join(*anything, Scalar.parse("`a.v` = `b.v`"))
    assert not join_commutes.apply(plan)
    assert not union_reorders.apply(n.Union((anything[0], anything[1])))
    filtered = where(plan, "`a.x` > 1 AND z = 2")
    (moved,) = selection_below_join.apply(filtered)  # a qualified name says where it belongs
    assert isinstance(moved.inputs[0], n.Filter)


def test_the_difference_keeps_the_youngest_copies_after_a_rewrite():
    one, other = shown(n.Window(A, FIVE), "v"), shown(n.Window(B, last(3)), "v")
    plan = where(n.BagDifference(one, other), "v = 'p'")
    items = timeline_of([(1, "p", 0), (2, "p", 0)], [(3, "p", 0)])
    for step in steps(plan):
        assert history(step.plan, items) == history(plan, items)


def test_windows_by_the_instants_of_results_stay_where_they_are() -> None:
    """No column holds those instants, so there is no name for them on the other side of a union."""
    results = [n.RelationToStream(shown(n.Window(stream, FIVE), "v"), n.RelationToStreamKind.ISTREAM)
               for stream in (A, B)]
    by_instant = replace(last(3), attribute="valid_from")
    apart = n.Union(tuple(n.Window(part, by_instant) for part in results))
    together = n.Window(n.Union(tuple(results)), by_instant)
    assert window_of_union.apply(apart) == window_of_union.apply(together) == []
    assert "window of union" not in {by for step in steps(apart, LAWS) for by in step.by}
