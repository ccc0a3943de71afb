"""A few values of a time column that are no times are bad rows with their place; the column stays one of times."""

from __future__ import annotations

from pathlib import Path

import pytest

import panewise as pw
from panewise.core.errors import BadRowError

COUNT = "SELECT count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s"
TIMED = "SELECT count(*) [RANGE 1 hour, SLIDE 1 hour, WA ts] AS n FROM s"
TEXTS = {
    "s.csv": (COUNT, "ts,k\n1,a\nzz,b\n3,c\n", "s.csv, row 2: 'ts' is 'zz', expected int64"),
    "t.csv": (TIMED, "ts,k\n2026-01-01T00:00:00Z,a\n2026-01-01 00:10:00Z,b\n?,c\n",
              "t.csv, row 3: 'ts' is '?', expected timestamp"),
    "t.ndjson": (TIMED, '{"ts": "2026-01-01T00:00:00Z"}\n{"ts": "soon"}\n{"ts": "2026-01-01T00:10:00Z"}\n',
                 "t.ndjson:2: "),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_value_that_is_no_time_is_a_bad_row_with_its_place(name: str, tmp_path: Path) -> None:
    query, text, place = TEXTS[name]
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(BadRowError) as refused:
        pw.sql(query, s=path)
    assert place in str(refused.value)
    found = pw.sql(query, s=path, bad_rows="skip")
    assert (found.status["bad"], [row["n"] for row in found]) == (1, [2])


def test_text_stays_text(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("ts,k\n1,a\n2,7\n")
    assert [row["k"] for row in pw.sql("SELECT k FROM s", s=path)] == ["a", "7"]
