"""P2 and P3: neither the order of rows nor what is promised when nor how rows are cut into batches changes results."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.progress.punctuation import Punctuation
from panewise.windows import CountWindow, PartitionedCountWindow, PartitionedRowWindow, RowWindow, TupleSlideWindow
from panewise.windows.base import WindowSpec
from properties.every_kernel import BY_POSITION, BY_VALUE, Item, Row, kernels, partition_of, places, promised, rows, run
from windows.window_strategies import SPECS


@pytest.mark.parametrize("kind", BY_VALUE)
def test_p2_any_order_that_crosses_no_promise_gives_the_same_results(kind: str) -> None:
    """P2: the order of arrival means nothing to windows on values."""
    @settings(max_examples=12, deadline=None)
    @given(SPECS[kind], st.lists(rows, max_size=14), st.data(), places)
    def check(spec: WindowSpec, some: list[Row], data: st.DataObject, cuts: frozenset[int]) -> None:
        shuffled = data.draw(st.permutations(some))
        items = data.draw(promised(shuffled))
        for make in kernels(spec, partition=partition_of(kind)):
            assert run(make, items, cuts=cuts).bag == run(make, some).bag

    check()


@pytest.mark.parametrize("kind", BY_POSITION)
def test_p2_windows_of_positions_do_depend_on_the_order(kind: str) -> None:
    """P2, the exception: two rows that change places may change windows that count them, so no kernel sorts first."""
    some = [Row(ts, "a", 0, v) for ts, v in ((1, 1), (2, 5), (9, 2), (3, 4), (4, 3), (30, 0))]
    swapped = [some[0], some[2], some[1], *some[3:]]
    specs = (RowWindow(2, 2), PartitionedRowWindow(2, 2), CountWindow(2), PartitionedCountWindow(2),
             TupleSlideWindow(3, 2))
    for make in kernels(next(s for s in specs if s.kind == kind), partition=partition_of(kind)):
        assert run(make, some).bag != run(make, swapped).bag


@pytest.mark.parametrize("kind", [*BY_VALUE, *BY_POSITION])
def test_p3_promises_left_out_repeated_or_put_off_and_batch_cuts_never_change_results(kind: str) -> None:
    """P3: punctuation and batches change when results come and how much is held, never the results."""
    @settings(max_examples=12, deadline=None)
    @given(SPECS[kind], st.lists(rows, max_size=14), st.data(), places, places)
    def check(spec: WindowSpec, some: list[Row], data: st.DataObject, cuts: frozenset[int],
              saves: frozenset[int]) -> None:
        items = data.draw(promised(some))
        fewer: list[Item] = []
        waiting: list[Punctuation] = []
        for item in items:
            if isinstance(item, Punctuation):
                what = data.draw(st.sampled_from(["keep", "repeat", "leave out", "put off"]))
                fewer += [item] * {"keep": 1, "repeat": 2}.get(what, 0)
                waiting += [item] if what == "put off" else []
            else:
                fewer.append(item)
                if waiting and data.draw(st.booleans()):
                    fewer += waiting
                    waiting = []
        for make in kernels(spec, partition=partition_of(kind)):
            expected = run(make, some).bag
            assert run(make, items, cuts=frozenset(range(25))).bag == expected
            assert run(make, fewer, cuts=cuts, saves=saves).bag == expected

    check()
