"""The command, its lists of jobs, and the arithmetic of the page about clusters."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from panewise.cli import bench
from panewise.cli.main import main

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture(autouse=True)
def bench_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))


def test_the_command_measures_and_writes_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    from suite import catalogue

    monkeypatch.setattr(catalogue, "quick", lambda: [catalogue.ratio(rows=20_000, ratios=(2,))])
    options = ["--repeat", "1", "--results", str(tmp_path / "r.jsonl"), "--report", str(tmp_path / "report")]
    assert main(["bench", "--contender", "panewise", "--contender", "duckdb", *options]) == 0
    assert "panewise ×" in capsys.readouterr().out
    assert {line["contender"] for line in map(json.loads, (tmp_path / "r.jsonl").open())} == {"panewise", "duckdb"}
    assert (tmp_path / "report" / "report.html").exists()
    before = (tmp_path / "r.jsonl").read_text()
    assert main(["bench", "--contender", "panewise", "--contender", "duckdb", "--resume", *options]) == 0
    assert (tmp_path / "r.jsonl").read_text() == before


def test_every_job_is_listed_and_names_contenders_that_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    from suite import catalogue
    from suite.entrants import Peer

    assert main(["bench", "--list", "--full"]) == 0
    shown = capsys.readouterr().out
    for job in [*catalogue.quick(), *catalogue.full()]:
        assert job.name in shown
        if job.family == "peers" and not job.missing:
            assert all(Peer(name).contender.title for name in job.contenders)
        labels = [point.label for point in job.points]
        assert len(set(labels)) == len(labels)


@pytest.mark.parametrize(("arguments", "message"), [
    (["--job", "nothing"], "there is no job 'nothing'"), (["--contender", "nobody"], "no job here has a contender"),
    (["--repeat", "0"], "there must be a round")])
def test_a_mistake_is_said_and_nothing_is_measured(arguments: list[str], message: str,
                                                   capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_without_a_clone_the_command_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                             capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(bench, "__file__", str(tmp_path / "site-packages" / "panewise" / "cli" / "bench.py"))
    monkeypatch.chdir(tmp_path)
    assert main(["bench"]) == 2
    assert "clone the repository" in capsys.readouterr().err


def test_a_slow_contender_is_given_as_many_rows_as_it_does_in_the_time() -> None:
    from suite.catalogue import sliding
    from suite.data import Data
    from suite.entrants import Peer
    from suite.jobs import Job

    point = sliding(60, Data(1_000_000), 60)
    job = Job("some", "", "", (point,), (), seconds=2)
    assert Peer("panewise").rows(job, point) == 1_000_000
    fixed, each = Peer("bytewax").contender.cost
    rows = Peer("bytewax").rows(job, point)
    assert rows * (fixed + each * 60) == pytest.approx(2e6, rel=0.1)
    assert Peer("bytewax").rows(job, sliding(1, Data(10), 1)) == 10


def test_data_is_written_once_and_a_prefix_is_the_same_rows(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from suite.data import SENTINEL, Data, Store

    data, store = Data(5_000, keys=7, skew=0.9, batches=2), Store(tmp_path)
    path = store.path(data, "file")
    made = path.stat().st_mtime_ns
    assert store.path(data, "file").stat().st_mtime_ns == made
    whole = pq.read_table(path)
    assert whole.slice(0, 1_000).equals(pq.read_table(store.path(data.prefix(1_000), "file")))
    assert 0.85 < whole["item"].to_pylist().count(0) / 5_000 < 0.97
    parts = sorted(store.path(data, "stream").glob("*.parquet"))
    tables = [pq.read_table(part) for part in parts]
    assert pa.concat_tables(tables[:4]).equals(whole)
    assert [table["item"].to_pylist() for table in tables[4:]] == [[SENTINEL]] * 4


def scaled(place: str, rows: int, cpu: float, seconds: float, shuffle: int) -> list[dict[str, Any]]:
    shared = {"job": "scaling", "point": f"{place} {rows}", "contender": "panewise_spark/streaming", "title": "ours",
              "version": "1", "rows": rows, "parameters": {"master": place}}
    check = {**shared, "round": 0, "seconds": 99.0, "cpu_seconds": 99.0, "shuffle_bytes": 0}
    noise = ((1, 0.0), (2, 5.0), (3, -1.0))  # the median has none
    return [check, *({**shared, "round": number, "seconds": seconds + more, "cpu_seconds": cpu + more,
                      "shuffle_bytes": shuffle, "state_bytes": 2e6} for number, more in noise)]


def test_a_cluster_is_computed_from_the_cost_of_a_row_among_the_most() -> None:
    from suite import sizing

    lines = [*scaled("local[1]", 1_000_000, 6.0, 5.0, 1_000), *scaled("local[1]", 5_000_000, 10.0, 10.0, 5_000),
             *scaled("local[2]", 1_000_000, 6.5, 4.0, 1_000), *scaled("local[2]", 5_000_000, 10.9, 5.0, 5_000)]
    alone, both = sizing.costs(lines)
    assert alone.cpu_per_row == pytest.approx(2.0)  # 10 s for 5 million rows
    assert alone.fewer == pytest.approx(6.0)
    assert alone.rows_per_second == pytest.approx(500_000)
    assert alone.shuffle_per_row == pytest.approx(0.001)
    assert both.rows_per_second == pytest.approx(1_000_000)
    wanted = sizing.need(10_000_000, alone)
    assert wanted.cores == 42  # 10 million rows of 2 µs are 20 cores; 60 % used, the slowest task 1.25 times the mean
    assert wanted.nodes == 3
    assert wanted.network_mb == pytest.approx(0.01 * 2 / 3)
    text = "\n".join(block.markdown() for block in sizing.page(lines))
    assert "| local[1] | ours 1 | 10,000,000 | 42 | 3 |" in text
    assert "2.00 times the rows/s of one core" in text
    assert all(assumption in text for assumption in sizing.ASSUMPTIONS)


def test_other_data_need_more_by_what_kernels_need_more_and_queries_all_of_it() -> None:
    from suite import sizing

    def swept(keys: int, cpu: float) -> dict[str, Any]:
        return {"job": "keys", "point": keys, "contender": "panewise", "title": "ours", "rows": 1_000_000, "round": 1,
                "seconds": cpu, "cpu_seconds": cpu}

    lines = [*scaled("local[1]", 1_000_000, 6.0, 5.0, 1_000), *scaled("local[1]", 5_000_000, 10.0, 10.0, 5_000),
             swept(1_000, 0.2), swept(1_000_000, 1.0), {**swept(1_000_000, 9.0), "contender": "duckdb"},
             {**swept(1, 0.2), "job": "queries"}, {**swept(10, 1.0), "job": "queries"}]
    assert sizing.growth(lines, "keys", 1_000) == [(1_000, 0.2, 1.0), (1_000_000, 1.0, 5.0)]
    assert sizing.growth(lines, "ratio", 20) == []
    text = "\n".join(block.markdown() for block in sizing.page(lines))
    assert "| keys, RANGE/SLIDE 5 | 1,000,000 | 1.000 | 5.00 | 59 |" in text  # 2.8 µs instead of 2, which need 42
    assert "| queries at once | 10 | 1.000 | 5.00 | 209 |" in text


def test_without_two_numbers_of_rows_there_is_no_page() -> None:
    from suite import sizing

    assert sizing.page(scaled("local[1]", 1_000_000, 6.0, 5.0, 1_000)) == []
    assert sizing.page([]) == []


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
def test_memory_and_processor_time_are_those_of_all_processes_of_a_contender() -> None:
    from contenders import run_process

    hungry = "x = b'.' * (80 << 20)\nimport time\nwhile time.process_time() < .3: pass\ntime.sleep(1)"
    program = (f"import sys, json, subprocess, time\nsys.path.insert(0, {str(BENCH / 'peers')!r})\n"
               "from adapter import cpu_seconds\nbefore, spent = cpu_seconds(), 0\n"
               f"child = subprocess.Popen([sys.executable, '-c', {hungry!r}])\n"
               "while child.poll() is None:\n    spent = max(spent, cpu_seconds() - before)\n    time.sleep(.05)\n"
               "print(json.dumps({'running': spent, 'ended': cpu_seconds() - before}))")
    figures = run_process([sys.executable, "-c", program], 60, 1, "")
    assert figures["peak_mb"] > 90
    ticks = 2 / os.sysconf("SC_CLK_TCK")  # /proc counts whole ticks, of the child and of the parent
    assert min(figures["running"], figures["ended"]) >= 0.3 - ticks
