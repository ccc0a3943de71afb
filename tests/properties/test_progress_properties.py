"""P4, P9, P13 and P17: what progress promises, what it sets free, and what a lull costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded.plans import aggregate, call, source
from oracle.questions import Oracle
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceSchema
from panewise.dataflow import open_plan
from panewise.dataflow.batch import Batch
from panewise.dataflow.operators.base import Operator
from panewise.dataflow.operators.row_step import RowStep
from panewise.dataflow.operators.union import Merged
from panewise.plan.nodes import Filter, NamedScalar, Project, Source, Union, WindowAggregate, WindowClause
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.timeline import Arrival
from panewise.windows.base import WindowSpec
from panewise.windows.sliding import SlidingWindow
from properties.every_kernel import BY_POSITION, BY_VALUE, Item, Row, Run, kernels, partition_of, promised, rows, run
from windows.window_strategies import SPECS

COLUMNS = {"ts": pa.int64(), "k": pa.string(), "g": pa.int64(), "v": pa.int64()}


# -- P4: output punctuation


def batch(*some: Row) -> Batch:
    none = np.arange(len(some))
    columns = pa.table([[getattr(r, c) for r in some] for c in COLUMNS], schema=pa.schema(list(COLUMNS.items())))
    return Batch(columns, "s", none, none, np.full(len(some), -(2**63)))


def chains() -> dict[str, list[Operator]]:
    """Operators with one input, and chains of them."""
    schema, stream = pa.schema(list(COLUMNS.items())), Source("s", SourceSchema(COLUMNS))
    kept = RowStep(Project(stream, tuple(map(NamedScalar.column, COLUMNS))), schema)
    positive = RowStep(Filter(stream, Scalar.parse("v > 0")), schema)
    union = Merged(schema, [list(COLUMNS)], "ts")
    return {"Filter": [positive], "Project": [kept], "Merged": [union], "all of them": [positive, union, kept]}


def drive(operators: list[Operator], items: list[Any]) -> list[Any]:
    """Items through a chain of operators, one by one."""
    out: list[Any] = []
    for item in items:
        passing = [item]
        for operator in operators:
            passing = [after for before in passing for after in
                       (operator.advance(0, before) if isinstance(before, Punctuation) else [operator.take(0, before)])]
        out += passing
    return out


def assert_grammatical(items: list[Any]) -> None:
    """No row after a promise that rules it out; no promise twice; bounds for all rows only rise."""
    made: list[Punctuation] = []
    reached = -(2**63)
    for item in items:
        if isinstance(item, Punctuation):
            assert item not in made, f"{item} was promised before"
            made.append(item)
            if item.linear_bound("ts") is not None or item.covers_everything:
                bound = item.closes_below("ts")
                assert bound is not None
                assert bound > reached
                reached = bound
        else:
            assert [r for r in item.table.to_pylist() if any(p.matches(r) for p in made)] == []


@pytest.mark.parametrize("name", chains())
def test_p4_what_an_operator_promises_holds(name: str) -> None:
    """P4: the output of every operator is grammatical when its input is, and no promise is made twice."""
    @settings(max_examples=20, deadline=None)
    @given(st.lists(rows, max_size=12), st.data())
    def check(some: list[Row], data: st.DataObject) -> None:
        items = data.draw(promised(some))
        sent: list[Punctuation] = []
        given_in = []
        for item in items:
            if isinstance(item, Punctuation):
                if any(p.subsumes(item) for p in sent):
                    continue  # a promise made twice in passes out twice; it is the output of one that is at stake
                sent.append(item)
            given_in.append(item if isinstance(item, Punctuation) else batch(item))
        assert_grammatical(drive(chains()[name], [*given_in, END]))

    check()


@settings(max_examples=30, deadline=None)
@given(st.lists(rows, max_size=10), st.lists(rows, max_size=10), st.data())
def test_p4_what_a_union_promises_holds_and_is_said_once(one: list[Row], other: list[Row], data: st.DataObject) -> None:
    """P4: Meld promises what all its inputs promise, monotone and without duplicates."""
    union = Merged(pa.schema(list(COLUMNS.items())), [list(COLUMNS)] * 2, "ts")
    left, right = ([*data.draw(promised(side)), END] for side in (one, other))
    out: list[Any] = []
    while left or right:
        number = data.draw(st.sampled_from([n for n, side in enumerate((left, right)) if side]))
        item = (left, right)[number].pop(0)
        out += union.advance(number, item) if isinstance(item, Punctuation) else [union.take(number, batch(item))]
    assert_grammatical(out)
    bounds = [p.bound("ts") for p in out if isinstance(p, Punctuation) and p.attributes == {"ts"}]
    assert bounds == sorted(set(bounds), key=lambda b: b or 0)
    assert out[-1] == END


@pytest.mark.parametrize("kind", [*BY_VALUE, *BY_POSITION])
def test_p4_results_come_before_the_promise_that_closes_their_window_passes_and_never_before_they_are_final(
        kind: str) -> None:
    """P4: a window of a group comes out once, with the item that closes it; nothing of it can come afterwards."""
    def plan(spec: WindowSpec) -> WindowAggregate:
        by_rows = kind in BY_POSITION[:-1]
        clause = WindowClause(spec, "row-num" if by_rows else "ts",
                              OrdinalKind.ROWS if by_rows else OrdinalKind.INTEGER, partition_of(kind))
        return WindowAggregate(Source("s", SourceSchema(COLUMNS, time="ts")), clause,
                               (NamedScalar.column("k"),), (call("n", "count"), call("total", "sum", "v")))

    @settings(max_examples=20, deadline=None)
    @given(SPECS[kind], st.lists(rows, max_size=10), st.data())
    def check(spec: WindowSpec, some: list[Row], data: st.DataObject) -> None:
        node, items = plan(spec), data.draw(promised(some))
        plain = [i if isinstance(i, Punctuation) else vars(i) for i in items]
        oracle = Oracle(node, [Arrival("s", item) for item in plain])
        query = open_plan(node)
        found: list[str] = []
        for place, item in enumerate(plain):
            table = query.push("s", item if isinstance(item, Punctuation) else [item])
            found += [repr(r) for r in table.to_pylist()]
            allowed = [repr(r) for r in oracle.results_after(place)]
            assert set(found) <= set(allowed), "nothing comes before it is final"
            if kind not in ("landmark", "session", "linear", "slide by tuple"):
                # of those, rows still to come may say whether a window exists
                assert sorted(found) == sorted(allowed), "everything final has come"
        assert sorted(found + [repr(r) for r in query.finish().to_pylist()]) == sorted(map(repr, oracle.results()))

    check()


# -- P9 and P13: progress


@pytest.mark.parametrize("kind", BY_VALUE)
def test_p9_what_is_closed_comes_out_and_is_forgotten(kind: str) -> None:
    """P9: on a punctuated stream every window with rows comes out, and its state goes; P13: bounds never go back."""
    @settings(max_examples=12, deadline=None)
    @given(SPECS[kind], st.lists(rows, max_size=14), st.data())
    def check(spec: WindowSpec, some: list[Row], data: st.DataObject) -> None:
        items = data.draw(promised(some, groups=False))
        for make in kernels(spec, partition=partition_of(kind)):
            seen = [-(2**63)]

            def after(place: int, done: Run, seen: list[int] = seen) -> None:
                assert done.kernel.closed_below >= seen[-1], "P13"
                seen.append(done.kernel.closed_below)
                if kind == "session":
                    return
                assert all(wid >= done.kernel.closed_below for wid in done.kernel.open_windows())
                closed = {result[:-3] for _, result in done.results}
                assert len(closed) == len(done.results), "a window of a group comes out once"

            done = run(make, items, after=after)
            counters = done.kernel.counters()
            assert (counters["partials"], counters["buffered"], counters["open_windows"]) == (0, 0, 0)

    check()


@settings(max_examples=15, deadline=None)
@given(st.lists(st.one_of(rows, st.builds(lambda b, c: Punctuation.below("ts", b, **c), st.integers(-20, 30),
                                          st.sampled_from([{}, {"k": "a"}, {"g": 1}]))), max_size=20))
def test_p13_bounds_never_go_back_also_where_promises_are_broken_or_weakened(items: list[Item]) -> None:
    """P13: the watermark of a running aggregate is monotone, whatever the source says."""
    for make in kernels(SlidingWindow(7, 3)):
        marks: list[int] = []
        run(make, items, after=lambda place, done, marks=marks: marks.append(done.kernel.bounds.linear))
        assert marks == sorted(marks)


# -- P17: lulls


def union_of_two() -> WindowAggregate:
    return aggregate(Union((source("s"), source("t"))), SlidingWindow(10, 10), calls=(call("n", "count"),))


@settings(max_examples=12, deadline=None)
@given(st.integers(1, 60))
def test_p17_a_lull_on_one_input_adds_no_rows_to_the_state(length: int) -> None:
    """P17: while one input is silent, Meld keeps partials of open windows only."""
    query = open_plan(union_of_two())
    for ts in range(length):
        query.push("s", [{"ts": ts, "k": "a", "g": 0, "v": 1.0}])
        query.push("s", Punctuation.below("ts", ts))
    status = query.status()
    assert status["partials"] <= -(-length // 10), "one group, one partial a window"
    freed = query.push("t", Punctuation.below("ts", length))
    assert freed.num_rows == (length - 1) // 10


def test_p17_a_timer_sets_free_what_a_lull_holds_back() -> None:
    """P17: with a timer the clock goes on where the rows do not, and the windows behind it come out."""
    plan = aggregate(source(), SlidingWindow(10, 10), calls=(call("n", "count"),))
    query = open_plan(plan)
    query.push("s", [{"ts": ts, "k": "a", "g": 0, "v": 1.0} for ts in (1, 4, 12)])
    assert query.push("s", Punctuation.below("ts", 9)).num_rows == 0, "nothing comes while nothing is promised"
    out = query.push("s", Punctuation.below("ts", 25)).to_pylist()  # what a timer sends in a lull
    assert [(r["window"]["start"], r["n"]) for r in out] == [(0, 2), (10, 1)]
    assert query.status()["partials"] == 0
