"""Contenders: adapters under ``bench/peers``, each in a process, and where it needs other packages in an environment,
of its own.

A folder ``bench/peers/<name>`` holds ``run.py`` (what it does, see ``peers/adapter.py``), ``peer.toml`` (its title, the
way it takes, how many rows it is given, the Pythons it runs on) and, unless the project's own environment has what it
needs, ``requirements.in`` with the pinned ``requirements.lock``. The environment is made when it is first asked for and
again when the lock has changed. What cannot be had or fails is a :class:`Failure` with the reason, never a gap.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import one_thread, say

PEERS = Path(__file__).parent / "peers"
ENVIRONMENTS = Path(__file__).parents[1] / ".bench-envs"
SAMPLE_SECONDS = 0.02


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

    @classmethod
    def named(cls, name: str) -> Contender:
        """The contender in the folder of this name."""
        settings = tomllib.loads((PEERS / name / "peer.toml").read_text())
        return cls(name, settings["title"], settings["way"], settings.get("rows"), tuple(settings.get("pythons", ())))

    @staticmethod
    def names() -> list[str]:
        """All there are: this project, those that do all rows, those that do some."""
        found = sorted((Contender.named(path.parent.name) for path in PEERS.glob("*/peer.toml")),
                       key=lambda peer: (peer.name != "panewise", peer.rows is not None, peer.name))
        return [peer.name for peer in found]

    @property
    def lock(self) -> Path:
        return PEERS / self.name / "requirements.lock"

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
            self._checked([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                           "--only-binary", ":all:", "--require-hashes", "-r", str(self.lock)])
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
            raise Failure(f"could not be installed: {_last_line(done.stderr or done.stdout)}")

    # -- running it

    def version(self, python: str) -> str:
        """The installed version, by its own environment."""
        code = f"from importlib.metadata import version; print(version({self.name!r}))"
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
        return done.stdout.strip() or "unknown"

    def run(self, python: str, job: dict[str, Any], timeout: float) -> dict[str, Any]:
        """Do a job in a new process; its figures, with the peak memory of the whole process tree."""
        command = [python, str(PEERS / self.name / "run.py"), json.dumps(job)]
        started = time.perf_counter()
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=one_thread())
        with _TreeMemory(child.pid) as memory:
            try:
                out, err = child.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                child.kill()
                child.communicate()
                raise Failure(f"not done after {timeout:g} s with {job['rows']:,} rows") from None
        if child.returncode:
            raise Failure(f"ended with {child.returncode}: {_last_line(err or out)}")
        figures: dict[str, Any] = json.loads(out.splitlines()[-1])
        figures["peak_mb"] = max(memory.peak, figures.pop("own_peak_mb"))
        figures["process_seconds"] = time.perf_counter() - started
        return figures


class _TreeMemory:
    """Samples the resident memory of a process and all its descendants, where there is a /proc."""

    def __init__(self, pid: int) -> None:
        self.peak = 0.0
        self._pid, self._done = pid, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> _TreeMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(SAMPLE_SECONDS):
            self.peak = max(self.peak, _tree_mb(self._pid))


def _tree_mb(pid: int) -> float:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        children = [int(child) for task in Path(f"/proc/{pid}/task").iterdir()
                    for child in (task / "children").read_text().split()]
    except (OSError, IndexError):  # it has ended, or there is no /proc
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20 + sum(_tree_mb(child) for child in children)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith(("error", "fatal"))]
    return (errors or lines or ["no message"])[-1][:300]
