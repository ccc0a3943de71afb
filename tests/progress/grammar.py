"""What a stream that keeps its promises is, said row by row, and its watermarks, for which the future must be known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from panewise.core.errors import ProgressError
from panewise.core.ordinals import OrdinalKind, Ordinals
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Row, Timeline
from panewise.progress.watermarks import FINISHED


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


def grammatical(arrivals: Timeline) -> Timeline:
    """The timeline without the rows that break a promise."""
    gone = {v.index for v in violations(arrivals)}
    return [a for i, a in enumerate(arrivals) if i not in gone]


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


def low_watermarks(values: Any) -> Ordinals:
    """Equation 4.1 for every prefix: entry n is the smallest value that comes after the first n rows.

    Only a test or a replay can know it, since it looks ahead; every bound a source promises must stay at or below it.

    >>> low_watermarks([3, 1, 2]).tolist()[:3]
    [1, 1, 2]
    """
    ahead = np.asarray(values, dtype=np.int64)
    return np.minimum.accumulate(np.append(ahead, FINISHED)[::-1])[::-1]


def low_watermark(n: int, values: Any) -> int:
    """The smallest value still to come after the first n rows; ``FINISHED`` when none comes (Eq. 4.1).

    >>> low_watermark(1, [3, 1, 2]), low_watermark(3, [3, 1, 2]) == FINISHED
    (1, True)
    """
    return int(low_watermarks(np.asarray(values, dtype=np.int64)[n:])[0])
