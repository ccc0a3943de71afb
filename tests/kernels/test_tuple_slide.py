"""Slide-by-tuple on the log kernel: the oracle's answer whatever comes in whatever way, and the worked examples.

Streams are random in everything: disorder, promises for all and for groups (kept or broken), cuts into batches, and a
state that is saved and restored into a new query at several places of one run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from embedded.plans import COLUMNS, bag, call, run_timeline
from kernels.tiny import CountRows, InOrder
from panewise.aggregates.count import Count
from panewise.core.errors import CheckpointError, LateRowError, UnsupportedError
from panewise.core.ordinals import OrdinalKind
from panewise.core.schema import SourceSchema
from panewise.engines.embedded import EmbeddedQuery
from panewise.engines.oracle.engine import Oracle
from panewise.kernels import latecomers, log_kernel, state_columns
from panewise.kernels.partials import bind
from panewise.kernels.tuple_slide import TupleSlideKernel
from panewise.plan.nodes import AggregateCall, NamedScalar, Source, WindowAggregate, WindowClause
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.timeline import Arrival, Timeline
from panewise.windows.rows import RowWindow
from panewise.windows.tuple_slide import TupleSlideWindow

NUMBERS = (call("n", "count"), call("top", "max", "v"), call("mean", "avg", "v"), call("least", "min", "ts"))
ANY = (*NUMBERS, call("oldest", "first", "v"), call("half", "median", "v"), call("text", "max", "k"))
POLICIES = ("drop", "side", "generous", "consistent")

specs = st.builds(TupleSlideWindow, st.integers(1, 12), st.integers(1, 4), st.sampled_from(["arrival", "rank"]),
                  st.booleans())
rows = st.fixed_dictionaries({"ts": st.integers(-15, 30), "k": st.sampled_from(["a", "b", None]),
                              "g": st.integers(0, 1), "v": st.none() | st.integers(-3, 3).map(float)})
constants = st.fixed_dictionaries({}, optional={"k": st.sampled_from(["a", "b", None]), "g": st.integers(0, 1)})
promises = st.builds(lambda bound, c: Punctuation.below("ts", bound, **c), st.integers(-12, 32), constants)
endings = constants.filter(bool).map(lambda c: Punctuation.of(dict(Punctuation.below("x", 0, **c).patterns[:-1])))
streams = st.lists(st.one_of(rows, rows, rows, promises, endings), max_size=25)
places = st.frozensets(st.integers(0, 25), max_size=6)
groupings = st.sampled_from([(), ("k",), ("k", "g"), ("g",)])
partitions = st.sampled_from([(), ("k",), ("k", "g")])


def plan(spec: TupleSlideWindow, keys: tuple[str, ...], partition: tuple[str, ...] = (),
         calls: tuple[AggregateCall, ...] = NUMBERS) -> WindowAggregate:
    clause = WindowClause(spec, "ts", OrdinalKind.INTEGER, partition)
    return WindowAggregate(Source("s", SourceSchema(COLUMNS, time="ts")), clause,
                           tuple(NamedScalar.column(k) for k in keys), calls)


def check(node: WindowAggregate, items: list[Any], policy: str = "drop", cuts: frozenset[int] = frozenset(),
          saves: frozenset[int] = frozenset(), progress: str = "source") -> None:
    timeline: Timeline = [Arrival("s", item) for item in items]
    oracle = Oracle(node, timeline, late=policy, progress=progress)
    query = EmbeddedQuery(node, late=policy, progress=progress)
    found, query = run_timeline(query, timeline, cuts, saves, late=policy, progress=progress)
    assert bag(found) == bag(oracle.results())
    assert query.late_count == len(oracle.late_rows())
    assert query.status()["partials"] == 0, "nothing is left when everything is closed"


@settings(deadline=None, max_examples=300)
@given(specs, groupings, partitions, st.sampled_from([NUMBERS, NUMBERS, ANY]), streams, st.sampled_from(POLICIES),
       places, places)
def test_results_are_the_oracles(spec: TupleSlideWindow, keys: tuple[str, ...], partition: tuple[str, ...],
                                 calls: tuple[AggregateCall, ...], items: list[Any], policy: str,
                                 cuts: frozenset[int], saves: frozenset[int]) -> None:
    check(plan(spec, keys, partition, calls), items, policy, cuts, saves)


@settings(deadline=None, max_examples=100)
@given(specs, groupings, partitions, st.lists(rows, max_size=25), st.sampled_from(POLICIES), places, places,
       st.sampled_from(["ordered", "late:3", "rows:2", "column:g"]))
def test_progress_that_is_generated_row_by_row_gives_the_oracles_results(
        spec: TupleSlideWindow, keys: tuple[str, ...], partition: tuple[str, ...], items: list[Any], policy: str,
        cuts: frozenset[int], saves: frozenset[int], progress: str) -> None:
    check(plan(spec, keys, partition), items, policy, cuts, saves, progress)
