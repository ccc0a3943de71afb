"""Whose checkpoint a directory is: one query on one engine over the same files, and whether it has ended."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from panewise.api.inputs import LocalStream
from panewise.core.errors import CheckpointError
from panewise.files.reader import FileStream
from panewise.plan.nodes import Node

LABEL, ENDED = "query.json", "ended.json"
SPOOL = "spool"
"""Where received lines are kept, beside what the engine writes; it may be there first."""


@dataclass(frozen=True)
class CheckpointLabel:
    """What a run writes into its checkpoint directory before anything else."""

    home: Path
    streams: Mapping[str, LocalStream | str]

    @classmethod
    def claim(cls, home: Path, plan: Node, streams: Mapping[str, LocalStream | str], *, engine: str, late: str,
              progress: str | Mapping[str, str]) -> CheckpointLabel:
        """Take a new directory, or go on with one's own; another run's is refused.

        Streams are known by the path of their files, or by a text that says where they come from.
        """
        paths = {n: str(s.path if isinstance(s, FileStream) else s) for n, s in sorted(streams.items())
                 if isinstance(s, FileStream | str)}
        parts = {"plan": repr(plan), "late": late, "progress": progress, "streams": paths}
        query = hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]
        mark = {"format": 1, "engine": engine, "query": query}
        label = home / LABEL
        try:
            home.mkdir(parents=True, exist_ok=True)
            if not label.exists():
                if any(entry.name != SPOOL for entry in home.iterdir()):
                    raise CheckpointError(f"{home}: is not empty, and no checkpoint that panewise has written; use a "
                                          "directory of its own")
                label.write_text(json.dumps(mark))
            found = json.loads(label.read_text())
            if not isinstance(found, dict):
                raise ValueError(f"{LABEL} is damaged")
        except (OSError, ValueError) as error:
            raise CheckpointError(f"{home}: cannot be used as a checkpoint: {error}") from error
        if found != mark:
            what = f"the {found.get('engine')} engine" if found.get("engine") != engine \
                else "another query, policy, stream or set of columns"
            raise CheckpointError(f"{home}: this checkpoint belongs to {what}; use a directory of its own")
        claimed = cls(home, streams)
        claimed.check_unchanged()
        return claimed

    def check_unchanged(self) -> None:
        """A run that has read its files to the end has promised that nothing more comes."""
        ended = self.home / ENDED
        if ended.exists() and ended.read_text() != self._contents():
            raise CheckpointError(f"{self.home}: the run of this checkpoint has ended, and its files have changed "
                                  "since; start again with a new checkpoint")

    def end(self) -> None:
        """Everything was read."""
        (self.home / ENDED).write_text(self._contents())

    def _contents(self) -> str:
        """Every file with its size."""
        files = {n: [[f.name, f.stat().st_size] for f in s.files]
                 for n, s in sorted(self.streams.items()) if isinstance(s, FileStream)}
        return json.dumps(files)
