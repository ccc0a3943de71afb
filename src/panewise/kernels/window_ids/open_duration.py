"""How long windows stay open: what the cost model of AdaptWID knows about time (Li 6.3.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from panewise.core.ordinals import Ordinals
from panewise.progress.watermarks import NO_BOUND
from panewise.windows.base import WindowSpec
from panewise.windows.sliding import SlidingWindow

Since = Literal["high", "low"]


class OpenDuration:
    """The high-watermark, and the open duration ``wed`` of the window that closed last.

    A window is open from the high-watermark when its first row came to the high-watermark when it closes. That is
    RANGE + lag, of which RANGE/SLIDE follows; the other printed definition starts at the low-watermark and counts the
    lag twice (erratum E13): ``since="low"`` chooses it.
    """

    def __init__(self, spec: WindowSpec, since: Since) -> None:
        self.spec, self.since = spec, since
        self.high = self.low = NO_BOUND
        self.duration: float | None = None if not isinstance(spec, SlidingWindow) else float(spec.range)
        self._opened: list[tuple[int, int]] = []
        """(newest window, watermark when it was first seen), ascending; windows between two of them take the later."""

    def saw(self, values: Ordinals, newest: int, bound: int) -> None:
        """Take note of a batch that reached window ``newest``."""
        self.high = max(self.high, int(values.max()))
        self.low = max(self.low, bound)
        if not self._opened or newest > self._opened[-1][0]:
            mark = self.high if self.since == "high" or self.low == NO_BOUND else self.low
            self._opened.append((newest, mark))

    def closed(self, below: int) -> None:
        """All windows below this are closed now."""
        done = [mark for wid, mark in self._opened if wid < below]
        if done:
            self.duration = float(max(self.high - done[-1], 1))
            self._opened = [(wid, mark) for wid, mark in self._opened if wid >= below]

    def open_windows(self) -> float:
        """wed/SLIDE: how many windows a group has open at a time (equation 6.5)."""
        if isinstance(self.spec, SlidingWindow):
            return max((self.duration or 1.0) / self.spec.slide, 1.0)
        return 1.0  # such kinds (calendar) mostly touch; their slide is not one number

    def snapshot(self) -> dict[str, Any]:
        """As data that JSON can hold."""
        return {"high": self.high, "low": self.low, "duration": self.duration, "opened": self._opened}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Become what ``snapshot`` saved."""
        self.high, self.low, self.duration = state["high"], state["low"], state["duration"]
        self._opened = [(int(wid), int(mark)) for wid, mark in state["opened"]]
