"""The processes of a Spark application on this machine, by what they do; from ``/proc``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

needs_proc = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="processes are found in /proc")


@dataclass(frozen=True)
class Process:
    """One process."""

    number: int
    parent: int
    command: str
    resident: int
    """Bytes of memory it has."""
    cpu: float
    """Seconds of processor time it has used."""
    role: str = ""
    """``driver`` (Python), ``jvm``, ``daemon`` or ``worker`` (Python, forked by the daemon)."""


def everything() -> dict[int, Process]:
    """All processes that can be seen now."""
    found = {}
    page, tick = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            resident = int((entry / "statm").read_text().split()[1]) * page
        except OSError:  # gone meanwhile
            continue
        cpu = (int(stat[11]) + int(stat[12])) / tick
        found[int(entry.name)] = Process(int(entry.name), int(stat[1]), command, resident, cpu)
    return found


def under(ancestor: int) -> Iterator[Process]:
    """A process and all its descendants, with their roles."""
    known = everything()
    for process in known.values():
        at: int | None = process.number
        while at is not None and at != ancestor:
            at = known[at].parent if at in known else None
        if at == ancestor:
            yield replace(process, role=_role(process, known))


def _role(process: Process, known: dict[int, Process]) -> str:
    parent = known.get(process.parent)
    if "daemon" in process.command and "java" not in process.command.split(" ", 1)[0]:
        return "worker" if parent is not None and parent.command == process.command else "daemon"
    return "jvm" if "java" in process.command.split(" ", 1)[0] else "driver"


def python_workers(ancestor: int | None = None) -> list[int]:
    """The Python workers under a process: what Spark's daemon has forked."""
    return [p.number for p in under(os.getpid() if ancestor is None else ancestor) if p.role == "worker"]
