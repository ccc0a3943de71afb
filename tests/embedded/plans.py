"""Plans and comparisons for the tests of the embedded engine."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceSchema
from panewise.dataflow import Query, open_plan
from panewise.plan.nodes import AggregateCall, NamedScalar, Node, Source, WindowAggregate, WindowClause
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Timeline
from panewise.windows.sliding import SlidingWindow

COLUMNS = {"ts": pa.int64(), "k": pa.string(), "g": pa.int64(), "v": pa.float64()}


def source(name: str = "s", columns: Mapping[str, pa.DataType] = COLUMNS) -> Source:
    return Source(name, SourceSchema(dict(columns), time="ts"))


def call(name: str, function: str, *arguments: str, **options: Any) -> AggregateCall:
    return AggregateCall(name, function, tuple(Scalar.parse(a) for a in arguments), **options)


AGGREGATES = (call("n", "count"), call("hi", "max", "v"), call("mean", "avg", "v"), call("newest", "last", "v"))


TEN_BY_FIVE = SlidingWindow(10, 5)


def aggregate(below: Node, spec: SlidingWindow = TEN_BY_FIVE, *, keys: Sequence[str] = ("k",),
              calls: Sequence[AggregateCall] = AGGREGATES, ordinal: OrdinalKind = OrdinalKind.INTEGER,
              attribute: str = "ts") -> WindowAggregate:
    clause = WindowClause(spec, attribute, ordinal)
    return WindowAggregate(below, clause, tuple(NamedScalar.column(k) for k in keys), tuple(calls))


def bag(rows: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """Rows as a bag; floats to ten digits, because sums may be put together in another order."""
    return Counter(repr([(k, _plain(v)) for k, v in sorted(row.items())]) for row in rows)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else f"{value:.10g}"
    return {k: _plain(v) for k, v in value.items()} if isinstance(value, dict) else value


def run_timeline(query: Query, arrivals: Timeline, cuts: frozenset[int] = frozenset(),
                 saves: frozenset[int] = frozenset(), **options: Any) -> tuple[list[dict[str, Any]], Query]:
    """Push a timeline; batches end at punctuation, at another stream and at the cuts; states are saved and restored."""
    results: list[dict[str, Any]] = []
    batch: list[Any] = []
    stream = ""
    for i, arrival in enumerate([*arrivals, Arrival("", Punctuation())]):
        if batch and (i in cuts or not arrival.is_row or arrival.stream != stream):
            results += query.push(stream, batch).to_pylist()
            batch = []
        if i in saves:
            saved = query.snapshot()
            query = open_plan(query.plan, **options)
            query.restore(saved)
        stream = arrival.stream
        if i == len(arrivals):
            break
        if isinstance(arrival.item, Punctuation):
            results += query.push(stream, arrival.item).to_pylist()
        else:
            batch.append(arrival.item)
    return results + query.finish().to_pylist(), query
