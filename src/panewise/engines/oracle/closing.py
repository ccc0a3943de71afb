"""When windows close: bounds at the operator, from the promises of the sources below it.

Bounds travel up a plan as any sound operator may pass them on: unchanged through filters, the smallest over a union
(Meld), moved by the ranges through a join of streams (Li 7.1). Everything else promises nothing before the end.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from panewise.core.schema import ROW_NUM_NAMES
from panewise.engines.oracle import operators
from panewise.engines.oracle.late import EVERYTHING, NOTHING, Guard, bounds_after
from panewise.engines.oracle.tuples import Tup
from panewise.plan.nodes import (
    BandJoin,
    Explode,
    Filter,
    Node,
    Project,
    Qualify,
    Source,
    TumblingJoin,
    Union,
    WindowAggregate,
)
from panewise.windows.base import Rows
from panewise.windows.session import SessionWindow
from panewise.windows.tuple_slide import TupleSlideWindow

if TYPE_CHECKING:
    from panewise.engines.oracle.definition import Definition


class Progress:
    """The progress of one window operator, over the rows of one partition."""

    def __init__(self, d: Definition, node: WindowAggregate, part: Sequence[Tup]) -> None:
        self.d, self.node, self.part = d, node, part
        self._bounds: dict[str, list[tuple[int, int]]] = {}

    def closed_at(self, wid: int, key: Mapping[str, Any], rows: Rows) -> int:
        """The place of the first item after which no row of the group can enter the window; the end at the latest."""
        steps = self._steps(key)  # bounds never go back, so a window that is closed stays closed
        first = bisect_left(steps, True, key=lambda step: self._closed(wid, step[1], rows))
        return steps[first][0] if first < len(steps) else self.d.end

    def _steps(self, key: Mapping[str, Any]) -> list[tuple[int, int]]:
        """Places with the bound that holds after them."""
        if self.node.window.attribute in ROW_NUM_NAMES:  # every row says that the next has the next position
            return [(t.order[0], i) for i, t in enumerate(self.part, start=2)]
        named = {k.scalar.column_name: key[k.name] for k in self.node.keys if k.scalar.column_name is not None}
        if isinstance(self.node.window.spec, TupleSlideWindow):  # a row of another group may still define a window
            named = {}
        constants = {c: self.part[0].values[c] for c in self.node.window.partition} | named
        if repr(constants) not in self._bounds:
            bounds = bounds_of(self.d, self.node.input, self.node.window.attribute, constants)
            self._bounds[repr(constants)] = list(enumerate(bounds))
        return self._bounds[repr(constants)]

    def _closed(self, wid: int, bound: int, rows: Rows) -> bool:
        if bound in {NOTHING, EVERYTHING}:
            return bound == EVERYTHING
        spec = self.node.window.spec
        if isinstance(spec, SessionWindow):  # a row at the very end of a session still prolongs it
            return bool(spec.complete(rows, bound)[spec.members(wid, rows)].all())
        try:
            return wid < spec.closed_below(bound)
        except NotImplementedError:
            return False


def bounds_of(d: Definition, node: Node, attribute: Guard, constants: Mapping[str, Any]) -> list[int]:
    """For every place the lower bound on an attribute of all rows with these constants the node can still put out."""
    match node:
        case Source() if attribute is not None:
            return bounds_after(node, attribute, constants, d.timeline, d.progress_of(node.name))
        case Filter() | Project() | Explode() | Qualify():
            moved = {operators.guard_below(node, c): v for c, v in constants.items()}
            named = {c: v for c, v in moved.items() if c is not None}
            return bounds_of(d, node.inputs[0], operators.guard_below(node, attribute), named)
        case Union():
            names = [dict(zip(node.columns, part.columns, strict=True)) for part in node.parts]
            parts = [bounds_of(d, part, part_names.get(attribute or "", attribute),
                               {part_names.get(c, c): v for c, v in constants.items()})
                     for part, part_names in zip(node.parts, names, strict=True)]
            return [min(at) for at in zip(*parts, strict=True)]
        case BandJoin() | TumblingJoin() if attribute in {node.left_time, node.right_time}:
            left = bounds_of(d, node.left, node.left_time, _of(constants, node.left))
            right = bounds_of(d, node.right, node.right_time, _of(constants, node.right))
            own, other = (left, right) if attribute == node.left_time else (right, left)
            return [min(a, _reach(node, attribute, b)) for a, b in zip(own, other, strict=True)]
        case _:
            return [NOTHING] * d.end


def _reach(node: BandJoin | TumblingJoin, attribute: Guard, bound: int) -> int:
    """How far back a new row of the other side reaches: a result needs one new row, of either side."""
    if bound in {NOTHING, EVERYTHING}:
        return bound
    if isinstance(node, TumblingJoin):
        return bound // node.range * node.range  # Li erratum E10: rounded down
    return bound - (node.left_range if attribute == node.left_time else node.right_range)


def _of(constants: Mapping[str, Any], side: Node) -> dict[str, Any]:
    return {c: v for c, v in constants.items() if c in side.columns}
