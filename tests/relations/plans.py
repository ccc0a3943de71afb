"""Random plans, rows and timelines for the tests of continuous relations."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceSchema
from panewise.plan.nodes import NamedScalar, Node, Project, Source, Window, WindowClause
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Timeline
from panewise.windows.base import Clock, WindowSpec
from panewise.windows.count import CountWindow, PartitionedCountWindow
from panewise.windows.landmark import BandWindow, LandmarkWindow
from panewise.windows.rows import PartitionedRowWindow, RowWindow
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tumbling import Disclosure, NowWindow, TumblingWindow

COLUMNS = {"ts": pa.int64(), "k": pa.string(), "v": pa.int64()}


def source(name: str = "s") -> Source:
    return Source(name, SourceSchema(dict(COLUMNS), time="ts"))


def window(below: Node, spec: WindowSpec, **options: Any) -> Window:
    return Window(below, WindowClause(spec, "ts", OrdinalKind.INTEGER, **options))


def columns(below: Node, *names: str) -> Project:
    return Project(below, tuple(NamedScalar.column(name) for name in names))


TIME_WINDOWS = st.one_of(  # most reach over half of the times that rows have
    st.builds(SlidingWindow.scoped, st.integers(3, 10)),
    st.builds(SlidingWindow.scoped, st.integers(1, 10), st.integers(1, 5), lag=st.integers(0, 2)),
    st.builds(SlidingWindow, st.integers(4, 10), st.integers(1, 4), st.integers(-3, 3)),
    st.builds(TumblingWindow, st.integers(2, 8), st.integers(-2, 2), st.integers(0, 1), st.sampled_from(Disclosure)),
    st.builds(NowWindow, st.integers(1, 3)),
    st.builds(LandmarkWindow, st.integers(1, 4)),
    st.builds(BandWindow, st.none() | st.integers(0, 6), st.none() | st.integers(6, 12)),
)

KEYS = st.sampled_from(["a", "b"] * 4 + [None])
NUMBERS = st.sampled_from([0, 1, 2, 3] * 3 + [None])
AHEAD = st.sampled_from([0, 0, 1, 1, 2, 2, 3, 4, 6, -2])
ITEMS = st.sampled_from(["row"] * 7 + ["promise"] * 2 + ["promise of one"])


@st.composite
def timelines(draw: st.DrawFn, streams: tuple[str, ...], *, least: int = 0, rows: int = 20,
              times: int = 14) -> Timeline:
    """Rows of some streams out of order, with promises that move on, mostly of all streams, and are broken at times.

    Between ``least`` and ``rows`` items, mostly more than half: few rows leave most plans without a result.
    """
    made: Timeline = []
    bound = 0
    for _ in range(draw(st.one_of(st.integers(least, rows), *[st.integers(max(least, rows // 2), rows)] * 3))):
        stream, what = draw(st.sampled_from(streams)), draw(ITEMS)
        if what == "row":
            at = min(max(bound + draw(AHEAD), 0), times)
            made.append(Arrival(stream, {"ts": at, "k": draw(KEYS), "v": draw(NUMBERS)}))
        elif what == "promise":
            bound = min(bound + draw(st.integers(0, 4)), times)
            made += [Arrival(name, Punctuation.below("ts", bound)) for name in streams]
        else:
            made.append(Arrival(stream, Punctuation.below("ts", min(bound + draw(st.integers(0, 3)), times))))
    return made


PLACES = st.frozensets(st.integers(0, 26), max_size=4)

Specs = st.SearchStrategy[WindowSpec]

COUNT_WINDOWS = st.one_of(
    st.builds(CountWindow, st.integers(1, 6), st.integers(1, 3)),
    st.builds(CountWindow, st.integers(1, 6)),
    st.builds(PartitionedCountWindow, st.integers(1, 3), st.integers(1, 2)),
    st.builds(RowWindow, st.integers(1, 6), st.integers(1, 3)),
    st.builds(PartitionedRowWindow, st.integers(1, 4), st.integers(1, 3)),
)


@st.composite
def windows(draw: st.DrawFn, stream: str, kinds: Specs = TIME_WINDOWS | COUNT_WINDOWS) -> Window:
    """Any window over a stream, with a condition inside it or not."""
    spec = draw(kinds)
    predicate = draw(st.sampled_from([None, None, Scalar.parse("v > 0")]))
    if spec.clock is Clock.TIME:
        return window(source(stream), spec, predicate=predicate)
    partition = ("k",) if spec.per_partition else ()
    return Window(source(stream), WindowClause(spec, "row-num", OrdinalKind.ROWS, partition, predicate))
