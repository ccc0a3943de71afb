"""The planner's table cell by cell: the cell is what experiments show, and what a plan is labelled with."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from panewise.plan import nodes as n
from panewise.planner.facts.labels import label
from panewise.planner.facts.pattern_table import OBSERVED, OperatorKind, WindowShape
from panewise.planner.facts.patterns import UpdatePattern
from panewise.windows.base import WindowSpec
from panewise.windows.count import CountWindow, PartitionedCountWindow
from panewise.windows.landmark import BandWindow
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tumbling import Disclosure, TumblingWindow
from planner import brute
from planner.monotonicity import Evaluate, observe
from planner.plans import counted, filtered, in_order, in_time, window
from planner.printed_patterns import PRINTED

SPECS: dict[WindowShape, WindowSpec] = {
    WindowShape.SLIDING: SlidingWindow.scoped(6),
    WindowShape.UNEVEN: SlidingWindow.scoped(7, 3),
    WindowShape.GROWING: TumblingWindow(5, disclosure=Disclosure.GROWING),
    WindowShape.DISCLOSED: TumblingWindow(5),
    WindowShape.COUNT: CountWindow(4),
    WindowShape.PARTITIONED: PartitionedCountWindow(2),
    WindowShape.LANDMARK: BandWindow.since(3),
}
LIVES = {WindowShape.SLIDING: 6, WindowShape.DISCLOSED: 5, WindowShape.COUNT: 4}
ORDER = {WindowShape.COUNT, WindowShape.PARTITIONED}
CELLS = [(operator, shape) for operator in OperatorKind for shape in SPECS]


def contents(shape: WindowShape, stream: str = "S") -> brute.Contents:
    if shape is WindowShape.COUNT:
        return brute.newest(4, stream)
    if shape is WindowShape.PARTITIONED:
        return brute.newest_of_each(2, stream)
    return brute.scoped(SPECS[shape], stream)


def query(operator: OperatorKind, shape: WindowShape) -> Evaluate:
    left, right = contents(shape, "S"), contents(shape, "R")
    unary: dict[OperatorKind, Callable[[brute.Contents], Evaluate]] = {
        OperatorKind.NEUTRAL: brute.select, OperatorKind.DISTINCT_KEEP: brute.distinct_keep,
        OperatorKind.DISTINCT_RECENT: brute.distinct_recent, OperatorKind.AGGREGATE: brute.aggregate,
    }
    if operator in unary:
        return unary[operator](left)
    return brute.join(left, right) if operator is OperatorKind.JOIN else brute.difference(left, right)


def plan(operator: OperatorKind, shape: WindowShape) -> n.Node:
    partition = ("k",) if shape is WindowShape.PARTITIONED else ()
    left, right = (window(SPECS[shape], s, partition=partition) for s in "SR")
    match operator:
        case OperatorKind.NEUTRAL:
            return filtered(left)
        case OperatorKind.DISTINCT_KEEP:
            return n.Distinct(left)
        case OperatorKind.DISTINCT_RECENT:
            return n.Distinct(left, "recent")
        case OperatorKind.JOIN:
            return n.Join(left, right)
        case OperatorKind.AGGREGATE:
            return counted(left, "a")
        case OperatorKind.DIFFERENCE:
            return n.BagDifference(left, right)


@pytest.mark.parametrize(("operator", "shape"), CELLS, ids=lambda x: x.name.lower())
def test_experiments_show_what_the_table_says(operator: OperatorKind, shape: WindowShape) -> None:
    cell = OBSERVED[operator, shape]
    experiments = (in_order if shape in ORDER else in_time)("S", "R")
    seen = observe(query(operator, shape), experiments)
    assert seen.pattern is cell.pattern, seen.evidence
    if cell.pattern is UpdatePattern.WKS:
        one_stream = operator is OperatorKind.NEUTRAL and shape is WindowShape.COUNT
        expected = LIVES.get(shape) if cell.equal_lives and not one_stream else seen.label.lifetime
        assert seen.label.lifetime == expected, seen.evidence


@pytest.mark.parametrize(("operator", "shape"), CELLS, ids=lambda x: x.name.lower())
def test_plans_are_labelled_by_the_table(operator: OperatorKind, shape: WindowShape) -> None:
    cell, found = OBSERVED[operator, shape], label(plan(operator, shape)).output
    assert (found.pattern, found.replace) == (cell.pattern, cell.replace)
    assert found.lifetime == (LIVES[shape] if cell.equal_lives else None)
    if found.pattern is not UpdatePattern.MON:
        assert found.domain == cell.domain == ("order" if shape in ORDER else "time")


@pytest.mark.parametrize("shape", sorted(ORDER, key=str), ids=lambda x: x.name.lower())
@pytest.mark.parametrize("operator", OperatorKind, ids=lambda x: x.name.lower())
def test_rule_u2_order_windows_are_strict_in_time(operator: OperatorKind, shape: WindowShape) -> None:
    assert observe(query(operator, shape), in_time("S", "R")).pattern is UpdatePattern.STR
    assert label(plan(operator, shape)).output.downgrade().pattern is UpdatePattern.STR


def test_a_count_window_of_one_stream_lives_n_arrivals() -> None:
    assert observe(contents(WindowShape.COUNT), in_order("S")).label.lifetime == 4


def test_the_printed_table_differs_where_experiments_say_so() -> None:
    wrong = {
        cell for cell, claim in PRINTED.items()
        if cell[1] not in ORDER and OBSERVED[cell].pattern > claim
    }
    assert wrong == {
        *((OperatorKind.AGGREGATE, shape) for shape in SPECS if shape not in ORDER),
        *((OperatorKind.DISTINCT_RECENT, shape) for shape in SPECS if shape not in ORDER | {WindowShape.DISCLOSED}),
    }


def test_where_the_printed_table_is_safe_but_not_sharp_ours_is_sharper() -> None:
    tumbling = (WindowShape.GROWING, WindowShape.DISCLOSED)
    sharper = {cell for cell, claim in PRINTED.items() if cell[1] in tumbling and OBSERVED[cell].pattern < claim}
    assert (OperatorKind.NEUTRAL, WindowShape.GROWING) in sharper
    assert (OperatorKind.DIFFERENCE, WindowShape.DISCLOSED) in sharper
