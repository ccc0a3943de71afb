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
        "adaptive": Constants(row=171.7, copy=3.74, filled=199.9, merged=247, result=190.9, batch=4.708e+06),
        "buffering": Constants(row=84.96, filled=7.836, merged=3.018, result=146.5, batch=1.144e+06),
        "two-level": Constants(row=54.43, filled=801.6, merged=244.3, result=164.6, batch=5.562e+06),
    },
    "holistic": {
        "wid": Constants(row=112.6, copy=87.84, merged=409, batch=3.063e+06),
        "adaptive": Constants(row=391.1, copy=129.3, filled=143.1, merged=129.1, result=187.1, batch=5.487e+06),
        "buffering": Constants(row=3.075, copy=92.41, filled=2.085, merged=10.99, result=120.7, batch=1.098e+06),
        "two-level": Constants(row=70.44, copy=142.9, filled=1462, merged=73.04, batch=6.659e+06),
    },
}
"""Per kind of aggregate (count, max and avg; an exact count of different values) and per kernel."""
