"""An auction site as a stream: persons register, auctions open, bids come in (after the Nexmark benchmark).

Of every 50 events one is a person, three are auctions and 46 are bids. Everything follows from the seed; the order of
generation is event time, the order of the stream is arrival (see ``disorder``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.errors import QuantityError
from panewise.core.ordinals import OrdinalKind, Ordinals, from_ordinals
from panewise.core.time import SECOND, parse_duration, parse_timestamp
from panewise.datasets.disorder import Item, arrival_order, punctuated

PERSONS, AUCTIONS, BIDS = 1, 3, 46
CYCLE = PERSONS + AUCTIONS + BIDS
STREAMS = ("persons", "auctions", "bids")
FIRST_ID = 1_000
CITIES = ("Portland", "Waterloo", "Athens", "Berlin", "Lisbon", "Kyoto", "Nairobi", "Lima")
CHANNELS = ("web", "app", "phone", "partner")
CATEGORIES = ("art", "books", "coins", "tools", "toys")
NAMES = ("Ada", "Alan", "Barbara", "Edsger", "Grace", "Jim", "Leslie", "Tony")


@dataclass(frozen=True)
class AuctionSite:
    """The parameters of a generated auction site.

    ``keys`` fixes how many different auctions the bids go to; ``skew`` is the Zipf exponent of their popularity (0 is
    uniform). ``disorder`` is the share of rows that are delayed, by up to ``max_delay``.

    >>> site = AuctionSite(events=100, seed=7)
    >>> site.bids().num_rows, site.auctions().num_rows, site.persons().num_rows
    (92, 6, 2)
    """

    events: int = 1_000_000
    rate: int = 10_000
    """Events per second of event time."""
    keys: int = 1_000
    skew: float = 0.0
    disorder: float = 0.05
    max_delay: str | int = "10 s"
    start: str | int = "2026-01-01T00:00:00Z"
    seed: int = 1

    def __post_init__(self) -> None:
        for name, smallest in (("events", 0), ("rate", 1), ("keys", 1), ("skew", 0), ("disorder", 0)):
            if getattr(self, name) < smallest:
                raise QuantityError(f"{name} must be at least {smallest}, it was {getattr(self, name)}")
        if self.disorder > 1:
            raise QuantityError(f"disorder is a share between 0 and 1, it was {self.disorder}")

    def stream(self, name: str) -> pa.Table:
        """All rows of one of the three streams, in arrival order."""
        if name not in STREAMS:
            raise QuantityError(f"no stream {name!r}; there are {', '.join(STREAMS)}")
        table: pa.Table = {"persons": self.persons, "auctions": self.auctions, "bids": self.bids}[name]()
        return table

    def items(self, name: str, *, punctuate: str | int = "1 s") -> Iterator[Item]:
        """One stream in arrival order as batches with exact punctuation."""
        return punctuated(self.stream(name), "ts", every=parse_duration(punctuate))

    def bids(self) -> pa.Table:
        """``auction, bidder, price, channel, ts``."""
        rng, times = self._events(BIDS, PERSONS + AUCTIONS)
        n = len(times)
        auction = FIRST_ID + self._popular(rng, n, self.keys)
        price = np.round(np.exp(rng.normal(4.0, 1.0, n)), 2)
        table = pa.table(
            {
                "auction": auction,
                "bidder": FIRST_ID + self._popular(rng, n, max(1, self.keys // 3)),
                "price": price,
                "channel": _pick(rng, CHANNELS, n),
                "ts": from_ordinals(times, OrdinalKind.TIMESTAMP),
            }
        )
        return self._arrive(rng, table, times)

    def auctions(self) -> pa.Table:
        """``id, seller, category, initial_bid, expires, ts``."""
        rng, times = self._events(AUCTIONS, PERSONS)
        n = len(times)
        duration = rng.integers(10, 600, n) * SECOND
        table = pa.table(
            {
                "id": FIRST_ID + np.arange(n, dtype=np.int64) % self.keys,
                "seller": FIRST_ID + self._popular(rng, n, max(1, self.keys // 3)),
                "category": _pick(rng, CATEGORIES, n),
                "initial_bid": np.round(np.exp(rng.normal(2.0, 0.7, n)), 2),
                "expires": from_ordinals(times + duration, OrdinalKind.TIMESTAMP),
                "ts": from_ordinals(times, OrdinalKind.TIMESTAMP),
            }
        )
        return self._arrive(rng, table, times)

    def persons(self) -> pa.Table:
        """``id, name, city, ts``."""
        rng, times = self._events(PERSONS, 0)
        n = len(times)
        table = pa.table(
            {
                "id": FIRST_ID + np.arange(n, dtype=np.int64),
                "name": _pick(rng, NAMES, n),
                "city": _pick(rng, CITIES, n),
                "ts": from_ordinals(times, OrdinalKind.TIMESTAMP),
            }
        )
        return self._arrive(rng, table, times)

    def _events(self, per_cycle: int, offset: int) -> tuple[np.random.Generator, Ordinals]:
        """The event times of one kind: its places in every cycle of 50."""
        rng = np.random.default_rng([self.seed, offset])
        cycles = -(-self.events // CYCLE)
        numbers = (np.arange(cycles)[:, None] * CYCLE + offset + np.arange(per_cycle)).ravel()
        numbers = numbers[numbers < self.events].astype(np.int64)
        return rng, parse_timestamp(self.start) + numbers * SECOND // self.rate

    def _popular(self, rng: np.random.Generator, n: int, domain: int) -> Ordinals:
        if self.skew == 0:
            return rng.integers(0, domain, n)
        weights = 1.0 / np.arange(1, domain + 1) ** self.skew
        cumulative = np.cumsum(weights / weights.sum())
        return np.minimum(np.searchsorted(cumulative, rng.random(n)), domain - 1).astype(np.int64)

    def _arrive(self, rng: np.random.Generator, table: pa.Table, times: Ordinals) -> pa.Table:
        n = len(times)
        delayed: npt.NDArray[np.bool_] = rng.random(n) < self.disorder
        delay = np.where(delayed, rng.integers(0, parse_duration(self.max_delay) + 1, n), 0)
        return table.take(pa.array(arrival_order(times, delay)))


def _pick(rng: np.random.Generator, words: tuple[str, ...], n: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(rng.integers(0, len(words), n)), pa.array(words)).dictionary_decode()
