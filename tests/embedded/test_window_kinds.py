"""Every window kind that works on values: the embedded engine gives the oracle's answer, whatever comes in whatever way.

Streams are random in everything: disorder, promises for all and for groups (kept or broken), cuts into batches, and a
state that is saved and restored into a new query at several places of one run.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from embedded.plans import COLUMNS, bag, call, run_timeline
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceSchema
from panewise.engines.embedded import EmbeddedQuery
from panewise.engines.oracle.engine import Oracle
from panewise.plan.nodes import NamedScalar, Source, WindowAggregate, WindowClause
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Timeline
from panewise.windows import (
    BandWindow,
    CalendarWindow,
    LandmarkWindow,
    LinearWindow,
    SessionWindow,
    WindowSpec,
)
from windows.window_strategies import SPECS, ZONES, moments

BY_VALUE = ("sliding", "tumbling", "now", "varying", "landmark", "band", "session", "linear")
CALLS = (call("n", "count"), call("top", "max", "v"), call("oldest", "first", "v"), call("half", "median", "v"))
POLICIES = ("drop", "side", "generous", "consistent")

rows = st.fixed_dictionaries({"ts": st.integers(-15, 30), "k": st.sampled_from(["a", "b", None]),
                              "g": st.integers(0, 1), "v": st.none() | st.integers(-3, 3).map(float)})
constants = st.fixed_dictionaries({}, optional={"k": st.sampled_from(["a", "b", None]), "g": st.integers(0, 1)})
promises = st.builds(lambda bound, c: Punctuation.below("ts", bound, **c), st.integers(-12, 32), constants)
endings = constants.filter(bool).map(lambda c: Punctuation.of(dict(Punctuation.below("x", 0, **c).patterns[:-1])))
streams = st.lists(st.one_of(rows, rows, rows, promises, endings), max_size=22)
places = st.frozensets(st.integers(0, 22), max_size=6)
groupings = st.sampled_from([(), ("k",), ("k", "g"), ("g",)])
partitions = st.sampled_from([(), (), ("k",), ("k", "g")])


def plan(spec: WindowSpec, keys: tuple[str, ...], partition: tuple[str, ...] = (), *, attribute: str = "ts",
         ordinal: OrdinalKind = OrdinalKind.INTEGER, predicate: str | None = None,
         time: pa.DataType = COLUMNS["ts"]) -> WindowAggregate:
    source = Source("s", SourceSchema({**COLUMNS, "ts": time}, time="ts"))
    clause = WindowClause(spec, attribute, ordinal, partition, None if predicate is None else Scalar.parse(predicate))
    return WindowAggregate(source, clause, tuple(NamedScalar.column(k) for k in keys), CALLS)


def check(node: WindowAggregate, items: list[Any], policy: str, cuts: frozenset[int] = frozenset(),
          saves: frozenset[int] = frozenset()) -> list[dict[str, Any]]:
    timeline: Timeline = [Arrival("s", item) for item in items]
    oracle = Oracle(node, timeline, late=policy)
    found, query = run_timeline(EmbeddedQuery(node, late=policy), timeline, cuts, saves, late=policy)
    assert bag(found) == bag(oracle.results())
    if policy != "drop":
        assert bag(query.late_rows.to_pylist()) == bag(oracle.late_rows())
    assert query.status()["partials"] == 0, "nothing is left when everything is closed"
    return found


@pytest.mark.parametrize("kind", BY_VALUE)
def test_the_kind_gives_the_oracles_answer(kind: str) -> None:
    @settings(deadline=None, max_examples=60)
    @given(SPECS[kind], groupings, partitions, streams, st.sampled_from(POLICIES), places, places,
           st.sampled_from([None, None, "v > 0"]))
    def run(spec: WindowSpec, keys: tuple[str, ...], partition: tuple[str, ...], items: list[Any], policy: str,
            cuts: frozenset[int], saves: frozenset[int], predicate: str | None) -> None:
        check(plan(spec, keys, partition, predicate=predicate), items, policy, cuts, saves)

    run()


@settings(deadline=None, max_examples=120)
@given(st.one_of(*(SPECS[kind] for kind in BY_VALUE)), groupings, partitions, streams, places, places)
def test_values_may_be_positions(spec: WindowSpec, keys: tuple[str, ...], partition: tuple[str, ...],
                                 items: list[Any], cuts: frozenset[int], saves: frozenset[int]) -> None:
    node = plan(spec, keys, partition, attribute="row-num", ordinal=OrdinalKind.ROWS)
    if node.window.spec.kind in ("sliding", "tumbling"):
        return  # row windows, which have tests of their own
    check(node, items, "drop", cuts, saves)
