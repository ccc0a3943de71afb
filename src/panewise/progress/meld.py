"""Meld: the union of streams passes rows at once and promises what all its inputs promise (Li 8.2).

No order is kept and no row is held. The bound of the union is the smallest over the inputs and is sent on only when it
moved; groups with promises of their own each have such a state.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

from panewise.core.errors import CheckpointError, ProgressError
from panewise.progress.bounds import BoundTable
from panewise.progress.patterns import Constant
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.watermarks import FINISHED


class Meld:
    """Combines the progress of several inputs that share one ordering attribute.

    A finished input counts as infinitely far. An idle input is not waited for as long as another one is active; when
    it wakes up it is waited for again, and what was promised meanwhile stands, so its older rows are late. Promises
    that bound no group (single values or ranges of the ordering attribute) are not passed on: that is safe, only later.

    >>> meld = Meld(["R", "S"])
    >>> meld.advance("R", 20), meld.advance("S", 19), meld.advance("S", 20), meld.advance("S", 21)
    (None, 19, 20, None)
    """

    def __init__(self, inputs: int | Iterable[Hashable], attribute: str = "ts") -> None:
        self.attribute = attribute
        names = range(inputs) if isinstance(inputs, int) else inputs
        self.tables = {name: BoundTable(attribute) for name in names}
        if not self.tables:
            raise ProgressError("a Meld needs at least one input")
        self.idle: set[Hashable] = set()
        self.sent = BoundTable(attribute)
        self._holding: int | None = None
        """How many inputs stand at or below what was sent: while there is one, an advance of others moves nothing."""
        self._grouped = False
        """Whether some input has made a promise about single groups."""

    @property
    def bound(self) -> int:
        """What was promised for all rows so far."""
        return self.sent.linear

    def advance(self, source: Hashable, bound: int) -> int | None:
        """An input promised a bound for all its rows: the new bound of the union, or nothing when it did not move."""
        table = self._table(source)
        before = table.linear
        table.advance_to(bound)
        return self._advance_all(before, table.linear)

    def punctuate(self, source: Hashable, punctuation: Punctuation) -> list[Punctuation]:
        """An input sent a punctuation: what the union promises now that it did not before."""
        table = self._table(source)
        before = table.linear
        if not table.advance(punctuation):
            return []
        others = [p for a, p in punctuation.patterns if a != self.attribute]
        self._grouped = self._grouped or bool(others)
        if others and all(isinstance(p, Constant) for p in others):
            return self._news(punctuation.constants(self.attribute), before, table.linear)
        return self._news({}, before, table.linear)

    def finish(self, source: Hashable) -> list[Punctuation]:
        """An input has ended."""
        return self.punctuate(source, END)

    def set_idle(self, source: Hashable, idle: bool = True) -> list[Punctuation]:
        """An input fell silent or woke up."""
        self._table(source)
        self._holding = None
        if idle:
            self.idle.add(source)
            return self._news({})
        self.idle.discard(source)
        return []

    # -- the minimum ---------------------------------------------------------------------------------------------

    def _waited_for(self) -> list[BoundTable]:
        """The inputs whose bounds count. When only idle ones are left, theirs do: silence is no promise."""
        open_inputs = {n: t for n, t in self.tables.items() if t.linear != FINISHED}
        active = [t for n, t in open_inputs.items() if n not in self.idle]
        return active or list(open_inputs.values()) or list(self.tables.values())

    def _advance_all(self, before: int | None = None, after: int | None = None) -> int | None:
        """The new bound of the union if it moved; one input went from ``before`` to ``after``."""
        if self._holding is not None and not self.idle and before is not None and after is not None:
            self._holding -= before <= self.sent.linear < after
            if self._holding > 0:
                return None
        waited_for = self._waited_for()
        smallest = min(table.linear for table in waited_for)
        moved = self.sent.advance_to(smallest)
        self._holding = sum(table.linear <= self.sent.linear for table in waited_for)
        return smallest if moved else None

    def _news(self, changed: Mapping[str, Any], before: int | None = None, after: int | None = None,
              ) -> list[Punctuation]:
        """Promises for all rows first, then for the groups within the changed one that are further."""
        news = []
        linear = self._advance_all(before, after)
        if linear is not None:
            news.append(self._promise(linear, {}))
        for group in self._groups(changed):
            bound = min(table.bound_for(group) for table in self._waited_for())
            promise = self._promise(bound, group)
            if bound > self.sent.bound_for(group) and self.sent.advance(promise):
                news.append(promise)
        return news

    def _groups(self, changed: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        seen = set()
        for table in self.tables.values() if self._grouped else ():
            for group in table.group_keys():
                key = tuple(sorted(group.items(), key=lambda item: item[0]))
                if key not in seen and changed.items() <= group.items():
                    seen.add(key)
                    yield group

    def _promise(self, bound: int, group: Mapping[str, Any]) -> Punctuation:
        if bound == FINISHED:
            return Punctuation.of({a: Constant(v) for a, v in group.items()})
        return Punctuation.below(self.attribute, bound, **group)

    def _table(self, source: Hashable) -> BoundTable:
        if source not in self.tables:
            raise ProgressError(f"no input {source!r} of this Meld; there are {', '.join(map(str, self.tables))}")
        return self.tables[source]

    # -- saving --------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """The state as data that JSON can hold; inputs by position."""
        return {
            "inputs": [table.snapshot() for table in self.tables.values()],
            "idle": [i for i, name in enumerate(self.tables) if name in self.idle],
            "sent": self.sent.snapshot(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Become what ``snapshot`` saved."""
        if len(state["inputs"]) != len(self.tables):
            raise CheckpointError(f"saved progress is of {len(state['inputs'])} inputs, there are {len(self.tables)}")
        for table, saved in zip(self.tables.values(), state["inputs"], strict=True):
            table.restore(saved)
        names = list(self.tables)
        self.idle = {names[i] for i in state["idle"]}
        self.sent.restore(state["sent"])
        self._holding, self._grouped = None, True  # what groups have promised was restored with the tables
