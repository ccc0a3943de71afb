"""The life of windows as an output: which opened, which closed, for how many groups and by which promise."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import OrdinalKind
from panewise.kernels.contract.kernel import WindowKernel
from panewise.kernels.panes.pane_tables import WINDOW_ID
from panewise.plan.nodes import WindowClause
from panewise.progress.punctuation import Punctuation

EVENTS_KEPT = 10_000


@dataclass(frozen=True)
class WindowEvent:
    """A moment in the life of a window: its first row came, or a punctuation closed it (for some groups)."""

    kind: str
    """``opened`` or ``closed``."""
    wid: int
    by: Punctuation | None = None
    """What closed it, in the columns of the aggregate's input; None for an opening and where rows close windows."""
    groups: int = 0
    """How many groups were output when it closed."""
    start: Any = None
    """Where the window begins, as a value of its attribute; None where only its rows tell."""
    end: Any = None
    """Where it ends (exclusive)."""


class WindowLog:
    """Notices openings and closings, keeps the newest, and calls listeners. Costs nothing until it watches."""

    def __init__(self, window: WindowClause, *, watch: bool = False) -> None:
        self.window, self.watch = window, watch
        self.events: deque[WindowEvent] = deque(maxlen=EVENTS_KEPT)
        self.open: set[int] = set()
        self.listeners: list[Callable[[WindowEvent], object]] = []

    def note_opened(self, kernel: WindowKernel) -> None:
        """Rows came."""
        if not self.watch:
            return
        now = set(kernel.open_windows())
        for wid in sorted(now - self.open):
            self._tell(WindowEvent("opened", wid, None, 0, *extent_of(self.window, wid)))
        self.open |= now

    def note_closed(self, by: Punctuation | None, results: pa.Table, kernel: WindowKernel) -> None:
        """Results came out."""
        if not self.watch or not results.num_rows:
            return
        wids, counts = np.unique(results.column(WINDOW_ID).to_numpy(), return_counts=True)
        for wid, count in zip(wids.tolist(), counts.tolist(), strict=True):
            self._tell(WindowEvent("closed", wid, by, count, *extent_of(self.window, wid)))
        self.open &= set(kernel.open_windows())

    def _tell(self, event: WindowEvent) -> None:
        self.events.append(event)
        for listener in self.listeners:
            listener(event)


def extent_of(window: WindowClause, wid: int) -> tuple[Any, Any]:
    """Start and end of a window as values of its attribute; None where the rows decide or there is no end."""
    start, end = ordinals_of(window, wid)
    return shown(start, window.ordinal), shown(end, window.ordinal)


def ordinals_of(window: WindowClause, wid: int) -> tuple[int | None, int | None]:
    """The same as ordinals."""
    try:
        extent = window.spec.extent(wid)
    except (ValueError, NotImplementedError):  # sessions and their like: only rows tell
        return None, None
    return extent.start, extent.end


def shown(ordinal: int | None, kind: OrdinalKind) -> Any:
    """An ordinal as a value of the attribute."""
    try:
        return None if ordinal is None else kind.present(ordinal)
    except OverflowError:  # no calendar reaches
        return ordinal
