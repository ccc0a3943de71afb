"""When windows close: bounds at the operator, from the promises of the sources below it.

Bounds travel up a plan as any sound operator may pass them on: unchanged through filters, the smallest over a union
(Meld), moved by the ranges through a join of streams (Li 7.1), and by a constant that is added. Everything else
promises nothing before the end.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from panewise.core.schema import ROW_NUM_NAMES
from panewise.engines.oracle import operators
from panewise.engines.oracle.late import EVERYTHING, NOTHING, Guard, bounds_after, later
from panewise.engines.oracle.tuples import Tup
from panewise.plan import nodes as n
from panewise.planner.facts.derived_times import Chosen
from panewise.windows.base import Rows
from panewise.windows.session import SessionWindow
from panewise.windows.tuple_slide import TupleSlideWindow

if TYPE_CHECKING:
    from panewise.engines.oracle.definition import Definition


class Progress:
    """The progress of one window operator, over the rows of one partition."""

    def __init__(self, d: Definition, node: n.WindowAggregate, part: Sequence[Tup]) -> None:
        self.d, self.node, self.part = d, node, part
        self._bounds: dict[str, list[tuple[int, int]]] = {}

    def closed_at(self, wid: int, key: Mapping[str, Any] | None, rows: Rows) -> int:
        """The place of the first item after which no row of the group (None: of any) can enter the window; the end at
        the latest."""
        steps = self._steps(key)  # bounds never go back, so a window that is closed stays closed
        first = bisect_left(steps, True, key=lambda step: self._closed(wid, step[1], rows))
        return steps[first][0] if first < len(steps) else self.d.end

    def _steps(self, key: Mapping[str, Any] | None) -> list[tuple[int, int]]:
        """Places with the bound that holds after them."""
        if self.node.window.attribute in ROW_NUM_NAMES:  # every row says that the next has the next position
            return [(t.order[0], i) for i, t in enumerate(self.part, start=2)]
        constants: dict[str, Any] = {}
        if key is not None:
            constants = {c: self.part[0].values[c] for c in self.node.window.partition}
            if not isinstance(self.node.window.spec, TupleSlideWindow):  # a row of any group may define a window
                constants |= {k.scalar.column_name: key[k.name] for k in self.node.keys
                              if k.scalar.column_name is not None}
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


def bounds_of(d: Definition, node: n.Node, attribute: Guard, constants: Mapping[str, Any]) -> list[int]:
    """For every place the lower bound on an attribute of all rows with these constants the node can still put out."""
    match node:
        case n.Source() if isinstance(attribute, str):
            return bounds_after(node, attribute, constants, d.timeline, d.progress_of(node.name))
        case n.PerRow():
            named = {operators.column_below(node, c): v for c, v in constants.items()}
            by = operators.moved_by(node, attribute)
            return [later(bound, by) for bound in bounds_of(d, *operators.below(node, attribute)[0], named)]
        case n.Union():
            known = [(operators.below(node, c), v) for c, v in constants.items()]
            parts = [bounds_of(d, part, guard, {name: v for found, v in known if isinstance(name := found[i][1], str)})
                     for i, (part, guard) in enumerate(operators.below(node, attribute))]
            return [min(at) for at in zip(*parts, strict=True)]
        case n.BandJoin() | n.TumblingJoin() if isinstance(attribute, Chosen):
            return _of_both(d, node, attribute, constants)
        case n.BandJoin() | n.TumblingJoin() if attribute in {node.left_time, node.right_time}:
            left = bounds_of(d, node.left, node.left_time, _of(constants, node.left))
            right = bounds_of(d, node.right, node.right_time, _of(constants, node.right))
            own, other = (left, right) if attribute == node.left_time else (right, left)
            return [min(a, _reach(node, attribute, b)) for a, b in zip(own, other, strict=True)]
        case _:
            return [NOTHING] * d.end


def _of_both(d: Definition, node: n.TimePairs, times: Chosen, constants: Mapping[str, Any]) -> list[int]:
    """The greatest of both times is below no bound on either (two slabs), and not below both (a box, Li 7.2): a new
    pair has a new row. The least is below neither."""
    slabs = [[later(bound, part.by) for bound in bounds_of(d, node, part.column, constants)] for part in times.of]
    if not times.greatest:
        return [min(at) for at in zip(*slabs, strict=True)]
    sides = {node.left_time: node.left, node.right_time: node.right}
    boxes = [[later(bound, part.by) for bound in
              bounds_of(d, sides[part.column], part.column, _of(constants, sides[part.column]))] for part in times.of]
    return [max(*slab, min(box)) for slab, box in zip(zip(*slabs, strict=True), zip(*boxes, strict=True), strict=True)]


def _reach(node: n.BandJoin | n.TumblingJoin, attribute: Guard, bound: int) -> int:
    """How far back a new row of the other side reaches: a result needs one new row, of either side."""
    if bound in {NOTHING, EVERYTHING}:
        return bound
    if isinstance(node, n.TumblingJoin):
        return node.bucket(bound)  # Li erratum E10: rounded down
    return bound - (node.left_range if attribute == node.left_time else node.right_range)


def _of(constants: Mapping[str, Any], side: n.Node) -> dict[str, Any]:
    return {c: v for c, v in constants.items() if c in side.columns}
