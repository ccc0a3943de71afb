"""A short version of ``make fuzz files``."""

from __future__ import annotations

from pathlib import Path

import pytest

import panewise as pw
from fuzz.file_trials import trials
from panewise.core.errors import SourceError


def test_malformed_files_are_refused_or_all_of_their_rows_are_accounted_for() -> None:
    found = trials(count=60, seed=4, say=lambda text: None)
    assert found["finds"] == {}
    outcomes = found["outcomes"]
    assert isinstance(outcomes, dict)
    assert outcomes["exactly counted"] >= 7
    assert any(name.endswith("bad rows") for name in outcomes)


def test_column_names_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_bytes(b"k,\xc3(,ts\n1,2,3\n")
    with pytest.raises(SourceError, match="UTF-8"):
        pw.sql("SELECT count(*) AS n FROM s [RANGE 20, SLIDE 20, WA ts]", s=tmp_path / "s.csv")
