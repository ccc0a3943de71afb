"""What is no function of the row is refused by name, wherever it is written, before any engine sees the query."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import panewise as pw
from panewise.core.errors import SqlError
from panewise.sql import parse
from panewise.sql.refused_functions import REFUSED
from sql.sql_cases import catalog

CALLS = {name: f"{name}()" for name in REFUSED} | {
    "randn": "randn(3)", "randstr": "randstr(5)", "uniform": "uniform(0, 10)", "shuffle": "shuffle(array(a))",
    "reflect": "reflect('java.lang.System', 'getenv')", "java_method": "java_method('java.lang.Math', 'random')",
    "try_reflect": "try_reflect('java.lang.Math', 'random')", "call_function": "call_function('rand')",
    "call_udf": "call_udf('rand')", "stack": "stack(2, a, a)", "json_tuple": "json_tuple('{}', 'x')"}
PLACES = {
    "SELECT": "SELECT {} AS x FROM S", "inside": "SELECT a + abs({}) AS x FROM S",
    "WHERE": "SELECT a FROM S WHERE {} > 3",
    "an aggregate": "SELECT max({}) [RANGE 5 seconds, SLIDE 1 second, WA ts] AS x FROM S",
    "around an aggregate": "SELECT max(a) + {} AS x FROM S [RANGE 5 seconds, SLIDE 1 second, WA ts]",
    "GROUP BY": "SELECT count(*) AS n FROM S [RANGE 5 seconds, SLIDE 1 second, WA ts] GROUP BY {}",
    "FILTER": "SELECT count(*) FILTER (WHERE {} > 1) AS n FROM S [RANGE 5 seconds, SLIDE 1 second, WA ts]",
    "a relation": "SELECT DISTINCT {} AS x FROM S [RANGE 5 seconds]",
    "a join": "SELECT S1.a FROM S1 [RANGE 5 seconds], S2 [RANGE 5 seconds] WHERE S1.a = S2.a AND {} > S2.a",
    "EXISTS": "SELECT a FROM S1 [RANGE 5 seconds] WHERE EXISTS (SELECT {} FROM S2 [RANGE 5 seconds])",
    "a sub-query": "SELECT x FROM (SELECT {} AS x FROM S)",
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_the_call_is_refused_by_name_at_its_place(name: str) -> None:
    text = f"SELECT a,\n  1 + {CALLS[name]} AS x FROM S"
    with pytest.raises(SqlError, match=rf"^line 2, column 7: {name}\(...\) cannot be part of a query: ") as caught:
        parse(text, catalog())
    assert caught.value.hint


@pytest.mark.parametrize("place", sorted(PLACES))
@pytest.mark.parametrize("call", ["rand()", "RAND()", "`rand`()", "random(7)", "current_user", "version()"])
def test_the_call_is_refused_wherever_it_stands(place: str, call: str) -> None:
    text = PLACES[place].format(call)
    with pytest.raises(SqlError, match="cannot be part of a query") as caught:
        parse(text, catalog())
    assert caught.value.start == text.index(call), str(caught.value)


@pytest.mark.parametrize("engine", ["oracle", "embedded"])
def test_nothing_runs_on_any_engine(engine: str) -> None:
    def rows() -> object:
        raise AssertionError("a row was read")
        yield {}

    with pytest.raises(SqlError, match="rand"):
        pw.sql("SELECT rand() AS x FROM s", engine=engine, s=[{"ts": 1}])
    with pytest.raises(SqlError, match="rand"):
        pw.run("SELECT rand() AS x FROM s", s=rows(), columns={"s": "ts bigint"})


def test_conditions_of_method_calls_are_texts_like_any_other() -> None:
    with pytest.raises(SqlError, match="rand"):
        pw.stream([{"ts": 1}], time="ts").where("rand() > 0.5").window(range=10).agg(n="count(*)")
    with pytest.raises(SqlError, match="uuid"):
        pw.stream([{"ts": 1}], time="ts").window(range=10).group_by(g="uuid()").agg(n="count(*)")


def test_the_page_lists_every_one_of_them() -> None:
    page = (Path(__file__).parents[2] / "docs" / "language.md").read_text(encoding="utf-8")
    section = page.split("### Functions that are refused")[1].split("\n## ")[0]
    rows = [row.split("|")[2] for row in section.splitlines() if row.startswith("| ")]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named == set(REFUSED)
