"""What happens between instants: rows that come and go, and the form in which a plan reports it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from panewise.core.beginning import ALWAYS
from panewise.engines.oracle.tuples import Tup, one_zero, sortable, value_of
from panewise.plan.nodes import Node

if TYPE_CHECKING:
    from panewise.engines.oracle.definition import Definition


@dataclass(frozen=True)
class Change:
    """One copy of a row enters (+1) or leaves (-1) the relation at an instant."""

    tau: int
    sign: int
    row: dict[str, Any]


@dataclass(frozen=True)
class Life:
    """One result from its first instant to the one at which it is gone; None: it stays."""

    row: dict[str, Any]
    valid_from: int
    expires_at: int | None


def changes_of(d: Definition, node: Node) -> list[Change]:
    """The net change of every instant, copies that leave first; equal rows are copies of one value."""
    found: list[Change] = []
    before: list[Tup] = []
    for tau in _told(d, node):
        now = d.relation(node, tau)
        for sign, old, new in ((-1, now, before), (+1, before, now)):
            rows = {value_of(t.values): one_zero(t.values) for t in new}
            moved: Counter[Hashable] = Counter(value_of(t.values) for t in new)
            moved -= Counter(value_of(t.values) for t in old)
            ordered = sorted(moved.elements(), key=lambda v: [sortable(x) for x in rows[v].values()])
            found += [Change(tau, sign, rows[value]) for value in ordered]
        before = now
    return found


def lives_of(d: Definition, node: Node) -> list[Life]:
    """Every result with the interval in which it was observed: two copies of a value are two lives."""
    born: dict[Hashable, tuple[int, Tup]] = {}
    gone: dict[Hashable, int] = {}
    for tau in _told(d, node):
        now = {t.key: t for t in d.relation(node, tau)}
        gone.update((key, tau) for key in born if key not in now and key not in gone)
        for key, row in now.items():
            born.setdefault(key, (tau, row))
    ordered = sorted(born.items(), key=lambda item: (item[1][0], item[1][1].age))
    return [Life(row.values, tau, gone.get(key)) for key, (tau, row) in ordered]


def _told(d: Definition, node: Node) -> list[int]:
    """When something is told: what holds over nothing together with what was always there."""
    return sorted({max(tau, ALWAYS) for tau in d.instants(node)})
