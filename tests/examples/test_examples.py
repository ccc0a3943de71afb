"""The examples run and show what they promise."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from panewise.aggregates import unregister

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_group_wise_punctuation(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "group_wise_punctuation.py"))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["s1", "00:01:00", "62", "55"] in lines
    assert lines.index(["s1", "00:01:00", "62", "55"]) < lines.index(["s2", "00:01:00", "50", "50"])


def test_own_aggregate(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        runpy.run_path(str(EXAMPLES / "own_aggregate.py"))
    finally:
        unregister("geometric_mean")
    assert "{'start': 0, 'end': 4} 2.828" in capsys.readouterr().out


@pytest.mark.spark
def test_spark_stream(spark: object, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "spark_stream.py"))
    assert capsys.readouterr().out.count("|") > 20


@pytest.mark.spark
def test_replace_spark_window(spark: object, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "replace_spark_window.py"))
    shown = capsys.readouterr().out
    assert " windows, 0 differences" in shown
    assert "would make 11 more of every row" in shown
