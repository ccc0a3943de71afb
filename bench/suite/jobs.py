"""A job: data, a question and the contenders that answer it; a point is one setting of both, so a sweep has several."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from suite.data import Data


@dataclass(frozen=True)
class Point:
    """One question about one data set; times are in microseconds, see ``peers/adapter.py`` for the kinds."""

    label: int | float | str
    """Where it stands on the axis of its job."""
    data: Data
    kind: str = "sliding"
    range: int = 0
    slide: int = 1
    batch: int = 10_000
    input: str = "files"
    cores: int = 1
    csv: bool = False
    """Whether all contenders read CSV instead of Parquet files."""
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def windows(self) -> int:
        """How many windows a row is in."""
        ratio = max(1, self.range // self.slide)
        return {"sliding": ratio, "cumulate": ratio, "queries": ratio * (ratio + 1) // 2}.get(self.kind, 1)

    @property
    def parameters(self) -> dict[str, Any]:
        """All that tells this point from another, for the results file."""
        settings = {name: getattr(self, name) for name in ("kind", "range", "slide", "batch", "input", "cores", "csv")}
        return {**settings, **self.options, "data": {**self.data.__dict__}}


@dataclass(frozen=True)
class Job:
    """What is measured in one table of the report."""

    name: str
    title: str
    axis: str
    """What the labels of its points are."""
    points: tuple[Point, ...]
    contenders: tuple[str, ...]
    """Folders under ``bench/peers``, ``/batch`` or ``/streaming`` behind those that have both."""
    timeout: float = 120.0
    """Seconds after which a run is a failure."""
    seconds: float = 10.0
    """About how long a slow contender may take for one run; it is given so many of the first rows."""
    text: str = ""
    """What the report says about it."""
    missing: str = ""
    """Why it cannot be run yet."""
    measure: str = "rate"
    """What its picture shows: ``rate``, or the name of a figure."""
    family: str = "peers"
    """``peers``, or ``nexmark`` for the package of that name."""


def only(jobs: list[Job], names: list[str]) -> list[Job]:
    """The jobs with these names; all when there are none."""
    if unknown := sorted(set(names) - {job.name for job in jobs}):
        raise LookupError(f"there is no job {unknown[0]!r}; there are {', '.join(job.name for job in jobs)}")
    return [job for job in jobs if job.name in names or not names]
