"""INTERNAL windows keep their results; what operators keep is the state of external windows, and costs as much."""

from __future__ import annotations

import pyarrow as pa
import pytest

from panewise.core.schema import Catalog
from panewise.dataflow import open_plan
from panewise.kernels.relations.stores.alive import AliveRows
from panewise.kernels.relations.stores.queues import Fifo
from panewise.plan import nodes as n
from panewise.planner.choose.optimizer import optimize
from panewise.planner.choose.physical import relation_plan
from panewise.planner.cost.relation_flow import Flows
from panewise.planner.explain.physical_text import relation_notes
from panewise.planner.statistics.relation_statistics import declared_relations
from panewise.sql import parse

SCHEMA = pa.schema({"ts": pa.int64(), "a": pa.int64()})
CATALOG = Catalog.of(S1=SCHEMA, S2=SCHEMA)
KNOWN = declared_relations({s: {"rows_per_unit": 10, "a": 10} for s in ("S1", "S2")})
QUERIES = {
    "join": "SELECT * FROM S1 [RANGE 100{0}], S2 [RANGE 100{0}] WHERE S1.a = S2.a",
    "join beside": "SELECT * FROM S1 [RANGE 100{0}], S2 [RANGE 100] WHERE S1.a = S2.a",
    "groups": "SELECT a, count(*) AS n FROM S1 [RANGE 100{0}] GROUP BY a",
    "exists": "SELECT a FROM S1 [RANGE 100{0}] WHERE EXISTS (SELECT * FROM S2 [RANGE 100{0}] WHERE S2.a = S1.a)",
}


def plan(name: str, internal: bool) -> n.Node:
    return parse(QUERIES[name].format(" INTERNAL" if internal else ""), CATALOG)


@pytest.mark.parametrize("name", QUERIES)
def test_what_is_kept_below_results_that_stay_is_what_external_windows_keep(name: str) -> None:
    inside, outside = (relation_plan(plan(name, internal)) for internal in (True, False))
    windows = {"WindowJoin", "GroupAggregate", "Existence"}
    kept = [(node.path, state.structure) for node in inside.walk() if node.kernel in windows for state in node.keeps]
    assert kept
    assert kept == [(node.path, state.structure) for node in outside.walk() if node.kernel in windows
                    for state in node.keeps]


@pytest.mark.parametrize("name", QUERIES)
def test_windows_have_the_rows_of_external_ones_and_only_results_grow(name: str) -> None:
    written = plan(name, internal=True)
    flows = Flows(written, KNOWN)
    windows = [node for node in written.walk() if isinstance(node, n.Window)]
    assert {flows[window].size for window in windows} == {1000}
    assert all(flows[window].leaves for window in windows)
    assert flows[written].leaves is (name == "join beside")


@pytest.mark.parametrize("name", QUERIES)
def test_it_costs_what_external_windows_cost_or_less(name: str) -> None:
    inside, outside = (optimize(plan(name, internal), KNOWN).chosen.cost for internal in (True, False))
    assert 0.5 * outside.total < inside.total <= outside.total
    assert inside.rows <= outside.rows


def test_explain_says_that_rows_leave() -> None:
    found = relation_notes(optimize(plan("join", internal=True), KNOWN).chosen.physical)
    notes = {text for lines in found.values() for name, text in lines if name == "kept as"}
    assert notes == {"chains by key (rows leave in the order they came)"}


def test_so_they_do() -> None:
    """The aggregate over an internal window has a queue of rows, and they leave it."""
    query = open_plan(plan("groups", internal=True), late="drop")  # late rows would leave out of order
    for at in range(0, 1000, 100):
        query.push("S1", [{"ts": at + i, "a": 1} for i in range(100)])
    query.finish()
    stores = [part for stage in query.relation.root.walk()  # type: ignore[attr-defined]
              for contents in vars(stage.operator).values() for part in getattr(contents, "__dict__", {}).values()
              if isinstance(part, AliveRows)]
    assert [type(store.queue) for store in stores] == [Fifo]
