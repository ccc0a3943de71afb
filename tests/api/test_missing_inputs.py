"""A text that reads nothing, or something else than what is given: the error is about what is wrong."""

from __future__ import annotations

import pytest

import panewise as pw
from panewise.core.errors import PanewiseError, PlanError, SqlError

ROWS = [{"ts": 1}]


@pytest.mark.parametrize(("text", "expected"), [
    ("", "line 1, column 1: the query is empty"), ("SELECT", "line 1, column 7: the SELECT list needs an expression"),
    ("SELECT a, b", "line 1, column 12: expected FROM"), ("SELECT * FROM", "line 1, column 14"),
    ("SELECT * FROM WHERE v > 1", "line 1, column 15")])
def test_a_text_that_reads_nothing_is_refused_at_its_place(text: str, expected: str) -> None:
    for call in (lambda: pw.sql(text, s=ROWS), lambda: pw.open_query(text, s="ts bigint"),
                 lambda: pw.explain(text, s=ROWS)):
        with pytest.raises(SqlError, match=expected):
            call()


def test_a_stream_that_the_text_does_not_read_is_refused_with_what_it_reads() -> None:
    with pytest.raises(PlanError, match="no stream of that name in the query; it reads bids"):
        pw.sql("SELECT * FROM bids", s=ROWS)
    with pytest.raises(PlanError, match="did you mean 'bids'"):
        pw.sql("SELECT * FROM bids", bds=ROWS)


def test_how_many_late_rows_are_not_kept_is_in_what_is_printed() -> None:
    rows = [{"ts": 9}, pw.Punctuation.below("ts", 9), {"ts": 1}, {"ts": 2}, {"ts": 3}]
    text = "SELECT count(*) [RANGE 2, SLIDE 2, WA ts] AS n FROM s"
    assert "3 rows were late (late='generous', 1 of them no longer kept)" in str(pw.sql(text, s=rows, late_keep=2))
    with pytest.raises(PanewiseError):
        pw.sql(text, s=rows, late_keep=-1)


@pytest.mark.parametrize("engine", ["embedded", "oracle"])
def test_a_policy_that_drops_late_rows_keeps_none(engine: str) -> None:
    rows = [{"ts": 9}, pw.Punctuation.below("ts", 9), {"ts": 1}]
    found = pw.sql("SELECT count(*) [RANGE 2, SLIDE 2, WA ts] AS n FROM s", s=rows, late="drop", engine=engine)
    kept = 0 if found.late is None else len(found.late)
    assert (found.status["late"], found.status["late_forgotten"], kept) == (1, 0, 0)
