"""What a plan ever produced: the append-only reading of relations (internal windows, Golab 3.3.2; rule U9).

The state of every operator is that of external windows; only the output does not expire. A result of a plan with
both kinds of windows lives as long as the rows of its external windows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from panewise.engines.oracle.tuples import Tup
from panewise.plan.nodes import GroupAggregate, Node
from panewise.planner.forms import exposed_windows, is_internal, is_mixed

if TYPE_CHECKING:
    from panewise.engines.oracle.definition import Definition

__all__ = ["ever_produced", "exposed_windows", "internal_relation", "is_internal", "is_mixed", "mixed_relation"]


def ever_produced(d: Definition, node: Node) -> list[Tup]:
    """Every result once, dated by the instant at which it first appeared.

    Where windows move in steps, an aggregate produces a value at every step, changed or not: ten values of a sum
    that moves every six seconds are a minute (Golab 3.4).
    """
    steps = d.refreshes(node) if any(isinstance(n, GroupAggregate) for n in node.walk()) else None
    found: dict[object, Tup] = {}
    for tau in d.instants(node) if steps is None else steps:
        for row in d.relation(node, tau, external=True):
            identity = row.key if steps is None else (row.key, tau)
            if identity not in found:
                found[identity] = replace(row, ts=tau, key=identity, expiry=None)
    return sorted(found.values(), key=lambda t: t.age)


def internal_relation(d: Definition, node: Node, tau: int) -> list[Tup]:
    """Everything produced up to tau."""
    return [row for row in d.produced(node) if row.ts <= tau]


def mixed_relation(d: Definition, node: Node, tau: int) -> list[Tup]:
    """Everything produced up to tau whose rows of external windows are all still there."""
    alive = {(id(w), row.key) for w in exposed_windows(node) if not w.clause.internal
             for row in d.relation(w, tau, external=True)}
    return [row for row in d.produced(node) if row.ts <= tau and row.parts <= alive]
