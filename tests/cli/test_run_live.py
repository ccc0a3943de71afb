"""``panewise run`` over pipes, sockets and growing files: real processes, results while the input is still open."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from panewise.cli.main import main

QUERY = "SELECT k, count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s GROUP BY k"
ROWS = [{"ts": t, "k": "a"} for t in (1, 4, 8, 12, 15)]


def line(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"


def promise(bound: int) -> bytes:
    return line({"punctuation": {"ts": bound}})


def panewise(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "panewise.cli.main", "run", QUERY, "--engine", "embedded",
                             *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env={**os.environ, "COLUMNS": "200"})


def counts(text: bytes) -> list[tuple[int, int]]:
    return [(row["window"]["start"], row["n"]) for row in map(json.loads, text.splitlines())]


def test_standard_input_to_standard_output_as_it_comes() -> None:
    child = panewise("--stream", "s=-", "--out", "-")
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(b"".join(map(line, ROWS)) + promise(10))
    child.stdin.flush()
    first = child.stdout.readline()
    assert counts(first) == [(0, 3)], "while the input is still open"
    child.stdin.write(line({"ts": 3, "k": "a"}))
    out, err = child.communicate(timeout=100)
    assert counts(out) == [(10, 2)]
    assert child.returncode == 0
    assert b"6 rows in, 2 results" in err
    assert b"1 row was late" in err


def test_a_socket_in_and_an_interrupt_that_saves(tmp_path: Path) -> None:
    arguments = ["--stream", f"s=unix://{tmp_path / 'in.sock'}?ack", "--columns", "s=ts bigint, k string",
                 "--checkpoint", str(tmp_path / "c"), "--out", f"{tmp_path / 'out'}/"]
    child = panewise(*arguments)
    assert child.stderr is not None
    assert b"listening on" in child.stderr.readline()
    with socket.socket(socket.AF_UNIX) as sender:
        sender.connect(str(tmp_path / "in.sock"))
        answers = sender.makefile()
        assert json.loads(answers.readline()) == {"received": 0}
        sender.sendall(b"".join(map(line, ROWS)) + promise(10))
        assert json.loads(answers.readline()) == {"acknowledged": 6}, "after a checkpoint"
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=100)
    assert child.returncode == 130
    assert b"1 open windows are saved" in err
    child = panewise(*arguments)
    assert child.stderr is not None
    child.stderr.readline()
    with socket.socket(socket.AF_UNIX) as sender:
        sender.connect(str(tmp_path / "in.sock"))
        answers = sender.makefile()
        assert json.loads(answers.readline()) == {"received": 6}
        sender.sendall(line({"punctuation": {}}))
        assert json.loads(answers.readline()) == {"acknowledged": 7}
        child.communicate(timeout=100)
    assert child.returncode == 0
    parts = sorted((tmp_path / "out").iterdir())
    assert [row["n"] for part in parts for row in pq.read_table(part).to_pylist()] == [3, 2]


def test_a_growing_file_is_followed_from_where_the_last_run_was(tmp_path: Path) -> None:
    path = tmp_path / "s.ndjson"
    path.write_bytes(b"".join(map(line, ROWS)) + promise(10) + b'{"ts": 1')
    child = panewise("--stream", f"s={path}", "--follow", "--checkpoint", str(tmp_path / "c"))
    assert child.stdout is not None
    assert counts(child.stdout.readline()) == [(0, 3)]
    with path.open("ab") as file:
        file.write(b'6, "k": "a"}\n' + promise(20))
    assert counts(child.stdout.readline()) == [(10, 3)], "the half line was waited for"
    child.send_signal(signal.SIGTERM)
    assert child.wait(100) == 130


def test_early_results_of_a_file_carry_their_corrections(tmp_path: Path) -> None:
    path = tmp_path / "s.ndjson"
    path.write_bytes(line(ROWS[0]) + promise(1) + b"".join(map(line, ROWS[1:])))
    out = tmp_path / "out.ndjson"
    assert main(["run", QUERY, "--engine", "embedded", "--stream", f"s={path}", "--emit", "change",
                 "--out", str(out)]) == 0
    assert [(r["n"], r["change"]) for r in map(json.loads, out.read_text().splitlines())] == [
        (1, 1), (1, -1), (3, 1), (2, 1)]


@pytest.mark.parametrize(("arguments", "message"), [
    (["--stream", "s=-"], "need --engine embedded"),
    (["--stream", "s=-", "--stream", "t=-", "--engine", "embedded"], "one thing only"),
    (["--stream", "s=tcp://nowhere", "--engine", "embedded"], "no address of a socket"),
    (["--stream", "s={file}", "--follow", "--engine", "embedded", "--columns", "t=ts bigint"], "no such --stream"),
    (["--stream", "s={file}", "--engine", "embedded", "--columns", "s=ts bigint"], "still to come"),
    (["--stream", "s={file}", "--engine", "embedded", "--out", "{folder}/"], "name a checkpoint"),
    (["--stream", "s={file}", "--engine", "oracle", "--emit", "change"], "embedded engine"),
    (["--stream", "s={file}", "--engine", "embedded", "--emit", "soon"], "no emission policy"),
    (["--stream", "s=tcp://:0", "--engine", "embedded", "--columns", "s=ts"], "columns are written"),
    (["--stream", "s=tcp://:0", "--engine", "embedded", "--columns", "s=ts time"], "no type 'time'"),
    (["--stream", "s=tcp://:0", "--engine", "embedded", "--columns", "s=ts bigint, k text", "--checkpoint",
      "{folder}/c"], "cannot be read again"),
])
def test_mistakes_are_told_before_anything_runs(
        arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.ndjson"
    path.write_bytes(b"".join(map(line, ROWS)))
    assert main(["run", QUERY, *(a.format(file=path, folder=tmp_path) for a in arguments)]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
