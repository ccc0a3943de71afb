"""What explain says is kept is what the kernels have: every store of a running query by its name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pyarrow as pa
import pytest

import panewise as pw
from panewise.api.explaining import explain_streams
from panewise.core.schema import Catalog, SourceSchema
from panewise.engines.embedded import open_plan
from panewise.kernels.relations.changes import NetChanges
from panewise.kernels.relations.distinct import DistinctByCount, DistinctByEnd
from panewise.kernels.relations.existence import Existence, ExistenceOfPairs
from panewise.kernels.relations.group_contents import GroupContents, KeptRows, OnlyStates
from panewise.kernels.relations.join import WindowJoin
from panewise.kernels.relations.newest_row import DistinctByNewest
from panewise.kernels.relations.stores.alive import AliveRows
from panewise.kernels.relations.stores.codes import LeavingCodes
from panewise.kernels.relations.stores.queues import Calendar, ExpiryQueue, Fifo, Scanned, Unqueued
from panewise.plan.nodes import AntiJoin
from panewise.planner.physical import physical
from panewise.planner.relation_flow import Flows
from panewise.planner.relation_statistics import declared_relations
from panewise.planner.structures import Negatives, announced, choose_structures, result_path
from panewise.queries.relations import RelationQuery
from panewise.sql import parse

CATALOG = Catalog({name: SourceSchema({"ts": pa.int64(), "k": pa.string(), "v": pa.int64()}, time="ts")
                   for name in ("a", "b")})
Style = Literal["upa", "negative", "direct"]
NAMES: dict[type[ExpiryQueue], set[str]] = {
    Fifo: {"queue", "list that only grows"}, Calendar: {"calendar queue", "rows by number"},
    Scanned: {"list in order of arrival", "list that only grows"}, Unqueued: {"rows by number", "list that only grows"}}
"""The words for a queue. A calendar stays empty where no row says when it leaves: rows are then found by number."""

QUERIES = {
    "aggregate": ("SELECT k, count(*) AS n FROM a [RANGE 5] GROUP BY k", (0,)),
    "largest": ("SELECT max(v) AS top FROM a [RANGE 5]", (0,)),
    "aggregate of a join": (
        "SELECT a.k, count(*) AS n FROM a [RANGE 5], b [RANGE 9] WHERE a.k = b.k GROUP BY a.k", (0,)),
    "aggregate of a count window": ("SELECT k, count(*) AS n FROM a [ROWS 5] GROUP BY k", (0,)),
    "exists": ("SELECT k FROM a [RANGE 5] WHERE EXISTS (SELECT * FROM b [RANGE 5] WHERE b.k = a.k)", (0, 1)),
    "except": ("SELECT k FROM a [RANGE 5] EXCEPT ALL SELECT k FROM b [RANGE 5]", (1,)),
    "counted values": ("SELECT DISTINCT k FROM a [ROWS 5]", (0,)),
}


def stores(query: Any) -> Iterator[AliveRows | LeavingCodes]:
    for stage in query._root.walk():
        parts = list(vars(stage.operator).values())
        parts += [part for inside in parts if isinstance(inside, GroupContents | NetChanges)
                  for part in vars(inside).values()]
        yield from (part for part in parts if isinstance(part, AliveRows | LeavingCodes))


@pytest.mark.parametrize(("name", "style"), [
    (name, style) for name in QUERIES for style in ("upa", "negative", "direct")
    if style != "direct" or "ROWS" not in QUERIES[name][0]])  # rows that leave by arrivals have no direct style
def test_the_queue_of_an_edge_is_the_one_explain_names(name: str, style: Style) -> None:
    text, path = QUERIES[name]
    plan = parse(text, CATALOG)
    edge = choose_structures(plan, style=style).edge(path)
    assert edge is not None
    (store,) = stores(open_plan(plan, strategy=style))
    assert edge.held.rpartition(", ")[2] in NAMES[type(store.queue)], edge.held


@pytest.mark.parametrize("style", ["upa", "negative", "direct"])
@pytest.mark.parametrize("text", [
    "SELECT max(v) AS top FROM a", "SELECT k, count(*) AS n FROM a GROUP BY k",
    "SELECT k, median(v) AS m FROM a [UNBOUNDED START AT 3] GROUP BY k",
    "SELECT sum(v) AS s FROM (SELECT v FROM a UNION ALL SELECT v FROM b)",
])
def test_an_aggregate_over_rows_that_never_leave_keeps_no_row(text: str, style: Style) -> None:
    plan = parse(text, CATALOG)
    edge = choose_structures(plan, style=style).edge((0,))
    assert edge is not None
    assert edge.held == "a state per group"
    query: Any = open_plan(plan, strategy=style)
    assert not list(stores(query))
    (contents,) = (part for stage in query._root.walk() for part in vars(stage.operator).values()
                   if isinstance(part, GroupContents))
    assert isinstance(contents, OnlyStates)


@pytest.mark.parametrize(("aggregate", "blocks"), [
    ("count(*)", False), ("sum(v)", False), ("avg(v)", False), ("sum(v / 2e0)", True), ("max(v)", True),
    ("last(v)", True), ("median(v)", True), ("stddev(v)", False),
    ("stddev(v / 2e0)", True)])
@pytest.mark.parametrize("below", ["a [RANGE 5]", "(SELECT a.v FROM a [RANGE 5], b [RANGE 9] WHERE a.k = b.k)"])
def test_blocks_are_kept_where_states_cannot_be_subtracted(aggregate: str, blocks: bool, below: str) -> None:
    plan = parse(f"SELECT {aggregate} AS x FROM {below}", CATALOG)
    edge = choose_structures(plan).edge((0,))
    assert edge is not None
    assert edge.held.startswith("blocks by group, ") is blocks
    query: Any = open_plan(plan)
    (contents,) = (part for stage in query._root.walk() for part in vars(stage.operator).values()
                   if isinstance(part, GroupContents))
    assert isinstance(contents, KeptRows)
    assert (contents.blocks is not None) is blocks


@pytest.mark.parametrize(("text", "path", "kernel", "held"), [
    ("SELECT DISTINCT k FROM a [RANGE 5]", (0,), DistinctByEnd, "a row and a spare one per value, calendar queue"),
    ("SELECT DISTINCT RECENT k FROM a [RANGE 6 SLIDE 4]", (0,), DistinctByNewest, "an end per value, calendar queue"),
    ("SELECT DISTINCT RECENT k FROM a [RANGE 6]", (0,), DistinctByNewest, None),
    ("SELECT DISTINCT RECENT k FROM a [ROWS 6]", (0,), DistinctByCount, "rows by number"),
    ("SELECT k FROM a [RANGE 5] WHERE EXISTS (SELECT * FROM b [RANGE 5] WHERE b.k = a.k)", (0, 0), Existence,
     "chains by key"),
    ("SELECT k FROM a [RANGE 5] WHERE EXISTS (SELECT * FROM b [RANGE 5] WHERE b.v < a.v)", (0, 1), ExistenceOfPairs,
     "chains by key"),
], ids=["delta*", "last end", "law 4", "counters", "exists", "exists by pairs"])
def test_kernels_and_their_state_go_together(text: str, path: tuple[int, ...], kernel: type, held: str | None) -> None:
    plan = parse(text, CATALOG)
    query: Any = open_plan(plan)
    assert any(isinstance(stage.operator, kernel) for stage in query._root.walk())
    edge = choose_structures(plan).edge(path)
    assert (None if edge is None else edge.held) == held


@pytest.mark.parametrize(("text", "held"), [
    ("SELECT * FROM a [RANGE 5]", "not kept"), ("SELECT DISTINCT k FROM a [RANGE 5]", "not kept"),
    ("SELECT DISTINCT RECENT k FROM a [RANGE 5]", "rows by number"),
    ("SELECT k FROM a [RANGE 5] EXCEPT ALL SELECT k FROM b [RANGE 5]", "calendar queue"),
    ("SELECT * FROM a [ROWS 5], b [RANGE 5] WHERE a.k = b.k AND a.v < b.v", "not kept"),
    ("SELECT a.v + b.v AS w FROM a [ROWS 5], b [ROWS 5] WHERE a.k = b.k", "not kept"),
    ("SELECT a.k, count(*) AS n FROM a [ROWS 5], b [ROWS 5] WHERE a.k = b.k GROUP BY a.k", "rows by number"),
    ("SELECT a.k FROM a [ROWS 5], b [ROWS 5] WHERE a.k = b.k LIFETIME 100", "rows by number"),
    ("SELECT k FROM a [RANGE 5] WHERE NOT EXISTS (SELECT * FROM b [RANGE 5] WHERE b.k = a.k)", "not kept"),
    ("SELECT k FROM a [ROWS 5] WHERE EXISTS (SELECT * FROM b [RANGE 5] WHERE b.k = a.k) AND v > 1", "not kept"),
    ("SELECT k FROM a [RANGE 5] WHERE NOT EXISTS (SELECT * FROM b [RANGE 5] WHERE b.v < a.v)", "calendar queue"),
    ("SELECT Wstream(*) [RANGE 9] FROM a [RANGE 5], b [RANGE 5] WHERE a.k = b.k", "not kept"),
    ("SELECT Wstream(*) [ROWS 9] FROM a [RANGE 5], b [RANGE 5] WHERE a.k = b.k", "rows by number"),
])
def test_results_that_say_when_they_leave_are_not_kept(text: str, held: str) -> None:
    plan = parse(text, CATALOG)
    query: Any = open_plan(plan)
    edge = choose_structures(plan).edge(result_path(plan))
    assert edge is not None
    assert edge.held == held
    assert ("rows" in query._results.counters()) is (held != "not kept")


def test_pairs_above_announced_ends_are_named_all_the_same() -> None:
    plan = parse("SELECT n.k FROM (SELECT * FROM a [RANGE 5] WHERE NOT EXISTS (SELECT * FROM b [RANGE 5] "
                 "WHERE b.k = a.k)) AS n, b [RANGE 9] AS m WHERE n.k = m.k", CATALOG)
    negation = next(node for node in plan.walk() if isinstance(node, AntiJoin))
    known = declared_relations({"a": {"rows_per_second": 10}, "b": {"rows_per_second": 10},
                                "premature": {str(negation.predicate): 0.999}})
    structures = choose_structures(plan, flows=Flows(plan, known))
    assert announced(structures), "nearly all results of the negation leave early"
    edge = structures.edge(())
    assert edge is not None
    assert edge.held == "not kept"
    query: Any = RelationQuery(plan, decided=physical(plan, known))
    assert "rows" not in query._results.counters()


@pytest.mark.parametrize(("windows", "held"), [
    ("a [ROWS 5], b [ROWS 5]", "catalogues of a, b"), ("a [RANGE 5], b [RANGE 5]", "not kept"),
    ("a [RANGE 5], b [PARTITION BY v ROWS 5]", "calendar queue by time, catalogue of b by v")])
def test_of_windows_joined_at_once_nobody_names_who_leaves(windows: str, held: str) -> None:
    plan = parse(f"SELECT a.k FROM {windows} WHERE a.k = b.k", CATALOG)
    query: Any = open_plan(plan, joins="at once")
    assert ("rows" in query._results.counters()) is (held != "not kept")
    _, _, shown = explain_streams(plan, joins="at once").partition("as it runs")
    assert f"result    {held} (" in shown


def catalogues(query: Any) -> Iterator[int]:
    """How many order components every store of a running query has catalogues for, where there are any."""
    kept = [*(part._catalogues for part in stores(query)),
            *(side._catalogues for stage in query._root.walk() if isinstance(stage.operator, WindowJoin)
              for side in (stage.operator._pairing.left, stage.operator._pairing.right))]
    yield from (len(found) for found in kept if len(found))


TIME, COUNT, PER_V = "[RANGE 5]", "[ROWS 5]", "[PARTITION BY v ROWS 5]"


@pytest.mark.parametrize(("one", "other", "held"), [
    (COUNT, COUNT, "catalogues of a, b"), (TIME, COUNT, "calendar queue by time, catalogue of b"),
    (PER_V, PER_V, "catalogues of a by v, b by v"), (PER_V, TIME, "calendar queue by time, catalogue of a by v"),
    ("[UNBOUNDED]", COUNT, "catalogue of b")])
@pytest.mark.parametrize("consumer", [
    "SELECT k, count(*) AS n FROM ({}) AS p GROUP BY k", "SELECT DISTINCT k FROM ({})", "SELECT Istream(k) FROM ({})"])
def test_every_component_of_an_expiry_vector_has_the_structure_that_explain_names(one: str, other: str, held: str,
                                                                                 consumer: str) -> None:
    plan = parse(consumer.format(f"SELECT a.k FROM a {one}, b {other} WHERE a.k = b.k"), CATALOG)
    edge = next(edge for edge in choose_structures(plan).edges if edge.held == held)
    assert edge.negatives is Negatives.NONE
    query: Any = open_plan(plan)
    for name in "ab":
        query.push(name, pa.table({"ts": [1], "k": ["x"], "v": [1]}))
    query.push("a", pw.Punctuation.below("ts", 3))
    query.push("b", pw.Punctuation.below("ts", 3))
    assert list(catalogues(query)) == [2 - [one, other].count(TIME) - [one, other].count("[UNBOUNDED]")]


def test_a_join_above_a_mixed_join_has_a_catalogue_for_each_of_its_windows_by_rows() -> None:
    catalog = Catalog({**CATALOG.sources, "c": CATALOG.sources["a"]})
    plan = parse("SELECT a.k FROM a [ROWS 5], b [RANGE 5], c [ROWS 9] WHERE a.k = b.k AND b.v = c.v", catalog)
    held = {edge.held for edge in choose_structures(plan).edges}
    assert held == {"not kept", "chains by key", "chains by key, catalogue of a"}


@pytest.mark.parametrize("style", ["negative", "direct"])
def test_other_styles_send_ends(style: Style) -> None:
    plan = parse("SELECT a.k, count(*) AS n FROM a [RANGE 5], b [ROWS 5] WHERE a.k = b.k GROUP BY a.k", CATALOG)
    edge = choose_structures(plan, style=style).edge((0,))
    assert edge is not None
    assert (edge.held, edge.negatives) == ("rows by number", Negatives.ALL)


@pytest.mark.parametrize(("strategy", "runs"), [
    ("auto", "delta*"), ("negative", "counters"), ("direct", "search")])
def test_explain_speaks_of_the_style_that_was_asked_for(strategy: str, runs: str) -> None:
    assert f"runs      {runs}" in pw.explain("SELECT DISTINCT k FROM a [RANGE 5]", strategy=strategy)
