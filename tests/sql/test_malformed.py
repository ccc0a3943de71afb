"""Every malformed text is refused at the exact place, in words that say what is wrong and what to write instead."""

from __future__ import annotations

from typing import Any

import pytest

from panewise.core.errors import SqlError
from panewise.sql import parse
from sql.sql_cases import catalog, load, options

CASES = load("malformed.yaml")


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_the_error_names_the_place_the_problem_and_the_remedy(case: dict[str, Any]) -> None:
    with pytest.raises(SqlError) as caught:
        parse(case["text"], catalog(), **options(case))
    error = caught.value
    assert (error.line, error.column) == (case["line"], case["column"]), str(error)
    for word in case["message"]:
        assert word in error.problem, str(error)
    assert case["hint"] in error.hint, str(error)
    assert error.hint, str(error)


def test_there_are_enough_of_them() -> None:
    assert len(CASES) >= 68
