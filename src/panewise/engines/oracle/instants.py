"""When anything can change: births, refreshes and expiries; finite for a finite timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from panewise.core.beginning import BEGINNING
from panewise.engines.oracle import relations, scopes, streams, tables
from panewise.engines.oracle.accumulation import exposed_windows, is_internal
from panewise.plan.nodes import (
    BandJoin,
    GroupAggregate,
    Lifetime,
    Node,
    RelationToStream,
    Source,
    Table,
    TableJoin,
    TumblingJoin,
    Window,
    WindowAggregate,
)
from panewise.planner.refreshing import windows_move_in_steps
from panewise.windows.base import Clock

if TYPE_CHECKING:
    from panewise.engines.oracle.definition import Definition


def instants_of(d: Definition, node: Node, refreshes: bool) -> set[int]:
    """All instants at which the relation of a node can differ from the instant before, and the first if it has rows."""
    match node:
        case Window():
            found = {t.ts for t in relations.window_rows(d, node)}
            for enter, end in _lives(d, node):
                found |= {enter} if end is None else {enter, end}
            return found | set((d.refreshes(node) or ()) if refreshes else ())
        case Source() | BandJoin() | TumblingJoin() | WindowAggregate():
            return {t.ts for t in relations.current_rows(d, node)}
        case Table():
            return {change.at for change in tables.changes_of(d, node)}
        case TableJoin():
            found = set(d.instants(node.input, refreshes=refreshes))
            return found | set(d.instants(node.table)) if tables.is_retroactive(node) else found
        case RelationToStream():
            return streams.instants_of(d, node, refreshes)
        case GroupAggregate():
            found = set(d.instants(node.input, refreshes=refreshes)) | (set() if node.keys else {BEGINNING})
            return found | set((d.refreshes(node) or ()) if is_internal(node) else ())  # a value at every refresh
        case Lifetime():
            return {t for t in d.instants(node.input, refreshes=refreshes) if t < d.stop(node)}
        case _:
            return {t for below in node.inputs for t in d.instants(below, refreshes=refreshes)}


def refresh_instants(d: Definition, node: Node) -> list[int] | None:
    """The instants at which the exposed windows of a plan move, while any shows something; None if not in steps.

    Each window refreshes from the first row it shows on; all stop together, when the last row of all has left. Windows
    that never show a row never refresh.
    """
    if not windows_move_in_steps(node):
        return None
    found: set[int] = set()
    last = last_shown(d, node)
    for window in exposed_windows(node):
        tau = min((enter for enter, _ in _lives(d, window)), default=None)
        while tau is not None and tau <= last:
            found.add(tau)
            tau = scopes.next_move(window.clause.spec, tau)
    return sorted(found)


def last_shown(d: Definition, node: Node) -> int:
    """When the last row of all windows over time has left."""
    lives = [life for window in exposed_windows(node) for life in _lives(d, window)]
    return max((enter if end is None else end for enter, end in lives), default=0)


def _lives(d: Definition, node: Window) -> list[tuple[int, int | None]]:
    if node.clause.spec.clock is not Clock.TIME:
        return []
    found = [d.visible(node.clause.spec, value, born) for value, born in relations.window_values(d, node)]
    return [life for life in found if life is not None]
