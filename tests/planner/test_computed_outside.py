"""Which side computes what of a plan that Spark hosts: before the shuffle, inside the shards, over the results."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from panewise.core.scalar import Scalar
from panewise.core.schema import Catalog, SourceSchema
from panewise.dataflow import open_plan
from panewise.functions.binding.evaluation import evaluate, type_of
from panewise.planner.choose.computed_outside import Divided, divided, scalars_of
from panewise.planner.statistics.condition_names import keys_of
from panewise.sql import parse

COLUMNS = {"ts": pa.int64(), "k": pa.string(), "v": pa.int64(), "d": pa.date32()}
CATALOG = Catalog({name: SourceSchema(dict(COLUMNS), time="ts") for name in "ab"})


def split(text: str, *, behind: bool = True) -> Divided:
    return divided(parse(text, CATALOG), types, behind=behind)


def types(name: str, scalars: Sequence[Scalar]) -> list[pa.DataType]:
    """As Spark would say; of what only Spark knows, text."""
    found = []
    for scalar in scalars:
        try:
            found.append(type_of(scalar, pa.schema(COLUMNS)))
        except Exception:
            found.append(pa.string())
    return found


def before(found: Divided) -> dict[str, list[str]]:
    return {name: [str(s) for s in made.values()] for name, made in found.before.items() if made}


def test_a_projection_of_a_window_is_computed_over_the_results() -> None:
    found = split("SELECT dayofweek(d) AS day FROM a [RANGE 5]")
    assert [str(s) for s in found.results] == ["DAYOFWEEK(d)"]
    assert not found.inside
    assert not before(found)
    assert open_plan(found.plan).nothing().column_names == ["__pw_r0", "valid_from", "expires_at"]


def test_where_is_a_column_and_rows_are_still_dropped_inside() -> None:
    found = split("SELECT k FROM a [RANGE 5] WHERE v % 2 = 0")
    assert before(found) == {"a": ["v % 2 = 0"]}
    assert not found.inside
    assert [str(s) for node in found.plan.walk() for s in scalars_of(node) if "__pw_e" in str(s)] == ["__pw_e0"]


def test_keys_and_arguments_ask_for_the_condition_below_them_where_they_could_fail() -> None:
    found = split("SELECT upper(k) AS u, sum(10 / v) AS s FROM a [RANGE 5] WHERE v > 0 GROUP BY upper(k)")
    assert before(found) == {"a": ["v > 0", "UPPER(k)", "CASE WHEN v > 0 THEN 10 / v END"]}
    assert not found.inside


def test_of_a_join_each_side_computes_what_is_its_own() -> None:
    found = split("SELECT a.k FROM a [RANGE 5], b [RANGE 4] "
                  "WHERE a.v + 1 = b.v * 2 AND a.v + b.v > 3 AND a.k LIKE 'x%'")
    assert before(found) == {"a": ["k LIKE 'x%'", "CASE WHEN k LIKE 'x%' THEN v + 1 END"], "b": ["v * 2"]}
    assert [(str(i.scalar), i.why) for i in found.inside] == [("`a.v` + `b.v` > 3", "rows of two inputs")]


def test_what_could_fail_on_rows_without_a_partner_stays_inside() -> None:
    found = split("SELECT a.k, sum(10 / a.v) AS s, max(length(b.k)) AS m FROM a [RANGE 5], b [RANGE 4] "
                  "WHERE a.k = b.k GROUP BY a.k")
    assert before(found) == {"b": ["LENGTH(k)"]}
    assert [str(i.scalar) for i in found.inside] == ["10 / `a.v`"]


def test_what_only_spark_knows_is_computed_by_spark_wherever_its_columns_are_of_one_input() -> None:
    found = split("SELECT max(xpath_string(a.k, 'h')) AS m FROM a [RANGE 5], b [RANGE 4] WHERE a.k = b.k")
    assert before(found) == {"a": ["XPATH_STRING(k, 'h')"]}


@pytest.mark.parametrize("text", [
    "SELECT DISTINCT upper(k) AS u FROM a [RANGE 5]",
    "SELECT Istream(upper(k) AS u) FROM a [RANGE 5]",
    "SELECT k FROM a [RANGE 9] WHERE v + 1 > 2 EXCEPT ALL SELECT upper(k) FROM b [RANGE 4]",
    "SELECT k FROM a [RANGE 9] WHERE v + 1 > 2 UNION ALL SELECT lower(k) FROM b [RANGE 4] WHERE v < 3",
])
def test_added_columns_never_reach_operators_that_look_at_whole_rows(text: str) -> None:
    found = split(text)
    assert before(found)
    assert not found.inside
    plan = parse(text, CATALOG)
    names = open_plan(plan).nothing().column_names
    if not found.behind:
        assert open_plan(found.plan).nothing().column_names == names
    assert list(found.plan.columns) == list(plan.columns) or found.behind


def test_changes_cancel_out_by_what_is_shown_so_that_their_projection_stays_inside() -> None:
    found = split("SELECT k, n % 2 AS odd FROM (SELECT k, count(*) AS n FROM a [RANGE 5] GROUP BY k) AS g")
    assert not found.behind
    assert [i.why for i in found.inside] == ["what an operator in between has made"]


def test_with_punctuation_of_their_own_results_keep_their_names() -> None:
    assert not split("SELECT upper(k) AS u FROM a [RANGE 5]", behind=False).behind


def test_another_condition_is_another_query_to_a_checkpoint() -> None:
    one, other = (open_plan(split(f"SELECT k FROM a [RANGE 5] WHERE v > {n}").plan).fingerprint for n in (1, 2))
    assert one != other


def test_statistics_know_a_computed_condition_by_what_it_is() -> None:
    found = split("SELECT k FROM a [RANGE 5] WHERE v > 3")
    condition = next(node for node in found.plan.walk() if scalars_of(node) == [Scalar("__pw_e0")])
    assert keys_of(Scalar("__pw_e0"), condition.inputs[0]) == ("`a.v` > 3",)


def test_the_divided_plan_gives_the_answer_of_the_whole() -> None:
    """Columns as Spark would add them, results as Spark would go on with them."""
    text = "SELECT upper(k) AS u, v + 1 AS w FROM a [RANGE 5] WHERE v % 2 = 0"
    rows = pa.table({"ts": [1, 2, 3, 9], "k": list("xyzx"), "v": [2, 3, 4, 6], "d": pa.nulls(4, pa.date32())})
    found, whole = split(text), open_plan(parse(text, CATALOG))
    expected = [whole.push("a", rows), whole.finish()]
    wide = rows
    for name, scalar in found.before["a"].items():
        wide = wide.append_column(name, evaluate([scalar], rows)[0])
    query = open_plan(found.plan)
    results = pa.concat_tables([query.push("a", wide), query.finish()])
    (step,) = found.behind
    shown = dict(zip(step.columns, evaluate(scalars_of(step), results), strict=True))
    beside = {name: results.column(name) for name in ("valid_from", "expires_at")}
    assert pa.table({**shown, **beside}).to_pylist() == pa.concat_tables(expected).to_pylist()
