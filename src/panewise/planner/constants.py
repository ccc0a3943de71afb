"""What the steps of each kernel take, in nanoseconds, measured; made by ``python bench/calibrate_costs.py --write``.

Only the ratios between them matter for a choice, and those change little from machine to machine.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Constants:
    """Nanoseconds per step of a kernel; a step that a kernel does not have is 0."""

    row: float = 0.0
    """A row on its way into the state (``a`` of Li 6.1)."""
    copy: float = 0.0
    """A row in each window it is in (``a'`` of Li 6.3)."""
    filled: float = 0.0
    """A partial of one group and pane that a batch leaves behind (``b``)."""
    merged: float = 0.0
    """A partial merged into a window (``c``)."""
    result: float = 0.0
    """One group of one window put out."""
    batch: float = 0.0
    """A batch and the promise after it, however small."""


CONSTANTS: dict[str, dict[str, Constants]] = {
    "simple": {
        "wid": Constants(row=60.0, filled=100.0, merged=20.0, result=20.0, batch=300_000.0),
    },
    "holistic": {
        "wid": Constants(row=300.0, filled=500.0, merged=500.0, result=500.0, batch=300_000.0),
    },
}
"""Per kind of aggregate (count, max and avg; an exact count of different values) and per kernel."""
