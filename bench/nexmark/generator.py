"""The three streams of Nexmark: persons register, auctions open, bids come in.

The event with number n arrives ``n / rate`` seconds after the start. Of every 50 events one is a person, three are
auctions and 46 are bids (:class:`Proportions`). A share of them is late: such an event happened before it arrived, by
at most ``lateness``. So the order of the rows is the order of arrival, and whoever takes more events gets the same ones
and others behind them. All values are drawn from the seed by blocks, without a loop over rows.

As in the original, most bids go to few auctions: the *hot* one of the moment, or one of those in flight.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.errors import QuantityError
from panewise.core.ordinals import OrdinalKind, Ordinals, from_ordinals
from panewise.core.time import SECOND, parse_duration, parse_timestamp
from panewise.datasets.disorder import Item, punctuated

STREAMS = ("persons", "auctions", "bids")
FIRST_ID = 1_000
FIRST_CATEGORY, CATEGORIES = 10, 5
HOT_STEP = 100
"""The hot auction, bidder or seller is the newest whose number is a multiple of this, so it changes now and then."""
LEAD = 10
"""Ids are drawn up to this much above the newest: some bids come before their auction, some auctions before their
seller."""
BLOCK = 1 << 16
CLOSING_GRID = 10_000
"""Auctions close at the microsecond of this grid that their number says. So two of one seller never close at once, as
long as nobody sells for so many auctions, and the last ten of a seller are well defined."""
NAMES = ("Ada", "Alan", "Barbara", "Edsger", "Grace", "Jim", "Leslie", "Tony")
PLACES = (("Portland", "OR"), ("Bend", "OR"), ("Boise", "ID"), ("Redmond", "WA"), ("Seattle", "WA"), ("Kent", "WA"),
          ("Palo Alto", "CA"), ("Los Angeles", "CA"), ("Phoenix", "AZ"), ("Cheyenne", "WY"))
CHANNELS = ("Google", "Facebook", "Baidu", "Apple")


@dataclass(frozen=True)
class Proportions:
    """How many events of each kind follow each other, in this order, again and again."""

    persons: int = 1
    auctions: int = 3
    bids: int = 46

    @property
    def cycle(self) -> int:
        return self.persons + self.auctions + self.bids

    def first(self, stream: str) -> int:
        """The place of a kind's first event in a cycle."""
        return {"persons": 0, "auctions": self.persons, "bids": self.persons + self.auctions}[stream]

    def count(self, stream: str, events: int | Ordinals) -> Ordinals:
        """How many of the first ``events`` events are of this kind."""
        each, rest = getattr(self, stream), np.asarray(events) % self.cycle - self.first(stream)
        counted: Ordinals = np.asarray(events) // self.cycle * each + np.clip(rest, 0, each)
        return counted


@dataclass(frozen=True)
class Nexmark:
    """What is generated; the defaults are those of Nexmark where it has them.

    >>> site = Nexmark(events=100)
    >>> site.persons().num_rows, site.auctions().num_rows, site.bids().num_rows
    (2, 6, 92)
    """

    events: int = 100_000
    rate: int = 10_000
    """Events per second of event time."""
    proportions: Proportions = Proportions()
    hot_auctions: float = 0.5
    """The share of bids that go to the hot auction."""
    hot_bidders: float = 0.75
    """The share of bids that come from the hot bidder."""
    hot_sellers: float = 0.75
    """The share of auctions that the hot seller opens."""
    in_flight: int = 100
    """How many auctions are open at a time, on average; bids that do not go to the hot one go to one of these."""
    active_persons: int = 1_000
    """How many of the newest persons bid and sell."""
    disorder: float = 0.05
    """The share of events that are late."""
    lateness: str | int = "3 s"
    """How late at most."""
    punctuation: str | int = "1 s"
    """How often a source says how far it is, in event time."""
    start: str | int = "2026-01-01T00:00:00Z"
    seed: int = 1

    def __post_init__(self) -> None:
        for name, smallest in (("events", 0), ("rate", 1), ("in_flight", 1), ("active_persons", 1)):
            if getattr(self, name) < smallest:
                raise QuantityError(f"{name} must be at least {smallest}, it was {getattr(self, name)}")
        for name in ("hot_auctions", "hot_bidders", "hot_sellers", "disorder"):
            if not 0 <= getattr(self, name) <= 1:
                raise QuantityError(f"{name} is a share between 0 and 1, it was {getattr(self, name)}")

    # -- the streams

    def stream(self, name: str) -> pa.Table:
        """All rows of one stream, in arrival order."""
        table: pa.Table = {"persons": self.persons, "auctions": self.auctions, "bids": self.bids}[name]()
        return table

    def items(self, name: str) -> Iterator[Item]:
        """One stream in arrival order as batches with exact punctuation between them."""
        return punctuated(self.stream(name), "ts", every=self.promise_every)

    def persons(self) -> pa.Table:
        """``id, name, city, state, ts``."""
        rows = _Rows(self, "persons")
        place = rows.integers(0, len(PLACES))
        return pa.table({
            "id": FIRST_ID + rows.ordinal,
            "name": _words(NAMES, rows.integers(0, len(NAMES))),
            "city": _words([city for city, _ in PLACES], place),
            "state": _words([state for _, state in PLACES], place),
            "ts": _timestamps(rows.happened),
        })

    def auctions(self) -> pa.Table:
        """``id, seller, category, initial_bid, expires, ts``."""
        rows = _Rows(self, "auctions")
        length = (rows.uniform() * self._drawn).astype(np.int64)
        return pa.table({
            "id": FIRST_ID + rows.ordinal,
            "seller": self._person(rows, self.hot_sellers, hot=0),
            "category": FIRST_CATEGORY + rows.integers(0, CATEGORIES),
            "initial_bid": _prices(rows.uniform()),
            "expires": _timestamps(_on_grid(rows.happened + length, rows.ordinal)),
            "ts": _timestamps(rows.happened),
        })

    def bids(self) -> pa.Table:
        """``auction, bidder, price, channel, ts``; the price is in cents."""
        rows = _Rows(self, "bids")
        return pa.table({
            "auction": self._auction(rows),
            "bidder": self._person(rows, self.hot_bidders, hot=1),
            "price": _prices(rows.uniform()),
            "channel": _words(CHANNELS, rows.integers(0, len(CHANNELS))),
            "ts": _timestamps(rows.happened),
        })

    # -- what follows from the parameters

    @property
    def longest(self) -> int:
        """No auction is open for longer, in microseconds."""
        return self._drawn + 2 * CLOSING_GRID

    @property
    def _drawn(self) -> int:
        """Auctions last up to twice the time in which ``in_flight`` others open."""
        return 2 * self.in_flight * self.proportions.cycle * SECOND // (self.proportions.auctions * self.rate)

    @property
    def late(self) -> int:
        """No row is later than this, in microseconds."""
        return parse_duration(self.lateness)

    @property
    def promise_every(self) -> int:
        """Promises are multiples of this, in microseconds."""
        return parse_duration(self.punctuation)

    # -- drawing

    def _auction(self, rows: _Rows) -> Ordinals:
        newest = np.maximum(self.proportions.count("auctions", rows.number) - 1, 0)
        oldest = np.maximum(newest - self.in_flight, 0)
        any_open = oldest + (rows.uniform() * (newest - oldest + 1 + LEAD)).astype(np.int64)
        return FIRST_ID + np.where(rows.uniform() < self.hot_auctions, newest // HOT_STEP * HOT_STEP, any_open)

    def _person(self, rows: _Rows, hot_share: float, hot: int) -> Ordinals:
        """Bidders and sellers: the hot one (``hot`` above a step, so that one is not the other), or an active one."""
        newest = np.maximum(self.proportions.count("persons", rows.number) - 1, 0)
        oldest = np.maximum(newest - self.active_persons, 0)
        any_active = oldest + (rows.uniform() * (newest - oldest + 1 + LEAD)).astype(np.int64)
        return FIRST_ID + np.where(rows.uniform() < hot_share, newest // HOT_STEP * HOT_STEP + hot, any_active)


class _Rows:
    """The events of one kind: their numbers, their times, and as many random columns as are asked for.

    Every column has a generator of its own for every block of rows, so no row depends on how many there are.
    """

    def __init__(self, site: Nexmark, stream: str) -> None:
        kinds, self._site = site.proportions, site
        self._seed = (site.seed, STREAMS.index(stream))
        self.ordinal = np.arange(int(kinds.count(stream, site.events)), dtype=np.int64)
        each = max(getattr(kinds, stream), 1)
        self.number = self.ordinal // each * kinds.cycle + kinds.first(stream) + self.ordinal % each
        self._columns = 0

    @cached_property
    def happened(self) -> Ordinals:
        """When the events took place, in microseconds: when they arrived, or before that if they are late."""
        site = self._site
        arrived = parse_timestamp(site.start) + self.number * SECOND // site.rate
        delay = np.ceil(self.uniform() * site.late).astype(np.int64)
        happened: Ordinals = arrived - np.where(self.uniform() < site.disorder, delay, 0)
        return happened

    def uniform(self) -> npt.NDArray[np.float64]:
        """A new column of numbers in [0, 1)."""
        self._columns += 1
        rows = len(self.ordinal)
        blocks = [np.random.default_rng((*self._seed, self._columns, block)).random(BLOCK)
                  for block in range(-(-rows // BLOCK))]
        return np.concatenate(blocks)[:rows] if blocks else np.empty(0)

    def integers(self, low: int, high: int) -> Ordinals:
        """A new column of integers in [low, high)."""
        drawn: Ordinals = low + (self.uniform() * (high - low)).astype(np.int64)
        return drawn


def _on_grid(times: Ordinals, ordinal: Ordinals) -> Ordinals:
    """The next step of the grid, and as many microseconds as the number of the auction says."""
    closing: Ordinals = (times // CLOSING_GRID + 1) * CLOSING_GRID + ordinal % CLOSING_GRID
    return closing


def _prices(uniform: npt.NDArray[np.float64]) -> Ordinals:
    """Cents, as in the original: the logarithm of the price is uniform, from one to a million."""
    cents: Ordinals = np.round(10.0 ** (uniform * 6) * 100).astype(np.int64)
    return cents


def _timestamps(times: Ordinals) -> pa.Array:
    return from_ordinals(times, OrdinalKind.TIMESTAMP)


def _words(words: tuple[str, ...] | list[str], which: Ordinals) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(which), pa.array(words)).dictionary_decode()
