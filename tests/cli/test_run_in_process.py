"""``panewise run`` on the engines without a JVM: formats in and out, policies, and messages for every mistake."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest

from panewise.cli.main import main

QUERY = "SELECT k, count(*) [RANGE 60 s, SLIDE 30 s, WA ts] AS n, max(v) AS top FROM s GROUP BY k"


@pytest.fixture
def bids(tmp_path: Path) -> Path:
    path = tmp_path / "bids.ndjson"
    path.write_text(
        '{"ts": "2026-01-01T00:00:10Z", "k": "a", "v": 1}\n'
        '{"ts": "2026-01-01T00:00:50Z", "k": "b", "v": 5}\n'
        '{"ts": "2026-01-01T00:00:40Z", "k": "a", "v": 3}\n'
        '{"punctuation": {"ts": "2026-01-01T00:01:00Z"}}\n'
        '{"ts": "2026-01-01T00:00:20Z", "k": "a", "v": 9}\n'
        '{"ts": "2026-01-01T00:01:05Z", "k": "a", "v": 2}\n'
    )
    return path


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("engine", ["embedded", "oracle"])
def test_results_are_as_the_windows_say(engine: str, bids: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.ndjson"
    assert main(["run", QUERY, "--stream", f"s={bids}", "--engine", engine, "--out", str(out)]) == 0
    found = {(r["window"]["end"][11:19], r["k"]): (r["n"], r["top"]) for r in lines(out)}
    assert found == {
        ("00:00:30", "a"): (1, 1), ("00:01:00", "a"): (2, 3), ("00:01:00", "b"): (1, 5), ("00:01:30", "a"): (2, 3),
        ("00:01:30", "b"): (1, 5), ("00:02:00", "a"): (1, 2),
    }


def test_every_output_format_has_the_same_rows(bids: Path, tmp_path: Path) -> None:
    for name in ("out.ndjson", "out.csv", "out.parquet"):
        assert main(["run", QUERY, "--stream", f"s={bids}", "--engine", "embedded", "--out", str(tmp_path / name)]) == 0
    assert len(lines(tmp_path / "out.ndjson")) == 6
    assert pcsv.read_csv(tmp_path / "out.csv").num_rows == pq.read_table(tmp_path / "out.parquet").num_rows == 6


def test_without_out_a_table_is_printed(bids: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", QUERY, "--stream", f"s={bids}", "--engine", "embedded", "--limit", "2"]) == 0
    shown = capsys.readouterr()
    assert "2026-01-01 00:00:30" in shown.out
    assert "2 of 6 rows" in shown.out
    assert "5 rows in, 6 results" in shown.err
    assert "1 row was late (late='generous')" in shown.err


def test_a_query_can_stand_in_a_file_with_parameters(bids: Path, tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text("SELECT count(*) [RANGE :r, SLIDE :r, WA ts] AS n\nFROM s WHERE v > :least")
    out = tmp_path / "out.ndjson"
    assert main(["run", str(tmp_path / "q.sql"), "--stream", f"s={bids}", "--engine", "embedded", "--out", str(out),
                 "--param", "r=60 s", "--param", "least=1"]) == 0
    assert [r["n"] for r in lines(out)] == [2, 1]


def test_late_rows_can_be_written_counted_or_let_in(bids: Path, tmp_path: Path) -> None:
    base = ["run", QUERY, "--stream", f"s={bids}", "--engine", "embedded", "--out", str(tmp_path / "o.ndjson")]
    assert main([*base, "--late", "side", "--late-out", str(tmp_path / "late.ndjson")]) == 0
    assert [r["v"] for r in lines(tmp_path / "late.ndjson")] == [9]
    assert main([*base, "--late", "generous"]) == 0
    assert main([*base, "--late-out", str(tmp_path / "let-in.ndjson")]) == 0
    assert [r["v"] for r in lines(tmp_path / "let-in.ndjson")] == [9]
    assert main([*base, "--late", "drop", "--late-out", str(tmp_path / "late.ndjson")]) == 2, "they go nowhere"


def test_late_rows_of_a_run_with_a_checkpoint_are_written_once_however_often_it_runs(
        bids: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    late = tmp_path / "late.ndjson"
    base = ["run", QUERY, "--stream", f"s={bids}", "--engine", "embedded", "--out", str(tmp_path / "o.ndjson"),
            "--checkpoint", str(tmp_path / "state")]
    late.write_text('{"v": 1}\n')  # of another run
    assert main([*base, "--late-out", str(tmp_path / "late.csv")]) == 2, "a table cannot be appended to"
    for _ in range(3):
        assert main([*base, "--late-out", str(late)]) == 0
        assert [r["v"] for r in lines(late)] == [9]
    late.unlink()
    capsys.readouterr()
    assert main([*base, "--late-out", str(late)]) == 2
    assert "has 0 bytes of the" in capsys.readouterr().err


def test_the_late_policy_error_stops_and_keeps_what_was_written(
        bids: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "o.ndjson"
    assert main(["run", QUERY, "--stream", f"s={bids}", "--engine", "embedded", "--out", str(out),
                 "--late", "error"]) == 2
    message = capsys.readouterr().err
    assert "late" in message
    assert "2026-01-01T00:00:20Z" in message
    assert "2026-01-01T00:01:00Z" in message
    assert "o.partial.ndjson" in message
    assert len(lines(tmp_path / "o.partial.ndjson")) == 3
    assert not out.exists()


def test_an_earlier_result_stays_when_a_run_fails(bids: Path, tmp_path: Path) -> None:
    out = tmp_path / "o.ndjson"
    out.write_text("precious\n")
    assert main(["run", QUERY, "--stream", f"s={bids}", "--engine", "embedded", "--out", str(out),
                 "--late", "error"]) == 2
    assert out.read_text() == "precious\n"


def test_a_checkpointed_run_goes_on_where_it_stopped_and_repeats_nothing(bids: Path, tmp_path: Path) -> None:
    run = ["run", QUERY, "--stream", f"s={bids}", "--engine", "embedded", "--checkpoint", str(tmp_path / "c"), "--out"]
    assert main([*run, str(tmp_path / "first.ndjson")]) == 0
    assert main([*run, str(tmp_path / "second.ndjson")]) == 0
    assert lines(tmp_path / "second.ndjson") == lines(tmp_path / "first.ndjson")


@pytest.mark.parametrize(
    ("content", "query", "message"),
    [
        ('{"ts": null}\n{"ts": 1}\n', "SELECT count(*) [RANGE 2, SLIDE 1, WA ts] FROM s", "is null"),
        ('{"ts": "noon", "k": "a"}\n', "SELECT count(*) [RANGE 2, SLIDE 1, WA ts] FROM s", "'ts' is string"),
        ('{"ts": 1}\n', "SELECT max(price) [RANGE 2, SLIDE 1, WA ts] FROM s", "price"),
        ('{"ts": 1}\n', "SELECT count(*) [RANGE 2, SLIDE 1, WA tz] FROM s", "tz"),
        ('{"ts": 1}\n', "SELECT count(*) [RANGE 2 min, SLIDE 1, WA ts] FROM s", "min"),
        ('{"ts": 1}\n', "SELECT count(*) [RANGE 2, SLIDE 1, WA ts] FROM bids", "bids"),
        ('{"ts": 1}\n', "SELEKT 1", "SELECT"),
        ('{"ts": 1}\n{"ts": \n', "SELECT count(*) [RANGE 2, SLIDE 1, WA ts] FROM s", "s.ndjson:2: not JSON"),
        ('{"ts": 1, "k": 1, "v": 1}\n', "SELECT DISTINCT a.k FROM s AS a [RANGE 3, WA v], s AS b [RANGE 2, WA v] "
         "WHERE a.k = b.k",
         "does not say when its rows came"),
    ],
)
def test_a_users_mistake_is_one_message_without_a_traceback(
        content: str, query: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.ndjson").write_text(content)
    assert main(["run", query, "--stream", f"s={tmp_path / 's.ndjson'}", "--engine", "embedded"]) == 2
    shown = capsys.readouterr().err
    assert "error:" in shown
    assert message in shown
    assert "Traceback" not in shown


def test_unreadable_and_missing_files_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = "SELECT count(*) [RANGE 2, SLIDE 1, WA ts] FROM s"
    assert main(["run", query, "--stream", f"s={tmp_path}/none.parquet", "--engine", "embedded"]) == 2
    assert "none.parquet: no such file" in capsys.readouterr().err
    (tmp_path / "bad.parquet").write_bytes(b"\xff" + os.urandom(100))
    assert main(["run", query, "--stream", f"s={tmp_path}/bad.parquet", "--engine", "embedded"]) == 2
    assert "bad.parquet: cannot be read as Parquet" in capsys.readouterr().err
    (tmp_path / "ok.ndjson").write_text('{"ts": 1}\n')
    assert main(["run", query, "--stream", f"s={tmp_path}/ok.ndjson", "--engine", "embedded", "--out", "o.xlsx"]) == 2
    assert "o.xlsx: cannot tell the format" in capsys.readouterr().err
    assert main(["run", str(tmp_path / "bad.parquet"), "--stream", f"s={tmp_path}/ok.ndjson"]) == 2
    assert "neither SQL text" in capsys.readouterr().err


def test_explain_shows_labels_context_and_engines_and_draws_pictures(
        bids: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", QUERY, "--stream", f"s={bids}"]) == 0
    text = capsys.readouterr().out
    assert "range 1min, slide 30s on ts" in text
    assert "CF (context free)" in text
    assert "spark     runs it" in text
    assert main(["explain", "SELECT MAX(a) FROM S [RANGE 1 min]"]) == 0
    assert "cannot run it yet" not in capsys.readouterr().out
    assert main(["explain", QUERY, "--format", "html", "--out", str(tmp_path / "plan.html")]) == 0
    assert "<svg" in (tmp_path / "plan.html").read_text()


def test_generate_writes_streams_that_run_reads(tmp_path: Path) -> None:
    assert main(["generate", "auction", "--events", "500", "--rate", "10", "--format", "ndjson", "--files", "3",
                 "--streams", "bids", "auctions", "--out", str(tmp_path)]) == 0
    assert main(["run", "SELECT auction, count(*) [RANGE 20 s, SLIDE 5 s, WA ts] AS n FROM bids GROUP BY auction",
                 "--stream", f"bids={tmp_path / 'bids'}", "--engine", "embedded", "--late", "error",
                 "--out", str(tmp_path / "o.csv")]) == 0
    assert sum(pcsv.read_csv(tmp_path / "o.csv")["n"].to_pylist()) == 460 * 4


def test_generate_streams_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "auction", "--events", "100", "--rate", "10", "--streams", "auctions", "--out", "-"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert sum("seller" in line for line in found) == 6
    assert any("punctuation" in line for line in found)
    assert main(["generate", "auction", "--events", "100", "--streams", "bids", "persons", "--out", "-"]) == 2


def test_a_checkpoint_belongs_to_one_query_one_engine_and_files_that_have_not_changed(
        bids: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = ["run", QUERY, "--stream", f"s={bids}", "--checkpoint", str(tmp_path / "c"), "--engine"]
    assert main([*run, "embedded"]) == 0
    assert main([*run, "embedded", "--progress", "ordered"]) == 2
    assert "belongs to another query" in capsys.readouterr().err
    assert main([*run, "oracle"]) == 2
    assert "the oracle keeps no checkpoint" in capsys.readouterr().err
    with bids.open("a") as file:
        file.write('{"ts": "2026-01-01T01:00:00Z", "k": "a", "v": 1}\n')
    assert main([*run, "embedded"]) == 2
    assert "its files have changed" in capsys.readouterr().err
