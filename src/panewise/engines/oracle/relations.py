"""The bag of rows at one instant, operator by operator (Golab Definitions 1 and 2; Patroumpas and Sellis 4).

Within one tick rows expire, then arrive, then the query is evaluated (rule U15): the relation at tau is the state
after all rows of tau.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from panewise.core.beginning import ALWAYS, BEGINNING
from panewise.engines.oracle import accumulation, ending, grouping, operators, scopes, streams, tables
from panewise.engines.oracle.late import EVERYTHING, TIME, Guard
from panewise.engines.oracle.tuples import Tup, attribute_of, one_zero, partitions, value_of
from panewise.plan import nodes as n
from panewise.planner.facts.result_forms import is_internal, is_mixed, is_retroactive
from panewise.windows.base import Clock, WindowSpec

if TYPE_CHECKING:
    from panewise.engines.oracle.definition import Definition


def relation_of(d: Definition, node: n.Node, tau: int, *, external: bool) -> list[Tup]:
    """The relation as a user sees it: results of internal windows stay. Or with all windows ``external``: the state
    operators work on."""
    if not external and is_internal(node):
        return [row for row in d.produced(node) if row.ts <= tau]
    if not external and is_mixed(node):
        return accumulation.mixed_relation(d, node, tau)

    def below(place: int = 0) -> list[Tup]:
        return d.relation(node.inputs[place], tau, external=external)

    match node:
        case n.Lifetime():  # a query that has stopped reports nothing more: what it reported last stands
            return d.relation(node.input, min(tau, d.stop(node) - 1), external=external)
        case n.Source() | n.BandJoin() | n.TumblingJoin() | n.WindowAggregate():
            return [t for t in current_rows(d, node) if t.ts <= tau]
        case n.Table():
            return tables.contents(d, node, tau)
        case n.Window():
            return window_state(d, node, tau)
        case n.RelationToStream():
            return streams.relation_at(d, node, tau)
        case n.TableJoin():
            if is_retroactive(node):
                return tables.join_current(d, node, below(), tau)
            return tables.join_as_of_birth(d, node, below())
        case n.Distinct():
            return _distinct(d, node, tau, external)
        case n.PerRow():
            return operators.each_row(d, node, below())
        case n.Union():
            return operators.bag_union(d, node, [below(place) for place in range(len(node.parts))])
        case n.Join():
            return operators.pairs(d, below(0), below(1), node.predicate, node.left, node.right)
        case n.Existence():
            return _existence(d, node, below(0), below(1))
        case n.BagDifference():
            return bag_difference(operators.in_types(d, node, node.left, below(0)),
                                  operators.in_types(d, node, node.right, below(1)))
        case n.GroupAggregate():
            if tau < ALWAYS and not below() and d.relation(node.input, ALWAYS, external=external):
                return []  # it never had no rows
            groups = _groups(d, node, ending.of_open_groups(node, below()))
            return _episodes(d, node, groups, tau) if external else groups
    raise NotImplementedError(f"the oracle has no definition of {type(node).__name__}")


def current_rows(d: Definition, node: n.Node) -> list[Tup]:
    """The rows of a stream that is read without a window: whatever came since the query was registered."""
    rows = come_in(d, node, TIME)
    return d.since_registration(rows) if isinstance(node, n.Source) else rows


def come_in(d: Definition, node: n.Node, guard: Guard) -> list[Tup]:
    """The rows of a stream as a relation takes them in: late ones, under ``generous``, at the bound they came behind.

    Behind the end of the input there is no instant any more.
    """
    d.report_late_rows(node, guard)
    found = []
    for t in d.stream(node, guard):
        if not t.comes_late:
            found.append(replace(t, late_by=None, entered=None))
        elif d.policy == "generous" and t.enters < EVERYTHING:
            found.append(replace(t, ts=t.enters, own_time=t.ts, late_by=None, entered=None))
    return found


# -- windows -------------------------------------------------------------------------------------------------------


def window_rows(d: Definition, node: n.Window) -> list[Tup]:
    """The rows a window is taken over, oldest first: since registration, and passing its predicate.

    Of late rows those that a window by time still takes in, born at the bound that they came behind.
    """
    clause = node.clause
    rows = [t for t in come_in(d, node.input, clause.attribute) if t.own_time is None or _still_taken(d, node, t)] \
        if clause.spec.clock is Clock.TIME else d.admitted(node.input, TIME)
    return sorted(d.passing(d.since_registration(rows), clause.predicate, node.input), key=lambda t: t.age)


def _still_taken(d: Definition, node: n.Window, row: Tup) -> bool:
    """Whether a late row has some of its life left when it comes in."""
    spec, attribute = node.clause.spec, node.clause.attribute
    life = d.visible(spec, attribute_of(row, attribute), shown_from(spec, row))
    return life is not None and not spec.is_frozen(row.ts)


def shown_from(spec: WindowSpec, row: Tup) -> int:
    """The first instant at which a window over time may show a row: a late one waits for the next refresh."""
    return scopes.next_refresh(spec, row.ts) if row.own_time is not None else row.ts


def window_values(d: Definition, node: n.Window) -> list[tuple[int, int]]:
    """For every row its windowing attribute and when it may be shown."""
    return [(attribute_of(t, node.clause.attribute), shown_from(node.clause.spec, t)) for t in window_rows(d, node)]


def window_state(d: Definition, node: n.Window, tau: int) -> list[Tup]:
    """The rows in the scope of the window at tau; positions are counted by birth, then arrival (erratum P4)."""
    clause, spec = node.clause, node.clause.spec
    born = [t for t in window_rows(d, node) if t.ts <= tau]
    if not born:  # a calendar does not reach back to the beginning
        return []
    if spec.clock is Clock.TIME:
        scope = spec.scope(tau)
        seen = [t for t in born if scope.contains(attribute_of(t, clause.attribute)) and shown_from(spec, t) <= tau]
    else:
        seen = []
        for part in partitions(born, clause.partition):
            scope = spec.scope(len(part))
            numbered = enumerate(part, start=1)
            seen += [_at(node, t, position) for position, t in numbered if scope.contains(position)]
    return [_member(d, node, t) for t in sorted(seen, key=lambda t: t.age)]


def _at(node: n.Window, row: Tup, position: int) -> Tup:
    """A row with its position, where the window shows it."""
    return row.with_values({**row.values, n.POSITION_COLUMN: position}) if node.clause.numbered else row


def _member(d: Definition, node: n.Window, row: Tup) -> Tup:
    spec = node.clause.spec
    expiry = None
    if spec.clock is Clock.TIME:
        expiry = d.expiry(spec, attribute_of(row, node.clause.attribute), row.ts)
    return replace(row, expiry=expiry, own_time=None, entered=None)  # now it is a row of the instant it came in at


# -- operators that compare rows -----------------------------------------------------------------------------------


def _existence(d: Definition, node: n.Existence, left: list[Tup], right: list[Tup]) -> list[Tup]:
    """EXISTS and NOT EXISTS: left rows by whether any right row matches, whatever their number (Golab erratum E11)."""
    wanted = isinstance(node, n.SemiJoin)
    return [t for t in left
            if any(d.expressions.holds(node.predicate, [{**r.values, **t.values} for r in right], node.left,
                                       node.right)) is wanted]


def bag_difference(left: Sequence[Tup], right: Sequence[Tup]) -> list[Tup]:
    """Of k1 copies on the left and k2 on the right the k1 - k2 youngest of the left (rule U10)."""
    surplus = Counter(value_of(t.values) for t in left)
    surplus.subtract(Counter(value_of(t.values) for t in right))
    kept: list[Tup] = []
    for row in sorted(left, key=lambda t: t.age, reverse=True):
        value = value_of(row.values)
        if surplus[value] > 0:
            surplus[value] -= 1
            kept.append(row.with_values(one_zero(row.values)))
    return kept[::-1]


def _distinct(d: Definition, node: n.Distinct, tau: int, external: bool) -> list[Tup]:
    """One representative per value: the youngest (``recent``), or one that stays until it leaves (``keep``).

    What results are kept must not depend on which copy stands for a value where that is not known, because rows leave
    at any time or each replaces the one before: then it is the value that comes and goes.
    """
    rows = _youngest(d, node, tau, external) if node.policy == "recent" else _kept(d, node, tau, external)
    rows = [t.with_values(one_zero(t.values)) for t in rows]
    by_value = external and d.is_strict(node)
    return [replace(t, key=("value", value_of(t.values))) for t in rows] if by_value else rows


def _compared(d: Definition, node: n.Distinct, tau: int, external: bool) -> list[Tup]:
    return ending.of_open_groups(node, d.relation(node.input, tau, external=external))


def _youngest(d: Definition, node: n.Distinct, tau: int, external: bool) -> list[Tup]:
    rows = sorted(_compared(d, node, tau, external), key=lambda t: t.age)
    return sorted({value_of(t.values): t for t in rows}.values(), key=lambda t: t.age)


def _kept(d: Definition, node: n.Distinct, tau: int, external: bool) -> list[Tup]:
    before: list[Tup] = []
    kept: dict[Hashable, Tup] = {}
    for instant in [t for t in d.instants(node.input) if t < tau] + [tau]:
        rows = sorted(_compared(d, node, instant, external), key=_staying, reverse=True)
        rows.sort(key=lambda t: t.age)  # of rows that are as old as each other the one that stays longest comes first
        present = {t.key for t in rows}
        kept = {v: t for v, t in kept.items() if t.key in present}
        # Expiry comes before arrival in a tick: a lost representative is replaced by one that was there, the one
        # that stays longest (Golab erratum E8), and only for want of that by a row that has just come.
        old = {t.key for t in before}
        for row in sorted((t for t in rows if t.key in old), key=_staying, reverse=True):
            kept.setdefault(value_of(row.values), row)
        for row in rows:
            kept.setdefault(value_of(row.values), row)
        before = rows
    return sorted(kept.values(), key=lambda t: t.age)


def _staying(row: Tup) -> tuple[bool, int, tuple[int, tuple[int, ...]]]:
    return row.expiry is None, row.expiry or 0, row.age


def _episodes(d: Definition, node: n.GroupAggregate, rows: list[Tup], tau: int) -> list[Tup]:
    """Values of groups as results that are kept: one each time the rows of a group become others (Golab 3.3.2).

    A group that consists of the same rows again, after others came and went, has a value anew: external windows put it
    out again, and what internal ones put out is the same, only that it stays.
    """
    before: dict[Hashable, Tup] = {}
    for instant in d.instants(node):  # ascending, so that none needs another that is not known yet
        if instant >= tau:
            break
        before = {cast("tuple[Hashable, int]", t.key)[0]: t for t in d.relation(node, instant, external=True)}
    return [replace(t, key=before[t.key].key if t.key in before else (t.key, tau)) for t in rows]


def _groups(d: Definition, node: n.GroupAggregate, rows: list[Tup]) -> list[Tup]:
    """One row per group that has any; one that lost its last row vanishes (Patroumpas and Sellis 4.2).

    Without GROUP BY all rows are one group, which is there without any, as in SQL. It comes from no row then, so it is
    older than all that do.
    """
    found: list[Tup] = []
    if not node.keys and not rows:
        return [Tup(grouping.aggregates(d, node, []), BEGINNING, ("group", (), frozenset()), ())]
    for key, members in grouping.groups(d, node, sorted(rows, key=lambda t: t.age)):
        values = {**key, **grouping.aggregates(d, node, members)}
        newest = members[-1]
        identity = ("group", value_of(key), frozenset(t.key for t in members))
        found.append(Tup(values, newest.ts, identity, newest.order))
    return found
