"""Whose checkpoint a directory is: one query on one engine over the same files, and whether it has ended."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from panewise.core.errors import CheckpointError
from panewise.engines.contract import InputStream
from panewise.files.reader import FileStream
from panewise.plan.nodes import Node
from panewise.plan.run_instant import begun_at, instant_now
from panewise.planner.options import RunOptions
from panewise.storage import DirectoryChunks

LABEL, ENDED, BEGAN = "label", "ended", "began"
SPOOL, SPARK = "spool", "spark"
"""Where received lines are kept, and where Spark keeps its checkpoint: beside ours, and perhaps there first."""


@dataclass(frozen=True)
class CheckpointLabel:
    """What a run writes into its checkpoint directory before anything else; it owns the directory until closed."""

    store: DirectoryChunks
    streams: Mapping[str, InputStream | str]
    began: datetime
    """When the run began that the directory was made for: what ``now()`` is, also after a restart."""

    @classmethod
    def claim(cls, home: Path, plan: Node, streams: Mapping[str, InputStream | str],
              options: RunOptions, *, engine: str, began: datetime | None = None) -> CheckpointLabel:
        """Take a new directory, or go on with one's own; another run's, or one that is in use, is refused.

        Streams are known by the path of their files, or by a text that says where they come from.
        """
        paths = {n: str(s.path if isinstance(s, FileStream) else s) for n, s in sorted(streams.items())
                 if isinstance(s, FileStream | str)}
        parts = {"plan": repr(plan), "late": options.late.value, "progress": options.progress, "streams": paths}
        query = hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]
        began = instant_now() if began is None else began
        mark = {"engine": engine, "query": query}
        store = DirectoryChunks(home, beside=(SPOOL,))
        try:
            saved = store.get(LABEL)
            if saved is None:
                if store.names() or (store.path / SPARK).exists():
                    raise CheckpointError(f"{home} holds the state of a query that was not started here: use a "
                                          "directory of its own")
                store.put(LABEL, json.dumps(mark).encode())
                store.put(BEGAN, began.isoformat().encode())
                store.commit()
            elif (found := json.loads(saved)) != mark:
                what = f"the {found.get('engine')} engine" if found.get("engine") != engine \
                    else "another query, policy, stream or set of columns"
                raise CheckpointError(f"{home}: this checkpoint belongs to {what}; use a directory of its own")
            kept = store.get(BEGAN)
            claimed = cls(store, streams, began if kept is None else datetime.fromisoformat(kept.decode()))
            claimed.check_unchanged()
        except BaseException:
            store.close()
            raise
        return claimed

    def began_before(self, instant: datetime) -> bool:
        """Whether this run goes on with one that began at another instant."""
        return self.began != instant

    def begun(self, plan: Node) -> Node:
        """The plan with the instant at which the run began."""
        return begun_at(plan, self.began)

    def check_unchanged(self) -> None:
        """A run that has read its files to the end has promised that nothing more comes."""
        ended = self.store.get(ENDED)
        if ended is not None and ended != self._contents():
            raise CheckpointError(f"{self.store.path}: the run of this checkpoint has ended, and its files have "
                                  "changed since; start again with a new checkpoint")

    def end(self) -> None:
        """Everything was read."""
        self.store.put(ENDED, self._contents())
        self.store.commit()

    def close(self) -> None:
        """Let another run have the directory."""
        self.store.close()

    def _contents(self) -> bytes:
        """Every file with its size."""
        files = {n: [[f.name, f.stat().st_size] for f in s.files]
                 for n, s in sorted(self.streams.items()) if isinstance(s, FileStream)}
        return json.dumps(files).encode()
