"""From a changing relation back to a stream: Istream, Dstream, Rstream, Wstream and the restore forms (Golab 3.4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING

from panewise.core.beginning import BEGINNING
from panewise.engines.oracle import scopes
from panewise.engines.oracle.tuples import Tup, value_of
from panewise.plan.nodes import Node, RelationToStream, RelationToStreamKind
from panewise.planner.facts.refreshing import common_slide, eager
from panewise.windows.base import Clock, WindowSpec

if TYPE_CHECKING:
    from panewise.engines.oracle.definition import Definition

Kind = RelationToStreamKind
Bag = Counter[Hashable]


def emitted(d: Definition, node: RelationToStream) -> list[Tup]:
    """The stream of Istream, Dstream or Rstream, every row dated by the instant at which it is put out."""
    if node.restore and getattr(common_slide(node.input), "slide", 1) > 1:  # else no result falls between refreshes
        return _restored(d, node)
    if node.kind is Kind.RSTREAM:
        steps = d.refreshes(node.input)
        times = [tau for tau in d.instants(node.input) if tau > BEGINNING] if steps is None else steps
        return [_dated(t, tau, i) for tau in times for i, t in enumerate(d.relation(node.input, tau))]
    return _differences(d, node.input, node.kind)


def relation_at(d: Definition, node: RelationToStream, tau: int) -> list[Tup]:
    """What a consumer sees at an instant: the current relation for Rstream, the output window for Wstream, else all
    that was put out."""
    if node.kind is Kind.RSTREAM:
        return d.relation(node.input, tau)
    if node.kind is not Kind.WSTREAM:
        return [t for t in d.stream(node) if t.ts <= tau]
    made = [t for t in d.produced(node.input) if t.ts <= tau]
    if node.output_window is None:
        return made
    spec = node.output_window.spec
    if spec.clock is Clock.TIME:
        scope = spec.scope(tau)
        return [replace(t, expiry=d.expiry(spec, t.ts, t.ts)) for t in made if scope.contains(t.ts)]
    scope = spec.scope(len(made))
    return [t for position, t in enumerate(made, start=1) if scope.contains(position)]


def instants_of(d: Definition, node: RelationToStream, refreshes: bool) -> set[int]:
    """When the stream grows, and when an output window lets go."""
    if node.kind is Kind.RSTREAM and not node.restore:
        return set(d.instants(node.input, refreshes=True))
    if node.kind is not Kind.WSTREAM:
        return {t.ts for t in emitted(d, node)}
    made = {t.ts for t in d.produced(node.input)}
    if node.output_window is None or node.output_window.spec.clock is not Clock.TIME:
        return made
    lives = [scopes.visible(node.output_window.spec, ts, ts) for ts in made]
    return made | {t for life in lives if life is not None for t in life if t is not None}


def _differences(d: Definition, node: Node, kind: Kind) -> list[Tup]:
    """What is there now and was not an instant ago, or the reverse; bags of values, so a replaced copy is no change.

    What holds over nothing was there before: it has not come, and it can go.
    """
    found: list[Tup] = []
    before = d.relation(node, BEGINNING)
    for tau in d.instants(node):
        now = d.relation(node, tau)
        gained, lost = _bag(now), _bag(before)
        gained, lost = gained - lost, lost - gained
        if kind is Kind.ISTREAM:  # of equal copies that came the youngest
            moved = _take(sorted(_only(now, before), key=lambda t: t.age)[::-1], gained)[::-1]
        else:  # and of those that went the oldest
            moved = _take(sorted(_only(before, now), key=lambda t: t.age), lost)
        found += [_dated(t, tau, i) for i, t in enumerate(moved)]
        before = now
    return found


# -- restore: nothing that lived between two refreshes is lost -----------------------------------------------------


def _restored(d: Definition, node: RelationToStream) -> list[Tup]:
    """The results of continuous evaluation, put out at the refreshes."""
    spec = common_slide(node.input)
    continuous = eager(node.input)
    if node.kind is not Kind.RSTREAM:
        events = _differences(d, continuous, node.kind)
        return [replace(t, ts=scopes.next_refresh(spec, t.ts)) for t in events]
    came, went = (_differences(d, continuous, kind) for kind in (Kind.ISTREAM, Kind.DSTREAM))
    if not came:
        return []
    found: list[Tup] = []
    previous, before = None, _bag(d.relation(continuous, BEGINNING))
    for tau in _restoring(d, continuous, spec, came, went):
        now = d.relation(continuous, tau)
        between = [t for t in came if (previous is None or t.ts > previous) and t.ts <= tau]
        gone = _bag([t for t in went if (previous is None or t.ts > previous) and t.ts <= tau])
        # Of equal copies the oldest leave first: what came and is not there any more was short-lived.
        new = _bag(now) - (before - gone)
        short = _take(sorted(between, key=lambda t: t.age), _bag(between) - new)
        found += [_dated(t, tau, i) for i, t in enumerate([*now, *short])]
        previous, before = tau, _bag(now)
    return found


def _restoring(d: Definition, continuous: Node, spec: WindowSpec, came: list[Tup], went: list[Tup]) -> list[int]:
    """The refreshes from the first that has a result on: those that report a change, and all while rows are shown."""
    first = scopes.next_refresh(spec, came[0].ts)
    found: set[int] = set()
    for since, until in d.shown(continuous) | {(t.ts, t.ts) for t in came + went}:
        tau: int | None = max(scopes.next_refresh(spec, since), first)
        while tau is not None and tau <= scopes.next_refresh(spec, until):
            found.add(tau)
            tau = scopes.next_move(spec, tau)
    return sorted(found)


# -- bags ----------------------------------------------------------------------------------------------------------


def _bag(rows: list[Tup]) -> Bag:
    return Counter(value_of(t.values) for t in rows)


def _only(rows: list[Tup], others: list[Tup]) -> list[Tup]:
    """Rows that are not among the others: where copies are equal it still counts which of them moved."""
    known = {(t.key, value_of(t.values)) for t in others}
    return [t for t in rows if (t.key, value_of(t.values)) not in known]


def _take(rows: list[Tup], wanted: Bag) -> list[Tup]:
    """The first rows of each value, as many as wanted."""
    left, taken = Counter(wanted), []
    for row in rows:
        value = value_of(row.values)
        if left[value] > 0:
            left[value] -= 1
            taken.append(row)
    return taken


def _dated(row: Tup, tau: int, position: int) -> Tup:
    return replace(row, ts=tau, key=("event", tau, position, row.key), expiry=None, own_time=None)
