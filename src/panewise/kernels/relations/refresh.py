"""The refreshes of several windows together: from the first row each shows until the last row of all has left.

Whether refreshes go on is known only when something else is shown: what stands still is not told again and again, and
told afterwards if it turns out that it must be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.delta import FOREVER
from panewise.windows.base import WindowSpec
from panewise.windows.refreshing import next_move


class RefreshClock:
    """Notes what windows show, and says which refreshes are due."""

    def __init__(self, specs: Sequence[WindowSpec] = (), beside: RefreshClock | None = None) -> None:
        self._specs = list(specs)
        self._beside = beside  # another that is told the same
        self._there: list[int] = []
        self._next: list[int | None] = [None] * len(self._specs)
        self._last: int | None = None

    def window(self, spec: WindowSpec) -> int:
        """One more window; its number."""
        self._specs.append(spec)
        self._next.append(None)
        if self._beside is not None:
            self._there.append(self._beside.window(spec))
        return len(self._specs) - 1

    def note(self, window: int, enter: Ordinals, expires: Ordinals) -> None:
        """Rows that a window shows from now on."""
        if not len(enter):
            return
        if self._beside is not None:
            self._beside.note(self._there[window], enter, expires)
        if self._next[window] is None:
            self._next[window] = int(enter.min())
        ends = expires[expires != FOREVER]
        latest = max(int(enter[expires == FOREVER].max(initial=-FOREVER)), int(ends.max(initial=-FOREVER)))
        self.reach(latest)

    @property
    def last(self) -> int | None:
        """Until when refreshes are known to go on."""
        return self._last

    def reach(self, instant: int) -> None:
        """Refreshes go on at least until this instant."""
        self._last = instant if self._last is None else max(self._last, instant)

    def due(self, upto: int) -> Ordinals:
        """Refreshes below the bound that are known to happen, ascending."""
        found: list[int] = []
        if self._last is not None:
            for i, spec in enumerate(self._specs):
                tau = self._next[i]
                while tau is not None and tau <= self._last and tau < upto:
                    found.append(tau)
                    tau = next_move(spec, tau)
                self._next[i] = tau
        return np.unique(np.array(found, np.int64))

    def saved(self) -> dict[str, Any]:
        """As data."""
        return {"next": self._next, "last": self._last}

    def load(self, state: Mapping[str, Any]) -> None:
        """Become what ``saved`` gave."""
        self._next, self._last = list(state["next"]), state["last"]
