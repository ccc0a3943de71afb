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

from panewise.core.arrays import Ints
from panewise.core.columns import int_columns
from panewise.core.compiling import compiled
from panewise.core.ordinals import Ordinals
from panewise.core.scalar import Scalar
from panewise.kernels.relations.edges.delta import FOREVER, Delta, Ends, Lives, Mask, Uids, ticks_of
from panewise.kernels.relations.edges.departures import Departures
from panewise.kernels.relations.edges.operator import RelationOperator, Saved, beneath, under
from panewise.kernels.relations.joins.join import WindowJoin
from panewise.kernels.relations.joins.key_codes import JoinKeys
from panewise.kernels.relations.joins.pairing import Match, Side
from panewise.kernels.relations.negation.sweep import Turns, starts_of, turns_of
from panewise.kernels.relations.stores.arena import Growing, renumbered
from panewise.kernels.relations.stores.codes import CodesByEnd, CodesByNumber, LeavingCodes
from panewise.kernels.relations.stores.queues import Calendar
from panewise.progress.watermarks import NO_BOUND

LEFT = "left row"
BEFORE = -(2**63)
"""In place of an instant: before the step."""
ROW_KEY = pa.schema([pa.field("row", pa.int64())])


class Existence(RelationOperator):
    """Left rows while their key is on (``wanted``), or while it is off.

    Where rows meet ``at_birth`` only, and never leave, nothing is kept for those that come later.
    """

    def __init__(self, left: pa.Schema, match: Match, uids: Uids, right: LeavingCodes, *, wanted: bool,
                 tells: Departures = Departures.EARLY, at_birth: bool = False) -> None:
        self._at_birth = at_birth
        self.schema, self._uids, self._wanted = left, uids, wanted
        self._match = match
        self._keys = JoinKeys(match.keys)
        self._left = Side(left, in_order=False)
        self._shown = Growing()  # by slot the number of the row that shows it, or -1
        self._right = right
        self._counts = Growing()
        self._leaving = Calendar() if tells is Departures.NAMED else None
        """Left rows are kept here anyway, so the operator above need not keep them again to report departures."""
        self._reached = NO_BOUND

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Keys that turn, then left rows of those keys, new ones, and those that left too early."""
        left, right = inputs
        turns = self._turn(right, upto)
        before = self._left.arena.expires.copy() if left.shortens else None
        ended = self._left.end(left.ends, left.reached)
        turned = turns.codes()
        chained = self._left.chains.of(turned, self._left.arena.expires, self._reached)  # old rows of keys that turn
        first = self._left.add(left.lives, self._keys.of_rows(self._match.left, left.lives.table), len(self._keys))
        self._shown.extend_to(len(self._left.arena), -1)
        self._counts.extend_to(len(self._keys), 0)
        old = np.union1d(chained, ended)
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

    def _turn(self, right: Delta, upto: int) -> Turns:
        """Where keys turn on and off in the step."""
        lives = right.lives
        codes = self._keys.of_rows(self._match.right, lives.table)
        known = codes >= 0
        if not known.all():  # a null equals nothing
            lives, codes = lives.filter(known), codes[known]
        self._counts.extend_to(len(self._keys), 0)
        gone = self._right.leave(right, upto)
        turns = turns_of(codes, lives, gone, upto, self._counts.values)
        self._right.enter(codes, lives, upto)
        return turns

    def _show(self, slots: Ordinals, old: Mask, turns: Turns, turned: Ordinals, before: Ordinals | None,
              upto: int) -> tuple[Lives, Ends, Ordinals]:
        """Parts of lives that begin in the step, ends of those that began before, and the slots of these."""
        arena = self._left.arena
        rows, since, until = _shown_parts(
            self._left.codes.values[slots], arena.born[slots], arena.expires[slots], old, turned,
            starts_of(turns.code, turned), turns.at, turns.on, self._counts.values, self._wanted)
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
        if self._at_birth:
            side.clear(len(self._keys))
            self._shown = Growing()
            self._counts.values[:] = 0
        stay = side.forget(self._wanted_again(), len(self._keys)) if side.arena.crowded else None
        if stay is not None:
            self._shown = Growing(self._shown.values[stay])
            if self._leaving is not None:
                self._leaving.rebuild(side.arena.expires, self._reached)
        if len(self._keys) > 4 * (len(side.arena) + self._right.count) + (0 if self._at_birth else 4096):
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
        tables = under("left_", self._left.saved(alive))
        tables["shown"] = pa.table({"uid": self._shown.values[alive], "code": self._left.codes.values[alive]})
        tables |= self._right.saved()
        tables["keys"], tables["counts"] = self._keys.table(), pa.table({"count": self._counts.values})
        return {"reached": self._reached, "keys": len(self._keys)}, tables

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        self._reached = header["reached"]
        numbers = self._keys.load(tables["keys"], tables["keys"].num_rows if len(self._keys.schema) else 1)
        self._left.load(beneath("left_", tables))
        shown, codes = int_columns(tables["shown"])
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

    def __init__(self, left: pa.Schema, right: pa.Schema, match: Match, uids: Uids, *, wanted: bool,
                 at_birth: bool = False) -> None:
        self.schema = left
        numbered = left.append(pa.field(LEFT, pa.int64()))
        self._pairs = WindowJoin(numbered, right, match, uids, leave=(Departures.EARLY, Departures.EARLY),
                                 tells=Departures.VECTORS, narrow=True, at_birth=at_birth)
        own = Match([Scalar.column(LEFT)], [Scalar.column(LEFT)], ROW_KEY)
        codes = CodesByEnd(Calendar()) if at_birth else CodesByNumber(Calendar())
        self._rows = Existence(numbered, own, uids, codes, wanted=wanted, at_birth=at_birth)

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
        return {"pairs": pairs, "rows": rows}, under("pairs:", kept) | under("rows:", shown)

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        for name, part in (("pairs", self._pairs), ("rows", self._rows)):
            part.restore(header[name], beneath(f"{name}:", tables))

    def counters(self) -> dict[str, int]:
        """Both parts."""
        one, other = self._pairs.counters(), self._rows.counters()
        return {name: one.get(name, 0) + other.get(name, 0) for name in ("rows", "pairs", "bytes")}


@compiled
def _shown_parts(codes: Ints, born: Ints, expires: Ints, old: Mask, turned: Ints, starts: Ints, turn_at: Ints,
                turn_on: Mask, counts: Ints, wanted: bool) -> tuple[Ints, Ints, Ints]:
    """The parts of rows' lives in which their key is as wanted: the row, the beginning and the end of each.

    The turns of the key ``turned[i]`` are ``starts[i]`` to ``starts[i + 1]``; a key that does not turn is on if its
    count is positive. A part that began before the step starts at ``BEFORE``. A code below zero is never on.
    """
    room = len(codes) + 16
    rows, since, until, found = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64), 0
    for row in range(len(codes)):
        code = codes[row]
        on = code >= 0 and counts[code] > 0
        first = np.searchsorted(turned, code)
        turn, last = 0, 0
        if code >= 0 and first < len(turned) and turned[first] == code:
            turn, last = starts[first], starts[first + 1]
            on = not turn_on[turn]
        begin = BEFORE if old[row] else born[row]
        while True:
            finish = turn_at[turn] if turn < last else FOREVER
            if on == wanted:
                start = max(begin, born[row]) if begin != BEFORE else BEFORE
                stop = min(finish, expires[row])
                if start < stop:
                    if found == len(rows):
                        rows, since, until = np.append(rows, rows), np.append(since, since), np.append(until, until)
                    rows[found], since[found], until[found] = row, start, stop
                    found += 1
            if turn >= last or finish >= expires[row]:
                break
            begin = finish
            on = not on
            turn += 1
    return rows[:found], since[:found], until[:found]
