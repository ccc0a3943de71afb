"""How a streaming query is doing: rows per second, state, bounds, late rows; to look at, or sent to a listener."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryListener
from pyspark.sql.streaming.query import StreamingQuery

from panewise.engines.spark.observe.observed import metrics
from panewise.progress.watermarks import FINISHED, NO_BOUND


@dataclass(frozen=True)
class QueryStatus:
    """A streaming query after its latest micro-batch, and since it was started."""

    name: str = ""
    batch: int = -1
    rows: int = 0
    """Rows read since the start of this run, punctuation among them."""
    rows_per_second: float = 0.0
    state_rows: int = 0
    """Entries in Spark's state store."""
    state_bytes: int = 0
    late_rows: int = 0
    bound: str = ""
    """What the sources have promised: nothing before it comes any more."""
    open_windows: int | None = None
    """Windows that hold rows and are not closed, after the latest micro-batch that said so. Windows that all groups
    share are counted once, from the oldest to the newest."""
    seconds: float = 0.0
    """How long the latest micro-batch took."""
    replan: str = ""
    """Why another plan would be better by now, where ``stats`` chose the one that runs; a query that is started with
    new ``stats``, and a new checkpoint, takes it."""
    bad_rows: int = 0
    """Rows that could not be used and were left out (``bad_rows="skip"``) or put aside."""

    def after(self, report: Mapping[str, Any]) -> QueryStatus:
        """The status after one more micro-batch; ``report`` is Spark's progress as JSON has it."""
        operators = report.get("stateOperators") or []
        metric = metrics(report)
        opened = metric.get("open_windows")
        scanned = int(_of_sources(report, "numInputRows"))
        rows = scanned if metric.get("rows") is None else int(metric["rows"])
        return QueryStatus(
            str(report.get("name") or self.name), int(report.get("batchId", self.batch)),
            self.rows + rows, _of_sources(report, "processedRowsPerSecond") * (rows / scanned if scanned else 1.0),
            sum(int(o.get("numRowsTotal") or 0) for o in operators),
            sum(int(o.get("memoryUsedBytes") or 0) for o in operators),
            self.late_rows + int(metric.get("late_rows") or 0), _bound(report) or self.bound,
            int(opened) if opened is not None else self.open_windows, float(report.get("batchDuration") or 0) / 1000,
            str(metric.get("replan") or "") if opened is not None else self.replan,
            self.bad_rows + int(metric.get("bad_rows") or 0))

    @property
    def held(self) -> str:
        """State, open windows and late rows, for a person."""
        parts = [f"state {self.state_rows:,} entries, {self.state_bytes / 1e6:,.1f} MB"]
        parts += [f"{self.open_windows:,} open windows"] if self.open_windows is not None else []
        parts += [f"{self.late_rows:,} late"] if self.late_rows else []
        parts += [f"{self.bad_rows:,} bad"] if self.bad_rows else []
        return ", ".join(parts)

    def __str__(self) -> str:
        parts = [f"batch {self.batch}", f"{self.rows:,} rows in ({self.rows_per_second:,.0f}/s)", self.held]
        parts += [f"bound {self.bound}"] if self.bound else []
        parts += [f"another plan is better: {self.replan}"] if self.replan else []
        return ", ".join(parts)


def query_status(query: StreamingQuery) -> QueryStatus:
    """The status of a running or ended query, from the reports Spark has kept (the latest hundred by default)."""
    return status_after(query.recentProgress)


def status_after(reports: Iterable[Any]) -> QueryStatus:
    """The status after some reports, one per micro-batch; Spark may report a batch without rows again and again."""
    status = QueryStatus()
    for report in reports:
        status = status.after(as_json(report))
    return status


def as_json(report: Any) -> dict[str, Any]:
    """A progress report of any PySpark, classic or Connect, as plain data."""
    found: dict[str, Any] = json.loads(report.json if hasattr(report, "json") else json.dumps(report, default=str))
    return found


class StatusListener(StreamingQueryListener):
    """Tells a function the status of every query of a session after each of its micro-batches.

        spark.streams.addListener(StatusListener(print))

    On Spark Connect the function runs in the server's Python and cannot see the caller's variables.
    """

    def __init__(self, tell: Callable[[QueryStatus], object]) -> None:
        self.tell = tell
        self.known: dict[str, QueryStatus] = {}

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """A query begins with nothing read."""
        self.known[str(event.runId)] = QueryStatus(name=event.name or "")

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        """A micro-batch is done."""
        run = str(event.progress.runId)
        status = self.known.get(run, QueryStatus()).after(as_json(event.progress))
        self.known[run] = status
        self.tell(status)

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """Nothing to tell."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """Forget it."""
        self.known.pop(str(event.runId), None)


def _of_sources(report: Mapping[str, Any], name: str) -> float:
    """A figure of the whole query; over Connect only its sources tell it."""
    found = report.get(name)
    if found is None:
        found = sum(float(source.get(name) or 0) for source in report.get("sources") or [])
    return float(found)


def _bound(report: Mapping[str, Any]) -> str:
    """The smallest bound the sources have reached, where their offsets tell."""
    found: list[tuple[int, str]] = []
    for source in report.get("sources") or []:
        offset = source.get("endOffset")
        offset = json.loads(offset) if isinstance(offset, str) else offset
        if not isinstance(offset, Mapping) or "place" not in offset:
            return ""
        place = json.loads(offset["place"])
        bound = FINISHED if place.get("ended") else int(place.get("bound", NO_BOUND))
        if bound == NO_BOUND:
            return ""
        found.append((bound, "the end" if bound == FINISHED else str(place.get("bound_text") or bound)))
    return min(found)[1] if found else ""
