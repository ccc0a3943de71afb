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
        "panes": Constants(row=29.84, merged=28.21, result=53.63, batch=2.817e+05),
        "wid": Constants(row=186.8, merged=88.57, result=215.6, batch=2.392e+06),
        "adaptive": Constants(row=81, copy=0.4055, merged=339.9, result=265.1, batch=3.303e+06),
        "buffering": Constants(row=93.52, copy=19, result=162.3, batch=2.067e+06),
        "two-level": Constants(row=86.21, filled=554.3, merged=210.9, result=197.9, batch=4.922e+06),
    },
    "holistic": {
        "wid": Constants(row=36.57, copy=8.855, filled=325.4, batch=3.746e+06),
        "adaptive": Constants(row=162.8, copy=4.012, result=6.893, batch=7.147e+06),
        "buffering": Constants(row=93.52, copy=40, result=162.3, batch=2.067e+06),
        "two-level": Constants(row=216, filled=833.8, merged=19.17, batch=6.885e+06),
    },
}
"""Per kind of aggregate (count, max and avg; an exact count of different values) and per kernel."""
