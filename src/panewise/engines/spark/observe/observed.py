"""The observed metrics of streaming queries: ``late_rows`` and ``bad_rows`` of each micro-batch, ``open_windows`` after
it, ``replan``, and ``rows`` where the inputs are read twice and Spark's own count is of both.

Every result has a metric of its own, ``panewise 1``, because several results may be parts of one streaming query; a
lower part of a plan adds its name behind: ``panewise 2 <relation 1>``.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

METRIC = "panewise"
_numbers = count(1)


def new_metric(part: str | None = None) -> str:
    """A name that no other metric of this process has."""
    name = f"{METRIC} {next(_numbers)}"
    return name if part is None else f"{name} {part}"


def metrics(report: Mapping[str, Any]) -> dict[str, Any]:
    """What a micro-batch said of itself, all results and all parts of their plans together; open windows of results.

    >>> metrics({"observedMetrics": {"panewise 1": {"late_rows": 2, "open_windows": 3}, "other": {},
    ...          "panewise 2": {"late_rows": 1, "open_windows": 4}, "panewise 2 <relation 1>": {"late_rows": 5}}})
    {'late_rows': 8, 'bad_rows': 0, 'rows': None, 'open_windows': 7, 'replan': ''}
    """
    observed = report.get("observedMetrics") or {}
    found = {name: values for name, values in observed.items()
             if name.split(" ")[0] == METRIC and isinstance(values, Mapping)}
    results = [values for name, values in found.items() if len(name.split(" ")) < 3]
    if not found:
        return {}
    read = [int(values["rows"]) for values in found.values() if values.get("rows") is not None]
    opened = [int(values["open_windows"]) for values in results if values.get("open_windows") is not None]
    return {"late_rows": sum(int(values.get("late_rows") or 0) for values in found.values()),
            "bad_rows": sum(int(values.get("bad_rows") or 0) for values in found.values()),
            "rows": sum(read) if read else None,
            "open_windows": sum(opened) if opened else None,
            "replan": "; ".join(str(values["replan"]) for values in found.values() if values.get("replan"))}
