"""The user's own functions on every engine: one meaning, one way to fail, known before a row is read."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession

import panewise as pw
from conformance.cases import Case
from conformance.compare import assert_same_rows
from conformance.runners import embedded, spark_batch, spark_streaming
from panewise.api.query import plan_of
from panewise.core.errors import CheckpointError, EvaluationError, PlanError, SqlError
from panewise.plan.nodes import Node
from panewise.planner.options import RunOptions
from panewise.progress.punctuation import Punctuation

# As with Spark's own UDFs, functions of a module that workers cannot import must travel by value: this one is found
# only by pytest.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def grade(points: int | None) -> str:
    """Called with None for null."""
    return "none" if points is None else "high" if points > 5 else "low"


def inverse(value: float) -> float:
    """Fails on zero, and on null."""
    return 1 / value


def hour(at: datetime | None) -> int | None:
    """Times are aware, in UTC."""
    return None if at is None else at.hour if at.tzinfo is not None else -1


OWN = {"grade": grade, "inverse": inverse, "hour_of": hour,
       "half": pw.function(lambda value: pc.divide(value, 2), takes=["double"], returns="double", vectorised=True),
       "between_them": pw.function(lambda low, high: list(range(low, high)), returns="array<bigint>")}
COLUMNS = {"ts": pa.int64(), "k": pa.string(), "v": pa.int64()}
ROWS = [{"ts": 1, "k": "a", "v": 9}, {"ts": 2, "k": "b", "v": None}, {"ts": 4, "k": "a", "v": 2},
        Punctuation.below("ts", 5), {"ts": 6, "k": "b", "v": 0}, {"ts": 8, "k": "a", "v": 3},
        Punctuation.below("ts", 9), {"ts": 11, "k": "b", "v": 7}]


class OwnCase(Case):
    """A case whose text calls these functions."""

    @property
    def plan(self) -> Node:
        return plan_of(self.query, {n: self._declared(n) for n in self.columns},
                       RunOptions(params=self.params, functions=OWN))


def case(name: str, query: str) -> OwnCase:
    return OwnCase(name, query, {"s": ROWS}, {"s": COLUMNS})


CASES = [
    case("a column", "SELECT k, grade(v) AS g, half(v) AS h FROM s"),
    case("a condition", "SELECT k, v FROM s WHERE grade(v) = 'high' OR half(v) < 1.5"),
    case("a key and an argument", "SELECT grade(v) AS g, sum(half(v)) [RANGE 10, SLIDE 5, WA ts] AS t FROM s "
                                  "GROUP BY grade(v)"),
    case("over results", "SELECT k, half(n) AS h FROM (SELECT k, count(*) [RANGE 10, SLIDE 5, WA ts] AS n FROM s "
                         "GROUP BY k) AS q WHERE half(n) > 0.5"),
    case("a relation", "SELECT DISTINCT grade(v) AS g FROM s [RANGE 5]"),
    case("a join", "SELECT a.ts, b.ts FROM s AS a [RANGE 5], s AS b [RANGE 5] WHERE grade(a.v) = grade(b.v) "
                   "AND a.ts < b.ts"),
    case("a row that CASE does not send there", "SELECT ts, CASE WHEN v <> 0 THEN inverse(v) END AS i FROM s"),
    case("a collection", "SELECT k, explode(between_them(0, coalesce(v, 1))) AS x FROM s"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_kernels_give_the_oracles_answer(case: OwnCase) -> None:
    expected = case.oracle().results()
    assert expected
    assert_same_rows(embedded(case, batch_rows=2, restarts=(1, 3)), expected)


@pytest.mark.spark
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_spark_job_gives_the_same(case: OwnCase, spark: SparkSession, tmp_path: Path) -> None:
    assert_same_rows(spark_batch(case, spark=spark, folder=tmp_path), case.expected())


@pytest.mark.spark
@pytest.mark.parametrize("case", [case for case in CASES if case.name in {"a key and an argument", "a relation",
                                                                         "a row that CASE does not send there"}],
                         ids=str)
def test_a_spark_stream_calls_them_on_rows_and_never_on_punctuation(case: OwnCase, spark: SparkSession,
                                                                    tmp_path: Path) -> None:
    assert_same_rows(spark_streaming(case, spark=spark, folder=tmp_path, batch_rows=3, shards=2), case.expected())


def test_times_are_aware_and_in_utc_in_process() -> None:
    rows = pa.table({"ts": pa.array([3_600_000_000, 7_200_000_000], pa.timestamp("us", "UTC"))})
    for engine in ("embedded", "oracle"):
        found: Any = pw.sql("SELECT hour_of(ts) AS h FROM s", s=rows, functions=OWN, engine=engine)
        assert [row["h"] for row in found] == [1, 2]


@pytest.mark.parametrize("engine", ["embedded", "oracle"])
def test_what_a_function_raises_names_it_and_the_row_and_is_the_cause(engine: str) -> None:
    rows = [{"ts": 1, "v": 1}, {"ts": 2, "v": 0}]
    with pytest.raises(EvaluationError, match=r"inverse raised ZeroDivisionError: .*division by zero") as caught:
        pw.sql("SELECT inverse(v) AS i FROM s", s=rows, functions=OWN, engine=engine)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert "stream 's', row 2, came in at 2" in str(caught.value) or "'v': 0" in str(caught.value)
    assert "__pw" not in str(caught.value)


@pytest.mark.spark
def test_what_a_function_raises_on_spark_names_it_too(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, 1), (2, 0)], "ts bigint, v bigint")
    with pytest.raises(EvaluationError, match="inverse raised ZeroDivisionError"), pw.plain_errors():
        pw.sql("SELECT inverse(v) AS i FROM s", s=frame, functions=OWN, time="ts").collect()


@pytest.mark.parametrize(("own", "problem"), [
    (pw.function(lambda v: "text", returns="bigint"),
     r"f gave str 'text', and it returns int64.*stream 's', row 1, came in at 1"),
    (pw.function(lambda v: v.slice(1), returns="bigint", vectorised=True), "f gave 1 values for 2 rows"),
    (pw.function(lambda v: pa.array(["a", "b"]), returns="bigint", vectorised=True), "f gave StringArray"),
    (pw.function(lambda v: 1 // 0, returns="bigint", vectorised=True), "f raised ZeroDivisionError.*in rows 1 to 2"),
])
def test_a_result_that_is_not_what_was_declared_is_refused(own: Any, problem: str) -> None:
    with pytest.raises(EvaluationError, match=problem):
        pw.sql("SELECT f(v) AS x FROM s", s=[{"ts": 1, "v": 1}, {"ts": 2, "v": 2}], functions={"f": own})


@pytest.mark.parametrize(("name", "own", "problem"), [
    ("upper", grade, "'upper', which is a function of the language"), ("sum", grade, "'sum', which is an aggregate"),
    ("explode", grade, "'explode', which is an operator"), ("rand", grade, "which is a function of the language"),
    ("f", lambda v: v, r"no annotation of its result: say which: functions=\{'f': pw.function"),
    ("f", pw.function(grade, returns="text of some kind"), "which is no type"),
    ("f", pw.function(grade, takes=["nothing<"]), "which is no type"),
    ("f", pw.function(grade, vectorised=True), "a vectorised function does not say it"),
    ("f g", grade, "a function is called by a word"), ("f", 3, "cannot be called"),
])
def test_functions_are_refused_before_the_text_is_read(name: str, own: Any, problem: str) -> None:
    with pytest.raises(PlanError, match=problem):
        pw.sql("SELECT nothing FROM s", s=[{"ts": 1}], functions={name: own})


def test_a_call_with_another_number_of_arguments_is_refused_at_its_place() -> None:
    with pytest.raises(SqlError, match="column 8: grade cannot be called with 2 arguments"):
        pw.sql("SELECT grade(v, v) FROM s", s=[{"ts": 1, "v": 1}], functions=OWN)
    with pytest.raises(SqlError, match="column 8: half takes 1 argument, not 0"):
        pw.sql("SELECT half() FROM s", s=[{"ts": 1, "v": 1}], functions=OWN)


def test_an_unknown_function_is_refused_with_the_option_that_gives_it() -> None:
    with pytest.raises(SqlError) as caught:
        pw.sql("SELECT zzscore(v) FROM s", s=[{"ts": 1, "v": 1}])
    assert "functions={'zzscore': callable}" in caught.value.hint


def test_every_entry_point_takes_functions() -> None:
    text, rows = "SELECT grade(v) AS g FROM s", [{"ts": 1, "v": 9}]
    assert [row["g"] for row in pw.sql(text, s=rows, functions=OWN)] == ["high"]
    assert [row["g"] for row in pw.run(text, s=rows, functions=OWN)] == ["high"]
    query = pw.open_query(text, s="ts bigint, v bigint", functions=OWN)
    assert query.push("s", rows).column("g").to_pylist() == ["high"]
    assert "GRADE(v) AS g" in pw.explain(text, s=rows, functions=OWN)
    made = pw.stream(rows, time="ts", functions=OWN).where("grade(v) = 'high'").window(range=10).agg(n="count(*)")
    assert [row["n"] for row in made] == [1]


def test_two_queries_of_one_process_may_have_functions_of_one_name() -> None:
    rows = [{"ts": 1, "v": 9}]
    first = pw.open_query("SELECT f(v) AS x FROM s", s="ts bigint, v bigint",
                          functions={"f": pw.function(lambda v: v + 1, returns="bigint")})
    second = pw.open_query("SELECT f(v) AS x FROM s", s="ts bigint, v bigint",
                           functions={"f": pw.function(lambda v: v * 2, returns="bigint")})
    assert second.push("s", rows).column("x").to_pylist() == [18]
    assert first.push("s", rows).column("x").to_pylist() == [10]


def test_a_checkpoint_holds_no_function_and_needs_the_same_names() -> None:
    text = "SELECT {}(v) AS g, count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s GROUP BY {}(v)"

    def opened(name: str, own: Any) -> Any:
        return pw.open_query(text.format(name, name), s="ts bigint, v bigint", functions={name: own})

    query = opened("grade", grade)
    query.push("s", [{"ts": 1, "v": 9}])
    saved = query.snapshot()
    assert b"__pw" not in saved
    again = opened("grade", pw.function(lambda points: f"{grade(points)}", returns="string"))  # the name is the same
    again.restore(saved)
    assert again.finish().to_pylist() == [{"g": "high", "window": {"start": 0, "end": 10}, "n": 1}]
    with pytest.raises(CheckpointError):
        opened("mark", grade).restore(saved)


def test_no_function_is_called_before_there_are_rows() -> None:
    calls: list[Any] = []

    def noted(value: Any) -> int:
        calls.append(value)
        return 1

    query = pw.open_query("SELECT noted(3) AS x FROM s WHERE noted(v) = 1", s="ts bigint, v bigint",
                          functions={"noted": noted})
    assert calls == []
    query.push("s", [{"ts": 1, "v": None}])
    assert calls == [None, 3]


def test_the_case_class_reads_like_any_other() -> None:
    assert replace(CASES[0], late="drop").plan == CASES[0].plan
