"""The grammar guard: does a stream keep its promises, and what to do with rows that break them (Li 2.1, 9).

A stream is *grammatical* when no row matches a punctuation that came before it. Everything else may assume it once the
guard has run; the price is a look at every row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.errors import LateRowError, ProgressError
from panewise.core.ordinals import OrdinalKind, to_ordinals
from panewise.progress.bounds import BoundTable
from panewise.progress.patterns import Mask
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Row, Timeline


class Violations(Enum):
    """What happens to a row that breaks a promise."""

    DROP = "drop"
    ERROR = "error"
    COUNT = "count"  # the row passes, and is counted

    @classmethod
    def parse(cls, text: str | Violations) -> Violations:
        """By name."""
        try:
            return cls(text)
        except ValueError as error:
            raise ProgressError(f"no action {text!r} for violated punctuation: use drop, error or count") from error


class Guard:
    """Checks batches of rows of one stream against all punctuation that came before.

    Bounds are kept in a table; other pattern forms one by one, as long as nothing promises the same and more.

    >>> guard = Guard("ts", action="drop")
    >>> guard.punctuate(Punctuation.below("ts", 60, seg="s1"))
    >>> guard.filter(pa.table({"ts": [59, 59, 60], "seg": ["s1", "s2", "s1"]})).to_pylist()
    [{'ts': 59, 'seg': 's2'}, {'ts': 60, 'seg': 's1'}]
    """

    def __init__(self, attribute: str, *, action: str | Violations = "error", stream: str = "") -> None:
        self.attribute, self.stream = attribute, stream
        self.action = Violations.parse(action)
        self.violated = 0
        """How many rows broke a promise so far."""
        self.bounds = BoundTable(attribute)
        self.others: list[Punctuation] = []

    def punctuate(self, punctuation: Punctuation) -> None:
        """One more promise to hold the stream to."""
        if punctuation.closes_below(self.attribute) is not None:
            self.bounds.advance(punctuation)
        elif not punctuation.empty and not any(known.subsumes(punctuation) for known in self.others):
            self.others = [known for known in self.others if not punctuation.subsumes(known)] + [punctuation]

    def violations(self, rows: pa.RecordBatch | pa.Table) -> Mask:
        """Which rows break a promise."""
        values = to_ordinals(self._column(rows, self.attribute), self.attribute)
        groups = {name: self._column(rows, name) for name in self._grouping()}
        broken = values < self.bounds.bounds_for(groups, len(rows))
        for punctuation in self.others:
            masks = [
                pattern.mask(pa.array(values) if name == self.attribute else self._column(rows, name))
                for name, pattern in punctuation.patterns
            ]
            broken |= np.logical_and.reduce(masks)
        return broken

    def filter(self, rows: pa.Table, *, first_row: int = 1) -> pa.Table:
        """The rows that pass, after the chosen action; ``first_row`` is the arrival position of the first of them."""
        broken = self.violations(rows)
        count = int(np.count_nonzero(broken))
        self.violated += count
        if not count or self.action is Violations.COUNT:
            return rows
        if self.action is Violations.ERROR:
            at = int(np.flatnonzero(broken)[0])
            row = rows.slice(at, 1).to_pylist()[0]
            value = int(to_ordinals(rows.column(self.attribute).slice(at, 1), self.attribute)[0])
            raise _error(self.stream, first_row + at, row, self._promise({**row, self.attribute: value}))
        return rows.filter(pa.array(~broken))

    def _promise(self, row: Row) -> Punctuation:
        """A promise the row breaks."""
        broken = next((p for p in self.others if p.matches(row)), None)
        return broken or Punctuation.below(self.attribute, self.bounds.bound_for(row))

    def _grouping(self) -> set[str]:
        selected = (patterns.attributes for patterns, _ in self.bounds.selections)
        return set().union(*self.bounds.groups, *selected)

    def _column(self, rows: pa.Table, name: str) -> Any:
        if name not in rows.schema.names:
            known = ", ".join(rows.schema.names) or "none"
            raise ProgressError(f"punctuation names {name!r}, which is no column of the stream; there are {known}")
        return rows.column(name)

    def snapshot(self) -> dict[str, Any]:
        """The state as data that JSON can hold."""
        others = [punctuation.to_state() for punctuation in self.others]
        return {"violated": self.violated, "bounds": self.bounds.snapshot(), "others": others}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Become what ``snapshot`` saved."""
        self.violated = int(state["violated"])
        self.bounds.restore(state["bounds"])
        self.others = [Punctuation.from_state(saved)
                       for saved in state["others"]]


@dataclass(frozen=True)
class Violation:
    """A row that came although a punctuation had ruled it out."""

    index: int
    """Its place in the timeline."""
    stream: str
    row_number: int
    """Its arrival position in its stream, 1-based."""
    row: Row
    punctuation: Punctuation


def violations(arrivals: Iterable[Arrival], orderings: Mapping[str, tuple[str, OrdinalKind]] | None = None,
               ) -> list[Violation]:
    """Every row of a timeline that breaks a promise of its stream, with the first promise it breaks.

    ``orderings`` names each stream's ordering attribute and its kind, so that times in rows compare with ordinals in
    punctuation; without it rows must hold ordinals.

    >>> from panewise.progress.timeline import timeline
    >>> [v.row_number for v in violations(timeline(s=[{"ts": 5}, Punctuation.below("ts", 5), {"ts": 4}, {"ts": 5}]))]
    [2]
    """
    found: list[Violation] = []
    promised: dict[str, list[Punctuation]] = {}
    counts: dict[str, int] = {}
    for index, arrival in enumerate(arrivals):
        stream, item = arrival.stream, arrival.item
        known = promised.setdefault(stream, [])
        if isinstance(item, Punctuation):
            if not any(p.subsumes(item) for p in known):
                promised[stream] = [p for p in known if not item.subsumes(p)] + [item]
            continue
        counts[stream] = counts.get(stream, 0) + 1
        row = _with_ordinal(item, orderings.get(stream) if orderings else None)
        broken = next((p for p in known if _matches(p, row, stream)), None)
        if broken is not None:
            found.append(Violation(index, stream, counts[stream], item, broken))
    return found


def is_grammatical(arrivals: Iterable[Arrival],
                   orderings: Mapping[str, tuple[str, OrdinalKind]] | None = None) -> bool:
    """Whether every stream of a timeline keeps its promises."""
    return not violations(arrivals, orderings)


def grammatical(arrivals: Timeline, action: str | Violations = "error",
                orderings: Mapping[str, tuple[str, OrdinalKind]] | None = None) -> tuple[Timeline, list[Violation]]:
    """The timeline after the chosen action, and the rows that broke a promise."""
    chosen = Violations.parse(action)
    broken = violations(arrivals, orderings)
    if broken and chosen is Violations.ERROR:
        first = broken[0]
        raise _error(first.stream, first.row_number, first.row, first.punctuation)
    if chosen is Violations.COUNT:
        return arrivals, broken
    gone = {v.index for v in broken}
    return [a for i, a in enumerate(arrivals) if i not in gone], broken


def _with_ordinal(row: Row, ordering: tuple[str, OrdinalKind] | None) -> Row:
    if ordering is None or row.get(ordering[0]) is None:
        return row
    name, kind = ordering
    return {**row, name: kind.parse(row[name])}


def _matches(punctuation: Punctuation, row: Row, stream: str) -> bool:
    missing = punctuation.attributes - row.keys()
    if missing:
        names = ", ".join(sorted(missing))
        raise ProgressError(f"punctuation {punctuation} of {stream} names {names}, which a row does not have: {row}")
    return punctuation.matches(row)


def _error(stream: str, number: int, row: Row, promise: Punctuation) -> LateRowError:
    return LateRowError(
        f"row {number} of {stream or 'the stream'} came although punctuation {promise} had ruled it out: {dict(row)}. "
        "Correct the source, or choose drop or count for violated punctuation"
    )
