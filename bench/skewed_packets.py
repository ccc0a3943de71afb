"""Packets whose groups differ in size: the five data sets on which adaptive aggregation was measured (Li, table 6-2).

A group is small (1 packet), medium (about 15) or large (about 300) in every period; from DS1 to DS5 ever more of the
packets are in small groups, so ever more of the groups are small. All five have the same number of packets.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.errors import QuantityError
from panewise.core.ordinals import OrdinalKind, Ordinals, from_ordinals
from panewise.core.time import SECOND, parse_duration, parse_timestamp

SIZES = (1, 15, 300)
"""Packets of a small, a medium and a large group in one period."""
SMALL_SHARE = (0.01, 0.03, 0.05, 0.07, 0.09)
"""Share of the packets that are in small groups, DS1 to DS5."""
MEDIUM_SHARE = 0.20
GROUP_SHARES = ((39, 51, 10), (66, 28, 6), (77, 19, 4), (82, 15, 3), (87, 11, 2))
"""Table 6-2: per cent of the groups that are small, medium and large."""
CLASSES = ("small", "medium", "large")


@dataclass(frozen=True)
class SkewedPackets:
    """One of the data sets DS1 to DS5, in order of time.

    Sizes count inside a ``period``, as long as the window they are looked at through. ``sources`` are links that the
    packets come over at random; a link of lag L delivers what happened L ago, so the rows of lagging links come later.
    Groups come back in the next period with probability ``returning``, else they are new.

    >>> packets = SkewedPackets(1, periods=2)
    >>> packets.table().column_names, packets.table().num_rows
    (['src', 'len', 'link', 'ts'], 40000)
    """

    dataset: int = 1
    packets: int = 20_000
    """Per period."""
    periods: int = 10
    period: str | int = "1 s"
    lags: tuple[int, ...] = (0,)
    """How late each link is, in microseconds; a stream of one link has no lag."""
    link_shares: tuple[float, ...] = ()
    returning: float = 0.5
    start: str | int = "2026-01-01T00:00:00Z"
    seed: int = 1

    def __post_init__(self) -> None:
        if self.dataset not in range(1, 6):
            raise QuantityError(f"the data sets are 1 to 5, not {self.dataset}")
        for name, smallest in (("packets", 1), ("periods", 0)):
            if getattr(self, name) < smallest:
                raise QuantityError(f"{name} must be at least {smallest}, it was {getattr(self, name)}")
        if not 0 <= self.returning <= 1:
            raise QuantityError(f"returning is a probability, it was {self.returning}")
        if self.link_shares and len(self.link_shares) != len(self.lags):
            raise QuantityError(f"{len(self.link_shares)} link_shares for {len(self.lags)} lags: give one per link")

    @cached_property
    def groups(self) -> tuple[int, int, int]:
        """How many small, medium and large groups a period has.

        >>> [round(100 * n / sum(SkewedPackets(5).groups)) for n in SkewedPackets(5).groups]
        [85, 13, 2]
        """
        small = SMALL_SHARE[self.dataset - 1]
        shares = (small, MEDIUM_SHARE, 1 - small - MEDIUM_SHARE)
        few, some, many = (round(self.packets * share / size) for share, size in zip(shares, SIZES, strict=True))
        return few, max(some, 1), max(many, 1)

    @property
    def length(self) -> int:
        """The period in microseconds."""
        return parse_duration(self.period)

    def table(self) -> pa.Table:
        """``src, len, link, ts`` in the order of arrival."""
        rng = np.random.default_rng([self.seed, self.dataset])
        start = self.start if isinstance(self.start, int) else parse_timestamp(self.start)
        ids = np.arange(sum(self.groups))
        newest = len(ids)
        sources: list[npt.NDArray[np.int64]] = []
        times: list[Ordinals] = []
        for number in range(self.periods):
            if number:
                replaced = rng.random(len(ids)) >= self.returning
                count = int(replaced.sum())
                ids = ids.copy()
                ids[replaced] = np.arange(newest, newest + count)
                newest += count
            src = np.repeat(ids, self._sizes(rng))
            sources.append(src)
            times.append(start + number * self.length + rng.integers(0, self.length, len(src)))
        src, ts = np.concatenate([*sources, ids[:0]]), np.concatenate([*times, np.empty(0, np.int64)])
        weights = np.array(self.link_shares or [1.0] * len(self.lags))
        link = rng.choice(len(self.lags), len(src), p=weights / weights.sum())
        order = np.argsort(ts + np.array(self.lags)[link], kind="stable")
        table = pa.table({"src": src, "len": rng.integers(40, 1_500, len(src)), "link": link.astype(np.int64),
                          "ts": from_ordinals(ts, OrdinalKind.TIMESTAMP)})
        return table.take(pa.array(order))

    def _sizes(self, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Packets of each group: 1, about 15, about 300, and all together as many as asked."""
        few, some, many = self.groups
        medium = rng.integers(SIZES[1] - 4, SIZES[1] + 5, some)
        large = rng.integers(SIZES[2] - 60, SIZES[2] + 61, many)
        rest = self.packets - few - int(medium.sum()) - int(large.sum())
        spread = np.full(many, rest // many)
        spread[: rest % many] += 1
        return np.concatenate([np.ones(few, np.int64), medium, np.maximum(large + spread, 1)])


def size_class(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """0, 1 or 2 for small, medium and large groups, by their packets in a period.

    >>> size_class(np.array([1, 12, 280])).tolist()
    [0, 1, 2]
    """
    return np.searchsorted([2, 60], counts, side="right").astype(np.int64)


LAGGING_LINKS = (0, 0, 2 * SECOND)
"""Two main links at the same time and a control link two seconds behind them."""
