"""A column of a query that results would hide behind one they add is refused by every engine."""

from __future__ import annotations

import pytest

import panewise as pw
from panewise.core.errors import PlanError

ROWS = [{"ts": 1, "k": "x", "valid_from": 7, "expires_at": 8, "change": 3}]


@pytest.mark.parametrize("engine", ["oracle", "embedded"])
@pytest.mark.parametrize(("query", "name"), [
    ("SELECT * FROM s [RANGE 5]", "valid_from"),
    ("SELECT k, expires_at FROM s [RANGE 5]", "expires_at"),
    ("SELECT change, count(*) AS n FROM s [RANGE 5] GROUP BY change", "change"),
    ("SELECT Istream(valid_from) FROM s [RANGE 5]", "valid_from"),
])
def test_a_column_that_results_would_hide_is_refused(engine: str, query: str, name: str) -> None:
    with pytest.raises(PlanError, match=f"add a column '{name}', and the query has one of that name; rename it"):
        pw.sql(query, s=ROWS, time="ts", engine=engine)


@pytest.mark.parametrize("engine", ["oracle", "embedded"])
@pytest.mark.parametrize(("query", "found"), [
    ("SELECT k, change FROM s [RANGE 5]", {"k": "x", "change": 3, "valid_from": 1, "expires_at": 6}),
    ("SELECT k, valid_from AS since FROM s [RANGE 5]", {"k": "x", "since": 7, "valid_from": 1, "expires_at": 6}),
    ("SELECT Istream(k, expires_at) FROM s [RANGE 5]", {"k": "x", "expires_at": 8, "valid_from": 1}),
])
def test_names_that_this_form_of_results_does_not_add_are_the_users(engine: str, query: str,
                                                                    found: dict[str, object]) -> None:
    assert list(pw.sql(query, s=ROWS, time="ts", engine=engine)) == [found]
