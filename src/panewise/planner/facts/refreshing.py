"""The refreshes a plan's windows share, and the same plan without them (Golab 3.3.4)."""

from __future__ import annotations

from dataclasses import replace

from panewise.core.errors import PlanError
from panewise.plan.nodes import GroupAggregate, Node, RelationToStream, Window
from panewise.planner.facts.result_forms import exposed_windows
from panewise.windows.base import Clock, WindowSpec
from panewise.windows.predicate import PredicateWindow
from panewise.windows.refreshing import moves_in_steps
from panewise.windows.sliding import SlidingWindow


def common_slide(node: Node) -> WindowSpec:
    """The window whose refreshes all windows share."""
    specs = [w.clause.spec for w in exposed_windows(node) if w.clause.spec.clock is Clock.TIME]
    slides = {(getattr(s, "slide", 1), getattr(s, "origin", 0) % getattr(s, "slide", 1)) for s in specs}
    if len(slides) != 1:
        raise PlanError("restore reports at the refreshes of all windows, so they need one common SLIDE; "
                        f"given: {', '.join(sorted(str(s) for s, _ in slides)) or 'none'}")
    return specs[0]


def windows_move_in_steps(node: Node) -> bool:
    """Whether all windows a plan shows stand still between refreshes."""
    specs = [window.clause.spec for window in exposed_windows(node)]
    return bool(specs) and all(spec.clock is Clock.TIME and moves_in_steps(spec) for spec in specs)


def eager(node: Node) -> Node:
    """The same plan with windows that move at every tick."""
    if isinstance(node, Window):
        return replace(node, clause=replace(node.clause, spec=_continuous(node.clause.spec)))
    return node.rebuilt(eager)


def restored(node: Node) -> Node | None:
    """What a restore form evaluates instead of its input, to report it at refreshes; None where it is no such form."""
    if not isinstance(node, RelationToStream) or not node.restore or getattr(common_slide(node.input), "slide", 1) <= 1:
        return None
    return eager(node.input)


def _continuous(spec: WindowSpec) -> WindowSpec:
    if isinstance(spec, PredicateWindow):
        return PredicateWindow(_continuous(spec.spec))
    if isinstance(spec, SlidingWindow) and spec.clock is Clock.TIME:
        return SlidingWindow(spec.range, 1, spec.origin, spec.lag)
    return spec


def externalised(node: Node) -> Node:
    """The same plan with all windows it shows external: the state operators work on (Golab 3.3.2)."""
    shown = {id(window) for window in exposed_windows(node)}

    def changed(below: Node) -> Node:
        if isinstance(below, Window):
            return replace(below, clause=replace(below.clause, internal=False)) if id(below) in shown else below
        again = below.rebuilt(changed)
        return replace(again, internal=False) if isinstance(again, GroupAggregate) else again

    return changed(node)
