"""Every operator keeps the promises it passes on: rows come out before the punctuation that rules them out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded.plans import COLUMNS, bag
from panewise.core.errors import PlanError, ProgressError, UnsupportedError
from panewise.core.scalar import Scalar
from panewise.plan.nodes import NamedScalar
from panewise.progress.bounds import BoundTable
from panewise.progress.grammatical import grammatical, is_grammatical
from panewise.progress.meld import Meld
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.timeline import Arrival
from panewise.queries.chunks import Chunk
from panewise.queries.operators import (
    Apply,
    Bucket,
    DescribeProgress,
    DupElim,
    MeldInput,
    Merge,
    Operator,
    Prefix,
    Select,
    Sort,
    drive,
)
from panewise.windows.count import CountWindow
from panewise.windows.sliding import SlidingWindow

Row = dict[str, Any]
rows = st.fixed_dictionaries({"ts": st.integers(0, 30), "k": st.sampled_from(["a", "b"]), "g": st.integers(0, 1),
                              "v": st.sampled_from([0.5, 2.0])})
groups = st.fixed_dictionaries({}, optional={"k": st.sampled_from(["a", "b"])})
promises = st.builds(lambda bound, c: Punctuation.below("ts", bound, **c), st.integers(0, 30), groups)
streams = st.lists(st.one_of(rows, rows, promises), max_size=25).map(
    lambda items: [a.item for a in grammatical([Arrival("s", i) for i in items], "drop")[0]])


def chunk(some: list[Row], first: int = 1) -> Chunk:
    place = np.arange(first, first + len(some))
    return Chunk(pa.Table.from_pylist(some, pa.schema(COLUMNS)), "s", place, place, np.zeros(len(some), np.int64))


def fed(items: list[Any], batch: int = 1) -> list[Any]:
    """Rows as chunks of at most so many rows; punctuation ends a chunk."""
    out: list[Any] = []
    waiting: list[Row] = []
    for item in [*items, END]:
        if waiting and (isinstance(item, Punctuation) or len(waiting) == batch):
            out.append(chunk(waiting))
            waiting = []
        if isinstance(item, Punctuation):
            out.append(item)
        else:
            waiting.append(item)
    return out


def flat(items: Any) -> list[Any]:
    """Rows and promises one by one."""
    return [part for item in items
            for part in ([item] if isinstance(item, Punctuation) else item.table.to_pylist())]


def only_rows(items: list[Any]) -> list[Row]:
    return [item for item in items if not isinstance(item, Punctuation)]


def make(name: str) -> Operator:
    return {
        "select": lambda: Select(Scalar.parse("v > 1")),
        "apply": lambda: Apply([NamedScalar.column("ts"), NamedScalar("v", Scalar.parse("v * 2"))]),
        "prefix": lambda: Prefix("S"),
        "dup_elim": lambda: DupElim(["ts", "k"]),
        "describe": lambda: DescribeProgress("ts", [SlidingWindow(10, 5)], grouping=["k"]),
        "bucket": lambda: Bucket("ts", SlidingWindow(10, 5)),
        "bucket with gaps": lambda: Bucket("ts", SlidingWindow(3, 7)),
        "meld": lambda: MeldInput(Meld(1), 0),
        "sort": lambda: Sort("ts"),
        "sort by rows": lambda: Sort("ts", rows=2),
        "sort by time": lambda: Sort("ts", slack=4),
        "merge": lambda: Merge(1, "ts").input(0),
    }[name]()


NAMES = ("select", "apply", "prefix", "dup_elim", "describe", "bucket", "bucket with gaps", "meld", "sort",
         "sort by rows", "sort by time")


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(NAMES), streams, st.integers(1, 5))
def test_a_stream_that_keeps_its_promises_still_does_after_every_operator(
        name: str, items: list[Any], batch: int) -> None:
    assert is_grammatical([Arrival("s", i) for i in flat(drive([make(name)], fed(items, batch)))])


@settings(deadline=None, max_examples=30)
@given(streams, st.integers(1, 5))
def test_the_first_row_of_a_key_passes_and_keys_that_cannot_come_again_are_forgotten(
        items: list[Any], batch: int) -> None:
    operator = DupElim(["ts", "k"])
    out = only_rows(flat(drive([operator], fed(items, batch))))
    firsts = {(r["ts"], r["k"]): r for r in reversed(only_rows(items))}
    assert bag(out) == bag(firsts.values())
    assert operator.state_rows == 0, "the end of the stream leaves nothing"


def test_dup_elim_keeps_exactly_the_keys_that_may_come_again() -> None:
    operator = DupElim(["ts", "k"])
    operator.take(chunk([{"ts": t, "k": k, "g": 0, "v": 1.0} for t in (1, 5, 9) for k in "ab"]))
    assert operator.advance(Punctuation.below("ts", 6, k="a")) == [Punctuation.below("ts", 6, k="a")]
    assert operator.state_rows == 4
    operator.advance(Punctuation.below("g", 100))
    assert operator.state_rows == 4, "a promise about a column that is no key forgets no key"
    saved = operator.snapshot()
    other = DupElim(["ts", "k"])
    other.restore(saved)
    assert other.process(chunk([{"ts": 9, "k": "a", "g": 3, "v": 1.0}])).table.num_rows == 0
    with pytest.raises(PlanError, match="columns"):
        DupElim([])


@settings(deadline=None, max_examples=30)
@given(streams)
def test_described_punctuation_closes_the_same_windows_at_the_same_items(items: list[Any]) -> None:
    spec = SlidingWindow(10, 5)
    operator = DescribeProgress("ts", [spec], grouping=["k"])
    fine, coarse = BoundTable("ts"), BoundTable("ts")
    sent = 0
    for item in fed(items):
        if isinstance(item, Punctuation):
            fine.advance(item)
            for after in operator.advance(item):
                coarse.advance(after)
                sent += 1
            for group in ({"k": "a"}, {"k": "b"}, {}):
                assert spec.closed_below(coarse.bound_for(group)) == spec.closed_below(fine.bound_for(group))
    assert sent <= sum(isinstance(i, Punctuation) for i in items) + 1
    assert operator.advance(Punctuation.below("v", 3)) == [], "nobody groups by v"


@settings(deadline=None, max_examples=30)
@given(streams, st.integers(1, 12), st.integers(1, 12))
def test_bucket_tags_rows_with_the_windows_that_contain_them_and_bounds_ids(
        items: list[Any], reach: int, slide: int) -> None:
    spec = SlidingWindow(reach, slide)
    closed = 0
    for item in drive([Bucket("ts", spec)], fed(items)):
        if isinstance(item, Punctuation):
            closed = max(closed, item.bound("wid_first") or 0) if item.attributes == {"wid_first"} else closed
            continue
        for row in item.table.to_pylist():
            assert all(row["ts"] in range(*_span(spec, w)) for w in range(row["wid_first"], row["wid_end"]))
            assert row["wid_first"] >= closed
    with pytest.raises(UnsupportedError, match="Bucket"):
        Bucket("ts", CountWindow(5))


def _span(spec: SlidingWindow, wid: int) -> tuple[int, int]:
    extent = spec.extent(wid)
    assert extent.start is not None
    assert extent.end is not None
    return extent.start, extent.end


@settings(deadline=None, max_examples=40)
@given(streams, st.integers(1, 5), st.sampled_from(["sort", "sort by rows", "sort by time"]))
def test_sort_lets_rows_go_in_order_and_loses_none_but_those_it_counts(
        items: list[Any], batch: int, name: str) -> None:
    operator = make(name)
    assert isinstance(operator, Sort)
    out = only_rows(flat(drive([operator], fed(items, batch))))
    assert [r["ts"] for r in out] == sorted(r["ts"] for r in out)
    assert len(out) + operator.late == len(only_rows(items))
    assert len(operator.held) == 0
    single = make(name)
    assert only_rows(flat(drive([single], fed(items)))) == out, "batches change nothing"


def test_sort_waits_for_the_rows_of_a_group_before_it_passes_their_promise() -> None:
    sort = Sort("ts")
    sort.take(chunk([{"ts": 3, "k": "a", "g": 0, "v": 1.0}]))
    assert sort.take(Punctuation.below("ts", 5, k="a")) == []
    assert sort.take(Punctuation.below("ts", 5, k="b")) == [Punctuation.below("ts", 5, k="b")]
    assert [type(i).__name__ for i in sort.take(Punctuation.below("ts", 4))] == ["Chunk", "Punctuation", "Punctuation"]
    with pytest.raises(PlanError, match="not both"):
        Sort("ts", rows=1, slack=1)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 2), st.lists(st.integers(0, 20), min_size=1, max_size=4)), max_size=12))
def test_merge_of_ordered_inputs_is_ordered_and_complete(parts: list[tuple[int, list[int]]]) -> None:
    merge = Merge(3, "ts")
    last = [0, 0, 0]
    out: list[Any] = []
    sent: list[int] = []
    for number, steps in parts:
        values = [last[number] + v for v in np.cumsum(steps)]
        last[number] = values[-1]
        sent += values
        out += merge.input(number).take(chunk([{"ts": v, "k": "a", "g": number, "v": 0.5} for v in values]))
    for number in range(3):
        out += merge.input(number).take(END)
    assert [r["ts"] for r in only_rows(flat(out))] == sorted(sent)
    assert is_grammatical([Arrival("s", i) for i in flat(out)])
    assert out[-1] == END


def test_merge_is_held_back_by_a_silent_input_until_it_promises_and_refuses_disorder() -> None:
    merge = Merge(2, "ts")
    row = {"k": "a", "g": 0, "v": 0.5}
    assert merge.input(0).take(chunk([row | {"ts": 4}, row | {"ts": 9}])) == []
    freed = merge.input(1).take(Punctuation.below("ts", 5))
    assert [r["ts"] for r in only_rows(flat(freed))] == [4]
    assert merge.held.peak == 2
    with pytest.raises(ProgressError, match="put a Sort before it"):
        merge.input(0).take(chunk([row | {"ts": 3}]))
