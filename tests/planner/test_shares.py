"""Shares of conditions: one name for all forms of a condition, and what drifts from what a plan was costed with."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

from panewise.core.scalar import Scalar
from panewise.core.schema import Catalog
from panewise.dataflow import open_plan
from panewise.plan import nodes as n
from panewise.planner.choose.optimizer import optimize
from panewise.planner.cost.relation_flow import Flows
from panewise.planner.rewrites.closure import closure
from panewise.planner.statistics.collecting import Collector
from panewise.planner.statistics.condition_names import keys_of, taking_back_key
from panewise.planner.statistics.relation_sampling import measured_relations
from panewise.planner.statistics.relation_statistics import RelationStatistics, declared_relations
from panewise.planner.statistics.replan import drifts, propose_replan
from panewise.planner.statistics.watching import Watch
from panewise.progress.punctuation import Punctuation
from panewise.sql import parse

SCHEMA = pa.schema({"ts": pa.int64(), "a": pa.int64(), "b": pa.int64()})
CATALOG = Catalog.of(**dict.fromkeys(("S1", "S2", "S3"), SCHEMA))
JOIN = "SELECT * FROM S1 [RANGE 100], S2 [RANGE 100] WHERE S1.a = S2.a AND S1.b > 3"
NEGATION = f"{JOIN} AND NOT EXISTS (SELECT * FROM S3 [RANGE 100] WHERE S3.a = S1.a)"
RATES = {f"S{i}": {"rows_per_unit": 10, "a": 20} for i in (1, 2, 3)}


def known(**shares: dict[str, float]) -> RelationStatistics:
    return declared_relations({**RATES, **shares})


def sizes(text: str, statistics: RelationStatistics) -> list[float]:
    """What every plan of a query is said to hold at a time: the same relation."""
    found = optimize(parse(text, CATALOG), statistics)
    assert found.statistics is not None
    return [Flows(c.plan, found.statistics)[c.plan].size for c in found.candidates]


@pytest.mark.parametrize("condition", ["S1.b > 3", "`S1.b` > 3"])
def test_a_share_is_found_wherever_its_condition_goes(condition: str) -> None:
    rare = sizes(JOIN, known(passing={condition: 0.001}))
    assert len(rare) > 1
    assert rare == pytest.approx([rare[0]] * len(rare))
    assert rare[0] == pytest.approx(sizes(JOIN, known(passing={condition: 0.5}))[0] / 500)


@pytest.mark.parametrize(("text", "condition"), [
    ("SELECT * FROM S1 [RANGE 9] AS l, S2 [RANGE 9] AS r WHERE l.a = r.a AND l.b > 3", "l.b > 3"),
    ("SELECT * FROM S1 [RANGE 9] AS l, S2 [RANGE 9] AS r WHERE l.a = r.a AND l.b > 3 AND r.b < 5",
     "`l.b` > 3 AND `r.b` < 5"),
    ("SELECT d.c FROM (SELECT a, b + 1 AS c FROM S1 [RANGE 9]) AS d, S2 [RANGE 9] WHERE d.a = S2.a AND d.c > 4",
     "d.c > 4"),
    ("SELECT u.a FROM (SELECT a, b FROM S1 [RANGE 9] UNION ALL SELECT a, b FROM S2 [RANGE 9]) AS u WHERE u.b > 3",
     "b > 3"),
], ids=["alias", "two parts", "computed", "union"])
def test_so_it_is_by_aliases_in_computed_columns_and_below_unions(text: str, condition: str) -> None:
    found = sizes(text, known(passing={condition: 0.01}))
    assert found == pytest.approx([found[0]] * len(found))
    assert found[0] == pytest.approx(sizes(text, known(passing={condition: 0.1}))[0] / 10)


def test_conditions_of_two_streams_that_read_alike_have_two_shares() -> None:
    plan = parse("SELECT x.a FROM (SELECT a FROM S1 [RANGE 9] WHERE b > 3) AS x, "
                 "(SELECT a FROM S2 [RANGE 9] WHERE b > 3) AS y WHERE x.a = y.a", CATALOG)
    filters = [node for node in plan.walk() if isinstance(node, n.Filter)]
    assert [node.predicate.sql for node in filters] == ["b > 3", "b > 3"]
    assert [keys_of(node.predicate, node.input) for node in filters] == [("`S1.b` > 3",), ("`S2.b` > 3",)]
    rows = [pa.table({"ts": range(100), "a": [1] * 100, "b": [b] * 100}) for b in (1, 9)]
    found = measured_relations(plan, {"S1": rows[:1], "S2": rows[1:]})
    assert found.passing == {"`S1.b` > 3": 1e-6, "`S2.b` > 3": 1.0}


def test_every_plan_has_the_same_names() -> None:
    plan = parse(NEGATION, CATALOG)
    for found in closure(plan):
        filters = [node for node in found.plan.walk() if isinstance(node, n.Filter)]
        assert {key for node in filters for key in keys_of(node.predicate, node.input)} == {"`S1.b` > 3"}
        assert {taking_back_key(node) for node in found.plan.walk() if isinstance(node, n.AntiJoin)} == {
            "`S1.a` = `S3.a`"}


# -- drift ---------------------------------------------------------------------------------------------------------


def test_a_share_that_was_guessed_drifts() -> None:
    query = ("SELECT a, count(*) AS n FROM (SELECT DISTINCT a FROM S1 [RANGE 100] WHERE NOT EXISTS "
             "(SELECT * FROM S2 [RANGE 100] WHERE S2.a = S1.a)) AS alone GROUP BY a")
    plan, few = parse(query, CATALOG), declared_relations({"S1": {"rows_per_unit": 1, "a": 10_000},
                                                           "S2": {"rows_per_unit": 1, "a": 10_000}})
    watch = Watch(optimize(plan, few), period=100)
    watch.rows("S1", pa.table({"ts": range(100), "a": range(100), "b": [0] * 100}))
    watch.rows("S2", pa.table({"ts": range(100), "a": range(100), "b": [0] * 100}))
    watch.left("`S1.a` = `S2.a`", 99, 100)
    proposal = watch.proposal()
    assert proposal is not None
    assert "share that leaves early by `S1.a` = `S2.a`" in proposal.reason
    assert "every end is sent" in proposal.reason


def test_what_passes_is_compared_with_what_was_guessed() -> None:
    """A third of the rows was guessed; if nearly none pass, another input is the one to begin with."""
    text = ("SELECT S1.a FROM S1 [RANGE 100], S2 [RANGE 100], S3 [RANGE 100] "
            "WHERE S1.a = S2.a AND S2.a = S3.a AND S3.b > 3")
    written, as_guessed = parse(text, CATALOG), known(passing={"S3.b > 3": 0.34})
    running = optimize(written, known()).chosen.plan
    assert propose_replan(running, known(), as_guessed, written=written) is None
    proposal = propose_replan(running, known(), known(passing={"S3.b > 3": 0.0001}), written=written)
    assert proposal is not None
    assert "share that passes `S3.b` > 3 was 0.3333, is 0.0001" in proposal.reason


@pytest.mark.parametrize(("values", "drifted"), [(10_000, False), (300, True), (50, True)])
def test_few_rows_are_not_expected_to_have_all_values(values: int, drifted: bool) -> None:
    """Four hundred rows of ten thousand values have four hundred, or three hundred and ninety."""
    plan, random = parse(JOIN, CATALOG), Random(1)
    declared = declared_relations({"S1": {"rows_per_unit": 4, "a": 10_000}, "S2": {"rows_per_unit": 4, "a": 400}})
    collector = Collector(plan)
    for stream in ("S1", "S2"):
        domain = values if stream == "S1" else 400
        collector.rows(stream, pa.table({"ts": [i // 4 for i in range(400)],
                                         "a": [random.randrange(domain) for _ in range(400)], "b": [0] * 400}))
    now = collector.statistics().beside(declared)
    found = [drift.what for drift in drifts(declared, now)]
    assert found == (["values of S1.a"] if drifted else [])
    assert now.input("S2").values["a"] == 400


@pytest.mark.parametrize(("text", "name"), [
    ("SELECT a FROM S1 [RANGE 20] EXCEPT ALL SELECT a FROM S2 [RANGE 10]", "EXCEPT ALL S2"),
    ("SELECT a FROM S1 [RANGE 20] WHERE NOT EXISTS (SELECT * FROM S2 [RANGE 1])", "EXISTS S2"),
])
def test_negations_without_a_condition_are_measured(text: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    query, random = open_plan(parse(text, CATALOG), stats={"S1": {"rows_per_unit": 1}}), Random(5)
    assert query.relation.watch is not None
    watch, seen = query.relation.watch, []
    monkeypatch.setattr(watch, "period", 1)
    monkeypatch.setattr(watch, "proposal", lambda: seen.append(watch.statistics()))
    for start in range(0, 500, 100):
        for stream, count in (("S1", 80), ("S2", 20)):
            times = sorted(random.randrange(start, start + 100) for _ in range(count))
            query.push(stream, pa.table({"ts": times, "a": [random.randrange(3) for _ in times], "b": times}))
            query.push(stream, Punctuation.below("ts", start + 100))
    assert 0 < seen[-1].premature[name] < 1


def test_a_condition_that_is_unknown_is_named_as_it_reads() -> None:
    assert keys_of(Scalar.parse("n > 3")) == ("n > 3",)
