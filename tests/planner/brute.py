"""Brute-force queries for two-futures experiments: windows and operators straight from their definitions.

A window is a function of what arrived and the instant; a row's identity is its arrival position, so two equal values
are two results.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from panewise.windows.base import WindowSpec
from planner.monotonicity import Evaluate, Event


class Row(NamedTuple):
    rho: int
    at: int
    value: Any
    key: Any = None


Contents = Callable[[Sequence[Event], int], list[Row]]


def rows_of(arrived: Sequence[Event], stream: str) -> list[Row]:
    """The rows of one stream with their positions in it; a row is a value or a (value, key) pair."""
    own = [e for e in arrived if e.stream == stream]
    return [Row(i, e.at, *e.row) if isinstance(e.row, tuple) else Row(i, e.at, e.row) for i, e in enumerate(own, 1)]


def scoped(spec: WindowSpec, stream: str = "S") -> Contents:
    """A time window: the rows inside its scope."""
    return lambda arrived, tau: [r for r in rows_of(arrived, stream) if spec.scope(tau).contains(r.at)]


def newest(n: int, stream: str = "S") -> Contents:
    """A count window."""
    return lambda arrived, _: rows_of(arrived, stream)[-n:]


def newest_of_each(n: int, stream: str = "S") -> Contents:
    """A partitioned count window."""
    def contents(arrived: Sequence[Event], _: int) -> list[Row]:
        groups: dict[Any, list[Row]] = defaultdict(list)
        for row in rows_of(arrived, stream):
            groups[row.key].append(row)
        return sorted(r for group in groups.values() for r in group[-n:])
    return contents


def unbounded(stream: str = "S") -> Contents:
    """A stream without a window."""
    return lambda arrived, _: rows_of(arrived, stream)


def select(window: Contents) -> Evaluate:
    return lambda arrived, tau: [r for r in window(arrived, tau) if r.value != 0]


def union(*windows: Contents) -> Evaluate:
    return lambda arrived, tau: [(i, r) for i, window in enumerate(windows) for r in window(arrived, tau)]


def join(left: Contents, right: Contents) -> Evaluate:
    return lambda arrived, tau: [
        (x, y) for x in left(arrived, tau) for y in right(arrived, tau) if x.value == y.value
    ]


def distinct_recent(window: Contents) -> Evaluate:
    def results(arrived: Sequence[Event], tau: int) -> Iterable[Row]:
        return {r.value: r for r in sorted(window(arrived, tau))}.values()
    return results


def distinct_keep(window: Contents, start: int = 1) -> Evaluate:
    """A representative stays until it leaves the window; then the youngest equal row takes its place."""
    def results(arrived: Sequence[Event], tau: int) -> Iterable[Row]:
        kept: dict[Any, Row] = {}
        for instant in range(start, tau + 1):
            inside = window([e for e in arrived if e.at <= instant], instant)
            kept = {v: r for v, r in kept.items() if r in inside}
            youngest = {r.value: r for r in sorted(inside)}
            kept = {**youngest, **kept}
        return kept.values()
    return results


def aggregate(window: Contents) -> Evaluate:
    """Count per value: one row per group that has rows."""
    return lambda arrived, tau: list(Counter(r.value for r in window(arrived, tau)).items())


def difference(left: Contents, right: Contents) -> Evaluate:
    """Of k1 and k2 copies the k1 - k2 youngest of the left stay (rule U10)."""
    def results(arrived: Sequence[Event], tau: int) -> Iterable[Row]:
        taken = Counter(r.value for r in right(arrived, tau))
        found = []
        for value in {r.value for r in left(arrived, tau)}:
            copies = sorted(r for r in left(arrived, tau) if r.value == value)
            found += copies[taken[value]:]
        return found
    return results


def semi_join(left: Contents, right: Contents) -> Evaluate:
    def results(arrived: Sequence[Event], tau: int) -> Iterable[Row]:
        values = {r.value for r in right(arrived, tau)}
        return [r for r in left(arrived, tau) if r.value in values]
    return results


def anti_join(left: Contents, right: Contents) -> Evaluate:
    def results(arrived: Sequence[Event], tau: int) -> Iterable[Row]:
        values = {r.value for r in right(arrived, tau)}
        return [r for r in left(arrived, tau) if r.value not in values]
    return results
