"""The refreshes of several windows together: while any of them shows a row, up to the refresh at which the last leaves.

While all are empty there are none: whether a row follows is not known when the bound passes, and a snapshot leaves
before that. So is a window that lets nothing go refreshed when a row enters, and not for ever.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.edges.delta import FOREVER, integers
from panewise.windows.base import WindowSpec
from panewise.windows.refreshing import next_refreshes, refreshes_within


class Periods:
    """From when until when refreshes go on, both included."""

    def __init__(self, since: Ordinals | None = None, until: Ordinals | None = None) -> None:
        self.since = integers() if since is None else since
        self.until = integers() if until is None else until

    def add(self, since: Ordinals, until: Ordinals) -> None:
        """Some more; those that meet become one."""
        if not len(since):
            return
        since, until = np.concatenate([self.since, since]), np.concatenate([self.until, until])
        order = np.argsort(since, kind="stable")
        since, until = since[order], np.maximum.accumulate(until[order])
        apart = since[1:] > until[:-1]
        self.since, self.until = since[np.r_[True, apart]], until[np.r_[apart, True]]

    def due(self, upto: int) -> Periods:
        """What of them is below the bound, which is forgotten."""
        now, later = self.since < upto, self.until >= upto
        found = Periods(self.since[now], np.minimum(self.until[now], upto - 1))
        self.since, self.until = np.maximum(self.since[later], upto), self.until[later]
        return found


class RefreshClock:
    """Notes what windows show, and says which refreshes are due."""

    def __init__(self, specs: Sequence[WindowSpec] = (), beside: RefreshClock | None = None) -> None:
        self._specs = list(specs)
        self._beside = beside  # another that is told the same
        self._there: list[int] = []
        self._first: list[int | None] = [None] * len(self._specs)
        self._periods = Periods()

    def window(self, spec: WindowSpec) -> int:
        """One more window; its number."""
        self._specs.append(spec)
        self._first.append(None)
        if self._beside is not None:
            self._there.append(self._beside.window(spec))
        return len(self._specs) - 1

    def note(self, window: int, enter: Ordinals, expires: Ordinals) -> None:
        """Rows that a window shows from now on."""
        if not len(enter):
            return
        if self._beside is not None:
            self._beside.note(self._there[window], enter, expires)
        self.begin(window, int(enter.min()))
        until, stays = expires, expires == FOREVER
        if stays.any():
            until = expires.copy()
            until[stays] = next_refreshes(self._specs[window], enter[stays])
        self.go_on(enter, until)

    def begin(self, window: int, instant: int) -> None:
        """A window is refreshed from this instant on, if it is not yet."""
        if self._first[window] is None:
            self._first[window] = instant

    def go_on(self, since: Ordinals, until: Ordinals) -> None:
        """Refreshes go on in these periods, both ends included."""
        self._periods.add(since, until)

    def taken(self) -> Periods:
        """The periods since they were taken last."""
        found, self._periods = self._periods, Periods()
        return found

    def due(self, upto: int) -> Ordinals:
        """Refreshes below the bound that were not returned before, ascending."""
        periods = self._periods.due(upto)
        found = [integers()]
        for spec, first in zip(self._specs, self._first, strict=True):
            if first is None:
                continue
            since = np.maximum(periods.since, first)
            found += [since[(since == first) & (since <= periods.until)],
                      refreshes_within(spec, since, periods.until)]
        return np.unique(np.concatenate(found))

    def saved(self) -> dict[str, Any]:
        """As data."""
        return {"first": self._first, "since": self._periods.since.tolist(), "until": self._periods.until.tolist()}

    def load(self, state: Mapping[str, Any]) -> None:
        """Become what ``saved`` gave."""
        self._first = list(state["first"])
        self._periods = Periods(np.array(state["since"], np.int64), np.array(state["until"], np.int64))
