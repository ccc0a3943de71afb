"""What a join can promise: bounds of both inputs in, individual and joint punctuation out (Li 7.1, 7.2).

A future result contains a row that has not come yet, of one side or the other. So a time of the left side below *both*
the left bound and the smallest left time that a new right row can reach is over: *individual* punctuation, a slab. And
no future result has both of its times below both bounds: *joint* punctuation, a box. Boxes do not wait for the window,
so they come earlier; slabs cover more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from panewise.core.join_kinds import LEFT, RIGHT
from panewise.kernels.joins.pairing import Pairing
from panewise.progress.bounds import BoundTable
from panewise.progress.patterns import Below, Constant
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.watermarks import FINISHED, NO_BOUND


class JoinProgress:
    """The progress of both inputs of a join, and of its output.

    ``times`` are the names of the two time columns, ``keys`` pairs of column names that are equal in every result; a
    promise about a group is understood where the group is made of such columns, and otherwise passed over: that is
    safe, only later. A box is only put out when its bounds are within each other's window (erratum E11: *and*, not
    *or*).

    >>> from panewise.kernels.joins.pairing import Band
    >>> progress = JoinProgress(Band(-2, 2), ("l", "r"))
    >>> promises = (0, Punctuation.below("l", 5)), (1, Punctuation.below("r", 5)), (0, Punctuation.below("l", 6))
    >>> [[str(p) for p in progress.news()] for promise in promises if progress.punctuate(*promise)]
    [[], ['(l < 3)', '(r < 3)', '(l < 5, r < 5)'], ['(r < 4)', '(l < 6, r < 5)']]
    """

    def __init__(self, pairing: Pairing, times: tuple[str, str], keys: Sequence[tuple[str, str]] = ()) -> None:
        self.pairing, self.times, self.keys = pairing, times, tuple(keys)
        self.bounds = (BoundTable(times[LEFT]), BoundTable(times[RIGHT]))
        self.sent = (BoundTable(times[LEFT]), BoundTable(times[RIGHT]))
        self.box = (NO_BOUND, NO_BOUND)

    # -- in

    def punctuate(self, side: int, punctuation: Punctuation) -> bool:
        """Take in a promise about one input; whether it says anything new that the join understands."""
        names = {pair[side] for pair in self.keys}
        if not punctuation.attributes <= names | {self.times[side]}:
            return False
        return self.bounds[side].advance(punctuation)

    # -- out

    def news(self, changed: Mapping[str, Any] | None = None) -> list[Punctuation]:
        """What the join promises now that it did not before; ``changed`` limits the groups looked at, by left names."""
        if self.finished:
            return [END] if all(table.advance_to(FINISHED) for table in self.sent) else []
        found = []
        for side in (LEFT, RIGHT):
            bound = self.individual(side)
            if self.sent[side].advance_to(bound):
                found.append(Punctuation.below(self.times[side], bound))
        found += self._groups(changed or {})
        if (box := self._box()) is not None:
            found.append(box)
        return found

    @property
    def finished(self) -> bool:
        """Whether no result can come any more: neither input can bring a row."""
        return all(table.linear == FINISHED for table in self.bounds)

    def individual(self, side: int, group: Mapping[str, Any] | None = None) -> int:
        """A lower bound on this side's time in every future result."""
        own, other = (table.linear for table in self._ordered(side))
        if group is not None:
            own, other = (table.bound_for(self.of_side(s, group))
                          for table, s in zip(self._ordered(side), (side, 1 - side), strict=True))
        return min(own, self.pairing.still_needed(side, other))

    def _ordered(self, side: int) -> tuple[BoundTable, BoundTable]:
        return self.bounds[side], self.bounds[1 - side]

    def _box(self) -> Punctuation | None:
        left, right = (table.linear for table in self.bounds)
        if NO_BOUND in (left, right) or FINISHED in (left, right) or (left, right) == self.box:
            return None
        if not self.pairing.joins(left, right):
            return None
        self.box = (left, right)
        return Punctuation.of({self.times[LEFT]: Below(left), self.times[RIGHT]: Below(right)})

    # -- groups: promises about single keys

    def of_side(self, side: int, group: Mapping[str, Any]) -> dict[str, Any]:
        """A group by the names of the other side; it is given by those of the left."""
        names = {pair[LEFT]: pair[side] for pair in self.keys}
        return {names[name]: value for name, value in group.items()}

    def by_left_names(self, side: int, group: Mapping[str, Any]) -> dict[str, Any]:
        """A group of one side by the names of the left."""
        names = {pair[side]: pair[LEFT] for pair in self.keys}
        return {names[name]: value for name, value in group.items()}

    def _groups(self, changed: Mapping[str, Any]) -> Iterator[Punctuation]:
        for group in self._ahead():
            if not changed.items() <= group.items():
                continue
            for side in (LEFT, RIGHT):
                bound = self.individual(side, group)
                named = self.of_side(side, group)
                # a time that is part of the key is a constant of the group: a bound instead would be about all rows
                if self.times[side] in named or bound <= self.sent[side].bound_for(named):
                    continue
                constants = {name: Constant(value) for name, value in named.items()}
                promise = Punctuation.of(constants if bound == FINISHED else
                                         {**constants, self.times[side]: Below(bound)})
                if self.sent[side].advance(promise):
                    yield promise

    def _ahead(self) -> list[dict[str, Any]]:
        """Every group about which an input has promised more than about all its rows."""
        seen: dict[tuple[tuple[str, Any], ...], dict[str, Any]] = {}
        for side, table in enumerate(self.bounds):
            for group in table.group_keys():
                named = self.by_left_names(side, group)
                seen[tuple(sorted(named.items(), key=lambda item: item[0]))] = named
        return list(seen.values())

    # -- saving

    def snapshot(self) -> dict[str, Any]:
        """The state as data that JSON can hold."""
        return {"bounds": [table.snapshot() for table in self.bounds],
                "sent": [table.snapshot() for table in self.sent], "box": list(self.box)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Become what ``snapshot`` saved."""
        for tables, saved in ((self.bounds, state["bounds"]), (self.sent, state["sent"])):
            for table, one in zip(tables, saved, strict=True):
                table.restore(one)
        left, right = state["box"]
        self.box = (int(left), int(right))
