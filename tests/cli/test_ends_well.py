"""How a command ends when something outside goes wrong: full disks, readers that leave, interrupts, misspelt words."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import panewise as pw
from panewise.cli.main import main

COUNT = "SELECT count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s"
COMMAND = [sys.executable, "-m", "panewise"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "s.ndjson"
    path.write_text("".join(f'{{"ts": {i}}}\n' for i in range(20_000)))
    return path


def command(source: Path, *more: str) -> list[str]:
    return [*COMMAND, "run", COUNT, "--stream", f"s={source}", "--engine", "embedded", *more]


@pytest.mark.parametrize("out", [["--out", "-"], []])
def test_a_full_device_is_a_clear_error(source: Path, out: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        run = subprocess.run(command(source, *out), stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert run.returncode == 2
    assert "No space left on device" in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("name", ["out.ndjson", "out.csv", "out.parquet", "parts/"])
def test_a_limit_of_file_sizes_is_a_clear_error(source: Path, tmp_path: Path, name: str) -> None:
    more = ["--checkpoint", str(tmp_path / "state")] if name.endswith("/") else []
    run = subprocess.run(command(source, "--out", str(tmp_path / name) + "/" * name.endswith("/"), "--quiet", *more),
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
                         capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert "File too large" in run.stderr
    assert "Traceback" not in run.stderr


def test_a_second_run_on_one_checkpoint_is_refused_by_the_name_of_the_first(
        source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = pw.run(COUNT, s=source, checkpoint=tmp_path / "state")
    results = iter(first)
    next(results)  # it is on its way
    arguments = ["run", COUNT, "--stream", f"s={source}", "--engine", "embedded", "--quiet", "--checkpoint",
                 str(tmp_path / "state"), "--out", str(tmp_path / "out.ndjson")]
    assert main(arguments) == 2
    assert f"is in use by process {os.getpid()} on" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "out.ndjson").exists()
    assert len(list(results)) == 1_999


@pytest.mark.parametrize("out", [["--out", "-", "--quiet"], ["--limit", "20000", "--quiet"]])
def test_a_reader_that_goes_away_ends_the_run_quietly(source: Path, out: list[str]) -> None:
    with subprocess.Popen(command(source, *out), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        run.stdout.readline()
        run.stdout.close()
        errors = run.stderr.read()
    assert (run.returncode, errors) == (0, b"")


@pytest.mark.parametrize("arguments", [
    ["run", COUNT, "--stream", "s=SOURCE", "--engine", "embedded"], ["explain", COUNT],
    ["run", COUNT, "--stream", "s=SOURCE", "--engine", "embedded", "--limit", "20000", "--quiet"],
    ["run", COUNT, "--stream", "s=SOURCE", "--engine", "embedded", "--out", "-"], ["--version"], ["run", "--help"],
])
def test_a_reader_that_is_gone_before_anything_is_written_is_no_failure(source: Path, arguments: list[str]) -> None:
    given = [part.replace("SOURCE", str(source)) for part in arguments]
    reading, writing = os.pipe()
    os.close(reading)
    try:
        run = subprocess.run([*COMMAND, *given], stdout=writing, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(writing)
    assert run.returncode == 0
    assert b"Traceback" not in run.stderr
    assert b"Broken" not in run.stderr


def test_an_interrupt_during_start_up_says_so(tmp_path: Path) -> None:
    """The signal comes while modules are imported, before any command runs."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'panewise.api.engines':\n"
        "            sys.meta_path.remove(self)\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n")
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    run = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True, check=False,
                         env={**os.environ, "PYTHONPATH": paths})
    assert run.returncode in {130, -signal.SIGINT}
    assert run.stderr.strip() == "interrupted"


@pytest.mark.parametrize(("arguments", "meant"), [
    (["run", COUNT, "--stream", "s=x", "--progres", "ordered"], "--progress"),
    (["run", COUNT, "--stream", "s=x", "--engine", "embeded"], "embedded"),
    (["run", COUNT, "--stream", "s=x", "--late", "genrous"], "generous"),
    (["explain", COUNT, "--analyse"], "--analyze"),
    (["rnu"], "run"),
])
def test_misspelt_arguments_name_the_nearest(arguments: list[str], meant: str,
                                             capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert f"did you mean '{meant}'?" in capsys.readouterr().err


def test_misspelt_streams_and_statistics_name_the_nearest(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start = ["run", COUNT, "--engine", "embedded", "--stream", f"s={source}"]
    for more, meant in ((["--time", "ss=ts"], "s"), (["--stats", "rows_per_secnd=5"], "rows_per_second"),
                        (["--time", "s=tss"], "ts")):
        assert main([*start, *more]) == 2
        assert f"did you mean '{meant}'?" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("year", ["0000", "0001", "9999"])
def test_years_at_the_ends_of_the_calendar_are_written(year: str, tmp_path: Path) -> None:
    source, out = tmp_path / "s.ndjson", tmp_path / "out.ndjson"
    source.write_text(f'{{"ts": "{year}-12-31T23:30:00Z"}}\n')
    text = "SELECT count(*) [RANGE 2 hours, SLIDE 1 hour, WA ts] AS n FROM s"
    assert main(["run", text, "--stream", f"s={source}", "--engine", "embedded", "--out", str(out), "--quiet"]) == 0
    windows = [json.loads(line)["window"] for line in out.read_text().splitlines()]
    assert windows[0]["start"] == f"{year}-12-31T22:00:00Z"
    assert windows[-1]["end"] == f"{int(year) + 1:04d}-01-01T01:00:00Z"
    assert main(["run", text, "--stream", f"s={source}", "--engine", "embedded", "--quiet"]) == 0


def test_a_run_needs_no_directory_to_write_to(tmp_path: Path) -> None:
    """As in a container whose file system is read-only: numba finds no place for what it compiles."""
    program = (
        "import warnings, numba.core.caching as caching\n"
        "caching.CacheImpl._locator_classes = []\n"
        "from panewise.core.errors import PanewiseWarning\n"
        "with warnings.catch_warnings(record=True) as seen:\n"
        "    warnings.simplefilter('always')\n"
        "    from panewise.progress.generators import behind\n"
        "    import numpy as np\n"
        "    assert behind(np.array([5, 1, 7]), 0, 2, 0).tolist() == [False, True, False]\n"
        "print([str(w.message)[:35] for w in seen if issubclass(w.category, PanewiseWarning)])\n")
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert run.stderr == ""
    assert run.stdout.strip() == "['compiled loops cannot be kept, beca']"
