"""Retroactive tables as inputs of any operator: of EXISTS and EXCEPT ALL, in unions, grouped, alone."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import panewise as pw
from oracle.questions import Oracle
from panewise.core.errors import PlanError
from panewise.core.schema import SourceKind, SourceSchema
from panewise.plan.nodes import Lifetime, Node, Qualify, RelationToStream, Table, TableJoin
from panewise.plan.nodes import RelationToStreamKind as Kind
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Timeline
from relations.leaf_plans import relations
from relations.plans import PLACES, columns, source, timelines, windows
from relations.running import assert_like_the_oracle, bag, run_relation
from relations.test_random_plans import net
from relations.test_tables import histories
from spark.in_process_queries import Hosted

TABLES = ("t", "u")


def table(name: str, *, timed: bool) -> Node:
    schema = SourceSchema({"at": pa.int64(), "k": pa.string(), "v": pa.int64()}, "at" if timed else None,
                          SourceKind.RELATION)
    return columns(Table(name, schema), "k", "v")


@st.composite
def plans(draw: st.DrawFn, timed: bool) -> Node:
    """Any operators over a window and two tables."""
    leaves = st.one_of(windows("s").map(lambda w: columns(w, "k", "v")),
                       *(st.just(table(name, timed=timed)) for name in TABLES))
    return draw(relations(draw(st.integers(1, 3)), leaves=leaves, only=True))


@st.composite
def mixed(draw: st.DrawFn, timed: bool) -> Timeline:
    """Rows of the stream in any order between those of the tables, which come in theirs, with promises."""
    parts: list[Timeline] = [draw(timelines(("s",), rows=12, times=10))]
    for name in TABLES:
        if timed:
            part: Timeline = []
            for change in draw(histories()):
                sign = 1 if change.insert else -1
                row = {"at": change.at, "k": change.row["k"], "v": change.row["w"], "change": sign}
                part += [Arrival(name, row), Arrival(name, Punctuation.below("at", change.at))]
            parts.append(part)
        else:
            rows = draw(st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 3)), max_size=4))
            parts.append([Arrival(name, {"at": 0, "k": k, "v": v}) for k, v in rows])
    order = [number for number, part in enumerate(parts) for _ in part]
    draw(st.randoms(use_true_random=False)).shuffle(order)
    rest = [iter(part) for part in parts]
    return [next(rest[number]) for number in order]


CASES = st.booleans().flatmap(lambda timed: st.tuples(plans(timed), mixed(timed)))


@settings(max_examples=40, deadline=None)
@given(CASES, PLACES, PLACES)
def test_tables_anywhere_give_the_oracles_answer(case: tuple[Node, Timeline], cuts: frozenset[int],
                                                 saves: frozenset[int]) -> None:
    assert_like_the_oracle(*case, cuts, saves)


@settings(max_examples=30, deadline=None)
@given(CASES, st.sampled_from([Kind.ISTREAM, Kind.DSTREAM, Kind.RSTREAM]), PLACES, PLACES)
def test_tables_anywhere_below_a_stream_of_events(case: tuple[Node, Timeline], kind: Kind, cuts: frozenset[int],
                                                  saves: frozenset[int]) -> None:
    plan, timeline = case
    assert_like_the_oracle(RelationToStream(plan, kind), timeline, cuts, saves)


@settings(max_examples=20, deadline=None)
@given(CASES, PLACES, st.sampled_from(["direct", "negative"]))
def test_all_styles_agree_on_tables(case: tuple[Node, Timeline], cuts: frozenset[int], style: str) -> None:
    assert net(run_relation(*case, cuts, style=style)[0]) == net(run_relation(*case)[0])


@settings(max_examples=60, deadline=None)
@given(CASES, PLACES, st.integers(1, 3), st.integers(0, 9))
def test_shards_count_every_row_of_a_table_once(case: tuple[Node, Timeline], cuts: frozenset[int], shards: int,
                                                seed: int) -> None:
    plan, timeline = case
    assert bag(Hosted(plan, shards, seed=seed).run(timeline, cuts)) == bag(Oracle(plan, timeline).results())


def readings() -> list[dict[str, Any]]:
    return [{"ts": datetime(2026, 1, 1, 0, minute, tzinfo=UTC), "k": k} for minute, k in ((1, "x"), (2, "y"), (6, "x"))]


@pytest.mark.parametrize("engine", ["oracle", "embedded"])
def test_rows_of_a_table_without_time_were_always_there(engine: str) -> None:
    silent = ("SELECT id FROM stations WHERE NOT EXISTS "
              "(SELECT * FROM readings [RANGE 3 min] WHERE readings.k = stations.id)")
    stations = pw.table([{"id": "x"}, {"id": "z"}], retroactive=True)
    found = pw.sql(silent, readings=readings(), stations=stations, engine=engine)
    told = [(row["id"], row["valid_from"] and row["valid_from"].minute, row["change"]) for row in found]
    assert sorted(told, key=repr) == [("x", 1, -1), ("x", 4, 1), ("x", 6, -1), ("x", 9, 1), ("x", None, 1),
                                      ("z", None, 1)]


@pytest.mark.parametrize("engine", ["oracle", "embedded"])
def test_a_table_alone_is_told_in_its_own_time(engine: str) -> None:
    rows = [{"ts": datetime(2026, 1, 1, tzinfo=UTC), "k": "x"}]
    found = list(pw.sql("SELECT k, count(*) AS n FROM t GROUP BY k",
                        t=pw.table(rows, time="ts", retroactive=True), engine=engine))
    assert [(row["k"], row["n"], row["valid_from"].year) for row in found] == [("x", 1, 2026)]


@pytest.mark.parametrize("engine", ["oracle", "embedded"])
def test_a_table_of_later_rows_alone_is_refused(engine: str) -> None:
    with pytest.raises(PlanError, match="no rows arrive at the result"):
        pw.sql("SELECT k FROM t", t=pw.table([{"k": "x"}]), engine=engine)


def test_a_lifetime_is_counted_from_the_first_row_of_a_stream_and_not_of_a_table() -> None:
    below = Qualify(table("t", timed=True), "t")
    plan = Lifetime(TableJoin(Qualify(source("s"), "s"), below, None), 4)
    rows = [Arrival("t", {"at": 0, "k": "a", "v": 1})]
    rows += [Arrival("s", {"ts": ts, "k": "b", "v": 0}) for ts in (3, 5, 8)]
    assert_like_the_oracle(plan, rows)
    assert sorted(row["s.ts"] for row in run_relation(plan, rows)[0]) == [3, 5]
