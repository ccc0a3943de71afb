"""What Spark's tasks had to do, from the event log of a session."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

from common import table_text

LOG_SECONDS = 0.5
"""In which events that are over reach the log."""


def logged(folder: Path) -> dict[str, str]:
    """Settings of a session whose events are to be read from a folder while it runs."""
    return {"spark.eventLog.enabled": "true", "spark.eventLog.dir": folder.as_uri(),
            "spark.eventLog.rolling.enabled": "false", "spark.eventLog.compress": "false"}


def shuffled(folder: Path, since: float) -> int:
    """Bytes that tasks launched after a moment (milliseconds since 1970) wrote to be shuffled."""
    total = 0
    for path in folder.iterdir():
        for line in path.open():
            if '"SparkListenerTaskEnd"' in line and line.endswith("\n"):
                event = json.loads(line)
                if event["Task Info"]["Launch Time"] >= since:
                    total += event.get("Task Metrics", {}).get("Shuffle Write Metrics", {}).get(
                        "Shuffle Bytes Written", 0)
    return total


def balance(folder: Path, description: str) -> str:
    """For the jobs with a description, by stage that reads a shuffle: tasks, and what the largest of them got."""
    stages: set[int] = set()
    read: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for path in sorted(folder.iterdir()):
        for line in path.read_text().splitlines():
            event = json.loads(line)
            if event["Event"] == "SparkListenerJobStart":
                if event.get("Properties", {}).get("spark.job.description") == description:
                    stages |= set(event["Stage IDs"])
            elif event["Event"] == "SparkListenerTaskEnd" and event["Stage ID"] in stages:
                metrics = event["Task Metrics"]
                records = metrics["Shuffle Read Metrics"]["Total Records Read"]
                if records:
                    read[event["Stage ID"]].append((records, metrics["Executor Run Time"]))
    rows = []
    for stage, tasks in sorted(read.items()):
        records, times = zip(*tasks, strict=True)
        rows.append((stage, len(tasks), f"{sum(records):,}", f"{max(records):,}", f"{max(records) / sum(records):.0%}",
                     f"{max(times) / 1000:.2f} s"))
    return table_text(("stage", "tasks", "rows", "largest task", "share", "longest task"), rows)
