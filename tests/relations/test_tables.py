"""Windows and streams beside tables: with the table as it is, or as it was before each row."""

from __future__ import annotations

from random import Random

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.core.scalar import Scalar
from panewise.core.schema import SourceKind, SourceSchema
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
from panewise.progress.timeline import Arrival, Timeline
from relations.plans import PLACES, TIME_WINDOWS, columns, source, timelines, windows
from relations.running import assert_like_the_oracle
from relations.test_group_aggregates import call


def table(kind: SourceKind, *, timed: bool) -> Qualify:
    names = {"at": pa.int64(), "k": pa.string(), "w": pa.int64()}
    return Qualify(Table("t", SourceSchema(names, time="at" if timed else None, kind=kind)), "t")


TABLE_ROWS = st.lists(st.builds(lambda at, k, w: Arrival("t", {"at": at, "k": k, "w": w}), st.integers(-2, 14),
                                st.sampled_from(["a", "b", None]), st.integers(0, 3)), max_size=5)
KINDS = st.sampled_from([SourceKind.NRR, SourceKind.RELATION])
PREDICATES = st.sampled_from(["`s.k` = `t.k`", "`s.k` = `t.k` AND `s.v` >= `t.w`", "`s.v` < `t.w`"])


@settings(max_examples=120, deadline=None)
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


@settings(max_examples=60, deadline=None)
@given(KINDS, st.booleans(), PREDICATES, timelines(("s",)), TABLE_ROWS, st.randoms(use_true_random=False), PLACES,
       PLACES)
def test_a_stream_beside_a_table(kind: SourceKind, timed: bool, predicate: str, timeline: Timeline, rows: Timeline,
                                 random: Random, cuts: frozenset[int], saves: frozenset[int]) -> None:
    plan = TableJoin(Qualify(source("s"), "s"), table(kind, timed=timed), Scalar.parse(predicate))
    mixed = [*timeline, *rows]
    random.shuffle(mixed)
    assert_like_the_oracle(plan, mixed, cuts, saves)
