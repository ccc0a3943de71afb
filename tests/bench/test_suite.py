"""``panewise bench`` with real contenders on little data: results compared first, then turns, and nothing hidden."""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[2] / "bench"
WRONG = f'''
import pyarrow.compute as pc
from runpy import run_path
duckdb_peer = run_path({str(BENCH / "peers" / "duckdb" / "run.py")!r})

def one_too_many(job, results):
    counts = pc.add(results["n"].cast("int64"), pc.equal(results["item"], 3).cast("int64"))
    return results.set_column(results.column_names.index("n"), "n", counts)

duckdb_peer["main"](duckdb_peer["prepare"], one_too_many)
'''
BROKEN = "raise SystemExit('this one has no engine')\n"


@pytest.fixture(autouse=True)
def bench_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))


def tiny(*contenders: str, points: int = 1) -> Any:
    from suite.catalogue import sliding
    from suite.data import Data
    from suite.jobs import Job

    return Job("tiny", "A tiny job", "RANGE/SLIDE",
               tuple(sliding(ratio, Data(30_000, keys=20), ratio) for ratio in (3, 7)[:points]), contenders)


def measured(job: Any, folder: Path, *, repeat: int = 1, resume: bool = False, **more: Any) -> Any:
    from common import machine
    from suite.data import Store
    from suite.progress import Display
    from suite.results import Results
    from suite.runner import Runner

    results = Results.open(folder / "results.jsonl", {"machine": machine()}, resume=resume)
    runner = Runner(results, Store(folder / "data"), Display(quiet=True), repeat, **more)
    runner.run([job])
    return runner


def peer(folder: Path, name: str, program: str) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "run.py").write_text(program)
    (folder / name / "peer.toml").write_text(f'title = "{name}"\nway = "for a test"\n')


def test_contenders_are_compared_then_take_turns_and_the_report_has_the_medians(tmp_path: Path) -> None:
    from common import rate
    from suite.report import write

    job = tiny("panewise", "duckdb", "polars")
    measured(job, tmp_path, repeat=2)
    lines = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert [line["contender"] for line in lines if line["round"] == 0] == ["panewise", "duckdb", "polars"]
    assert {line["differences"] for line in lines if line["round"] == 0} == {0}
    assert {line["results"] for line in lines} == {20 * (2 + 1 + 2)}  # 6 s are 2 panes; late rows reach one back
    turns = [[line["contender"] for line in lines if line["round"] == number] for number in (1, 2)]
    assert all(sorted(turn) == ["duckdb", "panewise", "polars"] for turn in turns)
    assert turns[0][0] != turns[1][0]  # nobody is always first
    for line in lines:
        assert {"machine", "command", "version", "seconds", "cpu_seconds", "peak_mb", "parameters"} <= line.keys()

    text = write(tmp_path / "report", lines, [job]).read_text()
    for name in ("panewise", "duckdb", "polars"):
        rates = [line["rows"] / line["seconds"] for line in lines if line["contender"] == name and line["round"]]
        assert f"| 30,000 | {rate(statistics.median(rates))} |" in text
    by_round = {(line["contender"], line["round"]): line["seconds"] for line in lines}
    times = statistics.median([by_round["duckdb", n] / by_round["panewise", n] for n in (1, 2)])
    assert f"| {times:,.2f} | 100 equal |" in text if times < 10 else f"| {times:,.0f} | 100 equal |" in text
    assert ("DuckDB" in text.split("## A tiny job")[0].split("## Faster")[1]) == (times < 1)
    page = (tmp_path / "report" / "report.html").read_text()
    assert "<svg" in page
    assert (tmp_path / "report" / "tiny.svg").exists()


def test_other_results_and_failures_are_outcomes_and_not_measured(tmp_path: Path) -> None:
    from suite.report import write

    peer(tmp_path / "peers", "wrong", WRONG)
    peer(tmp_path / "peers", "broken", BROKEN)
    job = tiny("panewise", "wrong", "broken")
    runner = measured(job, tmp_path, peers=tmp_path / "peers")
    lines = runner.results.lines
    assert [(line["contender"], line["round"]) for line in lines] == [
        ("panewise", 0), ("wrong", 0), ("broken", 0), ("panewise", 1)]
    assert lines[1]["differences"] == 5  # the windows of one key
    assert lines[1]["failure"] == "5 of 100 results differ"
    assert lines[2]["failure"] == "ended with 1: this one has no engine"
    text = write(tmp_path / "report", lines, [job]).read_text()
    assert "5 of 100 results differ" in text
    assert "this one has no engine" in text


def test_a_contender_that_takes_too_long_is_ended_with_all_it_started(tmp_path: Path) -> None:
    from contenders import Failure, run_process

    sign = tmp_path / "child"
    program = ("import subprocess, sys, time\n"
               f"child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
               f"open({str(sign)!r}, 'w').write(str(child.pid))\ntime.sleep(600)\n")
    with pytest.raises(Failure, match="not done after 3 s with 5 rows"):
        run_process([sys.executable, "-c", program], 3, 1, "5 rows")
    state, until = Path(f"/proc/{sign.read_text()}/stat"), time.monotonic() + 30

    def is_gone() -> bool:
        try:
            return state.read_text().rpartition(")")[2].split()[0] == "Z"
        except (FileNotFoundError, ProcessLookupError):
            return True

    while not is_gone() and time.monotonic() < until:  # a process that was killed is a moment in dying
        time.sleep(0.05)
    assert is_gone()


def test_a_resumed_run_measures_only_what_is_missing(tmp_path: Path) -> None:
    first = measured(tiny("panewise"), tmp_path)
    with (tmp_path / "results.jsonl").open("a") as file:
        file.write('{"job": "tiny", "cut')  # as a crash leaves it
    again = measured(tiny("panewise", "duckdb"), tmp_path, resume=True)
    assert again.results.lines[:2] == first.results.lines
    assert [(line["contender"], line["round"]) for line in again.results.lines[2:]] == [("duckdb", 0), ("duckdb", 1)]
    other = {**first.results.lines[0], "machine": {**first.results.shared["machine"], "commit": "another"}}
    (tmp_path / "results.jsonl").write_text(json.dumps(other) + "\n")
    assert len(measured(tiny("panewise"), tmp_path, resume=True).results.lines) == 2  # of another commit: all again


def test_when_the_time_is_over_nothing_is_begun_and_that_is_said(tmp_path: Path) -> None:
    from suite.report import write

    job = tiny("panewise")
    runner = measured(job, tmp_path, minutes=-1)
    assert runner.results.lines == []
    assert runner.skipped == ["tiny"]
    assert "The time was over" in write(tmp_path, [], [job], runner.skipped).read_text()


@pytest.mark.parametrize("kind", ["session", "cumulate", "rows", "tuple", "queries", "join"])
def test_panewise_and_duckdb_agree_on_every_kind_of_window(tmp_path: Path, kind: str) -> None:
    from common import LATE
    from suite.data import TICK, Data
    from suite.jobs import Job, Point

    second = 1_000_000
    data = {"tuple": Data(3_000, distance=40), "cumulate": Data(20_000, keys=5, lead=LATE)}.get(
        kind, Data(20_000, keys=50, slack=LATE))
    reach, slide = {"session": (5_100, 1), "cumulate": (60 * second, second // 5), "rows": (100, 10),
                    "tuple": (50 * TICK, 5), "queries": (6 * second, 2 * second), "join": (second // 10, 1)}[kind]
    point = Point(kind, data, kind=kind, range=reach, slide=slide)
    lines = measured(Job("kinds", "", "", (point,), ("panewise", "duckdb")), tmp_path, repeat=0).results.lines
    assert [line.get("failure") for line in lines] == [None] * 2
    assert lines[0]["results"] == lines[1]["results"] > 50


def test_a_contender_with_fewer_rows_is_compared_with_ours_on_as_few() -> None:
    from suite.entrants import Peer
    from suite.figures import Outcome, counterpart, times_as_fast
    from suite.runner import Runner

    ours, slow, native = Peer("panewise"), Peer("bytewax"), Peer("spark/batch")
    hosted = Peer("panewise_spark/batch")
    racing = [(ours, 100), (Peer("duckdb"), 100), (slow, 10), (Peer("pathway"), 10), (hosted, 100), (native, 20)]
    assert [(one.name, rows) for one, rows in Runner._on_fewer_rows(racing)] == [  # type: ignore[arg-type]
        ("panewise", 10), ("panewise_spark/batch", 20)]

    def outcome(name: str, rows: int, seconds: float) -> Outcome:
        return Outcome(name, [{"contender": name, "rows": rows, "round": 1, "seconds": seconds}])

    whole, part, other = outcome("panewise", 100, 1.0), outcome("panewise", 10, 0.5), outcome("bytewax", 10, 5.0)
    assert counterpart(other, [whole, part, other]) is part
    assert times_as_fast(part, other) == 10.0
    assert counterpart(other, [whole, other]) is whole  # shown in brackets
