"""EXISTS and NOT EXISTS: left rows while some right row matches, or none does (Golab erratum E11).

What decides is whether a key is *on*: whether any right row of it is there. Left rows of a key are shown and hidden
together when it turns; their own expiry needs no word. Where the condition is more than equal keys, every left row is a
key of its own, and the pairs it is part of are what keeps it on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.core.scalar import Scalar
from panewise.kernels.relations.delta import Delta, Ends, Lives, Mask, Uids, integers, ticks_of
from panewise.kernels.relations.existence_numba import BEFORE, count_chained, list_chained, shown_parts
from panewise.kernels.relations.join import WindowJoin
from panewise.kernels.relations.key_codes import JoinKeys
from panewise.kernels.relations.live_codes import renumbered
from panewise.kernels.relations.operator import RelationOperator, Saved
from panewise.kernels.relations.pairing import Match, Side
from panewise.kernels.relations.stores.arena import Growing
from panewise.kernels.relations.stores.codes import CodesByNumber, LeavingCodes
from panewise.kernels.relations.stores.queues import Calendar
from panewise.kernels.relations.sweep import Turns, starts_of, turns_of
from panewise.progress.watermarks import NO_BOUND

LEFT = "left row"
ROW_KEY = pa.schema([pa.field("row", pa.int64())])


class Existence(RelationOperator):
    """Left rows while their key is on (``wanted``), or while it is off."""

    def __init__(self, left: pa.Schema, match: Match, uids: Uids, right: LeavingCodes, *, wanted: bool) -> None:
        self.schema, self._uids, self._wanted = left, uids, wanted
        self._match = match
        self._keys = JoinKeys(match.keys)
        self._left = Side(left, in_order=False)
        self._shown = Growing()  # by slot the number of the row that shows it, or -1
        self._right = right
        self._counts = Growing()
        self._leaving: Calendar | None = None
        self._reached = NO_BOUND

    def name_gone(self) -> bool:
        """The rows are at hand, so that nobody need keep those that are shown a second time."""
        self._leaving = Calendar()
        return True

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Keys that turn, then left rows of those keys, new ones, and those that left too early."""
        left, right = inputs
        turns = self._turn(right, upto)
        before = self._left.arena.expires.copy() if left.shortens else None
        ended = self._left.end(left.ends, left.reached)
        turned = turns.codes()
        first = self._left.add(left.lives, self._codes(self._match.left, left.lives.table), len(self._keys))
        self._shown.extend_to(len(self._left.arena), -1)
        self._counts.extend_to(len(self._keys), 0)
        old = np.union1d(self._chained(turned, first), ended)
        slots = np.concatenate([old, np.arange(first, len(self._left.arena))])
        out, ends, hidden = self._show(slots, slots < first, turns, turned, before, upto)
        gone = None if self._leaving is None else self._gone(hidden, ends, first, upto)
        self._reached = upto
        self._forget()
        return Delta(out, ends, ticks_of(left.ticks, right.ticks), gone=gone)

    def _gone(self, hidden: Ordinals, ends: Ends, first: int, upto: int) -> Lives:
        """Rows of earlier steps that are shown no more: hidden, or gone by themselves."""
        assert self._leaving is not None
        arena = self._left.arena
        due = self._leaving.due(upto)
        due = due[self._shown.values[due] >= 0]
        self._shown.values[due] = -1
        self._leaving.insert(np.arange(first, len(arena)), arena.expires[first:], self._reached)
        slots = np.concatenate([hidden, due])
        return arena.lives(slots).ending(np.concatenate([ends.at, arena.expires[due]]))

    def _codes(self, scalars: Sequence[Scalar], table: pa.Table) -> Ordinals:
        return self._keys.codes(scalars, table)

    def _turn(self, right: Delta, upto: int) -> Turns:
        """Where keys turn on and off in the step."""
        lives = right.lives
        codes = self._codes(self._match.right, lives.table)
        known = codes >= 0
        if not known.all():  # a null equals nothing
            lives, codes = lives.filter(known), codes[known]
        self._counts.extend_to(len(self._keys), 0)
        gone = self._right.leave(right, upto)
        turns = turns_of(codes, lives, gone, upto, self._counts.values)
        self._right.enter(codes, lives, upto)
        return turns

    def _chained(self, turned: Ordinals, below: int) -> Ordinals:
        """Old left rows of keys that turn."""
        arguments = (turned, self._left.heads.values, self._left.nexts.values, self._left.arena.expires, below,
                     self._reached)
        slots = integers(count_chained(*arguments))
        list_chained(*arguments, slots)
        return slots

    def _show(self, slots: Ordinals, old: Mask, turns: Turns, turned: Ordinals, before: Ordinals | None,
              upto: int) -> tuple[Lives, Ends, Ordinals]:
        """Parts of lives that begin in the step, ends of those that began before, and the slots of these."""
        arena = self._left.arena
        starts = starts_of(turns.code, turned)
        arguments = (self._left.codes.values[slots], arena.born[slots], arena.expires[slots], old, turned, starts,
                     turns.at, turns.on, self._counts.values, self._wanted)
        none = integers()
        count = shown_parts(*arguments, none, none, none, False)
        rows, since, until = integers(count), integers(count), integers(count)
        shown_parts(*arguments, rows, since, until, True)
        going = since == BEFORE  # shown since before the step
        at = slots[rows]
        said = arena.expires if before is None else np.concatenate([before, arena.expires[len(before) :]])
        stopped = going & (until < said[at])
        ends = Ends(self._shown.values[at[stopped]], until[stopped])
        new = np.flatnonzero(~going)
        lives = arena.lives(at[new])
        uid = self._uids.draw(len(new))
        out = Lives(lives.table, uid, since[new], until[new], lives.age)
        self._shown.values[at[stopped]] = -1
        lasting = until[new] >= upto
        self._shown.values[at[new][lasting]] = uid[lasting]
        return out, ends, at[stopped]

    def _forget(self) -> None:
        side = self._left
        stay = side.forget(self._wanted_again(), len(self._keys)) if side.arena.crowded else None
        if stay is not None:
            self._shown = Growing(self._shown.values[stay])
            if self._leaving is not None:
                self._leaving.rebuild(side.arena.expires, self._reached)
        if len(self._keys) > 4 * (len(side.arena) + self._right.count) + 4096:
            self._forget_keys()

    def _wanted_again(self) -> Mask:
        """Left rows that are there, or leave at the next instant and have to be named then."""
        return self._left.arena.expires > self._reached - (self._leaving is not None)

    def _forget_keys(self) -> None:
        used = np.unique(np.r_[self._left.codes.values, np.flatnonzero(self._counts.values > 0)])
        used = used[used >= 0]
        moved = self._keys.keep(used)
        self._counts = renumbered(self._counts.values[used], moved[used])
        codes = self._left.codes.values
        self._left.relink(np.where(codes >= 0, moved[codes], -1), len(self._keys))
        self._right.recode(moved)

    # -- saving

    def snapshot(self) -> Saved:
        """Left rows with what shows them, right rows by key."""
        alive = np.flatnonzero(self._wanted_again())
        self._counts.extend_to(len(self._keys), 0)  # without a condition there is a key before there is a row
        tables = {f"left_{name}": table for name, table in self._left.saved(alive).items()}
        tables["shown"] = pa.table({"uid": self._shown.values[alive], "code": self._left.codes.values[alive]})
        tables |= self._right.saved()
        tables["keys"], tables["counts"] = self._keys.table(), pa.table({"count": self._counts.values})
        return {"reached": self._reached, "keys": len(self._keys)}, tables

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        self._reached = header["reached"]
        numbers = self._keys.load(tables["keys"])
        self._left.load(tables, "left_")
        shown, codes = (np.array(tables["shown"].column(n).to_numpy(), np.int64) for n in ("uid", "code"))
        self._shown = Growing(shown)
        self._left.relink(np.r_[numbers, -1][codes], len(self._keys))  # -1 is the last
        if self._leaving is not None:
            self._leaving.rebuild(self._left.arena.expires, self._reached)
        self._right.load(tables, header["reached"], numbers)
        self._counts = renumbered(tables["counts"].column(0).to_numpy(), numbers)

    def counters(self) -> dict[str, int]:
        """Left rows, and right rows by key."""
        return {"rows": len(self._left.arena) + self._right.count,
                "bytes": self._left.nbytes + 8 * len(self._left.arena) + self._right.nbytes}


class ExistenceOfPairs(RelationOperator):
    """The same for any condition: a left row is on while a pair it is part of is there."""

    def __init__(self, left: pa.Schema, right: pa.Schema, match: Match, uids: Uids, *, wanted: bool) -> None:
        self.schema = left
        numbered = left.append(pa.field(LEFT, pa.int64()))
        self._pairs = WindowJoin(numbered, right, match, uids, strict=(True, True), narrow=True)
        self._pairs.carry_vectors()
        own = Match([Scalar.column(LEFT)], [Scalar.column(LEFT)], ROW_KEY)
        self._rows = Existence(numbered, own, uids, CodesByNumber(Calendar()), wanted=wanted)

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Pairs first."""
        left, right = inputs
        lives = left.lives
        numbered = lives.with_table(lives.table.append_column(LEFT, pa.array(lives.uid)))
        left = replace(left, lives=numbered)
        pairs = self._pairs.step([left, right], upto)
        found = self._rows.step([left, pairs], upto)
        return Delta(found.lives.with_table(found.lives.table.drop_columns([LEFT])), found.ends, found.ticks)

    def snapshot(self) -> Saved:
        """Both parts."""
        (pairs, kept), (rows, shown) = self._pairs.snapshot(), self._rows.snapshot()
        tables = {f"pairs:{n}": t for n, t in kept.items()} | {f"rows:{n}": t for n, t in shown.items()}
        return {"pairs": pairs, "rows": rows}, tables

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        for name, part in (("pairs", self._pairs), ("rows", self._rows)):
            prefix = f"{name}:"
            part.restore(header[name], {n.removeprefix(prefix): t for n, t in tables.items() if n.startswith(prefix)})

    def counters(self) -> dict[str, int]:
        """Both parts."""
        one, other = self._pairs.counters(), self._rows.counters()
        return {name: one.get(name, 0) + other.get(name, 0) for name in ("rows", "pairs", "bytes")}
