"""OA-Join: a window join of streams that needs no order (Li 7.1, figures 7-1 and 7-2 with errata E8, E9, E10).

A row is joined at once with all stored rows of the other side, and kept as long as a partner may still come. Which rows
those are follows from punctuation alone, so skew and disorder cost no result and delay none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.arrays import of_each
from panewise.core.columns import flat
from panewise.core.errors import CheckpointError
from panewise.core.join_kinds import LEFT, RIGHT, JoinKind
from panewise.core.ordinals import OrdinalKind, Ordinals, from_ordinals
from panewise.functions import truth
from panewise.kernels.contract.state_file import Saved
from panewise.kernels.joins.columns import Mask
from panewise.kernels.joins.index_numba import Words
from panewise.kernels.joins.keys import Integers, JoinKeys
from panewise.kernels.joins.pairing import as_ordinals, slot_bits
from panewise.kernels.joins.progress import JoinProgress
from panewise.kernels.joins.sides import JoinSpec
from panewise.kernels.joins.store import Bounds, JoinStore
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import FINISHED, NO_BOUND

SCAN_CREDIT = 4096
"""Stored rows that every promise may look at for free; the rest is paid for by rows that came (see ``_purge``)."""
SCANS_PER_ROW = 8
DEAD_SHARE = 8
"""Rows that cannot match any more are let go when they are more than this part of all."""
KEYS_KEPT = 1024
"""Fewer texts of keys than this are never forgotten."""


@dataclass(frozen=True)
class Origin:
    """Where a column of stored rows comes from: their time, their key, or a column of its own."""

    type: pa.DataType
    time: bool
    date: bool
    key: int | None

    @classmethod
    def of(cls, spec: JoinSpec, side: int, name: str) -> Origin:
        """Looked up once."""
        data_type, time = spec.sides[side].schema.field(name).type, spec.from_time(side, name)
        return cls(data_type, time, time and pa.types.is_date(data_type), spec.from_key(side, name))


class OAJoin:
    """One window join; ``process`` takes rows of a side, ``advance`` a promise about one.

    Rows that come after a promise that rules them out are given with the bounds that they came ``behind``, or not at
    all: the operator that reads the stream decides about them. What came out last is then late, too, by ``behind``.

    >>> import pyarrow as pa
    >>> from panewise.kernels.joins.pairing import Band
    >>> from panewise.kernels.joins.sides import JoinSide
    >>> left = JoinSide(pa.schema({"l.ts": pa.int64(), "l.k": pa.int64()}), "l.ts", ("l.k",))
    >>> right = JoinSide(pa.schema({"r.ts": pa.int64(), "r.k": pa.int64()}), "r.ts", ("r.k",))
    >>> join = OAJoin(JoinSpec(left, right, Band.of_ranges(3, 2)))
    >>> join.process(LEFT, pa.table({"l.ts": [10], "l.k": [1]}), np.array([10])).num_rows
    0
    >>> join.process(RIGHT, pa.table({"r.ts": [13, 14], "r.k": [1, 1]}), np.array([13, 14])).to_pylist()
    [{'l.ts': 10, 'l.k': 1, 'r.ts': 13, 'r.k': 1}]
    """

    def __init__(self, spec: JoinSpec) -> None:
        self.spec, self.pairing, self.kind = spec, spec.pairing, spec.kind
        self.keys = JoinKeys(spec.key_types)
        bits = slot_bits(spec.pairing)
        self.stores = (JoinStore(spec.stored(LEFT), bits), JoinStore(spec.stored(RIGHT), bits))
        pairs = list(zip(spec.left.keys, spec.right.keys, strict=True))
        self.progress = JoinProgress(spec.pairing, (spec.left.time, spec.right.time), pairs)
        self.schema = spec.output_schema
        self.nothing = self.schema.empty_table()
        self.rows = [0, 0]
        self.results = 0
        self._origin = tuple({name: Origin.of(spec, side, name) for name in spec.read_of(side)}
                             for side in (LEFT, RIGHT))
        self._preserved = spec.kind.preserved
        self._names = tuple(tuple(side.schema.names) for side in spec.sides)
        self._leaving = tuple(side.leaving for side in spec.sides)
        self._tracks = bool(spec.kind.preserved) or spec.kind is JoinKind.SEMI
        self._credit = [0, 0]
        self._undo: list[tuple[int, Ordinals]] = []
        self._out: list[tuple[int, Bounds | None]] = []
        self._marked: tuple[int, int] = (0, 0)

    # -- rows in

    def process(self, side: int, table: pa.Table, times: Ordinals, behind: Bounds | None = None) -> pa.Table:
        """Rows of one side; the results they make with what is stored, by row, partners in the order they came.

        ``behind`` has for each row the bound on its time that it came behind, and the largest that any of the rows it
        is made of did; ``NO_BOUND`` where it, and they, were in time. A late row meets partners that a row at its
        bound, or a later one, could meet, too, whichever of the two comes first: the others are forgotten, or might be.
        """
        self._out = []
        other, rows = 1 - side, table.num_rows
        if not rows:
            return self.nothing
        times = as_ordinals(times)
        columns = {name: flat(table.column(name)) for name in self._names[side]}
        integers, valid = self.keys.integers([columns[name] for name in self.spec.sides[side].keys], rows)
        keys = self._packed(integers, valid)
        lows, highs = self.pairing.partners(side, times)
        if behind is not None:
            lows = np.maximum(lows, self._floors(other, behind[:, 0]))
        probing, stored = self.stores[other].probe(keys, valid, lows, highs)
        if len(probing) and (before := self.stores[other].behind) is not None:
            meet = self._still_met(side, times[probing], before[stored, 0])
            probing, stored = probing[meet], stored[meet]
        if self.spec.residual is not None and len(probing):
            holds = self._holds(side, columns, probing, stored)
            probing, stored = probing[holds], stored[holds]
        met = np.zeros(rows, np.bool_)
        if self._tracks:
            met[probing] = True
        results = self._results(side, columns, probing, stored, met, behind)
        kept = valid & (highs >= self._bounds_at(other, keys, valid)) if self._has_bounds(other) else valid
        if self.kind.left_only and side == LEFT:
            kept = kept & ~met
        if side in self._preserved:
            gone = ~kept & ~met
            if gone.any():
                results = _joined(results, self._alone(side, columns, np.flatnonzero(gone), behind))
        self._store(side, columns, keys, times, kept, met, behind)
        self.rows[side] += rows
        self.results += results.num_rows
        return results

    def _floors(self, other: int, behind: Ordinals) -> Ordinals:
        """The smallest time of a partner of each row; few bounds are in force in one batch."""
        return of_each(partial(self.pairing.still_needed, other), behind)

    def _still_met(self, side: int, times: Ordinals, behind: Ordinals) -> Mask:
        """Which times of this side a row of the other may meet that came behind a bound."""
        meet = np.ones(len(times), np.bool_)
        late = np.flatnonzero(behind != NO_BOUND)
        meet[late] = times[late] >= self._floors(side, behind[late])
        return meet

    @property
    def behind(self) -> Bounds | None:
        """Of the results that came out last the bounds that their left row, their right row, and any of the rows they
        are made of, came behind; None if all of them were in time."""
        if all(part is None for _, part in self._out):
            return None
        return np.concatenate([np.full((count, 3), NO_BOUND, np.int64) if part is None else part
                               for count, part in self._out])

    def _come_out(self, side: int, count: int, own: Bounds | None, other: Bounds | None = None) -> None:
        """Results leave: what their rows of this side came behind, and those of the other."""
        found = None
        for place, part in ((side, own), (1 - side, other)):
            if part is not None:
                found = np.full((count, 3), NO_BOUND, np.int64) if found is None else found
                found[:, place] = part[:, 0]
                found[:, 2] = np.maximum(found[:, 2], part[:, 1])
        self._out.append((count, found))

    def _packed(self, integers: Integers, valid: Mask) -> Words:
        """Keys as words; where they do not fit, those of stored rows are packed anew with them."""
        packed = self.keys.packed(integers, valid)
        if packed is None:
            self._repack([self.keys.unpack(store.keys) for store in self.stores], integers[valid])
            packed = self.keys.packed(integers, valid)
            assert packed is not None
        return packed

    def _repack(self, stored: Sequence[Integers], more: Integers) -> None:
        self.keys.fit([*stored, more])
        for store, integers in zip(self.stores, stored, strict=True):
            store.rekey(self.keys.pack(integers))

    def _store(self, side: int, columns: Mapping[str, pa.Array], keys: Words, times: Ordinals, kept: Mask,
               met: Mask, behind: Bounds | None) -> None:
        names = self.stores[side].schema.names
        if kept.all():
            payload = {name: columns[name] for name in names}
        else:
            places = pa.array(kept)
            payload = {name: columns[name].filter(places) for name in names}
            keys, times, met = keys[kept], times[kept], met[kept]
            behind = None if behind is None else behind[kept]
        self.stores[side].append(keys, times, payload, met if self._tracks else None, behind)
        self._credit[side] += SCANS_PER_ROW * len(times)

    def _holds(self, side: int, columns: Mapping[str, pa.Array], probing: Ordinals, stored: Ordinals) -> Mask:
        """For which pairs the residual predicate is true."""
        residual = self.spec.residual
        assert residual is not None
        pairs = {name: columns[name].take(pa.array(probing)) for name in residual.columns if name in columns}
        pairs |= {name: self._stored(1 - side, name, stored) for name in residual.columns if name not in pairs}
        if not pairs:
            pairs = {"": pa.nulls(len(probing))}
        return truth(residual, pa.table(pairs))

    # -- results

    def _results(self, side: int, columns: Mapping[str, pa.Array], probing: Ordinals, stored: Ordinals,
                 met: Mask, behind: Bounds | None) -> pa.Table:
        other = 1 - side
        kept = self.stores[other].behind
        if self._tracks and len(stored):
            fresh = np.unique(stored[~self.stores[other].matched[stored]])
            self.stores[other].matched[fresh] = True
            self._undo.append((other, fresh))
        if self.kind is JoinKind.ANTI or not len(probing):
            return self.nothing
        if self.kind is JoinKind.SEMI:
            if side == LEFT:
                self._come_out(side, int(np.count_nonzero(met)), None if behind is None else behind[met])
                return self._table({n: columns[n].filter(pa.array(met)) for n in self.spec.left.leaving})
            self._come_out(LEFT, len(fresh), None if kept is None else kept[fresh])
            return self._table({n: self._stored(LEFT, n, fresh) for n in self.spec.left.leaving})
        self._come_out(side, len(probing), None if behind is None else behind[probing],
                       None if kept is None else kept[stored])
        places = None if len(probing) == len(met) and _counts_up(probing) else pa.array(probing)
        own = {n: columns[n] if places is None else columns[n].take(places) for n in self._leaving[side]}
        return self._table(own | {n: self._stored(other, n, stored) for n in self._leaving[other]})

    def _alone(self, side: int, columns: Mapping[str, pa.Array], places: Ordinals,
               behind: Bounds | None) -> pa.Table:
        """Rows of a side that found no partner; the other side's columns are null."""
        self._come_out(side, len(places), None if behind is None else behind[places])
        at = pa.array(places)
        found = {name: columns[name].take(at) for name in self.spec.sides[side].leaving}
        if not self.kind.left_only:
            other = self.spec.sides[1 - side]
            found |= {name: pa.nulls(len(places), other.schema.field(name).type) for name in other.leaving}
        return self._table(found)

    def _stored(self, side: int, name: str, places: Ordinals) -> pa.Array:
        """A column of stored rows, from wherever it is kept."""
        store, origin = self.stores[side], self._origin[side][name]
        if origin.time:
            times = store.times_at(places)
            if origin.date:
                return from_ordinals(times, OrdinalKind.DATE).cast(origin.type)
            return pa.array(times).view(origin.type)
        if origin.key is not None:
            return self.keys.column_at(origin.key, *store.words, places, origin.type)
        return store.take(name, places)

    def _table(self, columns: Mapping[str, pa.Array]) -> pa.Table:
        return pa.Table.from_arrays([columns[name] for name in self.schema.names], schema=self.schema)

    # -- promises in

    def advance(self, side: int, punctuation: Punctuation) -> tuple[pa.Table, list[Punctuation]]:
        """A promise about one input: rows that now cannot find a partner any more (outer joins), then promises."""
        self._out = []
        if not self.progress.punctuate(side, punctuation):
            return self.nothing, []
        results = self._purge(1 - side)
        self.results += results.num_rows
        return results, self.progress.news()

    def _has_bounds(self, side: int) -> bool:
        table = self.progress.bounds[side]
        return table.linear != NO_BOUND or bool(table.groups) or bool(table.selections)

    def _bounds_at(self, side: int, keys: Words, valid: Mask | None = None) -> Ordinals | int:
        """The bound of a side for rows of the other, by their keys: in the type that holds those of both.

        Where not all are ``valid``, the others have no key and the bound of all.
        """
        table = self.progress.bounds[side]
        if not table.groups and not table.selections:
            return table.linear
        if valid is not None and not valid.all():
            bounds = np.full(len(keys), table.linear, np.int64)
            bounds[valid] = self._bounds_at(side, keys[valid])
            return bounds
        names = self.spec.sides[side].keys
        columns = {name: self.keys.column(i, keys, self.keys.types[i]) for i, name in enumerate(names)}
        return table.bounds_for(columns, len(keys))

    def _purge(self, side: int) -> pa.Table:
        """Let go of rows whose partners have all come (figures 7-1, 7-2: erratum E9 for buckets).

        Where nothing waits for it this is only about memory: rows that cannot match are no results. Looking for them is
        paid for by rows that came and by a small allowance per promise, so that many promises over a large state cost
        no more than the rows do.
        """
        store, bounds = self.stores[side], self.progress.bounds[1 - side]
        waiting = side in self._preserved
        if not store.rows:
            return self.nothing
        if bounds.linear == FINISHED:
            return self._let_go(side, np.zeros(store.rows, np.bool_))
        self._credit[side] += SCAN_CREDIT
        if not waiting and self._credit[side] < store.rows:
            return self.nothing
        self._credit[side] = 0
        if not bounds.groups and not bounds.selections:
            needed = self.pairing.still_needed(side, bounds.linear)
            dead = store.below(needed)
            if dead == 0 or (not waiting and dead * DEAD_SHARE < store.rows):
                return self.nothing
            return self._let_go(side, store.times >= needed)
        _, highs = self.pairing.partners(side, store.times)
        stay = highs >= self._bounds_at(1 - side, store.keys)
        if stay.all() or (not waiting and np.count_nonzero(~stay) * DEAD_SHARE < store.rows):
            return self.nothing
        return self._let_go(side, stay)

    def _let_go(self, side: int, stay: Mask) -> pa.Table:
        store = self.stores[side]
        results = self.nothing
        if side in self._preserved:
            alone = np.flatnonzero(~stay & ~store.matched)
            if len(alone):
                names = self.spec.sides[side].leaving
                columns = {name: self._stored(side, name, alone) for name in names}
                behind = None if store.behind is None else store.behind[alone]
                results = self._alone(side, columns, np.arange(len(alone)), behind)
        if self.kind.left_only and side == LEFT:
            stay = stay & ~store.matched
        store.keep(stay)
        self._forget_keys()
        return results

    def _forget_keys(self) -> None:
        """Texts of keys that no stored row has are forgotten when they are many."""
        if self.keys.count <= max(KEYS_KEPT, 3 * sum(store.rows for store in self.stores) // 2 * len(self.keys.types)):
            return
        self.keys, stored = self.keys.renumbered([store.keys for store in self.stores])
        self._repack(stored, np.empty((0, len(self.keys.types)), np.int64))

    # -- taking back

    def mark(self) -> None:
        """Remember this moment for ``rollback``; no promise may come in between."""
        self._marked = (self.stores[LEFT].rows, self.stores[RIGHT].rows)
        self._undo.clear()
        self._before = (*self.rows, self.results)

    def rollback(self) -> None:
        """Forget the rows that came since ``mark``."""
        for side, places in self._undo:
            self.stores[side].matched[places[places < self._marked[side]]] = False
        self._undo.clear()
        for store, rows in zip(self.stores, self._marked, strict=True):
            store.cut(rows)
        self.rows, self.results = list(self._before[:2]), self._before[2]

    # -- counters

    def alive(self, side: int) -> int:
        """Stored rows of a side that can still find a partner."""
        store = self.stores[side]
        if not store.rows or not self._has_bounds(1 - side):
            return store.rows
        _, highs = self.pairing.partners(side, store.times)
        return int(np.count_nonzero(highs >= self._bounds_at(1 - side, store.keys)))

    def counters(self) -> dict[str, int]:
        """Rows seen by side, results, rows that can still match (``left``, ``right``), rows held, key texts, bytes."""
        return {"left_rows": self.rows[LEFT], "right_rows": self.rows[RIGHT], "results": self.results,
                "left": self.alive(LEFT), "right": self.alive(RIGHT),
                "buffered": sum(store.rows for store in self.stores), "keys": self.keys.count, "bytes": self.size}

    @property
    def size(self) -> int:
        """The bytes of stored rows, index and keys."""
        return sum(store.size for store in self.stores) + self.keys.size

    # -- saving

    def save(self) -> Saved:
        """Everything needed to go on exactly here."""
        saved = [store.saved({f"key{i}": self.keys.column(i, store.keys, t) for i, t in enumerate(self.keys.types)})
                 for store in self.stores]
        header = {"identity": self._identity(), "progress": self.progress.snapshot(), "rows": self.rows,
                  "results": self.results}
        return header, dict(zip(("left", "right"), saved, strict=True))

    def load(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``save`` gave; a state of another join is refused."""
        for what, value in self._identity().items():
            if header["identity"].get(what) != value:
                raise CheckpointError(f"the saved join has {what} {header['identity'].get(what)!r}, the query has "
                                      f"{value!r}: it belongs to another query")
        self.keys = JoinKeys(self.spec.key_types)
        stored = []
        for name in ("left", "right"):
            columns = [flat(tables[name].column(f"key{i}")) for i in range(len(self.keys.types))]
            integers, valid = self.keys.integers(columns, tables[name].num_rows)
            if not valid.all():
                raise CheckpointError("the saved join is damaged: a stored row has no key")
            stored.append(integers)
        self.keys.fit(stored)
        for store, name, integers in zip(self.stores, ("left", "right"), stored, strict=True):
            store.load(tables[name], self.keys.pack(integers))
        self.progress.restore(header["progress"])
        self.rows, self.results = [int(n) for n in header["rows"]], int(header["results"])
        self._credit = [0, 0]

    def _identity(self) -> dict[str, str]:
        return {"window": repr(self.pairing), "kind": self.kind.value, "residual": str(self.spec.residual),
                "keys": repr([(side.time, side.keys) for side in self.spec.sides]),
                "columns": self.schema.to_string(show_schema_metadata=False)}


def _counts_up(places: Ordinals) -> bool:
    return bool(len(places) == 0 or (places[0] == 0 and np.all(np.diff(places) == 1)))


def _joined(first: pa.Table, second: pa.Table) -> pa.Table:
    parts: Sequence[Any] = [part for part in (first, second) if part.num_rows]
    return parts[0] if len(parts) == 1 else pa.concat_tables(parts)
