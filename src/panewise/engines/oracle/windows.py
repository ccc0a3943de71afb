"""Window aggregates: one row per window id and group, straight from ``windows`` and ``members`` of the specification.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from panewise.core.schema import ROW_NUM_NAMES
from panewise.engines.oracle import ending, grouping
from panewise.engines.oracle.closing import Progress
from panewise.engines.oracle.late import EVERYTHING, TIME
from panewise.engines.oracle.tuples import Tup, attribute_of, partitions, sortable, value_of
from panewise.plan.nodes import TableJoin, TimePairs, WindowAggregate
from panewise.windows.base import Rows, WindowSpec
from panewise.windows.session import SessionWindow
from panewise.windows.tuple_slide import TupleSlideWindow

if TYPE_CHECKING:
    from panewise.engines.oracle.definition import Definition


def results(d: Definition, node: WindowAggregate, *, inside: bool = False) -> list[Tup]:
    """All results in the order in which their windows close for all groups: by their ends, their ids, then by group.

    ``order`` holds the place that closed the window, then that rank, which no disorder changes; ``told`` is the place
    that closed the window of the group.

    ``inside`` a relation every result needs an instant: the last one of its window, or of all rows of a window of
    positions. So that no result is dated before what was promised, late rows have no position there, and windows that
    nothing but the end of the input closes come after all instants.
    """
    found: list[tuple[tuple[Any, ...], Tup]] = []
    by_position = inside and node.window.attribute in ROW_NUM_NAMES
    # each partition has windows of its own (Li 5.1.3); for windows on values it makes no difference (P10)
    for part in partitions(_on_time(d, node) if by_position else counted_rows(d, node), node.window.partition):
        progress = Progress(d, node, part)
        rows = as_rows(node, part)
        spec, defining = _defined_by(node.window.spec.plain, part)
        numbers = {t.key: at for t, at in zip(part, spec.coordinate(rows).tolist(), strict=True)}
        for wid in spec.windows(as_rows(node, defining)).tolist():
            within = spec.members(wid, rows)
            members = [t for t, member in zip(part, within, strict=True) if member and counts(d, node, t, wid)]
            for key, group in grouping.groups(d, node, members):
                values = {**key, node.window_column: _name(node, wid, rows),
                          **grouping.aggregates(d, node, group, numbers), **_times(node, wid, rows, members)}
                place, told = progress.closed_at(wid, None, rows), progress.closed_at(wid, key, rows)
                identity = ("window", wid, value_of(key), part[0].key)
                if not inside or _is_seen(d, node, wid, rows, place):
                    end = node.window.spec.extent(wid, rows).end
                    rank = (math.inf if end is None else end, wid, [sortable(v) for v in key.values()],
                            [sortable(part[0].values[column]) for column in node.window.partition])
                    instant = _instant(node, wid, rows, members)
                    found.append((rank, Tup(values, instant, identity, (place,), told=told)))
    found.sort(key=lambda result: result[0])
    return sorted((replace(t, order=(*t.order, rank)) for rank, (_, t) in enumerate(found)), key=lambda t: t.order)


def _defined_by(spec: WindowSpec, part: Sequence[Tup]) -> tuple[WindowSpec, Sequence[Tup]]:
    """The specification for rows of one partition, and those that say which windows exist.

    The window that a late row would define is closed already: where rows define windows it has no number and defines
    none, also if the policy counts it in windows that are open.
    """
    if not isinstance(spec, TupleSlideWindow):
        return spec, part
    return replace(spec, partitioned=False), [t for t in part if t.late_by is None]


def counted_rows(d: Definition, node: WindowAggregate) -> list[Tup]:
    """The rows the operator numbers and counts: those of its input that pass the window's predicate and are not late.

    Under the slack policies a late row stays as long as some window of it is still open, and is late if it missed one.
    """
    clause = node.window
    guard = None if clause.attribute in ROW_NUM_NAMES else clause.attribute
    shown = {*(key.scalar.column_name for key in node.keys), *clause.partition}
    keys = {column for column in shown if column is not None} - {clause.attribute}
    rows = ending.with_open_keys(d, node.input, keys, d.stream(node.input, guard))
    beside = any(isinstance(below, TableJoin) for below in node.input.walk())  # reported where they meet the table
    if beside or not _has_slack(d, clause.spec):
        d.report_late_rows(node.input, guard)
    rows = d.passing(rows, clause.predicate, node.input)
    if isinstance(clause.spec, SessionWindow):
        if any(isinstance(below, TimePairs) for below in node.input.walk()):
            rows = [t for t in rows if t.late_by is None]  # pairs have no order
        if _has_slack(d, clause.spec):
            return _in_sessions(d, node, clause.spec.gap, rows)
    kept: list[Tup] = []
    for row in rows:
        missed = row.late_by is not None and _misses(d, node, row)
        if missed:
            d.report_late(row)
        if not missed or (d.policy == "generous" and _slack(clause.spec)):
            kept.append(row)
    return kept


def _in_sessions(d: Definition, node: WindowAggregate, gap: int, rows: Sequence[Tup]) -> list[Tup]:
    """The rows that sessions count, one by one as they came.

    A late row counts if it touches a session that its bound leaves open, or if a session of its own would be open. If
    it would have joined a closed session to that, it is late, and counts from just behind the closed one.
    """
    kept: list[Tup] = []
    for part in partitions(rows, node.window.partition):
        before: list[Tup] = []
        for row in part:
            value, bound = attribute_of(row, node.window.attribute, node.window.ordinal), row.late_by
            if bound is not None:
                seen = as_rows(node, before)
                spans = sorted(set(zip(*(side.tolist() for side in SessionWindow(gap).spans(seen)), strict=True)))
                opened = [(start, end) for start, end in spans if end >= bound]
                closed = [end for start, end in spans if end < bound and start - gap <= value <= end]
                if value + gap < bound and not any(start - gap <= value <= end for start, end in opened):
                    d.report_late(row)
                    continue
                if closed:
                    d.report_late(row)
                    if d.policy == "consistent":
                        continue
                before.append(replace(row, late_by=None, counts_at=max(closed) + 1 if closed else None))
            else:
                before.append(row)
        kept += before
    return sorted(kept, key=lambda t: t.order)


def _on_time(d: Definition, node: WindowAggregate) -> list[Tup]:
    """The rows that a window of positions numbers inside a relation, in the order they came."""
    return d.passing(d.admitted(node.input, TIME), node.window.predicate, node.input)


def _is_seen(d: Definition, node: WindowAggregate, wid: int, rows: Rows, place: int) -> bool:
    """Whether a window is complete at some instant, and not only when the input has ended."""
    if node.window.attribute in ROW_NUM_NAMES:
        return place < d.end
    return node.window.spec.extent(wid, rows).end is not None


def counts(d: Definition, node: WindowAggregate, row: Tup, wid: int) -> bool:
    """Whether a row of the window is in time for it: a late one only while the window is open."""
    return row.late_by is None or wid >= _first_open(node.window.spec, row.late_by)


def _misses(d: Definition, node: WindowAggregate, row: Tup) -> bool:
    """Whether a late row comes too late for a window of its own; without slack it is too late for all."""
    spec = node.window.spec
    if not _has_slack(d, spec) or row.late_by is None:
        return True
    first, end = (int(bound[0]) for bound in spec.wids(as_rows(node, [row])))
    return first < end and first < _first_open(spec, row.late_by)


def _first_open(spec: WindowSpec, bound: int) -> int:
    """The first window a bound leaves open; where nothing more can come none is, also of windows without an end."""
    return EVERYTHING if bound == EVERYTHING else spec.closed_below(bound)


def _has_slack(d: Definition, spec: WindowSpec) -> bool:
    """Whether a late row may still count."""
    return d.policy in {"generous", "consistent"} and _slack(spec)


def _slack(spec: WindowSpec) -> bool:
    """Slack needs windows that close one by one."""
    if isinstance(spec, SessionWindow):
        return True
    try:
        spec.closed_below(0)
    except NotImplementedError:
        return False
    return True


def as_rows(node: WindowAggregate, part: Sequence[Tup]) -> Rows:
    """Rows of one partition as the specification sees them, numbered in the order they came to the operator."""
    clause = node.window
    by_position = clause.attribute in ROW_NUM_NAMES
    return Rows.of([i if by_position else attribute_of(t, clause.attribute, clause.ordinal) if t.counts_at is None
                    else t.counts_at for i, t in enumerate(part, start=1)])


def _name(node: WindowAggregate, wid: int, rows: Rows) -> Any:
    """What a user sees of the window: its range, or its id."""
    clause = node.window
    if not clause.has_time_range:
        return wid
    extent = clause.spec.extent(wid, rows)
    return {"start": None if extent.start is None else clause.ordinal.present(extent.start),
            "end": None if extent.end is None else clause.ordinal.present(extent.end)}


def _times(node: WindowAggregate, wid: int, rows: Rows, members: Sequence[Tup]) -> dict[str, Any]:
    """What a window above goes by."""
    extent = node.window.spec.extent(wid, rows)
    known: dict[str, int | None] = {"window.start": extent.start, "window.end": extent.end}
    if "window.time" in node.times:
        known["window.time"] = _instant(node, wid, rows, members)
    return {name: None if (at := known[name]) is None else node.window.ordinal.present(at) for name in node.times}


def _instant(node: WindowAggregate, wid: int, rows: Rows, members: Sequence[Tup]) -> int:
    """The instant of a result: the last one of the window, or of its rows where the window is one of positions."""
    end = node.window.spec.extent(wid, rows).end
    if node.window.attribute in ROW_NUM_NAMES or end is None:
        return max(t.ts for t in members)
    return end - 1
