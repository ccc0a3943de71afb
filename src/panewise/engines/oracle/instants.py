"""When anything can change: births, refreshes and expiries; finite for a finite timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from panewise.core.beginning import BEGINNING
from panewise.engines.oracle import relations, scopes, streams
from panewise.plan import nodes as n
from panewise.planner.facts.refreshing import windows_move_in_steps
from panewise.planner.facts.result_forms import exposed_windows, is_internal, is_retroactive, shows_groups
from panewise.windows.base import Clock

if TYPE_CHECKING:
    from panewise.engines.oracle.definition import Definition


def instants_of(d: Definition, node: n.Node, refreshes: bool) -> set[int]:
    """All instants at which the relation of a node can differ from the instant before, and the first if it has rows.

    Internal windows that move in steps have a value of every group at every refresh of all windows of the node.
    """
    found = _changing(d, node, refreshes)
    return found | set(d.refreshes(node) or ()) if is_internal(node) and shows_groups(node) else found


def _changing(d: Definition, node: n.Node, refreshes: bool) -> set[int]:
    match node:
        case n.Window():
            found = {t.ts for t in relations.window_rows(d, node)}
            for enter, end in _lives(d, node):
                found |= {enter} if end is None else {enter, end}
            return found | set((d.refreshes(node) or ()) if refreshes else ())
        case n.Source() | n.BandJoin() | n.TumblingJoin() | n.WindowAggregate():
            return {t.ts for t in relations.current_rows(d, node)}
        case n.Table():
            return {change.at for change in d.history(node)}
        case n.TableJoin():
            found = set(d.instants(node.input, refreshes=refreshes))
            return found | set(d.instants(node.table)) if is_retroactive(node) else found
        case n.RelationToStream():
            return streams.instants_of(d, node, refreshes)
        case n.GroupAggregate():
            return set(d.instants(node.input, refreshes=refreshes)) | (set() if node.keys else {BEGINNING})
        case n.Lifetime():
            return {t for t in d.instants(node.input, refreshes=refreshes) if t < d.stop(node)}
        case _:
            return {t for below in node.inputs for t in d.instants(below, refreshes=refreshes)}


def refresh_instants(d: Definition, node: n.Node) -> list[int] | None:
    """The instants at which the exposed windows of a plan move, while any shows something; None if not in steps.

    Each window refreshes from the first row it shows on, whenever one of them shows a row, up to the refresh at which
    the last of these has left. While all are empty nothing is refreshed: that a row will follow is not known then.
    """
    if not windows_move_in_steps(node):
        return None
    found: set[int] = set()
    periods = shown(d, node)
    for window in exposed_windows(node):
        first = min((enter for enter, _ in _lives(d, window)), default=None)
        if first is None:
            continue
        found.add(first)
        for since, until in periods:
            tau = scopes.next_move(window.clause.spec, max(since - 1, first))
            while tau is not None and tau <= until:
                found.add(tau)
                tau = scopes.next_move(window.clause.spec, tau)
    return sorted(found)


def shown(d: Definition, node: n.Node) -> set[tuple[int, int]]:
    """From when until when windows over time show rows; of one that never leaves only the refresh that shows it."""
    return {(enter, scopes.next_refresh(window.clause.spec, enter) if end is None else end)
            for window in exposed_windows(node) for enter, end in _lives(d, window)}


def _lives(d: Definition, node: n.Window) -> list[tuple[int, int | None]]:
    if node.clause.spec.clock is not Clock.TIME:
        return []
    found = [d.visible(node.clause.spec, value, born) for value, born in relations.window_values(d, node)]
    return [life for life in found if life is not None]
