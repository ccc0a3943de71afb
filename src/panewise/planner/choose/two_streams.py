"""Joins of two streams that ask for nothing but two rows that are near in time: what Spark's own join can answer, too.

Such a plan is an inner join in a band or in tumbling buckets, or of two windows over time that move with it, with an
equality between the sides; below it filters, above it filters and projections.
"""

from __future__ import annotations

from dataclasses import dataclass

from panewise.core.join_kinds import JoinKind
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.user_functions import called_in
from panewise.kernels.joins.pairing import Band
from panewise.plan import nodes as n
from panewise.planner.facts.equi_keys import join_condition
from panewise.windows.sliding import SlidingWindow


@dataclass(frozen=True)
class StreamSide:
    """One of the two: its rows without their window, and the column that dates them."""

    rows: n.Node
    source: n.Source
    time: str
    source_time: str
    """The same, as the stream itself calls it."""
    length: int | None = None
    """How long a row is in its window, where the join is one of windows."""


@dataclass(frozen=True)
class TwoStreams:
    """A join taken apart: rows of both sides for which ``lo <= right - left <= hi``, and the predicate, hold."""

    join: n.BandJoin | n.TumblingJoin | n.Join
    left: StreamSide
    right: StreamSide
    band: Band
    bucket: tuple[int, int] | None
    """The length of the buckets in which rows meet, if they do, and where one begins."""

    @property
    def sides(self) -> tuple[StreamSide, StreamSide]:
        """Both."""
        return self.left, self.right

    @property
    def predicate(self) -> Scalar | None:
        """What else must hold."""
        return self.join.predicate


def two_streams(plan: n.Node) -> TwoStreams | str:
    """The join of a plan, or why it is not of that kind.

    >>> from panewise.core.schema import SourceSchema
    >>> a = n.Source("a", SourceSchema(open=True))
    >>> two_streams(a)
    'no join of two streams is all that the query does'
    """
    node = plan
    while isinstance(node, n.Project | n.Filter | n.Qualify):
        node = node.input
    if not isinstance(node, n.BandJoin | n.TumblingJoin | n.Join):
        return "no join of two streams is all that the query does"
    if isinstance(node, n.TimePairs) and node.kind is not JoinKind.INNER:
        return f"it is no inner join but {node.kind.value}"
    sides = [_windowed(side) for side in node.inputs] if isinstance(node, n.Join) else _dated(node)
    for side in sides:
        if isinstance(side, str):
            return side
    left, right = (side for side in sides if isinstance(side, StreamSide))
    if left.source.name == right.source.name:
        return f"{left.source.name!r} is joined with itself"
    if node.predicate is not None and called_in(node.predicate.sql):
        return "its condition calls a function of the user"
    if not join_condition(node.predicate, left.rows.columns, right.rows.columns).keys:
        return "no column of one stream equals one of the other"
    return TwoStreams(node, left, right, *_near(node, left, right))


def _near(node: n.BandJoin | n.TumblingJoin | n.Join, left: StreamSide,
          right: StreamSide) -> tuple[Band, tuple[int, int] | None]:
    """In which band rows meet, and in which buckets."""
    if isinstance(node, n.TumblingJoin):
        return Band(1 - node.range, node.range - 1), (node.range, node.origin % node.range)
    if left.length is None or right.length is None:
        assert isinstance(node, n.BandJoin)
        return Band.of_ranges(node.left_range, node.right_range, node.bounds), None
    return Band(1 - right.length, left.length - 1), None


def _dated(node: n.BandJoin | n.TumblingJoin) -> list[StreamSide | str]:
    return [_side(side, time) for side, time in ((node.left, node.left_time), (node.right, node.right_time))]


def _windowed(node: n.Node) -> StreamSide | str:
    """A side that is a window over a stream, as the stream: a row is there from its time on, as long as the window."""
    above: list[n.Filter | n.Qualify] = []
    while isinstance(node, n.Filter | n.Qualify):
        above.append(node)
        node = node.input
    if not isinstance(node, n.Window):
        return f"a side is {type(node).__name__}, no window over a stream"
    clause, spec = node.clause, node.clause.spec
    moving = isinstance(spec, SlidingWindow) and spec.slide == 1 and not spec.lag
    if not isinstance(spec, SlidingWindow) or not moving or clause.partition or clause.predicate is not None:
        return "a window is no length of time that moves with it"
    if clause.internal:
        return "results of INTERNAL windows stay"
    rows, time = node.input, clause.attribute
    for part in reversed(above):
        rows = part.with_inputs(rows)
        time = f"{part.alias}.{time}" if isinstance(part, n.Qualify) else time
    return _side(rows, time, spec.range)


def _side(rows: n.Node, time: str, length: int | None = None) -> StreamSide | str:
    node, name = rows, time
    while isinstance(node, n.Filter | n.Qualify):
        name = name.removeprefix(f"{node.alias}.") if isinstance(node, n.Qualify) else name
        node = node.input
    if not isinstance(node, n.Source):
        return f"a side is {type(node).__name__}, no stream"
    if node.schema.time != name:
        return f"{node.name!r} is joined by {name!r}, which does not order it"
    if node.schema.open or node.schema.ordinal_kind(name) is not OrdinalKind.TIMESTAMP:
        return f"{node.name!r} is not ordered by a timestamp"
    return StreamSide(rows, node, time, name, length)
