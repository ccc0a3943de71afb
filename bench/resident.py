"""Contenders that stay: a process that takes one job after the other, for what is slow to start, as a JVM is.

Rounds are interleaved all the same: while one contender works, the others wait for their next job. The peak memory of
a job is that of the process while it works on it, and so has what earlier jobs have left there.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from queue import Empty, Queue
from typing import Any

from common import threads
from contenders import Failure, TreeMemory, last_line

STAY = "-"
"""The argument that makes an adapter read jobs from its input."""


class Resident:
    """One process and the jobs it is given."""

    def __init__(self, command: list[str], cores: int) -> None:
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (as long as the process)
        self.child = subprocess.Popen([*command, STAY], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=self._errors, text=True, env=threads(cores), start_new_session=True)
        self._lines: Queue[str | None] = Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.child.stdout is not None
        for line in self.child.stdout:
            if line.startswith("{"):  # others are what libraries like to say
                self._lines.put(line)
        self._lines.put(None)

    def ask(self, job: str, timeout: float, what: str) -> dict[str, Any]:
        """The figures of a job; a process that fails or takes too long is ended."""
        started = time.perf_counter()
        with TreeMemory(self.child.pid) as memory:
            try:
                assert self.child.stdin is not None
                self.child.stdin.write(job + "\n")
                self.child.stdin.flush()
                answer = self._lines.get(timeout=timeout)
            except Empty:
                self.end()
                raise Failure(f"not done after {timeout:g} s with {what}") from None
            except OSError:
                answer = None
            except BaseException:  # an interrupt: leave nothing behind
                self.end()
                raise
        if answer is None:
            code = self.child.wait()
            self._errors.seek(0)
            raise Failure(f"ended with {code}: {last_line(self._errors.read())}")
        figures: dict[str, Any] = json.loads(answer)
        figures["peak_mb"] = max(memory.peak, figures.pop("own_peak_mb", 0.0))
        figures["process_seconds"] = time.perf_counter() - started
        return figures

    @property
    def alive(self) -> bool:
        return self.child.poll() is None

    def end(self) -> None:
        """With everything it started."""
        if self.alive:
            os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()


class Residents:
    """The processes that stay, by what they were started with."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], Resident] = {}

    def ask(self, command: list[str], timeout: float, cores: int, what: str) -> dict[str, Any]:
        """Give a job (the last word of a command) to the process that the others start, if it is not there."""
        *start, job = command
        asked = json.loads(job)
        key = (*start, cores, asked.get("engine"), asked.get("options", {}).get("master"))
        if key not in self._known or not self._known[key].alive:
            self._known[key] = Resident(start, cores)
        return self._known[key].ask(job, timeout, what)

    def close(self) -> None:
        """End all."""
        for resident in self._known.values():
            resident.end()
        self._known.clear()
