"""Who takes part: what a contender's process is started with for a point, and with how many rows."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Protocol

from common import last_core
from contenders import ENVIRONMENTS, PEERS, Contender, Failure

from suite.data import Store
from suite.jobs import Job, Point

OURS = "panewise"
WARM_ROWS = 100_000


def installed(contender: Contender, environments: Path) -> tuple[str, str]:
    """The interpreter and the version of a contender; what cannot be installed is not tried again."""
    found = _installed(contender, environments)
    if isinstance(found, Failure):
        raise Failure(str(found))
    return found


@cache
def _installed(contender: Contender, environments: Path) -> tuple[str, str] | Failure:
    try:
        python = contender.python(environments)
    except Failure as failure:
        return failure
    return python, contender.version(python)


class Entrant(Protocol):
    """A contender in one job."""

    name: str

    @property
    def title(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def stays(self) -> bool: ...

    def rows(self, job: Job, point: Point) -> int: ...

    def command(self, point: Point, rows: int, out: Path | None, store: Store) -> list[str]: ...


@dataclass
class Peer:
    """An adapter under ``bench/peers``, for those on Spark in one of two modes."""

    name: str
    folder: Path = PEERS
    environments: Path = ENVIRONMENTS

    @cached_property
    def contender(self) -> Contender:
        return Contender.named(self.name.split("/")[0], self.folder)

    @property
    def mode(self) -> str:
        return self.name.partition("/")[2]

    @property
    def title(self) -> str:
        return f"{self.contender.title}, {self.mode}" if self.mode else self.contender.title

    @property
    def python(self) -> str:
        """Its interpreter; :class:`contenders.Failure` when its environment cannot be made."""
        return installed(self.contender, self.environments)[0]

    @property
    def version(self) -> str:
        return installed(self.contender, self.environments)[1]

    @property
    def stays(self) -> bool:
        return self.contender.stays

    def rows(self, job: Job, point: Point) -> int:
        """All, or as many as it does in the time the job has for slow ones."""
        limit = self.contender.rows_in(job.seconds, point.windows)
        return point.data.rows if limit is None else min(limit, point.data.rows)

    def command(self, point: Point, rows: int, out: Path | None, store: Store) -> list[str]:
        data = point.data.prefix(rows)
        options = {**point.options, **({"mode": self.mode} if self.mode else {})}
        job: dict[str, Any] = {
            "path": str(store.path(data, self.layout(point))),
            "warm_path": str(store.path(point.data.prefix(min(rows, WARM_ROWS)), self.layout(point))),
            "out": str(out or ""), "input": point.input, "rows": rows, "batch": point.batch, "range": point.range,
            "slide": point.slide, "late": data.lateness, "text_keys": False, "core": last_core(), "options": options,
            "kind": point.kind, "cores": point.cores}
        return [self.python, str(self.folder / self.contender.name / "run.py"), json.dumps(job)]

    def layout(self, point: Point) -> str:
        """How it gets its data."""
        if point.kind == "join":
            return "pair"
        if point.csv:
            return "csv"
        return {"streaming": "stream", "batch": "parts"}.get(self.mode, "file")


@dataclass
class NexmarkEngine:
    """An engine of ``bench/nexmark/run.py``; the label of a point is the name of a query."""

    name: str
    home: Path

    @property
    def title(self) -> str:
        return self.name

    @property
    def version(self) -> str:
        return ""

    @property
    def stays(self) -> bool:
        return True

    def rows(self, _job: Job, point: Point) -> int:
        return point.data.rows

    def command(self, point: Point, rows: int, out: Path | None, store: Store) -> list[str]:
        data = store.folder / f"nexmark-{rows}-{point.data.batches}"  # made by the first process that looks for it
        job = {"query": point.label, "engine": self.name, "data": str(data), "events": rows,
               "batches": point.data.batches, "cores": point.cores, "out": str(out or "")}
        return [sys.executable, str(self.home / "run.py"), json.dumps(job)]


def entrants(job: Job, *, peers: Path = PEERS, environments: Path = ENVIRONMENTS) -> list[Entrant]:
    """The contenders of a job."""
    if job.family == "nexmark":
        return [NexmarkEngine(name, PEERS.parent / "nexmark") for name in job.contenders]
    return [Peer(name, peers if (peers / name.split("/")[0]).exists() else PEERS, environments)
            for name in job.contenders]


def reference(job: Job, *, environments: Path = ENVIRONMENTS) -> Entrant:
    """Whose results the others must equal: the embedded engine's."""
    return entrants(job)[0] if job.family == "nexmark" else Peer(OURS, PEERS, environments)

