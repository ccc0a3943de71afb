"""What a run on Spark keeps beside Spark's own checkpoint: results and counts of micro-batches, each under its number.

Spark's folder must be the one they were kept with: a run refuses one that is missing, of another query, or behind.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from threading import Lock
from typing import Any

import pyarrow as pa

from panewise.core.errors import CheckpointError
from panewise.engines.spark.observe.observed import metrics
from panewise.engines.spark.observe.status import as_json
from panewise.files.kept import ResultPages
from panewise.storage import CommittedChunks, Scoped

RESULTS, COUNTS, LAST = "results", "counts", "batches"


class KeptBatches:
    """Used by the thread that Spark calls with results, and by the one that watches."""

    def __init__(self, store: CommittedChunks, spark: Path) -> None:
        self._store, self._spark = store, spark
        self._lock = Lock()
        self._pages = ResultPages(Scoped(store, RESULTS))
        self._counts: dict[str, list[int]] = json.loads(store.get(COUNTS) or b"{}")
        found = json.loads(store.get(LAST) or b'{"last": -1, "query": null}')
        self._last, self._query = int(found["last"]), found["query"]
        self._check_spark()

    def _check_spark(self) -> None:
        """Spark writes that a batch is done after we have kept it, so it is level with us or one behind."""
        if self._last < 0:
            return
        if (now := self._query_id()) != self._query:
            raise CheckpointError(f"{self._spark} is not the checkpoint of Spark that the results beside it were kept "
                                  f"with (query {now}, not {self._query}): restore the folder from a copy, or start "
                                  "with a new directory")
        done = max((int(p.name) for p in (self._spark / "commits").glob("[0-9]*") if p.name.isdigit()), default=-1)
        if done not in (self._last, self._last - 1):
            raise CheckpointError(f"{self._spark} has reached micro-batch {done}, the results beside it "
                                  f"{self._last}: files are missing, or of another time; restore the folder from a "
                                  "copy, or start with a new directory")

    def _query_id(self) -> str | None:
        """The name Spark gave the query, which stays when it is started again."""
        try:
            return str(json.loads((self._spark / "metadata").read_text())["id"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def has(self, number: int) -> bool:
        """Whether the results of a batch are kept."""
        return number <= self._last

    def add(self, number: int, table: pa.Table) -> None:
        """Keep the results of a batch, on disk before Spark hears that it is done."""
        with self._lock:
            if table.num_rows:
                self._pages.add(table)
            self._last, self._query = number, self._query_id()
            self._store.put(LAST, json.dumps({"last": number, "query": self._query}).encode())
            self._store.commit()

    def tables(self) -> Iterator[pa.Table]:
        """The results of runs before this one."""
        with self._lock:
            return iter(list(self._pages.tables()))

    def count(self, reports: Iterable[Any]) -> dict[str, int]:
        """Rows and late rows of all batches, with what Spark has reported by now; its own reports end with a run.

        A batch that is repeated after a failure has the same rows, so it replaces its own counts.
        """
        before = dict(self._counts)
        for report in map(as_json, reports):
            metric = metrics(report)
            if report["numInputRows"] or metric.get("late_rows"):  # Spark reports idle batches under the last number
                self._counts[str(report["batchId"])] = [report["numInputRows"], int(metric.get("late_rows") or 0)]
        if self._counts != before:
            with self._lock:
                self._store.put(COUNTS, json.dumps(self._counts).encode())
                self._store.commit()
        return {"rows": sum(c[0] for c in self._counts.values()), "late": sum(c[1] for c in self._counts.values())}
