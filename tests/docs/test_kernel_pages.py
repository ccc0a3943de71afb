"""The pages of the kernels: their examples run, and the files they name exist."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "kernels").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_examples_give_what_they_show(page: Path) -> None:
    result = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def test_the_files_the_pages_name_exist() -> None:
    named = {name for page in PAGES for name in
             re.findall(r"`((?:kernels|engines|planner|windows|bench|tests)/[\w/]+\.py)`", page.read_text())}
    assert "kernels/window_ids/wid.py" in named
    assert [n for n in named if not (ROOT / "src" / "panewise" / n).exists() and not (ROOT / n).exists()] == []
