"""The order in which a new row probes the other windows of a join of many: its cost, and a heuristic (Golab 5.3).

All inputs join on one common attribute. With rate λ, window T, N = λ·T rows and v values of the attribute, two windows
have φ = N_i·N_j / max(v_i, v_j) pairs with min(v_i, v_j) values (uniform values, the smaller set inside the larger). A
row of one stream probes the other windows in one global order; work per unit of time is what it scans.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from statistics import median_low

Order = tuple[int, ...]
FAST = 3.0
"""A stream is fast if its rate is so many times the (lower) median; the thesis says only "much higher"."""


@dataclass(frozen=True)
class Stream:
    """One input of the join: rate, window and values, all in one unit of time; ``buckets`` of a hash table, 1 for none.

    >>> Stream(10, 100, 500).rows
    1000
    """

    rate: float
    window: float
    values: float
    buckets: float = 1.0

    @property
    def rows(self) -> float:
        """N, the rows of the window."""
        return self.rate * self.window

    @property
    def scanned(self) -> float:
        """Rows that one probe looks at."""
        return self.rows / self.buckets


def join_size(streams: Sequence[Stream], members: Sequence[int]) -> float:
    """φ of some of the windows, joined in this order (erratum E12: the size of the *last* window counts, N_k).

    >>> table = [Stream(10, 100, 500), Stream(1, 100, 50), Stream(1, 200, 40), Stream(3, 100, 5)]
    >>> join_size(table, [0, 1]), join_size(table, [0, 1, 2])
    (200.0, 800.0)
    """
    first = streams[members[0]]
    size, values = first.rows, first.values
    for member in members[1:]:
        stream = streams[member]
        size *= stream.rows / max(values, stream.values)
        values = min(values, stream.values)
    return size


def arrival_cost(streams: Sequence[Stream], order: Order, arriving: int) -> float:
    """X_k: what the rows of one stream scan per unit of time when the others are probed in the global order.

    >>> table = [Stream(10, 100, 500), Stream(1, 100, 50), Stream(1, 200, 40), Stream(3, 100, 5)]
    >>> [arrival_cost(table, (0, 1, 2, 3), k) for k in range(4)]
    [3800.0, 3800.0, 2400.0, 6000.0]
    """
    cost, partial, values = 0.0, 1.0, streams[arriving].values
    for member in order:
        if member == arriving:
            continue
        probed = streams[member]
        cost += partial * probed.scanned
        partial *= probed.rows / max(values, probed.values)
        values = min(values, probed.values)
    return streams[arriving].rate * cost


def order_cost(streams: Sequence[Stream], order: Order) -> float:
    """All arrivals together; inserting and expiring cost the same in any order and are left out."""
    return sum(arrival_cost(streams, order, k) for k in range(len(streams)))


def greedy_order(streams: Sequence[Stream]) -> Order:
    """The pair with the smallest join, then always the stream that gives the smallest; ties: more values, lower id.

    For equal numbers of values this is ascending N (or N per bucket).
    """
    ids = range(len(streams))
    if len(streams) < 2:
        return tuple(ids)
    if len({s.values for s in streams}) == 1:
        return tuple(sorted(ids, key=lambda i: (streams[i].scanned, i)))
    first = min(combinations(ids, 2), key=lambda pair: (join_size(streams, pair), -_values(streams, pair), pair))
    order = sorted(first, key=lambda i: (-streams[i].values, i))
    while len(order) < len(streams):
        rest = [i for i in ids if i not in order]
        order.append(min(rest, key=lambda i: (join_size(streams, [*order, i]), -streams[i].values, i)))
    return tuple(order)


def _values(streams: Sequence[Stream], members: Sequence[int]) -> float:
    return sum(streams[i].values for i in members)


def fast_streams(streams: Sequence[Stream]) -> list[int]:
    """Streams whose rate is much higher than usual: to probe their large windows late costs what their rows scan."""
    usual = median_low(s.rate for s in streams)
    return [i for i, s in enumerate(streams) if s.rate >= FAST * usual]


def candidate_orders(streams: Sequence[Stream]) -> Iterator[Order]:
    """The greedy order, and for every set of fast streams the orders that move them up; about n^f for f fast ones."""
    base = greedy_order(streams)
    yield base
    fast = [i for i in base if i in fast_streams(streams)]
    for count in range(1, len(fast) + 1):
        for chosen in combinations(fast, count):
            rest = [i for i in base if i not in chosen]
            for places in permutations(range(len(base)), count):
                order = list(rest)
                for place, stream in sorted(zip(places, chosen, strict=True)):
                    order.insert(place, stream)
                if all(order.index(stream) <= base.index(stream) for stream in chosen):
                    yield tuple(order)


def best_order(streams: Sequence[Stream]) -> Order:
    """The cheapest of the candidates, the first of equals.

    >>> best_order([Stream(10, 100, 500), Stream(1, 100, 50), Stream(1, 200, 40), Stream(3, 100, 5)])
    (0, 1, 2, 3)
    """
    return min(candidate_orders(streams), key=lambda order: order_cost(streams, order))
