"""``panewise explain``: strategies with their estimates, and with ``--analyze`` what a run has measured."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from panewise.cli.main import main

QUERY = "SELECT k, count(*) [RANGE 60 s, SLIDE 30 s, WA ts] AS n, max(v) AS top FROM s WHERE v > 0 GROUP BY k"


@pytest.fixture
def bids(tmp_path: Path) -> str:
    path = tmp_path / "bids.ndjson"
    path.write_text(
        '{"ts": "2026-01-01T00:00:10Z", "k": "a", "v": 1}\n'
        '{"ts": "2026-01-01T00:00:50Z", "k": "b", "v": 5}\n'
        '{"ts": "2026-01-01T00:00:40Z", "k": "a", "v": 3}\n'
        '{"ts": "2026-01-01T00:00:41Z", "k": "a", "v": 0}\n'
        '{"punctuation": {"ts": "2026-01-01T00:01:00Z"}}\n'
        '{"ts": "2026-01-01T00:00:20Z", "k": "a", "v": 9}\n'
        '{"ts": "2026-01-01T00:01:05Z", "k": "a", "v": 2}\n'
    )
    return f"s={path}"


def explained(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["explain", QUERY, *arguments]) == 0
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["explain", QUERY, *arguments]) == 2
    return " ".join(capsys.readouterr().err.split())


def test_without_statistics_the_strategy_is_by_rule(bids: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = explained(capsys, "--stream", bids)
    assert "strategy  panes: by rule: a row is in up to 2 windows" in text
    assert "estimate" not in text


def test_declared_statistics_give_an_estimate_per_candidate(bids: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = explained(capsys, "--stream", bids, "--stats", "rows_per_second=5000,groups=1000,disorder=2s")
    assert "given     declared: 5,000 rows/s, 1,000 groups, 2s of disorder" in text
    for kernel in ("panes", "wid", "adaptive", "buffering"):
        assert re.search(rf"estimate  {kernel}: [\d.]+ (ns|µs|ms|s) per window, [\d.e+]+ (B|kB|MB|GB) \(Li 6\.\d", text)
    assert re.search(r"strategy  \w+: least time: .* per window", text)


def test_statistics_can_be_measured_on_the_files(bids: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = explained(capsys, "--stream", bids, "--stats", "measure")
    assert "given     measured: 0.07273 rows/s, 2 groups, 30s of disorder" in text


def test_without_streams_the_types_are_unknown_and_there_is_no_strategy(capsys: pytest.CaptureFixture[str]) -> None:
    assert "strategy" not in explained(capsys)


def test_analyze_says_what_happened(bids: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = explained(capsys, "--analyze", "--stream", bids)
    assert "rows      6, 1 of them late" in text
    assert re.search(r"state     at most \d+ partials and 0 rows, \d+ B, for \d+ groups of open windows", text)
    assert "windows   4 opened and closed, at most 3 open, 6 results" in text
    assert re.search(r"measured  panes: [\d.]+ (µs|ms) per window, \d+ B", text)
    table = text[text.index("operator"):].splitlines()
    assert [line.split("  ")[0] for line in table[1:3]] == ["Filter", "aggregate: prepare"]
    assert table[1].split()[1] == "6"   # rows into the filter
    assert table[2].split()[2] == "5"   # rows into the aggregate
    assert table[-1].startswith("all of it, and reading")


def test_analyze_runs_the_strategy_that_is_named(bids: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = explained(capsys, "--analyze", "--stream", bids, "--strategy", "buffering")
    assert "strategy  buffering: asked for" in text
    assert re.search(r"state     at most 0 partials and [1-9]\d* rows", text)
    assert "advice    with these statistics" in text


def test_analyze_follows_progress_and_late_policy(bids: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = explained(capsys, "--analyze", "--stream", bids, "--progress", "late:1h")
    assert "rows      6, 1 of them late" in text  # the punctuation in the data still holds
    assert main(["explain", QUERY, "--analyze", "--stream", bids, "--late", "error"]) == 2


def test_mistakes_are_named(bids: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no statistic 'rate'" in refused(capsys, "--stream", bids, "--stats", "rate=5")
    assert "measured on streams, and none were given" in refused(capsys, "--stats", "measure")
    assert "--analyze runs the query: name the files" in refused(capsys, "--analyze")
    assert "'magic' does not run these sliding windows: use panes" in refused(
        capsys, "--stream", bids, "--strategy", "magic")


@pytest.mark.parametrize(("query", "ran"), [
    ("SELECT max(v) FROM s [RANGE 60 s]", ["SourceRows: 0 rows in, 5 out", "TimeWindow: 5 rows in, 5 out",
                                           "GroupAggregate: 5 rows in"]),
    ("SELECT a.v FROM s [RANGE 10 s, WA ts] AS a, s [RANGE 10 s, WA ts] AS b WHERE a.k = b.k",
     ["StreamJoin: 12 rows in", "Qualify: 6 rows in, 6 out", "Project: "]),
    ("SELECT max(n) [RANGE 60 s, SLIDE 60 s, WA window.time] AS m FROM (SELECT k, count(*) [RANGE 10 s, SLIDE 10 s, "
     "WA ts] AS n FROM s GROUP BY k)", ["WindowAggregation: 6 rows in, 4 out, 1 late", "WindowAggregation: 4 rows in"]),
], ids=["relation", "join of streams", "nested windows"])
def test_analyze_says_of_every_operator_what_it_did(query: str, ran: list[str], bids: str,
                                                    capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", query, "--analyze", "--late", "drop", "--stream", bids]) == 0
    text = capsys.readouterr().out
    assert [line for line in ran if f"ran       {line}" not in text] == []
    assert main(["explain", query, "--analyze", "--late", "drop", "--stream", bids, "--format", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert any(key == "ran" for key, _ in shown["plan"]["notes"])


def test_windows_are_joined_as_asked_for(bids: str, capsys: pytest.CaptureFixture[str]) -> None:
    query = "SELECT a.v FROM s [RANGE 10 s] AS a, s [RANGE 10 s] AS b WHERE a.k = b.k"
    assert main(["explain", query, "--stream", bids, "--joins", "at once"]) == 0
    assert "2 windows joined at once" in capsys.readouterr().out
    run = ["run", query, "--stream", bids, "--joins", "at once: lazy", "--quiet", "--engine"]
    assert main([*run, "embedded"]) == 0
    assert main([*run, "spark"]) == 2
    assert "files are joined by kernels there: leave it out" in " ".join(capsys.readouterr().err.split())


def test_run_takes_strategy_and_statistics(bids: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = set()
    for how in ((), ("--strategy", "buffering"), ("--stats", "rows_per_second=1,groups=2")):
        assert main(["run", QUERY, "--stream", bids, "--engine", "embedded", *how]) == 0
        shown.add(capsys.readouterr().out)
    assert len(shown) == 1
    assert main(["run", QUERY, "--stream", bids, "--engine", "embedded", "--strategy", "magic"]) == 2
    assert "'magic' does not run these sliding windows" in " ".join(capsys.readouterr().err.split())


def test_the_command_says_where_spark_rounds_sums_of_floats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.csv"
    path.write_text("ts,f,v\n58,-1e6,1\n67,1e6,2\n77,19.99,3\n")
    text = "SELECT sum({}) [RANGE 20, SLIDE 3, WA ts] AS total FROM s"
    for argument, options, rounds in (("f", [], True), ("f", ["--exact"], False), ("v", [], False)):
        assert main(["explain", text.format(argument), "--stream", f"s={path}", *options]) == 0
        assert ("--exact adds them in kernels" in capsys.readouterr().out) is rounds
    run = ["run", text.format("f"), "--stream", f"s={path}", "--engine", "embedded", "--exact"]
    assert main(run) == 0
    assert "19.99" in capsys.readouterr().out
