"""Append-only streams: every row a node ever puts out, in the order it does.

A relation becomes a stream by what it ever held: each row once, when it first appears (the append-only reading of
internal windows, and what a window over a sub-query sees).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import product
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from panewise.core.join_kinds import LEFT, RIGHT, JoinKind
from panewise.core.ordinals import OrdinalKind
from panewise.core.schema import ROW_NUM_NAMES
from panewise.engines.oracle import ending, operators, streams, tables, windows
from panewise.engines.oracle.late import NOTHING, TIME, Guard, bounds_after, kind_of, later, substreams
from panewise.engines.oracle.tuples import Tup, attribute_of, frozen, joined, ordinal
from panewise.plan import nodes as n
from panewise.planner.facts.derived_times import Chosen
from panewise.planner.facts.equi_keys import compared
from panewise.planner.facts.result_forms import is_append_only, is_retroactive
from panewise.progress.patterns import Between, Constant, OneOf
from panewise.progress.punctuation import Punctuation

if TYPE_CHECKING:
    from panewise.engines.oracle.definition import Definition


def stream_of(d: Definition, node: n.Node, guard: Guard) -> list[Tup]:
    """The stream of one node; ``guard`` is the column whose bounds make a row late, in the node's own names."""
    match node:
        case n.Source():
            return _arrivals(d, node, guard)
        case n.PerRow():
            rows = operators.each_row(d, node, d.stream(*operators.below(node, guard)[0]))
            by = operators.moved_by(node, guard)
            return [t if t.late_by is None or not by else replace(t, late_by=later(t.late_by, by)) for t in rows]
        case n.Union():
            parts = [d.stream(*below) for below in operators.below(node, guard)]
            return sorted(operators.bag_union(d, node, parts), key=lambda t: t.order)
        case n.BandJoin() | n.TumblingJoin():
            return _time_join(d, node, guard)
        case n.TableJoin() if not is_retroactive(node) and is_append_only(node.input):
            return tables.join_as_of_birth(d, node, d.stream(node.input, guard))
        case n.WindowAggregate():
            return windows.results(d, node, inside=guard is not None)
        case n.Lifetime():
            return [t for t in d.stream(node.input, guard) if t.enters < d.stop(node)]
        case n.RelationToStream() if node.kind is not n.RelationToStreamKind.WSTREAM:
            return streams.emitted(d, node)
        case _:
            return d.produced(node)


def broken_promises(d: Definition, node: n.Node, guard: Guard) -> list[Tup]:
    """The late rows of the sources below a node, as they entered: no selection on the way hides one."""
    match node:
        case n.Source():
            return [t for t in d.stream(node, guard) if t.late_by is not None]
        case n.PerRow() | n.Lifetime() | n.Union() | n.TableJoin():
            return [t for below in operators.below(node, guard) for t in broken_promises(d, *below)]
    return []  # what joins find late they report themselves; others keep the promises they make


# -- sources -------------------------------------------------------------------------------------------------------


def _arrivals(d: Definition, source: n.Source, guard: Guard) -> list[Tup]:
    schema = source.schema
    column = schema.time if guard == TIME or isinstance(guard, Chosen) else guard
    bounds = _Bounds(d, source)
    rows: list[Tup] = []
    for place, arrival in enumerate(d.timeline):
        if arrival.stream != source.name or not arrival.is_row:
            continue
        raw: Any = arrival.item
        ts = place if schema.time is None or raw.get(schema.time) is None else \
            ordinal(raw[schema.time], schema.time, kind_of(schema, schema.time))
        late_by = None
        if column is not None and column not in ROW_NUM_NAMES and raw.get(column) is not None:
            bound = bounds.before(place, column, raw)
            if ordinal(raw[column], column, kind_of(schema, column)) < bound:
                late_by = bound
        values = {c: _plain(raw.get(c), t, c) for c, t in schema.columns.items()} if schema.columns else dict(raw)
        rows.append(Tup(values, ts, (source.name, place), (place,), late_by=late_by, origin=raw))
    return rows


class _Bounds:
    """Bounds in force, computed once for all rows that no punctuation distinguishes."""

    def __init__(self, d: Definition, source: n.Source) -> None:
        self.d, self.source = d, source
        promised = [a.item for a in d.timeline if a.stream == source.name and isinstance(a.item, Punctuation)]
        told_apart = {name for item in promised for name, _ in item.patterns}
        self.named = sorted({*told_apart, substreams(d.progress_of(source.name))[0]} - {""})
        self._known: dict[Hashable, list[int]] = {}

    def before(self, place: int, column: str, row: Mapping[str, Any]) -> int:
        """The bound on the column in force for this row when it arrived at this place."""
        kind = tuple(frozen(row.get(name)) for name in self.named if name != column)
        if kind not in self._known:
            self._known[kind] = bounds_after(self.source, column, row, self.d.timeline,
                                             self.d.progress_of(self.source.name))
        return max(self._known[kind][place - 1] if place else NOTHING, self._named_instants(place, column, row))

    def _named_instants(self, place: int, column: str, row: Mapping[str, Any]) -> int:
        """Promises that name instants cover a row at one of them: it is below the instant after the last of these."""
        bound = NOTHING
        value = ordinal(row[column], column, kind_of(self.source.schema, column))
        for arrival in self.d.timeline[:place]:
            promise = arrival.item
            if arrival.stream != self.source.name or not isinstance(promise, Punctuation):
                continue
            pattern = promise.pattern(column)
            if not isinstance(pattern, Between | Constant | OneOf):
                continue
            seen = {**row, column: value}
            if all(name in seen and p.matches(seen[name]) for name, p in promise.patterns):
                last = pattern.end if isinstance(pattern, Between) else 1 + (
                    pattern.value if isinstance(pattern, Constant) else max(pattern.values))
                bound = max(bound, int(last))
        return bound


def _plain(value: Any, data_type: pa.DataType, column: str) -> Any:
    """The Python value of a column's type: times may come as integers or text, floats as integers, decimals short."""
    if value is None:
        return None
    if pa.types.is_timestamp(data_type) or pa.types.is_date(data_type):
        kind = OrdinalKind.of(data_type, column)
        shown = kind.present(kind.parse(value))
        return shown.replace(tzinfo=None) if isinstance(shown, datetime) and data_type.tz is None else shown
    if pa.types.is_decimal(data_type):  # how many digits an average has follows from the type
        return pa.scalar(value, data_type).as_py()
    return float(value) if pa.types.is_floating(data_type) and isinstance(value, int) else value


# -- joins by time -------------------------------------------------------------------------------------------------


def _time_join(d: Definition, node: n.BandJoin | n.TumblingJoin, guard: Guard) -> list[Tup]:
    """Pairs, and rows without a partner; under ``generous`` also those of late rows (see ``_as_seen``)."""
    left, right = d.admitted(node.left, node.left_time), d.admitted(node.right, node.right_time)
    if d.policy == "generous":
        left, right = (ending.with_open_keys(d, side, keys - {time}, d.stream(side, time)) for side, time, keys in
                       zip(node.inputs, (node.left_time, node.right_time), compared(node), strict=True))
    near = [(one, other, _as_seen(node, guard, joined(one, other), (one, other)))
            for one, other in product(left, right) if _meet(node, one, other)]
    kept = d.expressions.holds(node.predicate, [t for *_, t in near], node.left, node.right)
    met = [pair for pair, keep in zip(near, kept, strict=True) if keep]
    partners = {one.key for one, _, _ in met}, {other.key for _, other, _ in met}
    if node.kind.left_only:
        return [_as_seen(node, guard, t, (t, None)) for t in left
                if (t.key in partners[LEFT]) is (node.kind is JoinKind.SEMI)]
    found = [t for *_, t in met]
    nothing = dict.fromkeys(node.columns)
    for side, rows in ((LEFT, left), (RIGHT, right)):
        if side in node.kind.preserved:
            found += [_as_seen(node, guard, replace(t, values={**nothing, **t.values}, key=(side, t.key)),
                               (t, None) if side == LEFT else (None, t))  # a stream may be both sides
                      for t in rows if t.key not in partners[side]]
    return sorted(found, key=lambda t: t.order)


def _as_seen(node: n.BandJoin | n.TumblingJoin, guard: Guard, row: Tup, of: tuple[Tup | None, Tup | None]) -> Tup:
    """What a join has made, with the bound that it came behind for an operator that goes by ``guard``.

    The bound on the time of one side is that of the row of this side. That holds whatever the other row is: the join
    promises of a left time no more than its left input does, and no more than what the right bound still reaches; a
    row of the right, also a late one, meets nothing behind that. As for instants it comes in with its last row. The
    bound on the greatest or the least of both times is the largest that one of the two rows came behind.
    """
    entered = max(t.enters for t in of if t is not None)
    if guard == TIME:
        return replace(row, entered=entered, late_by=entered if entered > row.ts else None)
    times = {node.left_time: of[LEFT], node.right_time: of[RIGHT]}
    if isinstance(guard, Chosen):
        late = [later(t.late_by, part.by) for part in guard.of
                if (t := times[part.column]) is not None and t.late_by is not None]
        return replace(row, entered=entered, late_by=max(late, default=None))
    seen = times.get(guard or "")
    return replace(row, entered=entered, late_by=None if seen is None else seen.late_by)


def _meet(node: n.BandJoin | n.TumblingJoin, one: Tup, other: Tup) -> bool:
    """Whether two times are near each other; a late row meets what a row at the bound it came behind could meet, too,
    or one that comes later."""
    left, right = attribute_of(one, node.left_time), attribute_of(other, node.right_time)
    return operators.in_band(node, left, right) and \
        (one.late_by is None or right >= operators.kept_right(node, one.late_by)) and \
        (other.late_by is None or left >= operators.kept_left(node, other.late_by))
