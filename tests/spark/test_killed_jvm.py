"""kill -9 of Spark's JVM, whatever it is doing: one clear error, an exit code, no stack and no hang."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event
from time import monotonic

import pytest
from pyspark.errors import PySparkRuntimeError

from panewise.core.errors import SparkEndedError
from panewise.engines.spark.session.failures import plain_errors, translate
from spark.processes import needs_proc, under

TESTS = Path(__file__).parents[1]
DEADLINE = 120
ENDED = "the Java process that Spark runs in has ended"
SERVER_ENDED = "the Spark Connect server of this session has ended"
WORKER = "-m panewise.engines.spark.session.daemon"
AGGREGATE = "SELECT k, count(*) [RANGE 40, SLIDE 2, WA ts] AS n FROM s GROUP BY k"


def started(*command: str) -> subprocess.Popen[str]:
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH", "")]))
    return subprocess.Popen([sys.executable, *command], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, env=os.environ | {"PYTHONPATH": path})


def kill_jvm(child: subprocess.Popen[str]) -> None:
    found = [p.number for p in under(child.pid) if p.role == "jvm"]
    assert len(found) == 1, found
    os.kill(found[0], signal.SIGKILL)


def clear_error(child: subprocess.Popen[str], code: int, ended: str = ENDED) -> None:
    """The child ends soon, with this exit code, and says in one line what has happened."""
    try:
        _, said = child.communicate("\n", timeout=DEADLINE)
    finally:
        child.kill()
    assert child.returncode == code, said
    assert ended in said
    assert "start the program again" in said
    assert "Traceback" not in said.split("Exception ignored in", 1)[0]  # Spark's own iterators, as Python forgets them
    assert "py4j" not in said.lower()


def wait_for(child: subprocess.Popen[str], sign: Callable[[], bool]) -> None:
    pause, deadline = Event(), monotonic() + DEADLINE
    while not sign():
        assert child.poll() is None, child.communicate()
        assert monotonic() < deadline
        pause.wait(0.05)


@needs_proc
@pytest.mark.parametrize("way", ["batch", "collected", "streamed", "for_each_batch", "between"])
def test_a_program_whose_jvm_is_killed_is_told_so(way: str, tmp_path: Path) -> None:
    child = started("-m", "spark.killed_jvm_child", way, str(tmp_path))
    wait_for(child, (tmp_path / "busy").exists)
    kill_jvm(child)
    clear_error(child, 3)


@needs_proc
@pytest.mark.parametrize("way", ["connect", "connect_stream"])
def test_a_program_whose_connect_server_is_killed_is_told_so_and_does_not_wait(way: str, tmp_path: Path) -> None:
    child = started("-m", "spark.killed_jvm_child", way, str(tmp_path))
    wait_for(child, (tmp_path / "busy").exists)
    kill_jvm(child)
    clear_error(child, 3, SERVER_ENDED)


@needs_proc
@pytest.mark.parametrize("more", [[], ["--checkpoint", "state"], ["--late", "side"]])
def test_the_command_line_says_that_the_jvm_of_a_run_over_files_has_ended(more: list[str], tmp_path: Path) -> None:
    source, out = tmp_path / "s.ndjson", tmp_path / "out.ndjson"
    source.write_text("".join(f'{{"ts": {i}, "k": {i % 7}}}\n' for i in range(400_000)))
    more = [str(tmp_path / "state") if part == "state" else part for part in more]
    child = started("-m", "panewise", "run", AGGREGATE, "--stream", f"s={source}", "--engine", "spark", "--out",
                    str(out), *more)
    wait_for(child, lambda: any(WORKER in p.command for p in under(child.pid)))
    kill_jvm(child)
    clear_error(child, 1)


@needs_proc
@pytest.mark.parametrize("more", [[], ["--out", "parts/"]])
def test_the_command_line_says_that_the_jvm_of_a_live_run_has_ended(more: list[str], tmp_path: Path) -> None:
    state = tmp_path / "state"
    more = [f"{tmp_path / 'parts'}/" if part == "parts/" else part for part in more]
    child = started("-m", "panewise", "run", "SELECT count(*) [RANGE 1 s, SLIDE 1 s, WA timestamp] AS n FROM s",
                    "--stream", "s=rate:100", "--engine", "spark", "--checkpoint", str(state), *more)
    wait_for(child, (state / "spark" / "commits" / "0").exists)
    kill_jvm(child)
    clear_error(child, 1)


def test_a_jvm_that_never_came_up_is_told_without_a_stack() -> None:
    found = translate(PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={}))
    assert isinstance(found, SparkEndedError)
    assert "ended before it could be used" in str(found)


def test_an_error_of_the_user_stays_what_it_is() -> None:
    with pytest.raises(ConnectionRefusedError, match="of the user's own"), plain_errors():
        raise ConnectionRefusedError("of the user's own")
