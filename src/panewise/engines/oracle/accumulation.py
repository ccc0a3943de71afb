"""What a plan ever produced: the append-only reading of relations (internal windows, Golab 3.3.2; rule U9).

The state of every operator is that of external windows; only the output does not expire. A result of a plan with
both kinds of windows lives as long as the rows of its external inputs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from panewise.core.beginning import BEGINNING
from panewise.engines.oracle import operators
from panewise.engines.oracle.tuples import Tup, joined
from panewise.plan.nodes import Join, Node, PerRow, SemiJoin, Union
from panewise.planner.facts.result_forms import exposed_windows, is_internal, is_mixed, shows_groups

if TYPE_CHECKING:
    from panewise.engines.oracle.definition import Definition


def ever_produced(d: Definition, node: Node) -> list[Tup]:
    """Every result once, dated by the instant at which it first appeared.

    What holds over nothing has not appeared: it was there before. Where windows move in steps, an aggregate produces a
    value at every step, changed or not: ten values of a sum that moves every six seconds are a minute (Golab 3.4).
    """
    steps = d.refreshes(node) if shows_groups(node) else None
    known = {row.key for row in d.relation(node, BEGINNING, external=True)}
    found: dict[object, Tup] = {}
    for tau in d.instants(node) if steps is None else steps:
        for row in d.relation(node, tau, external=True):
            identity = row.key if steps is None else (row.key, tau)
            if tau > BEGINNING and identity not in found and identity not in known:
                found[identity] = replace(row, ts=tau, key=identity, expiry=None, own_time=None)
    return sorted(found.values(), key=lambda t: t.age)


def mixed_relation(d: Definition, node: Node, tau: int) -> list[Tup]:
    """Everything produced up to tau whose rows of external inputs are all still there; of EXISTS any match will do."""
    found: dict[object, Tup] = {}
    for since, row in d.mixed(node):
        if since <= tau and (row.expiry is None or tau < row.expiry):
            found.setdefault(row.key, row)
    return sorted(found.values(), key=lambda t: t.age)


def mixed_results(d: Definition, node: Node) -> list[tuple[int, Tup]]:
    """Every result of a plan with both kinds of windows, with its first instant; it ends with its external rows."""
    found: dict[object, tuple[int, Tup]] = {}
    for tau in d.instants(node):
        for row in _state(d, node, tau):
            found.setdefault((row.key, row.expiry), (tau, row))
    return list(found.values())


def _state(d: Definition, node: Node, tau: int) -> list[Tup]:
    """The rows a plan works on, as of external windows; each ends with the first of its external rows.

    External inputs are the largest parts of the plan without internal windows: what takes rows back there, a negation
    or an aggregate, takes back what was made of them.
    """
    if is_internal(node):
        return [replace(t, expiry=None) for t in d.relation(node, tau, external=True)]
    if not is_mixed(node):
        return [replace(t, expiry=_end(d, node, t, tau)) for t in _input(d, node, tau)]
    below = [_state(d, part, tau) for part in node.inputs]
    match node:
        case PerRow():
            return operators.each_row(d, node, below[0])
        case Union():
            return operators.bag_union(d, node, below)
        case Join():
            return operators.pairs(d, below[0], below[1], node.predicate, node.left, node.right)
        case SemiJoin():
            return _matched(d, node, below[0], below[1])
    raise NotImplementedError(f"internal windows beside external ones under {type(node).__name__} mean nothing")


def _matched(d: Definition, node: SemiJoin, left: list[Tup], right: list[Tup]) -> list[Tup]:
    """A left row once for each match: it stays as long as the pair would."""
    found: list[Tup] = []
    for row in left:
        kept = d.expressions.holds(node.predicate, [{**r.values, **row.values} for r in right], node.left,
                                   node.right)
        found += [replace(row, expiry=joined(row, r).expiry) for r, keep in zip(right, kept, strict=True) if keep]
    return found


def _input(d: Definition, node: Node, tau: int) -> list[Tup]:
    """What a plan with both kinds of windows makes its results of."""
    return d.relation(node, tau, external=not any(w.clause.internal for w in exposed_windows(node)))


def _end(d: Definition, node: Node, row: Tup, tau: int) -> int | None:
    """The first instant after tau without the row."""
    later = (t for t in d.instants(node) if t > tau)
    return next((t for t in later if all(row.key != other.key for other in _input(d, node, t))), None)
