"""Whatever refuses a query text says where: also what knows only plans, types or kernels."""

from __future__ import annotations

from contextlib import suppress

import pyarrow as pa
import pytest

import panewise as pw
from fuzz.grammar import typed_catalog
from panewise.core.errors import PanewiseError, PlanError, SqlError, UnsupportedError
from panewise.core.schema import Catalog
from panewise.planner.legal.legal_form import legal_form
from panewise.sql import parse

COLUMNS = "ts timestamp, k string, v bigint"


@pytest.mark.parametrize(("text", "kind", "word"), [
    ("SELECT k, count(*) AS change FROM s [RANGE 5 s] GROUP BY k", PanewiseError, "change"),
    ("SELECT count(*) [RANGE 1 day, SLIDE 1 us, WA ts] FROM s", PanewiseError, "RANGE"),
    ("SELECT sum(k) [RANGE 1 s, SLIDE 1 s, WA ts] FROM s", PanewiseError, "sum"),
])
def test_what_plans_and_kernels_refuse_has_a_place(text: str, kind: type[PanewiseError], word: str) -> None:
    with pytest.raises(kind) as caught:
        pw.open_query(text, s=COLUMNS)
    assert isinstance(caught.value, SqlError)
    assert caught.value.text[caught.value.start:caught.value.end].startswith(word)


def test_a_refusal_keeps_its_kind() -> None:
    with pytest.raises(PlanError) as caught:
        pw.open_query("SELECT a.k FROM a, b WHERE a.k = b.k", a="k bigint, ts bigint", b="k bigint, ts timestamp")
    assert isinstance(caught.value, SqlError)
    assert not isinstance(caught.value, UnsupportedError)


def test_explain_analyze_refuses_at_the_place_too() -> None:
    text = "SELECT sum(xpath_int(k, 'a')) [RANGE 5, SLIDE 5, WA ts] AS n FROM s"
    with pytest.raises(SqlError, match=r"^line 1, column 12: the function xpath_int is not there in process"):
        pw.explain(text, s=[{"ts": 1, "k": "<a>1</a>"}], analyze=True)


def test_refusals_of_options_have_no_place_in_the_text() -> None:
    with pytest.raises(PlanError) as caught:
        pw.open_query("SELECT count(*) [RANGE 1 s, SLIDE 1 s, WA ts] FROM s", s=COLUMNS, current=True)
    assert not isinstance(caught.value, SqlError)


@pytest.mark.parametrize(("text", "column", "problem"), [
    ("SELECT cast(v AS string FROM s", 12, "never closed"),
    ("SELECT extract(year FROM ts FROM s", 15, "never closed"),
    ("SELECT trim(BOTH 'x' FROM k FROM s", 12, "never closed"),
    ("SELECT v FROM s WHERE v BETWEEN 1 2", 25, "lacks its AND"),
    ("SELECT CASE WHEN k = 'a' v ELSE 1 END FROM s", 8, "lacks its THEN"),
    ("SELECT () FROM s", 8, "nothing stands between"),
    ("SELECT v FROM s WHERE v IN ()", 23, "nothing stands between"),
])
def test_words_and_brackets_that_the_parser_would_add_are_asked_for(text: str, column: int, problem: str) -> None:
    with pytest.raises(SqlError, match=problem) as caught:
        parse(text, Catalog.anything())
    assert caught.value.column == column
    assert caught.value.hint


@pytest.mark.parametrize("text", ["SELECT rel.k FROM rel, tab",
                                  "SELECT Istream-restore(v) FROM s [CALENDAR 1 day, WA ts]"])
def test_tables_alone_and_restored_calendars_are_no_tracebacks(text: str) -> None:
    with suppress(SqlError):
        legal_form(parse(text, typed_catalog()))


def test_a_field_that_windows_do_not_have_is_refused_with_its_place_before_a_row_comes() -> None:
    with pytest.raises(PanewiseError, match=r"line 1, column .*no field 'since'; there are start, end"):
        pw.open_query("SELECT window.since, count(*) [RANGE 1, WA at] AS n FROM orders",
                      orders=pa.schema({"at": pa.int64()}))
