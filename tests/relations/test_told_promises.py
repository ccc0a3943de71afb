"""What results promise of those to come: instants, slabs and boxes, kept whatever comes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.core.schema import Catalog, SourceSchema
from panewise.dataflow import open_plan
from panewise.plan.nodes import Distinct, GroupAggregate, Lifetime, Node, Qualify, RelationToStream
from panewise.plan.nodes import RelationToStreamKind as Kind
from panewise.planner.facts.result_forms import VALID_FROM
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Timeline
from panewise.sql import parse
from relations.pair_plans import STREAMS, joins, pair_windows
from relations.plans import PLACES, timelines
from relations.test_closed_groups import grouped

CATALOG = Catalog({name: SourceSchema({"ts": pa.int64(), "k": pa.int64()}, time="ts") for name in ("S0", "S1")})
BAND = "FROM S0 [WA ts, RANGE 2], S1 [WA ts, RANGE 2] WHERE S0.k = S1.k"


def of_pairs(join: Node) -> list[Node]:
    return [join, Distinct(join), RelationToStream(join, Kind.ISTREAM), Lifetime(join, 6), Qualify(join, "p")]


RELATIONS = grouped() | pair_windows() | joins().flatmap(lambda join: st.sampled_from(of_pairs(join)))


def told(plan: Node, items: Timeline, saves: frozenset[int]) -> list[Punctuation]:
    """All promises, each checked against every result that comes after it.

    A result of a late row may lie below a bound on its times, as the row does; never before an instant that was told,
    nor in a group, or among values, of which that says that they are over.
    """
    promises: list[Punctuation] = []

    def check(rows: list[dict[str, Any]], before: list[Punctuation]) -> None:
        for row in rows:
            broken = [p for p in before if all(row.get(name) is not None and pattern.matches(row[name])
                                               for name, pattern in p.patterns)]
            if query.late_count and not isinstance(plan, GroupAggregate | Distinct):
                broken = [p for p in broken if VALID_FROM in p.attributes]
            assert not broken, (row, list(map(str, broken)))

    def opened() -> Any:
        query = open_plan(plan)
        query.on_punctuation(promises.append)  # type: ignore[union-attr]
        return query

    query = opened()
    for place, arrival in enumerate(items):
        if arrival.stream not in query.streams:
            continue
        before = [*promises, *query.promises()]
        item = arrival.item if isinstance(arrival.item, Punctuation) else [arrival.item]
        check(query.push(arrival.stream, item).to_pylist(), before)
        if place in saves:
            saved, query = query.snapshot(), opened()
            query.restore(saved)
    before = [*promises, *query.promises()]
    check(query.finish().to_pylist(), before)
    assert [str(p) for p in query.promises()] == [str(Punctuation())]
    return promises


@settings(max_examples=80, deadline=None)
@given(RELATIONS, timelines(STREAMS, rows=24, times=12), PLACES)
def test_no_result_comes_that_was_promised_not_to(plan: Node, items: Timeline, saves: frozenset[int]) -> None:
    told(plan, items, saves)


@pytest.mark.parametrize(("text", "promises"), [
    (f"SELECT DISTINCT S0.ts, S0.k {BAND}", ["(valid_from < 10)", "(ts < 8)"]),
    (f"SELECT S0.ts AS one, S1.ts AS other, count(*) AS n {BAND} GROUP BY S0.ts, S1.ts",
     ["(valid_from < 10)", "(one < 8)", "(other < 8)", "(one < 10, other < 10)"]),
    (f"SELECT other, n FROM (SELECT S0.ts AS one, S1.ts AS other, count(*) AS n {BAND} GROUP BY S0.ts, S1.ts) AS p",
     ["(valid_from < 10)", "(other < 8)"]),
    (f"SELECT S0.k, count(*) AS n {BAND} GROUP BY S0.k", ["(valid_from < 10)"]),
    ("SELECT ts, count(*) AS n FROM S0 GROUP BY ts", ["(valid_from < 10)", "(ts < 10)"]),
    ("SELECT k FROM S0 [RANGE 3]", ["(valid_from < 10)"]),
])
def test_instants_slabs_and_boxes(text: str, promises: list[str]) -> None:
    query = open_plan(parse(text, CATALOG))
    found: list[str] = []
    query.on_punctuation(lambda p: found.append(str(p)))  # type: ignore[union-attr]
    for stream in query.streams:
        query.push(stream, Punctuation.below("ts", 10))
    assert found == promises
    for stream in query.streams:
        query.push(stream, Punctuation.below("ts", 10))
    assert found == promises  # nothing is said twice
