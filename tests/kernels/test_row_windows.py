"""Row windows and windows of the n newest rows: the oracle's answer whatever comes in whatever way, and examples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from embedded.plans import COLUMNS, bag, call, run_timeline
from kernels.tiny import InOrder
from panewise.core.errors import CheckpointError, UnsupportedError
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceSchema
from panewise.engines.embedded import EmbeddedQuery
from panewise.engines.oracle.engine import Oracle
from panewise.kernels.partials import bind
from panewise.kernels.rows import RowKernel
from panewise.plan.nodes import AggregateCall, NamedScalar, Source, WindowAggregate, WindowClause
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.timeline import Arrival, Timeline
from panewise.windows.base import WindowSpec
from panewise.windows.count import CountWindow, PartitionedCountWindow
from panewise.windows.rows import PartitionedRowWindow, RowWindow
from panewise.windows.sliding import SlidingWindow

NUMBERS = (call("n", "count"), call("top", "max", "v"), call("mean", "avg", "v"), call("least", "min", "ts"))
ANY = (*NUMBERS, call("oldest", "first", "v"), call("half", "median", "v"), call("text", "max", "k"))

sizes = st.integers(1, 9)
specs = st.one_of(
    st.builds(RowWindow, sizes, sizes, st.integers(-4, 8), st.integers(0, 4)),
    st.builds(PartitionedRowWindow, sizes, sizes, st.integers(-4, 8), st.integers(0, 4)),
    st.builds(CountWindow, sizes, sizes), st.builds(PartitionedCountWindow, sizes, sizes),
    st.builds(SlidingWindow, sizes, sizes, st.integers(-4, 8), st.integers(0, 4)),
)
rows = st.fixed_dictionaries({"ts": st.integers(-15, 30), "k": st.sampled_from(["a", "b", None]),
                              "g": st.integers(0, 1), "v": st.none() | st.integers(-3, 3).map(float)})
constants = st.fixed_dictionaries({}, optional={"k": st.sampled_from(["a", "b", None]), "g": st.integers(0, 1)})
promises = st.builds(lambda bound, c: Punctuation.below("ts", bound, **c), st.integers(-12, 32), constants)
endings = constants.filter(bool).map(lambda c: Punctuation.of(dict(Punctuation.below("x", 0, **c).patterns[:-1])))
streams = st.lists(st.one_of(rows, rows, rows, rows, promises, endings), max_size=25)
places = st.frozensets(st.integers(0, 25), max_size=6)
groupings = st.sampled_from([(), ("k",), ("k", "g"), ("g",)])
partitions = st.sampled_from([(), ("k",), ("k", "g")])


def plan(spec: WindowSpec, keys: tuple[str, ...], partition: tuple[str, ...] = (),
         calls: tuple[AggregateCall, ...] = NUMBERS, predicate: str | None = None) -> WindowAggregate:
    clause = WindowClause(spec, "row-num", OrdinalKind.ROWS, partition,
                          None if predicate is None else Scalar.parse(predicate))
    return WindowAggregate(Source("s", SourceSchema(COLUMNS, time="ts")), clause,
                           tuple(NamedScalar.column(k) for k in keys), calls)


@settings(deadline=None, max_examples=300)
@given(specs, groupings, partitions, st.sampled_from([NUMBERS, NUMBERS, ANY]), streams, places, places,
       st.sampled_from([None, None, "v > 0"]))
def test_results_are_the_oracles(spec: WindowSpec, keys: tuple[str, ...], partition: tuple[str, ...],
                                 calls: tuple[AggregateCall, ...], items: list[Any], cuts: frozenset[int],
                                 saves: frozenset[int], predicate: str | None) -> None:
    node = plan(spec, keys, partition, calls, predicate)
    timeline: Timeline = [Arrival("s", item) for item in items]
    found, query = run_timeline(EmbeddedQuery(node), timeline, cuts, saves)
    assert bag(found) == bag(Oracle(node, timeline).results())
    assert query.late_count == 0, "positions are never late"
    assert query.status()["partials"] == 0, "nothing is left when everything is closed"


@settings(deadline=None, max_examples=100)
@given(specs, groupings, partitions, st.lists(rows, max_size=20))
def test_results_come_out_with_the_row_that_completes_their_window(
        spec: WindowSpec, keys: tuple[str, ...], partition: tuple[str, ...], items: list[Any]) -> None:
    node = plan(spec, keys, partition)
    query = EmbeddedQuery(node)
    oracle = Oracle(node, [Arrival("s", item) for item in items])
    out: list[dict[str, Any]] = []
    for place, item in enumerate(items):
        out += query.push("s", [item]).to_pylist()
        assert bag(out) == bag(oracle.results_after(place))
