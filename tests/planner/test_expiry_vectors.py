"""The expiry vector of an edge: a time component, and an order component for every input that takes rows back."""

from __future__ import annotations

import pyarrow as pa
import pytest

from panewise.core.schema import Catalog, SourceKind, SourceSchema
from panewise.plan.physical import Departures
from panewise.planner.choose.physical import relation_plan
from panewise.planner.facts.expiry_vectors import vector_of
from panewise.planner.facts.labels import label
from panewise.sql import parse

COLUMNS = {"ts": pa.int64(), "k": pa.string(), "v": pa.int64()}
CATALOG = Catalog({**{name: SourceSchema(dict(COLUMNS), time="ts") for name in "abc"},
                   "limits": SourceSchema(dict(COLUMNS), time="ts", kind=SourceKind.RELATION),
                   "names": SourceSchema({"k": pa.string(), "name": pa.string()}, kind=SourceKind.NRR)})


@pytest.mark.parametrize(("first", "relation", "expected"), [
    ("a", "a [RANGE 10], b [RANGE 4] WHERE a.k = b.k", "{time: 4}"),
    ("a", "a [ROWS 10], b [ROWS 1] WHERE a.k = b.k", "{a: 10 rows, b: 1 row}"),
    ("a", "a [RANGE 10], b [ROWS 100] WHERE a.k = b.k", "{time: 10, b: 100 rows}"),
    ("x", "a [RANGE 10] AS x, b [PARTITION BY k, v ROWS 5] AS y WHERE x.k = y.k", "{time: 10, y by k, v: 5 rows}"),
    ("a", "a [UNBOUNDED START AT 3], b [ROWS 7] WHERE a.k = b.k", "{b: 7 rows}"),
    ("a", "a, b [ROWS 7] WHERE a.k = b.k", "{b: 7 rows}"),
    ("a", "a [RANGE 6 SLIDE 4], b [RANGE 3], c [ROWS 9] WHERE a.k = b.k AND b.v = c.v", "{time: known, c: 9 rows}"),
    ("a", "a [ROWS 4 SLIDE 3], b [RANGE 5] WHERE a.k = b.k", "{time: 5, a: 4 rows}"),
    ("a", "a [RANGE 9], limits WHERE a.k = limits.k", "{time: 9, limits: until it changes}"),
    ("a", "a [RANGE 9], names WHERE a.k = names.k", "{time: 9}"),
    ("n", "(SELECT k, v FROM a [RANGE 8] WHERE NOT EXISTS (SELECT * FROM b [RANGE 5] WHERE b.k = a.k)) AS n, "
     "c [ROWS 2] WHERE n.k = c.k", "{time: known, rows of AntiJoin: until taken back, c: 2 rows}"),
    ("g", "(SELECT k, count(*) AS v FROM a [RANGE 8] GROUP BY k) AS g, c [ROWS 2] WHERE g.k = c.k",
     "{rows of GroupAggregate: until replaced, c: 2 rows}"),
])
def test_it_has_a_component_for_every_way_a_row_can_leave(first: str, relation: str, expected: str) -> None:
    plan = parse(f"SELECT {first}.k FROM {relation}", CATALOG)
    assert str(vector_of(plan, label(plan))) == expected


def test_rows_of_a_union_have_the_components_of_its_parts() -> None:
    plan = parse("SELECT k FROM a [RANGE 5] UNION ALL SELECT k FROM b [ROWS 3]", CATALOG)
    assert str(vector_of(plan, label(plan))) == "{time: 5, b: 3 rows}"


def test_what_stays_has_no_component() -> None:
    plan = parse("SELECT a.k FROM a [RANGE 5 INTERNAL], b [ROWS 3 INTERNAL] WHERE a.k = b.k", CATALOG)
    assert str(vector_of(plan, label(plan))) == "{}"


def test_whoever_reads_no_vectors_is_sent_ends() -> None:
    text = "SELECT a.k FROM a [RANGE 5], b [ROWS 5] WHERE a.k = b.k"
    for query, told in ((f"{text} LIFETIME 100", Departures.EARLY), (text, Departures.NAMED),
                        (f"SELECT count(*) AS n FROM ({text})", Departures.VECTORS)):
        made = next(node for node in relation_plan(parse(query, CATALOG)).walk() if node.kernel == "WindowJoin")
        assert made.departures is told
