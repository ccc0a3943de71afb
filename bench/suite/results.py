"""The results file: a JSON line for each measurement, written at once, and what of it need not be repeated."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CHECK = 0
"""The round in which results are compared; its figures are kept and count for nothing."""
KEY = ("job", "point", "contender", "rows", "round", "parameters")


@dataclass
class Results:
    """Measurements of this commit, those of earlier runs included when resuming."""

    path: Path
    shared: dict[str, Any]
    """What every line says: machine and versions, with the commit."""
    lines: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def open(cls, path: Path, shared: dict[str, Any], *, resume: bool) -> Results:
        """A new file, or with ``resume`` the one that is there."""
        path.parent.mkdir(parents=True, exist_ok=True)
        results = cls(path, shared)
        if resume and path.exists():
            commit = shared["machine"]["commit"]
            results.lines = [line for line in read(path) if line["machine"]["commit"] == commit]
        else:
            path.write_text("")
        return results

    def add(self, line: dict[str, Any]) -> None:
        """Append one measurement; it is in the file when this returns."""
        whole = {**line, **self.shared}
        self.lines.append(whole)
        with self.path.open("a") as file:
            file.write(json.dumps(whole) + "\n")

    def find(self, line: dict[str, Any]) -> dict[str, Any] | None:
        """The measurement with the same job, point, contender, rows, round and parameters."""
        wanted = _identity(line)
        return next((known for known in self.lines if _identity(known) == wanted), None)


def read(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a results file; a last one that was cut off by a crash is left out."""
    for text in path.read_text().splitlines():
        try:
            yield json.loads(text)
        except json.JSONDecodeError:
            continue


def _identity(line: dict[str, Any]) -> str:
    return json.dumps([line[name] for name in KEY], sort_keys=True)
