"""Streams that meet by their times: which joins of FROM they are, and the band or the buckets of each.

Three streams and more are joined from left to right. Each new one is joined by the time of the one before it that it is
tied to most closely; what windows say about the others becomes part of the condition. So rows meet exactly if every two
of them are as near as their windows say: all of them are in their windows when the youngest comes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from panewise.core.errors import PanewiseError, SqlError
from panewise.core.join_kinds import JoinKind
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.trees import all_of
from panewise.plan.nodes import WINDOW_TIMES, BandJoin, Filter, Node, TumblingJoin
from panewise.sql.bands import TimeBand, Times, of_windows
from panewise.sql.expressions import to_scalar
from panewise.sql.relations import BoundWindow, Relation
from panewise.sql.sources import BoundSource
from panewise.sql.syntax import Span
from panewise.sql.windows.window_times import with_time
from panewise.windows.sliding import SlidingWindow

STATES, BAND, TUMBLING = "states", "band", "tumbling"
"""How sources meet: what their windows hold, rows within a distance in time, rows of one bucket."""


class TimeJoins:
    """Decides about the sources of one FROM."""

    def __init__(self, error: Callable[[str, Span, str], SqlError]) -> None:
        self.error = error

    # -- which join

    def style(self, sources: list[BoundSource], conditions: list[Scalar], kind: JoinKind = JoinKind.INNER) -> str:
        """Band join, tumbling join, or a join of window states; outer joins of tumbling windows are of buckets."""
        streams = [s for s in sources if not s.relation.table]
        first = len(streams) > 1 and streams == sources[: len(streams)]
        if first and all(s.window is None for s in streams) and self._tied(streams, conditions):
            return BAND
        last = streams[-1].window if streams else None
        if last is not None and last.tumbling and all(s.window is None for s in streams[:-1]):
            self._several(streams, "RANGE TUMBLING joins", last.span)
            return TUMBLING
        if kind is not JoinKind.INNER and all(s.window is not None and s.window.tumbling for s in streams):
            self._one_division(streams)
            return TUMBLING
        by_id = [s for s in streams if s.window is not None and s.window.by_id]
        if not by_id:
            return STATES
        other = next((s for s in streams if s not in by_id), None)
        if other is not None:
            hint = "give every source a window with WA, or write none with WA"
            if any(s.window is not None and s.window.tumbling for s in by_id):
                hint = "write RANGE TUMBLING once, behind the last source"
            raise self.error("a join of a window with WA and one without", other.span, hint)
        windows = [s.window for s in by_id if s.window is not None]
        if any(w.has_slide or w.tumbling or not isinstance(w.clause.spec, SlidingWindow)
               or w.clause.ordinal is OrdinalKind.ROWS for w in windows):
            return STATES
        self._several(streams, "windows with WA join", by_id[-1].span)
        return BAND

    def _one_division(self, streams: list[BoundSource]) -> None:
        """Tumbling windows behind each source divide time in the same way, or no row would have one bucket."""
        first, *others = (s.window for s in streams if s.window is not None)
        for other in others:
            one, two = first.clause.spec, other.clause.spec
            if first.by_id and other.by_id and first.range == other.range and \
                    (getattr(one, "origin", 0) - getattr(two, "origin", 0)) % (first.range or 1) == 0:
                continue
            raise self.error("two RANGE TUMBLING of one join that do not begin together", other.span,
                             "give both the same RANGE TUMBLING and ORIGIN, with WA, or write it once, behind the last "
                             "source")

    def _several(self, streams: list[BoundSource], what: str, span: Span) -> None:
        if len(streams) < 2:
            raise self.error(f"{what} streams, here is only one", span, "write windows without WA on each source")

    def _tied(self, streams: list[BoundSource], conditions: list[Scalar]) -> bool:
        """Whether conditions bound how far each stream is from one before it."""
        return all(any(self._said(before, stream, conditions)[0].bounded for before in streams[:place])
                   for place, stream in enumerate(streams) if place)

    def met(self, source: BoundSource) -> Relation:
        """The rows of a source that a join by times looks at: those that its window takes."""
        window = source.window
        if window is None:
            return source.relation
        spec, clause = window.clause.spec, window.clause
        wrong = {"LAG": getattr(spec, "lag", 0), "ORIGIN": 0 if window.tumbling else getattr(spec, "origin", 0),
                 "PA": clause.partition or window.sliced_by}
        for keyword, given in wrong.items():
            if given:
                hint = "write the columns that must be equal in WHERE" if keyword == "PA" else \
                    "remove it; WHERE can say how far apart the times are: b.ts BETWEEN a.ts AND a.ts + INTERVAL ..."
                raise self.error(f"{keyword} means nothing where two streams meet by their times", window.span, hint)
        relation = source.relation
        if clause.attribute in WINDOW_TIMES and relation.aggregated:
            relation = replace(relation, node=with_time(relation.node, clause.attribute))
        return relation if clause.predicate is None else replace(relation, node=Filter(relation.node, clause.predicate))

    # -- buckets

    def in_buckets(self, left: Node, right: Node, used: Sequence[BoundSource], window: BoundWindow,
                   predicate: Scalar | None, kind: JoinKind) -> Node:
        """Rows of one bucket; that of the first stream is that of all before the new one."""
        assert window.range is not None
        before, new = (self._bucketed(source, window) for source in (used[0], used[-1]))
        return TumblingJoin(left, right, before, new, window.range, predicate, getattr(window.clause.spec, "origin", 0),
                            kind=kind)

    def _bucketed(self, source: BoundSource, window: BoundWindow) -> str:
        attribute = (source.window or window).clause.attribute
        found = attribute if source.window is not None else source.relation.find(attribute)
        if found is None:
            raise self.error(f"{source.alias} has no column {attribute!r}", window.span,
                             "name a column that both sources have")
        return f"{source.alias}.{found}"

    # -- bands

    def in_band(self, left: Node, right: Node, used: Sequence[BoundSource], conditions: list[Scalar],
                kind: JoinKind) -> Node:
        """Windows give a band, and so do conditions on the distance of the times; what is inside both meets."""
        new = used[-1]
        bands: list[tuple[BoundSource, TimeBand, list[Scalar], TimeBand | None]] = []
        for source in (before for before in used[:-1] if not before.relation.table):
            said, rest = self._said(source, new, conditions)
            shown = _of_windows(source, new)
            bands.append((source, said if shown is None else said.within(shown), rest, shown))
        tied, band, rest, _ = min((b for b in bands if b[1].bounded), key=lambda found: found[1].width)
        before, after = band.reach
        if band.empty:
            raise self.error("no two rows can meet: the time between them ends before it begins", new.span,
                             "exchange the two ends, or look at the sign: b.ts - a.ts is how much later b is")
        for source, _, _, shown in bands:
            if source is not tied and shown is not None:
                rest = [*rest, _as_condition(source, new, shown)]
        times = f"{tied.alias}.{time_of(tied)}", f"{new.alias}.{time_of(new)}"
        predicate = conjunction(rest) if rest else None
        return BandJoin(left, right, times[0], times[1], after, before, predicate, band.bounds, kind=kind)

    def _said(self, left: BoundSource, right: BoundSource, conditions: list[Scalar]) -> tuple[TimeBand, list[Scalar]]:
        """What conditions say about the distance of the times of two streams, and the other conditions."""
        one, two = time_of(left), time_of(right)
        if one is None or two is None or left.relation.changing or right.relation.changing:
            return TimeBand(), conditions
        kinds = {_kind(source, name) for source, name in ((left, one), (right, two))}
        if len(kinds) > 1:
            return TimeBand(), conditions
        try:
            return Times(f"{left.alias}.{one}", f"{right.alias}.{two}", kinds.pop()).split(conditions)
        except PanewiseError as error:
            raise self.error(str(error), right.span, "write a time of fixed length, such as INTERVAL '10' SECOND") \
                from error


def _of_windows(left: BoundSource, right: BoundSource) -> TimeBand | None:
    if left.window is None or right.window is None:
        return None
    assert left.window.range is not None
    assert right.window.range is not None
    return of_windows(left.window.range, right.window.range)


def _as_condition(left: BoundSource, right: BoundSource, band: TimeBand) -> Scalar:
    """The band of two windows as a condition on the times."""
    one, other = (Scalar.column(f"{source.alias}.{time_of(source)}").sql for source in (left, right))
    kind = _kind(left, time_of(left) or "")
    low, high = (_amount(reach, kind) for reach in band.reach)
    return to_scalar(Scalar.parse(f"{other} BETWEEN {one} - {low} AND {one} + {high}").tree)


def _amount(ticks: int, kind: OrdinalKind) -> str:
    if kind is OrdinalKind.TIMESTAMP:
        seconds, rest = divmod(ticks, 1_000_000)
        return f"INTERVAL '{seconds}' SECOND" if not rest else f"INTERVAL '{ticks}' MICROSECOND"
    return f"INTERVAL '{ticks}' DAY" if kind is OrdinalKind.DATE else str(ticks)


def conjunction(scalars: Sequence[Scalar]) -> Scalar:
    """All of them, with AND.

    >>> conjunction([Scalar("a = 1"), Scalar("b = 1 OR c = 2")]).sql
    'a = 1 AND (b = 1 OR c = 2)'
    """
    if len(scalars) == 1:
        return scalars[0]
    return to_scalar(all_of(s.tree for s in scalars))


def time_of(source: BoundSource) -> str | None:
    """The column of a source that its window is on, else its time."""
    return source.relation.time if source.window is None else source.window.clause.attribute


def _kind(source: BoundSource, name: str) -> OrdinalKind:
    if source.window is not None:
        return source.window.clause.ordinal
    known = source.relation.types.get(name)
    return source.relation.clock if known is None else OrdinalKind.of(known, name)
