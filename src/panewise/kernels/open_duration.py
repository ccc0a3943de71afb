"""How long windows stay open and how far sources lag: what the cost model of AdaptWID knows about time (Li 6.3.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from panewise.core.ordinals import Ordinals
from panewise.progress.watermarks import NO_BOUND
from panewise.windows.base import WindowSpec
from panewise.windows.sliding import SlidingWindow

Since = Literal["high", "low"]


class OpenDuration:
    """High-watermarks of the sources, and the open duration ``wed`` of the window that closed last.

    A window is open from the high-watermark when its first row came to the high-watermark when it closes. That is
    RANGE + lag, of which RANGE/SLIDE follows; the other printed definition starts at the low-watermark and counts the
    lag twice (erratum E13): ``since="low"`` chooses it.
    """

    def __init__(self, spec: WindowSpec, sources: int, offsets: Sequence[int] | None, since: Since) -> None:
        self.spec, self.since = spec, since
        self.static = None if offsets is None else np.asarray(offsets, np.int64)
        self.high: Ordinals = np.full(sources, NO_BOUND, np.int64)
        self.low = NO_BOUND
        self.duration: float | None = None if not isinstance(spec, SlidingWindow) else float(spec.range)
        self._opened: list[tuple[int, int]] = []
        """(newest window, watermark when it was first seen), ascending; windows between two of them take the later."""

    def saw(self, values: Ordinals, newest: int, sources: npt.NDArray[Any] | None, bound: int) -> None:
        """Take note of a batch that reached window ``newest``."""
        if sources is None:
            self.high[0] = max(int(self.high[0]), int(values.max()))
        else:
            np.maximum.at(self.high, np.asarray(sources, np.int64), values)
        self.low = max(self.low, bound)
        if not self._opened or newest > self._opened[-1][0]:
            mark = int(self.high.max()) if self.since == "high" or self.low == NO_BOUND else self.low
            self._opened.append((newest, mark))

    def closed(self, below: int) -> None:
        """All windows below this are closed now."""
        done = [mark for wid, mark in self._opened if wid < below]
        if done:
            self.duration = float(max(int(self.high.max()) - done[-1], 1))
            self._opened = [(wid, mark) for wid, mark in self._opened if wid >= below]

    def offsets(self) -> npt.NDArray[np.float64]:
        """How far each source lags behind the earliest: as declared, or the difference of the high-watermarks."""
        if self.static is not None:
            return self.static.astype(np.float64)
        seen = np.where(self.high == NO_BOUND, self.high.max(), self.high)
        lag: npt.NDArray[np.float64] = (self.high.max() - seen).astype(np.float64)
        return lag

    def open_windows(self) -> float:
        """wed/SLIDE: how many windows a group has open at a time (equation 6.5)."""
        if isinstance(self.spec, SlidingWindow):
            return max((self.duration or 1.0) / self.spec.slide, 1.0)
        return 1.0  # such kinds (calendar) mostly touch; their slide is not one number

    def wed(self) -> float:
        """The open duration, in units of the windowing attribute."""
        return self.duration or 1.0

    def snapshot(self) -> dict[str, Any]:
        """As data that JSON can hold."""
        return {"high": self.high.tolist(), "low": self.low, "duration": self.duration, "opened": self._opened}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Become what ``snapshot`` saved; sources that were not known then begin unseen."""
        known = np.array(state["high"], np.int64)[: len(self.high)]
        self.high[: len(known)] = known
        self.low, self.duration = state["low"], state["duration"]
        self._opened = [(int(wid), int(mark)) for wid, mark in state["opened"]]
