"""Net changes of a relation: at every instant the copies of values that came and went (rules U15, E1).

Equal rows are copies of one value: a row that is replaced by an equal one at the same instant is no change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.arrays import counted_up, run_starts
from panewise.core.beginning import ALWAYS
from panewise.core.ordinals import Ordinals
from panewise.kernels.groups.grouping import group_codes
from panewise.kernels.relations.distinct.row_hashes import disjoint, row_hashes
from panewise.kernels.relations.edges.delta import Delta, Lives, by_age, gather, stacked
from panewise.kernels.relations.stores.alive import AliveRows, KeepsAlive
from panewise.kernels.relations.stores.queues import ExpiryQueue


@dataclass(frozen=True)
class Changes:
    """Copies that came (+1) or went (-1), by instant."""

    table: pa.Table
    at: Ordinals
    sign: Ordinals
    age: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.at)


class NetChanges(KeepsAlive):
    """Keeps the rows of a relation, because those that leave must be named; with ``lets_go`` only what may leave."""

    def __init__(self, schema: pa.Schema, queue: ExpiryQueue, *, lets_go: bool = False) -> None:
        self.schema, self._lets_go = schema, lets_go
        self._rows = AliveRows(schema, queue)

    def step(self, delta: Delta, upto: int) -> Changes:
        """What changed below the bound, by instant, what went before what came."""
        left = self._rows.leave(delta, upto)
        gone = self._rows.arena.lives(left.slots).ending(left.at)
        self._rows.enter(delta.lives.filter(delta.lives.expires >= upto), upto)
        if self._lets_go:
            self._rows.settle(delta.settled)
        self._rows.forget()
        return changes_of(gone, delta.lives, upto)

    def current(self) -> pa.Table:
        """The rows that are there."""
        return self._rows.current()


def changes_of(gone: Lives, lives: Lives, upto: int) -> Changes:
    """What rows that leave and rows that are born in a step change, by instant, what went before what came."""
    brief = lives.filter(lives.expires < upto)
    events = [(gone, gone.expires, -1), (brief, brief.expires, -1), (lives, lives.born, 1)]
    events = [event for event in events if len(event[0])] or events[-1:]
    table = pa.concat_tables([rows.table for rows, _, _ in events]).combine_chunks()
    at = np.concatenate([instants for _, instants, _ in events])
    sign = np.concatenate([np.full(len(rows), s, np.int64) for rows, _, s in events])
    return net(Changes(table, at, sign, stacked([rows.age for rows, _, _ in events])))


def net(events: Changes) -> Changes:
    """What is left when copies of one value that come and go at one instant cancel.

    Of equal copies the youngest came and the oldest went (Golab 3.4).
    """
    if not len(events):
        return events
    if _nothing_cancels(events):
        return _taken(events, _in_order(events))
    columns = [events.at, *events.table.columns]
    codes, first = group_codes(columns)
    balance = np.bincount(codes, events.sign, len(first)).astype(np.int64)
    wanted = balance[codes]
    kept = events.sign * wanted > 0  # of the direction that is left over
    # the number of each event among those of its value, instant and direction: oldest first, or youngest first
    aged = np.lexsort(events.age[::-1])
    aged = np.concatenate([aged[events.sign[aged] < 0], aged[events.sign[aged] > 0][::-1]])
    aged = aged[kept[aged]]
    order = aged[np.argsort(codes[aged], kind="stable")]
    lengths = np.diff(run_starts(codes[order]), append=len(order))
    number = counted_up(np.zeros_like(lengths), lengths)
    order = order[number < np.abs(wanted[order])]
    kept_events = _taken(events, order)
    return _taken(kept_events, _in_order(kept_events))


def _nothing_cancels(events: Changes) -> bool:
    """A quick proof that no copy comes and goes at one instant; where there is none, a slow look decides."""
    went = events.sign < 0
    if not went.any() or went.all():
        return True
    hashes = row_hashes(events.at, events.table)
    return hashes is not None and bool(disjoint(hashes[went], hashes[~went]))


def _in_order(events: Changes) -> Ordinals | None:
    """By instant, what went before what came, ties by age; None where they are in that order."""
    return by_age(2 * np.maximum(events.at, ALWAYS) + (events.sign > 0), events.age)  # twice the beginning is too far


def _taken(events: Changes, order: Ordinals | None) -> Changes:
    if order is None:
        return events
    return Changes(gather(events.table, order), events.at.take(order), events.sign.take(order),
                   events.age.take(order, axis=1))
