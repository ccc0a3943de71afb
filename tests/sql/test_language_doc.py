"""The queries of the language page are read, and its error looks as shown."""

from __future__ import annotations

import re

import pytest

from panewise.core.errors import SqlError
from panewise.sql import parse
from sql.sql_cases import HERE, catalog, options

PAGE = (HERE.parent.parent / "docs" / "language.md").read_text(encoding="utf-8")
QUERIES = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
WINDOWS = re.findall(r"^\| `([A-Z][^`|]*)` \|", PAGE.split("## The extents")[1].split("## ")[0], re.MULTILINE)


@pytest.mark.parametrize("text", QUERIES)
def test_a_query_of_the_page_is_read(text: str) -> None:
    parse(text, catalog())


@pytest.mark.parametrize("window", WINDOWS)
def test_a_window_of_the_page_is_read(window: str) -> None:
    required = re.sub(r"\[[^\]]*\]", "", window)
    everything = window.replace("[", "").replace("]", "").replace("PA k", "PA a")
    for text in (required, everything):
        query = f"SELECT count(*) FROM S [{text}]"
        parse(query, catalog(), **options({"text": query}))


def test_the_page_has_queries_and_windows() -> None:
    assert len(QUERIES) >= 8
    assert len(WINDOWS) >= 12


def test_the_error_of_the_page_is_the_error() -> None:
    with pytest.raises(SqlError) as caught:
        parse("SELECT a FROM S [RANGE 5 minuts]", catalog())
    assert str(caught.value) in PAGE
