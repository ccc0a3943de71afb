"""Contenders: adapters under ``bench/peers``, each in a process, and where it needs other packages in an environment,
of its own.

A folder ``bench/peers/<name>`` holds ``run.py`` (what it does, see ``peers/adapter.py``), ``peer.toml`` (its title, the
way it takes, what a row costs it and so how many it is given, the Pythons it runs on) and, unless the project's own
environment has what it needs, ``requirements.in`` with the pinned ``requirements.lock``. The environment is made when
it is first asked for and again when the lock has changed. What cannot be had or fails is a :class:`Failure` with the
reason, never a gap.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import say, threads

PEERS = Path(__file__).parent / "peers"
ENVIRONMENTS = Path(__file__).parents[1] / ".bench-envs"
SAMPLE_SECONDS = 0.02
RARELY = 50
"""How many times as long as it looks a watch pauses: the threads of a JVM are many, and a contender needs the cores."""


class Failure(Exception):  # noqa: N818 (an outcome that is reported, not a defect)
    """Why a contender has no figures."""


@dataclass(frozen=True)
class Contender:
    """One adapter."""

    name: str
    title: str
    way: str
    rows: int | None = None
    """The most rows it is given; None for all."""
    pythons: tuple[str, ...] = ()
    package: str = ""
    """What it is installed as."""
    cost: tuple[float, float] = (0.0, 0.0)
    """About how many microseconds a row costs it, and how many more for each window the row is in: what the suite
    chooses the number of rows by, so that one run of a slow contender does not take the time of all."""
    built: tuple[str, ...] = ()
    """The packages that it needs and that are published as source only."""
    stays: bool = False
    """Whether its process takes all jobs of a table, because it is slow to start."""
    family: str = "process"
    """``process``: in process; ``spark``: on Spark; ``other``: what ``bench/embedded_peers.py`` has no job for."""
    folder: Path = PEERS

    @classmethod
    def named(cls, name: str, folder: Path = PEERS) -> Contender:
        """The contender in the folder of this name."""
        settings = tomllib.loads((folder / name / "peer.toml").read_text())
        lists = {key: tuple(settings.pop(key)) for key in ("pythons", "cost", "built") if key in settings}
        return cls(name, **{"package": name, **settings, **lists}, folder=folder)

    @staticmethod
    def names(family: str = "process") -> list[str]:
        """All of a family: this project, those that do all rows, those that do some."""
        found = sorted((Contender.named(path.parent.name) for path in PEERS.glob("*/peer.toml")),
                       key=lambda peer: (peer.name != "panewise", peer.rows is not None, peer.name))
        return [peer.name for peer in found if peer.family == family]

    @property
    def lock(self) -> Path:
        return self.folder / self.name / "requirements.lock"

    def rows_in(self, seconds: float, windows: int) -> int | None:
        """How many rows it may take so long for, when each is in so many windows; None for any number."""
        fixed, each = self.cost
        return max(1_000, int(seconds * 1e6 / (fixed + each * windows)) // 1_000 * 1_000) if fixed + each else None

    # -- its environment

    def python(self, cache: Path = ENVIRONMENTS) -> str:
        """The interpreter that runs it; its environment is made when it is not there yet."""
        if not self.lock.exists():
            return sys.executable
        home, wanted = cache / self.name, hashlib.sha256(self.lock.read_bytes()).hexdigest()
        python, stamp = home / "bin" / "python", home / "made-from"
        if not (stamp.exists() and stamp.read_text() == wanted):
            say(f"making an environment for {self.title} in {home} ...")
            shutil.rmtree(home, ignore_errors=True)
            self._checked([self._interpreter(), "-m", "venv", str(home)])
            source = ["--no-binary", ",".join(self.built)] if self.built else []
            self._checked([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                           "--only-binary", ":all:", *source, "--require-hashes", "-r", str(self.lock)])
            stamp.write_text(wanted)
        return str(python)

    def _interpreter(self) -> str:
        own = f"{sys.version_info.major}.{sys.version_info.minor}"
        if own in self.pythons:
            return sys.executable
        found = next((path for version in self.pythons if (path := shutil.which(f"python{version}"))), None)
        if found is None:
            raise Failure(f"needs one of Python {', '.join(self.pythons)} and none is installed")
        return found

    @staticmethod
    def _checked(command: list[str]) -> None:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failure(f"could not be installed: {last_line(done.stderr or done.stdout)}")

    # -- running it

    def version(self, python: str) -> str:
        """The installed version, by its own environment."""
        code = f"from importlib.metadata import version; print(version({self.package!r}))"
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
        return done.stdout.strip() or "unknown"

    def run(self, python: str, job: dict[str, Any], timeout: float) -> dict[str, Any]:
        """Do a job in a new process; its figures, with the peak memory of the whole process tree."""
        return run_process([python, str(self.folder / self.name / "run.py"), json.dumps(job)], timeout,
                           job.get("cores", 1), f"{job['rows']:,} rows")


def run_process(command: list[str], timeout: float, cores: int, what: str) -> dict[str, Any]:
    """The JSON that a new process ends its output with, and the peak memory of it and all its descendants.

    It is a session of its own, so that with it all it started can be ended when it takes too long.
    """
    started = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=threads(cores),
                             start_new_session=True)
    with TreeMemory(child.pid) as memory:
        try:
            out, err = child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            _end(child)
            raise Failure(f"not done after {timeout:g} s with {what}") from None
        except BaseException:  # an interrupt: leave nothing behind
            _end(child)
            raise
    if child.returncode:
        raise Failure(f"ended with {child.returncode}: {last_line(err or out)}")
    figures: dict[str, Any] = json.loads(out.splitlines()[-1])
    figures["peak_mb"] = max(memory.peak, figures.pop("own_peak_mb", 0.0))
    figures["process_seconds"] = time.perf_counter() - started
    return figures


def _end(child: subprocess.Popen[str]) -> None:
    os.killpg(child.pid, signal.SIGKILL)
    child.communicate()


class TreeMemory:
    """Samples the resident memory of a process and all its descendants, where there is a /proc."""

    def __init__(self, pid: int) -> None:
        self.peak = 0.0
        self._pid, self._done = pid, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> TreeMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        pause = SAMPLE_SECONDS
        while not self._done.wait(pause):
            started = time.perf_counter()
            self.peak = max(self.peak, _tree_mb(self._pid))
            pause = max(SAMPLE_SECONDS, RARELY * (time.perf_counter() - started))


def _tree_mb(pid: int) -> float:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        children = [int(child) for task in Path(f"/proc/{pid}/task").iterdir()
                    for child in (task / "children").read_text().split()]
    except (OSError, IndexError):  # it has ended, or there is no /proc
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20 + sum(_tree_mb(child) for child in children)


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith(("error", "fatal"))]
    return (errors or lines or ["no message"])[-1][:300]
