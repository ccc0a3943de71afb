"""Several ordered substreams in one stream: each bounds itself, together they bound the stream (SIGMOD 2005, 7.2 a).

A row of substream s with value v promises that no smaller value of s comes. Nothing is promised about the stream as a
whole before *every registered* substream has passed a value: one that was never registered could still send anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pyarrow.compute as pc

from panewise.core.errors import CheckpointError, ProgressError, SchemaError
from panewise.core.ordinals import Ordinals
from panewise.progress.generators import Extra, Generator, Observed, minus
from panewise.progress.jumps import JumpGuard
from panewise.progress.notation import value_from_state, value_to_state
from panewise.progress.patterns import as_values, plain_column
from panewise.progress.watermarks import FINISHED, NO_BOUND


class PerSubstream(Generator):
    """A bound per registered substream, and for the whole stream the smallest of them.

    ``delay`` allows disorder inside a substream. A substream silent for ``idle_timeout`` of the wall clock (``tick``)
    no longer holds the others back until it speaks again.

    >>> import pyarrow as pa
    >>> roads = PerSubstream("seg", ["s1", "s2"])
    >>> roads.observe(np.array([10, 30, 20]), {"seg": pa.array(["s1", "s1", "s2"])}).after
    20
    >>> roads.group_bounds()
    [({'seg': 's1'}, 30), ({'seg': 's2'}, 20)]
    """

    kind: ClassVar[str] = "substream"

    def __init__(self, column: str, substreams: Iterable[Any], *, delay: int = 0, idle_timeout: int | None = None,
                 guard: JumpGuard | None = None) -> None:
        super().__init__(guard=guard)
        if not 0 <= delay <= FINISHED:
            raise ProgressError(f"the delay must be a non-negative 64-bit number, it was {delay}")
        if idle_timeout is not None and idle_timeout <= 0:
            raise ProgressError(f"the idle timeout must be positive, not {idle_timeout}")
        self.columns = (column,)
        self.delay, self.idle_timeout = delay, idle_timeout
        self.keys: list[Any] = list(dict.fromkeys(substreams))
        if not self.keys:
            raise ProgressError(f"no substream of {column!r} is registered: name them, else there is never a bound")
        count = len(self.keys)
        self.highest = np.full(count, NO_BOUND, np.int64)
        self.finished = np.zeros(count, np.bool_)
        self.silent = np.zeros(count, np.bool_)
        self.spoke = np.zeros(count, np.bool_)
        self.last_active = np.full(count, NO_BOUND, np.int64)
        self.reached = NO_BOUND

    # -- registration --------------------------------------------------------------------------------------------

    def register(self, key: Any) -> None:
        """One more substream; the bound of the whole stream now waits for it, but does not go back."""
        if key in self.keys:
            return
        self.keys.append(key)
        self.highest = np.append(self.highest, NO_BOUND)
        self.last_active = np.append(self.last_active, NO_BOUND)
        self.finished, self.silent, self.spoke = (
            np.append(flags, False) for flags in (self.finished, self.silent, self.spoke)
        )

    def finish_substream(self, key: Any) -> int:
        """A substream has ended and holds nothing back any more; the bound of the whole stream after that."""
        self.finished[self._place(key)] = True
        self.reached = max(self.reached, self._smallest())
        return self.bound

    # -- the contract --------------------------------------------------------------------------------------------

    def _observe(self, values: Ordinals, extra: Extra) -> Observed:
        codes = self._codes(extra, len(values))
        parts = []
        for start, stop in pairwise([0, *self._wake_ups(codes), len(values)]):
            if stop > start:
                self.silent[codes[start]] = False
                parts.append(self._observe_awake(values[start:stop], codes[start:stop]))
        nothing = np.empty(0, np.int64)
        before, own = (np.concatenate([nothing, *arrays]) for arrays in zip(*parts, strict=True)) if parts else (
            nothing, nothing)
        return Observed(before, self.reached, own)

    def _observe_awake(self, values: Ordinals, codes: Ordinals) -> tuple[Ordinals, Ordinals]:
        """Bounds before each row, of the stream and of the row's substream, while no silent substream speaks.

        The stream's bound before row i is the smallest of all substreams' bounds then. A substream's bound stands until
        its own next row, so the smallest is found among the own bounds before rows i, i+1, … and the final ones.
        """
        own = minus(self._own_maxima(values, codes), self.delay)
        own[self.finished[codes]] = FINISHED
        np.maximum.at(self.highest, codes, values)
        self.spoke[codes] = True
        final = self._smallest()
        ahead = np.minimum.accumulate(own[::-1])[::-1]
        before = np.maximum(np.minimum(ahead, final), self.reached)
        self.reached = max(self.reached, final)
        return before, own

    def _own_maxima(self, values: Ordinals, codes: Ordinals) -> Ordinals:
        """The largest value of the row's substream before the row: a running maximum restarted per substream."""
        present = np.flatnonzero(np.bincount(codes))
        all_codes = np.concatenate((present, codes))
        distinct, ranks = np.unique(np.concatenate((self.highest[present], values)), return_inverse=True)
        small = all_codes.astype(np.int16) if len(self.keys) < 2**15 else all_codes  # sorted by radix, not by comparing
        order = np.argsort(small, kind="stable")  # what was known before comes first in its substream
        lifted = all_codes * len(distinct) + ranks
        running = distinct[np.maximum.accumulate(lifted[order]) - all_codes[order] * len(distinct)]
        before = np.empty(len(order), np.int64)
        before[order[1:]] = running[:-1]
        return before[len(present):]

    def _smallest(self) -> int:
        waiting = ~self.finished & ~self.silent
        if not waiting.any():
            waiting = ~self.finished  # all that is left is silent: it may wake up with anything it has not ruled out
        return int(minus(self.highest[waiting], self.delay).min()) if waiting.any() else FINISHED

    def _bound(self) -> int:
        return self.reached

    def group_bounds(self) -> list[tuple[dict[str, Any], int]]:
        """The bound of each substream that has one."""
        bounds = np.where(self.finished, FINISHED, minus(self.highest, self.delay))
        return [({self.columns[0]: key}, int(b)) for key, b in zip(self.keys, bounds, strict=True) if b != NO_BOUND]

    def tick(self, now: int) -> int:
        """Find substreams that have been silent for too long."""
        if self.idle_timeout is not None:
            fresh = self.spoke | (self.last_active == NO_BOUND)
            self.last_active[fresh] = now
            self.silent = ~fresh & (now - self.last_active >= self.idle_timeout)
            self.spoke[:] = False
            self.reached = max(self.reached, self._smallest())
        return self.bound

    # -- keys ----------------------------------------------------------------------------------------------------

    def _codes(self, extra: Extra, rows: int) -> Ordinals:
        name = self.columns[0]
        if name not in extra:
            raise SchemaError(f"substreams are told apart by the column {name!r}, which the rows do not have")
        column = plain_column(extra[name])
        if len(column) != rows:
            raise ProgressError(f"{rows} rows came with {len(column)} values of {name!r}")
        places = pc.index_in(column, value_set=as_values(self.keys, column.type, f"on {name!r}"))
        if places.null_count:
            key = column[pc.index(pc.is_null(places), True).as_py()].as_py()
            raise self._unknown(key)
        return np.asarray(places.to_numpy(zero_copy_only=False), dtype=np.int64)

    def _wake_ups(self, codes: Ordinals) -> list[int]:
        """The first row of each silent substream: the stream's bound is worked out anew from there."""
        found, first = np.unique(codes, return_index=True)
        return [int(position) for position in np.sort(first[self.silent[found]])]

    def _place(self, key: Any) -> int:
        if key not in self.keys:
            raise self._unknown(key)
        return self.keys.index(key)

    def _unknown(self, key: Any) -> ProgressError:
        known = ", ".join(map(str, self.keys[:10])) + (", …" if len(self.keys) > 10 else "")
        return ProgressError(
            f"substream {key!r} of {self.columns[0]!r} is not registered; registered are {known}. Register it before "
            "its first row, else no bound of the whole stream is safe"
        )

    # -- saving --------------------------------------------------------------------------------------------------

    def _save(self) -> Any:
        return {
            "keys": [value_to_state(k) for k in self.keys], "highest": self.highest.tolist(),
            "finished": self.finished.tolist(), "silent": self.silent.tolist(), "spoke": self.spoke.tolist(),
            "last_active": self.last_active.tolist(), "reached": self.reached,
        }

    def _load(self, state: Any) -> None:
        keys = [value_from_state(k) for k in state["keys"]]
        missing = [k for k in self.keys if k not in keys]
        if missing:
            raise CheckpointError(f"the substreams {missing} were not registered when the checkpoint was made")
        self.keys = keys
        self.highest, self.last_active = (np.array(state[n], np.int64) for n in ("highest", "last_active"))
        self.finished, self.silent, self.spoke = (np.array(state[n], np.bool_) for n in ("finished", "silent", "spoke"))
        self.reached = int(state["reached"])

    def describe(self) -> str:
        """With the column, the number of substreams and the delay."""
        late = f", each at most {self.delay} late" if self.delay else ""
        return f"{len(self.keys)} substreams by {self.columns[0]}{late}"
