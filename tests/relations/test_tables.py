"""Windows and streams beside tables: with the table as it is, or as it was before each row."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import panewise as pw
from oracle.questions import Oracle
from panewise.core.errors import SchemaError
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceKind, SourceSchema
from panewise.dataflow import Query, open_plan
from panewise.engines.oracle.tables import TableChange
from panewise.plan.nodes import (
    Distinct,
    GroupAggregate,
    NamedScalar,
    Node,
    Qualify,
    RelationToStream,
    RelationToStreamKind,
    Table,
    TableJoin,
    Window,
)
from panewise.progress.punctuation import END
from panewise.progress.timeline import Arrival, Timeline
from panewise.windows.sliding import SlidingWindow
from relations.plans import PLACES, TIME_WINDOWS, columns, source, timelines, window, windows
from relations.running import assert_like_the_oracle, bag, run_relation
from relations.test_group_aggregates import call


def table(kind: SourceKind, *, timed: bool) -> Qualify:
    names = {"at": pa.int64(), "k": pa.string(), "w": pa.int64()}
    return Qualify(Table("t", SourceSchema(names, time="at" if timed else None, kind=kind)), "t")


TABLE_ROWS = st.lists(st.builds(lambda at, k, w: Arrival("t", {"at": at, "k": k, "w": w}), st.integers(-2, 14),
                                st.sampled_from(["a", "b", None]), st.integers(0, 3)), max_size=5)
KINDS = st.sampled_from([SourceKind.NRR, SourceKind.RELATION])
PREDICATES = st.sampled_from(["`s.k` = `t.k`", "`s.k` = `t.k` AND `s.v` >= `t.w`", "`s.v` < `t.w`"])


@settings(max_examples=30, deadline=None)
@given(windows("s", TIME_WINDOWS), KINDS, st.booleans(), PREDICATES, timelines(("s",)), TABLE_ROWS, st.integers(0, 3),
       st.randoms(use_true_random=False), PLACES, PLACES)
def test_a_window_beside_a_table(window: Window, kind: SourceKind, timed: bool, predicate: str, timeline: Timeline,
                                 rows: Timeline, shape: int, random: Random, cuts: frozenset[int],
                                 saves: frozenset[int]) -> None:
    joined = TableJoin(Qualify(window, "s"), table(kind, timed=timed), Scalar.parse(predicate))
    narrow = columns(joined, "s.k", "t.w")
    plan: Node = [joined, Distinct(narrow), RelationToStream(narrow, RelationToStreamKind.RSTREAM),
                  GroupAggregate(narrow, (NamedScalar.column("s.k"),), (call("n", "sum", "`t.w`"),))][shape]
    mixed = [*timeline, *rows]
    random.shuffle(mixed)
    assert_like_the_oracle(plan, mixed, cuts, saves)


@settings(max_examples=30, deadline=None)
@given(KINDS, st.booleans(), PREDICATES, timelines(("s",)), TABLE_ROWS, st.randoms(use_true_random=False), PLACES,
       PLACES)
def test_a_stream_beside_a_table(kind: SourceKind, timed: bool, predicate: str, timeline: Timeline, rows: Timeline,
                                 random: Random, cuts: frozenset[int], saves: frozenset[int]) -> None:
    plan = TableJoin(Qualify(source("s"), "s"), table(kind, timed=timed), Scalar.parse(predicate))
    mixed = [*timeline, *rows]
    random.shuffle(mixed)
    assert_like_the_oracle(plan, mixed, cuts, saves)


@pytest.mark.parametrize("kind", [SourceKind.NRR, SourceKind.RELATION])
def test_rows_that_come_after_the_end_of_a_table_still_meet_it(kind: SourceKind) -> None:
    plan = TableJoin(Qualify(source("s"), "s"), table(kind, timed=False), Scalar.parse("`s.k` = `t.k`"))
    timeline = [Arrival("t", {"at": 0, "k": "a", "w": 1}), Arrival("t", END), Arrival("s", {"ts": 3, "k": "a", "v": 2})]
    assert_like_the_oracle(plan, timeline)
    assert len(run_relation(plan, timeline)[0]) == 1


@st.composite
def histories(draw: st.DrawFn) -> list[TableChange]:
    """Insertions and deletions of rows that are there, in the order of their instants."""
    made: list[TableChange] = []
    there: list[dict[str, Any]] = []
    at = 0
    for _ in range(draw(st.integers(0, 7))):
        at += draw(st.integers(0, 3))
        if there and draw(st.booleans()):
            row = there.pop(draw(st.integers(0, len(there) - 1)))
            made.append(TableChange(at, row, insert=False))
        else:
            row = {"at": at, "k": draw(st.sampled_from(["a", "b"])), "w": draw(st.integers(0, 2))}
            there.append(row)
            made.append(TableChange(at, row))
    return made


def pushed(plan: Node, items: Timeline, history: list[TableChange], saves: frozenset[int]) -> list[dict[str, Any]]:
    """The history of a table between the rows of a stream; a deletion is a row with change -1 at its own instant."""
    query = open_plan(plan)
    found: list[dict[str, Any]] = []
    changes = [{**c.row, "at": c.at, "change": 1 if c.insert else -1} for c in history]
    for i, item in enumerate([*items, *(Arrival("t", row) for row in changes)]):
        if i in saves:
            saved = query.snapshot()
            query = open_plan(plan)
            query.restore(saved)
        found += query.push(item.stream, [item.item] if item.is_row else item.item).to_pylist()
    return found + query.finish().to_pylist()


@settings(max_examples=30, deadline=None)
@given(windows("s", TIME_WINDOWS), KINDS, histories(), timelines(("s",)), PLACES)
def test_deletions_from_a_table(window: Window, kind: SourceKind, history: list[TableChange], timeline: Timeline,
                                saves: frozenset[int]) -> None:
    names = {"k": pa.string(), "w": pa.int64(), "at": pa.int64()}
    below = Table("t", SourceSchema(names, time="at", kind=kind))
    plan: Node = TableJoin(Qualify(columns(window, "k", "v"), "s"), Qualify(columns(below, "k", "w"), "t"),
                           Scalar.parse("`s.k` = `t.k`"))
    assume(kind is SourceKind.RELATION or not comes_back(history, "k", "w"))
    known = [TableChange(c.at, {**c.row, "at": 0}, c.insert) for c in history]
    expected = Oracle(plan, timeline, tables={"t": known}).results()
    assert bag(pushed(plan, timeline, history, saves)) == bag(expected)


@settings(max_examples=20, deadline=None)
@given(windows("s", TIME_WINDOWS), histories(), timelines(("s",)))
def test_the_oracle_reads_deletions_among_rows(window: Window, history: list[TableChange], timeline: Timeline) -> None:
    below = Table("t", SourceSchema({"k": pa.string(), "w": pa.int64(), "at": pa.int64()}, time="at",
                                    kind=SourceKind.RELATION))
    plan = TableJoin(Qualify(window, "s"), Qualify(columns(below, "k", "w"), "t"), Scalar.parse("`s.k` = `t.k`"))
    rows = [Arrival("t", {**c.row, "at": c.at, "change": 1 if c.insert else -1}) for c in history]
    known = [TableChange(c.at, {**c.row, "at": 0}, c.insert) for c in history]
    assert bag(Oracle(plan, [*timeline, *rows]).results()) == bag(Oracle(plan, timeline, tables={"t": known}).results())


@pytest.mark.parametrize("engine", ["embedded", "oracle"])
@pytest.mark.parametrize(("retroactive", "left"), [(False, [1, 3]), (True, [])])
def test_a_column_change_deletes_rows_of_a_table(engine: str, retroactive: bool, left: list[int]) -> None:
    rows = [{"ts": ts, "k": "x"} for ts in (1, 3, 5)]
    changes = [{"ts": 0, "k": "x", "w": 1}, {"ts": 4, "k": "x", "w": 1, "change": -1}]
    told = pw.table(changes, time="ts", retroactive=retroactive)
    found = pw.sql("SELECT s.ts, n.w FROM s, n WHERE s.k = n.k", s=rows, n=told, time="ts", engine=engine)
    there = Counter[int]()
    for row in found:
        there[row["ts"]] += row.get("change", 1)
    assert sorted(there.elements()) == left


def comes_back(history: list[TableChange], *key: str) -> bool:
    """Whether a key that has left is there again after a later instant."""
    there, left = Counter[Any](), set[Any]()
    for _, changes in groupby(history, key=lambda change: change.at):
        for change in changes:
            there[tuple(change.row[c] for c in key)] += 1 if change.insert else -1
        if any(count > 0 and value in left for value, count in there.items()):
            return True
        left |= {value for value, count in there.items() if not count}
    return False


def quotes(kind: SourceKind) -> Query:
    below = Table("t", SourceSchema({"k": pa.string(), "at": pa.int64()}, time="at", kind=kind))
    return open_plan(TableJoin(Qualify(source(), "s"), Qualify(below, "t"), Scalar.parse("`s.k` = `t.k`")))


def test_a_deleted_key_of_an_nrr_may_not_come_back() -> None:
    query = quotes(SourceKind.NRR)
    query.push("t", [{"k": "X", "at": 0}, {"k": "X", "at": 2, "change": -1}, {"k": "X", "at": 5}])
    with pytest.raises(SchemaError, match="uses a key that was deleted at 2"):
        query.finish()


def test_only_what_is_there_can_be_deleted() -> None:
    query = quotes(SourceKind.RELATION)
    query.push("t", [{"k": "X", "at": 0}, {"k": "Y", "at": 2, "change": -1}])
    with pytest.raises(SchemaError, match="is deleted at 2, but it is not there"):
        query.finish()


def test_rows_beside_an_nrr_leave_also_where_ends_are_sent_as_negatives() -> None:
    plan = TableJoin(Qualify(window(source(), SlidingWindow.scoped(3)), "s"), table(SourceKind.NRR, timed=True),
                     Scalar.parse("`s.k` = `t.k`"))
    rows = [Arrival("t", {"at": 0, "k": "a", "w": 1}), Arrival("s", {"ts": 2, "k": "a", "v": 0})]
    kept = Distinct(columns(plan, "s.k", "t.w"))
    found = [run_relation(kept, rows, strategy=style)[0] for style in ("upa", "direct", "negative")]
    there = [Counter() for _ in found]
    for bag_of, told in zip(there, found, strict=True):
        for row in told:
            bag_of[row["valid_from"]] += row.get("change", 1)
            if row.get("expires_at") is not None:
                bag_of[row["expires_at"]] -= 1
    assert there == [{2: 1, 5: -1}] * 3
