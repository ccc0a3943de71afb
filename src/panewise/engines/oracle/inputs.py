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
from panewise.engines.oracle import operators, streams, tables, windows
from panewise.engines.oracle.late import NOTHING, TIME, Guard, bounds_after, kind_of, substreams
from panewise.engines.oracle.tuples import Tup, attribute_of, frozen, joined, ordinal
from panewise.plan.nodes import (
    BandJoin,
    Explode,
    Filter,
    Lifetime,
    Node,
    Project,
    Qualify,
    RelationToStream,
    RelationToStreamKind,
    Source,
    TableJoin,
    TumblingJoin,
    Union,
    WindowAggregate,
)
from panewise.planner.forms import is_append_only
from panewise.progress.punctuation import Between, Constant, OneOf, Punctuation

if TYPE_CHECKING:
    from panewise.engines.oracle.definition import Definition


def stream_of(d: Definition, node: Node, guard: Guard) -> list[Tup]:
    """The stream of one node; ``guard`` is the column whose bounds make a row late, in the node's own names."""
    match node:
        case Source():
            return _arrivals(d, node, guard)
        case Filter() | Project() | Explode() | Qualify():
            return operators.each_row(d, node, d.stream(node.inputs[0], operators.guard_below(node, guard)))
        case Union():
            guards = operators.guards_of_union(node, guard)
            parts = [d.stream(part, below) for part, below in zip(node.parts, guards, strict=True)]
            return sorted(operators.bag_union(node, parts), key=lambda t: t.order)
        case BandJoin() | TumblingJoin():
            return _time_join(d, node, takes_late=guard is None and not _joins_below(node))
        case TableJoin() if not tables.is_retroactive(node) and is_append_only(node.input):
            return tables.join_as_of_birth(d, node, d.stream(node.input, guard))
        case WindowAggregate():
            return windows.results(d, node, inside=guard is not None)
        case Lifetime():
            return [t for t in d.stream(node.input, guard) if t.enters < d.stop(node)]
        case RelationToStream() if node.kind is not RelationToStreamKind.WSTREAM:
            return streams.emitted(d, node)
        case _:
            return d.produced(node)


def broken_promises(d: Definition, node: Node, guard: Guard) -> list[Tup]:
    """The late rows of the sources below a node, as they entered: no selection on the way hides one."""
    match node:
        case Source():
            return [t for t in d.stream(node, guard) if t.late_by is not None]
        case Filter() | Project() | Explode() | Qualify() | Lifetime():
            return broken_promises(d, node.inputs[0], operators.guard_below(node, guard))
        case Union():
            guards = operators.guards_of_union(node, guard)
            return [t for part, below in zip(node.parts, guards, strict=True) for t in broken_promises(d, part, below)]
        case TableJoin():
            return broken_promises(d, node.input, guard)
    return []  # what other operators put out keeps the promises they make


# -- sources -------------------------------------------------------------------------------------------------------


def _arrivals(d: Definition, source: Source, guard: Guard) -> list[Tup]:
    schema = source.schema
    column = schema.time if guard == TIME else guard
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
    """Bounds in force, computed once for all rows that no punctuation tells apart."""

    def __init__(self, d: Definition, source: Source) -> None:
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


def _joins_below(node: BandJoin | TumblingJoin) -> bool:
    return any(isinstance(below, BandJoin | TumblingJoin) for side in node.inputs for below in side.walk())


def _time_join(d: Definition, node: BandJoin | TumblingJoin, *, takes_late: bool) -> list[Tup]:
    """Pairs; ``takes_late`` where nothing above waits for what the join promises, so that late rows do not harm."""
    left, right = d.admitted(node.left, node.left_time), d.admitted(node.right, node.right_time)
    if takes_late and d.policy == "generous":
        left, right = d.stream(node.left, node.left_time), d.stream(node.right, node.right_time)
    near = [(one, other, joined(one, other)) for one, other in product(left, right) if _meet(node, one, other)]
    kept = d.expressions.holds(node.predicate, [t.values for *_, t in near], node.left, node.right)
    met = [pair for pair, keep in zip(near, kept, strict=True) if keep]
    partners = {one.key for one, _, _ in met}, {other.key for _, other, _ in met}
    if node.kind.left_only:
        return [t for t in left if (t.key in partners[LEFT]) is (node.kind is JoinKind.SEMI)]
    found = [t for *_, t in met]
    nobody = dict.fromkeys(node.columns)
    for side, rows in ((LEFT, left), (RIGHT, right)):
        if side in node.kind.preserved:
            found += [replace(t, values={**nobody, **t.values}, key=(side, t.key))  # a stream may be both sides
                      for t in rows if t.key not in partners[side]]
    return sorted(found, key=lambda t: t.order)


def _meet(node: BandJoin | TumblingJoin, one: Tup, other: Tup) -> bool:
    """Whether two times are near each other; a late row meets what a row at the bound it came behind could meet, too,
    or one that comes later."""
    left, right = attribute_of(one, node.left_time), attribute_of(other, node.right_time)
    return operators.in_band(node, left, right) and \
        (one.late_by is None or right >= operators.kept_right(node, one.late_by)) and \
        (other.late_by is None or left >= operators.kept_left(node, other.late_by))
