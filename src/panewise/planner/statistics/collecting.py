"""Statistics collected while a plan runs: what an engine calls, and what the planner asks.

An engine reports batches of rows, how many rows passed a condition, and how many results of a negation left early. Each
call costs a pass over the distinct values of a batch at most; different values of a column are estimated from the
smallest hashes seen, so memory does not grow with the stream.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.ordinals import to_ordinals
from panewise.core.scalar import Scalar
from panewise.plan import nodes as n
from panewise.planner.rewrites.scalars import conjuncts
from panewise.planner.statistics.condition_names import keys_of, spread
from panewise.planner.statistics.relation_statistics import InputStatistics, RelationStatistics, unit_of

SMALLEST = 512
"""Hashes kept per column: estimates are off by about 1/√512, four per cent."""
LARGEST = float(2**64)
SPREAD = ((32, 0x9E3779B97F4A7C15), (30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))
"""Shifts and odd factors that make neighbours differ in all their bits (the finish of the generator SplitMix64)."""
NULL = np.uint64(0x5851F42D4C957F2D)
EVERY = 16
"""Values are looked at in every so many batches, once a column has been seen in that many."""


@dataclass
class Values:
    """Different values of one column, from the smallest of their hashes."""

    smallest: list[int] = field(default_factory=list)
    batches: int = 0
    rows: int = 0
    """Rows that were looked at."""

    def add(self, column: pa.ChunkedArray) -> None:
        """The values of one batch."""
        self.batches += 1
        if self.batches > EVERY and self.batches % EVERY:
            return
        self.rows += len(column)
        seen = np.concatenate([np.array(self.smallest, np.uint64), hashes_of(pc.unique(column))])
        self.smallest = np.unique(seen)[:SMALLEST].tolist()

    @property
    def estimate(self) -> float:
        """About how many there are; exact up to the number of hashes kept.

        >>> counted = Values()
        >>> counted.add(pa.chunked_array([[1, 2, 2, 3]]))
        >>> counted.estimate
        3.0
        """
        if len(self.smallest) < SMALLEST:
            return float(len(self.smallest))
        return (SMALLEST - 1) * LARGEST / self.smallest[-1]


def hashes_of(values: pa.Array) -> npt.NDArray[np.uint64]:
    """A number for every value, spread evenly; numbers and times all at once, texts one by one.

    >>> len(set(hashes_of(pa.array([1, 2, None, 3])).tolist())), len(set(hashes_of(pa.array(["a", "b"])).tolist()))
    (4, 2)
    """
    kind = values.type
    if pa.types.is_floating(kind):
        numbers = values.cast(pa.float64()).drop_null().to_numpy().view(np.uint64)
    elif (pa.types.is_integer(kind) or pa.types.is_temporal(kind)) and not pa.types.is_interval(kind):
        wide = values.view(pa.int32()) if pa.types.is_date32(kind) or pa.types.is_time32(kind) else values
        wide = wide if pa.types.is_integer(wide.type) else wide.view(pa.int64())
        numbers = wide.drop_null().to_numpy().astype(np.int64).view(np.uint64)
    else:
        return np.array([int.from_bytes(blake2b(repr(value).encode(), digest_size=8).digest(), "big")
                         for value in values.to_pylist()], np.uint64)
    for shift, factor in SPREAD:
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    return np.append(numbers, NULL) if values.null_count else numbers


@dataclass
class Arrived:
    """One stream so far."""

    rows: int = 0
    first: int | None = None
    last: int | None = None
    values: dict[str, Values] = field(default_factory=dict)


@dataclass
class Share:
    """A part of a whole, counted."""

    part: int = 0
    whole: int = 0

    @property
    def value(self) -> float:
        """The share; one where nothing was counted."""
        return self.part / self.whole if self.whole else 1.0


class Collector:
    """Counts what flows through one running plan; `statistics` says what is known by now."""

    def __init__(self, plan: n.Node) -> None:
        self.unit = unit_of(plan)
        self._sources = {node.name: node for node in plan.walk() if isinstance(node, n.Source)}
        self._columns = _compared(plan)
        self.begin()

    def begin(self) -> None:
        """Nothing has been seen yet."""
        self._arrived = {name: Arrived() for name in self._sources}
        self._passed: dict[tuple[tuple[str, ...], ...], Share] = {}
        self._early: dict[str, Share] = {}

    def rows(self, stream: str, batch: pa.Table | pa.RecordBatch) -> None:
        """A batch of one stream as it arrived."""
        source, seen = self._sources.get(stream), self._arrived.get(stream)
        if source is None or seen is None or not batch.num_rows:
            return
        table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
        seen.rows += table.num_rows
        time = source.schema.time
        if time is not None and time in table.column_names:
            stamps = to_ordinals(table.column(time).drop_null(), time)
            if len(stamps):
                low, high = int(stamps.min()), int(stamps.max())
                seen.first = low if seen.first is None else min(seen.first, low)
                seen.last = high if seen.last is None else max(seen.last, high)
        for column in table.column_names:
            if column in self._columns:
                seen.values.setdefault(column, Values()).add(table.column(column))

    def passed(self, predicate: Scalar, passed: int, came: int, *over: n.Node) -> None:
        """Rows for which a condition held, of those that were tested; ``over`` is what it tests the rows of."""
        keys = tuple(keys_of(part, *over) for part in conjuncts(predicate))
        share = self._passed.setdefault(keys, Share())
        share.part, share.whole = share.part + passed, share.whole + came

    def left(self, key: str, early: int, all_of_them: int) -> None:
        """Results of a negation that left before their time, of all that left (Golab 2.2.2)."""
        share = self._early.setdefault(key, Share())
        share.part, share.whole = share.part + early, share.whole + all_of_them

    def statistics(self) -> RelationStatistics:
        """What has been seen so far."""
        inputs = {name: self._input(seen) for name, seen in self._arrived.items() if seen.rows}
        passing: dict[str, float] = {}
        for keys, share in self._passed.items():
            if share.whole:
                passing |= spread(max(share.value, 1e-6), keys)
        return RelationStatistics(
            MappingProxyType(inputs), passing, {k: s.value for k, s in self._early.items() if s.whole}, measured=True)

    def _input(self, seen: Arrived) -> InputStatistics:
        span = 0.0 if seen.first is None or seen.last is None else (seen.last - seen.first) / self.unit
        span *= seen.rows / max(seen.rows - 1, 1)  # n rows are n - 1 distances
        rate = seen.rows / span if span > 0 else float(seen.rows)
        return InputStatistics(rate, MappingProxyType({c: max(v.estimate, 1.0) for c, v in seen.values.items()}),
                               seen={c: float(v.rows) for c, v in seen.values.items()})


def _compared(plan: n.Node) -> frozenset[str]:
    """Source columns, by their last name, that conditions, keys and duplicate elimination compare."""
    names: set[str] = set()
    for node in plan.walk():
        predicate = getattr(node, "predicate", None)
        if isinstance(predicate, Scalar):
            names |= predicate.columns
        if isinstance(node, n.GroupAggregate):
            names |= {c for key in node.keys for c in key.scalar.columns}
        if isinstance(node, n.Distinct | n.BagDifference):
            names |= {c for below in node.walk() if isinstance(below, n.Project) for i in below.items
                      for c in i.scalar.columns} or set(node.columns)
        if isinstance(node, n.Window):
            names |= set(node.clause.partition)
    return frozenset(name.rpartition(".")[2] for name in names)
