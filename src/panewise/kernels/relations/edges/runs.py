"""Runs of rows that wait: as they came, and made into lives when they are released.

Of a row of a stream nothing is known but its columns, its time and when it arrived; what else a life has follows from
that, and is written once for all that a bound sets free, whatever runs they came in.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.edges.delta import FOREVER, Lives, Mask, by_age, gather, integers


class WaitingRun(ABC):
    """Rows that came together, and when each may go."""

    due: Ordinals

    @property
    @abstractmethod
    def lives(self) -> Lives:
        """The rows with their lives, in the order they came."""

    @abstractmethod
    def take(self, places: Ordinals) -> WaitingRun:
        """These rows in this order."""

    @abstractmethod
    def slice(self, first: int, count: int) -> WaitingRun:
        """Some rows that stand together, without a copy."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes kept."""

    def parted(self, ready: Mask) -> tuple[WaitingRun, WaitingRun]:
        """Those that are ready, which are due first, and the others; a run is sorted once and then cut, not copied."""
        count = int(np.count_nonzero(ready))
        run = self if ready[:count].all() else self.ordered()
        return run.slice(0, count), run.slice(count, len(run.due) - count)

    def ordered(self) -> WaitingRun:
        """By the instants at which they may go, ties by age."""
        order = by_age(self.due, self.lives.age)
        return self if order is None else self.take(order)


@dataclass(frozen=True)
class LivesRun(WaitingRun):
    """Rows of which some leave, or have been through an operator."""

    due: Ordinals
    rows: Lives

    @property
    def lives(self) -> Lives:
        """The rows with their lives, in the order they came."""
        return self.rows

    def take(self, places: Ordinals) -> WaitingRun:
        """These rows in this order."""
        return LivesRun(self.due[places], self.rows.take(places))

    def slice(self, first: int, count: int) -> WaitingRun:
        """Some rows that stand together, without a copy."""
        return LivesRun(self.due[first : first + count], self.rows.slice(first, count))

    @property
    def nbytes(self) -> int:
        """Bytes kept."""
        return int(self.rows.table.nbytes) + 8 * len(self.due) * (4 + len(self.rows.age))


@dataclass(frozen=True)
class StreamRun(WaitingRun):
    """Rows of a stream, which stay for ever."""

    table: pa.Table
    due: Ordinals
    times: Ordinals
    """The same array as ``due`` where they go when their time is complete."""
    arrivals: tuple[Ordinals, ...]
    own_times: Ordinals | None = None
    """Of late rows, whose ``times`` are the bounds that they came behind."""

    @cached_property
    def lives(self) -> Lives:
        """The rows with their lives, in the order they came."""
        return _written([self], self.table)

    def take(self, places: Ordinals) -> WaitingRun:
        """These rows in this order."""
        return self._of(gather(self.table, places), places)

    def slice(self, first: int, count: int) -> WaitingRun:
        """Some rows that stand together, without a copy."""
        return self._of(self.table.slice(first, count), slice(first, first + count))

    def _of(self, table: pa.Table, places: Any) -> StreamRun:
        times = self.times[places]
        due = times if self.due is self.times else self.due[places]
        own = None if self.own_times is None else self.own_times[places]
        return StreamRun(table, due, times, tuple(part[places] for part in self.arrivals), own)

    @property
    def nbytes(self) -> int:
        """Bytes kept."""
        own_due = self.due is not self.times
        return int(self.table.nbytes) + 8 * len(self.due) * (1 + own_due + len(self.arrivals))


def joined(runs: Sequence[WaitingRun]) -> tuple[Ordinals, Lives]:
    """When the rows of some runs may go, and their lives; one run after the other."""
    streams = [run for run in runs if isinstance(run, StreamRun)]
    if len(streams) < len(runs) or len({len(run.arrivals) for run in streams}) > 1:
        return np.concatenate([run.due for run in runs]), Lives.concat([run.lives for run in runs])
    table = streams[0].table
    if len(streams) > 1:
        table = pa.concat_tables([run.table for run in streams]).combine_chunks()
    lives = _written(streams, table)
    if all(run.due is run.times for run in streams):
        return lives.born, lives
    return np.concatenate([run.due for run in streams]), lives


def _written(runs: Sequence[StreamRun], table: pa.Table) -> Lives:
    """The lives of rows of streams, not yet numbered; the time of a row is its birth and the first part of its age."""
    count = sum(len(run.due) for run in runs)
    age = np.empty((1 + len(runs[0].arrivals), count), np.int64)
    first = 0
    for run in runs:
        end = first + len(run.due)
        for part, values in zip(age, (run.times, *run.arrivals), strict=True):
            part[first:end] = values
        first = end
    own = None
    if any(run.own_times is not None for run in runs):
        own = np.concatenate([run.times if run.own_times is None else run.own_times for run in runs])
    return Lives(table, integers(count), age[0], np.full(count, FOREVER), age, own_times=own)
