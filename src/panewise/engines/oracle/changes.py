"""What happens between instants: rows that come and go, and the form in which a plan reports it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from panewise.engines.oracle import inputs
from panewise.engines.oracle.tuples import Tup, sortable, value_of
from panewise.plan.nodes import Distinct, GroupAggregate, Node, RelationToStream, RelationToStreamKind, Window
from panewise.planner.labels import label
from panewise.planner.patterns import UpdatePattern

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


class Form(Enum):
    """How a plan reports its results."""

    STREAM = "rows"                           # append-only: rows and nothing else
    EVENTS = "rows dated by their instant"    # Istream, Dstream, Rstream
    LIVES = "rows with valid_from, expires_at"  # the end of a result is known when it is produced
    CHANGES = "rows with change +1 or -1"     # it is not (strict non-monotonic)


def form_of(node: Node) -> Form:
    """The form of a plan's results, from its update pattern in the clock of time."""
    if inputs.is_append_only(node):
        return Form.STREAM
    top = node
    while len(top.inputs) == 1 and not isinstance(top, RelationToStream):
        top = top.inputs[0]
    dated = isinstance(top, RelationToStream) and top.kind is not RelationToStreamKind.WSTREAM
    if dated and _passes_through(node, top):
        return Form.EVENTS
    pattern = label(node).output.downgrade().pattern
    return Form.CHANGES if pattern is UpdatePattern.STR else Form.LIVES


def _passes_through(node: Node, top: Node) -> bool:
    while node is not top:
        if isinstance(node, Window | GroupAggregate | Distinct):
            return False
        node = node.inputs[0]
    return True


def changes_of(d: Definition, node: Node) -> list[Change]:
    """The net change of every instant, copies that leave first; equal rows are copies of one value."""
    found: list[Change] = []
    before: list[Tup] = []
    for tau in d.instants(node):
        now = d.relation(node, tau)
        for sign, old, new in ((-1, now, before), (+1, before, now)):
            rows = {value_of(t.values): t.values for t in new}
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
    for tau in d.instants(node):
        now = {t.key: t for t in d.relation(node, tau)}
        gone.update((key, tau) for key in born if key not in now and key not in gone)
        for key, row in now.items():
            born.setdefault(key, (tau, row))
    ordered = sorted(born.items(), key=lambda item: (item[1][0], item[1][1].age))
    return [Life(row.values, tau, gone.get(key)) for key, (tau, row) in ordered]
