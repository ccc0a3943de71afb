"""When a group of a stream's rows, or a value, is complete: what the instants that are told say of the times in it.

All rows that still come are born at or after the bound of what was told. The time of a stream is its birth. A pair is
born at the later of its times, so a key that holds all of them is over with its own instant (a box, *joint*
punctuation); one time alone is over when no pair that is born later reaches back to it (a slab, *individual*
punctuation; Li 7.1, 7.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from panewise.core.join_kinds import LEFT, RIGHT
from panewise.kernels.relations.edges.closing import Closer
from panewise.plan import nodes as n
from panewise.planner.facts.join_windows import pairing_of
from panewise.planner.facts.read_columns import time_column
from panewise.planner.facts.result_forms import is_append_only
from panewise.progress.patterns import Below
from panewise.progress.punctuation import Punctuation
from panewise.windows.base import Clock
from panewise.windows.sliding import SlidingWindow

Lowest = Callable[[int], int]
"""The smallest value of a column in rows that are born at an instant or later."""


def closers(node: n.GroupAggregate | n.Distinct) -> list[Closer]:
    """The ways in which groups, or values, of an append-only stream come to an end; none where rows leave again.

    >>> from panewise.core.schema import SourceSchema
    >>> a, b = (n.Qualify(n.Source(s, SourceSchema({"ts": None}, time="ts")), s) for s in "ab")
    >>> pairs = n.BandJoin(a, b, "a.ts", "b.ts", 3, 2)
    >>> def at_ten(*keys):
    ...     grouped = n.GroupAggregate(pairs, tuple(n.NamedScalar.column(k) for k in keys), ())
    ...     return [(closer.places, closer.bound(10)) for closer in closers(grouped)]
    >>> at_ten("a.ts", "b.ts"), at_ten("a.ts"), at_ten("b.ts")
    ([((0, 1), 10)], [((0,), 7)], [((0,), 8)])
    """
    if not is_append_only(node.input) or (isinstance(node, n.GroupAggregate) and node.internal):
        return []
    keys: list[str | None] = list(node.columns) if isinstance(node, n.Distinct) else \
        [key.scalar.column_name for key in node.keys]
    birth = births(node.input)
    if birth is not None and set(birth) <= set(keys):
        return [Closer(tuple(keys.index(column) for column in birth), lambda upto: upto)]
    found = [(place, lowest(node.input, column)) for place, column in enumerate(keys) if column is not None]
    return [Closer((place,), bound) for place, bound in found if bound is not None]


def births(node: n.Node) -> tuple[str, ...] | None:
    """The columns of which the latest says when a row was born; None where they are not to be seen."""
    match node:
        case n.Source():
            return None if node.schema.time is None else (node.schema.time,)
        case n.Filter() | n.Explode() | n.Lifetime() | n.TableJoin() | n.Qualify() | n.Project():
            below = births(node.input)
            names = [node.shown_as(column) for column in below or ()]
            return None if below is None or not all(names) else tuple(shown[-1] for shown in names)
        case n.Union():
            parts = [births(part) for part in node.parts]
            if any(found is None for found in parts):
                return None
            places = {frozenset(_place(part, column) for column in found or ())
                      for part, found in zip(node.parts, parts, strict=True)}
            return parts[0] if len(places) == 1 else None
        case n.TimePairs():
            left, right = births(node.left), births(node.right)
            if node.kind.left_only:
                return left
            return None if left is None or right is None else (*left, *right)
    return None


def _place(part: n.Node, column: str) -> int | str:
    """Where a column of a part of a union stands; by its name where the columns of a stream are not declared."""
    return part.columns.index(column) if column in part.columns else column


def lowest(node: n.Node, column: str) -> Lowest | None:
    """How far back a column reaches in rows that are born at an instant or later; None: not known."""
    match node:
        case n.Source():
            return (lambda upto: upto) if column == node.schema.time else None
        case n.BandJoin() | n.TumblingJoin():
            return _in_pairs(node, column)
        case n.Filter() | n.Lifetime() | n.Explode() | n.TableJoin() | n.Qualify() | n.Project() | n.Union():
            return _of_inputs(lowest, node, column)
    return None


def _of_inputs(reach: Callable[[n.Node, str], Lowest | None], node: n.Node, column: str) -> Lowest | None:
    """How far back a column reaches that is a column of every input, or of one: as far as the lowest of them."""
    found = [reach(below, name) for below, name in node.comes_from(column)]
    known = [bound for bound in found if bound is not None]
    return (lambda upto: min(bound(upto) for bound in known)) if known and len(known) == len(found) else None


def _in_pairs(node: n.BandJoin | n.TumblingJoin, column: str) -> Lowest | None:
    """A pair is born with a row of this side, or with one of the other, whose time says how old its partner may be."""
    side = LEFT if column in node.left.columns else RIGHT
    rows, others = node.inputs[side], node.inputs[1 - side]
    own, other = ((node.left_time, node.right_time), (node.right_time, node.left_time))[side]
    mine, theirs = lowest(rows, column), lowest(others, other)
    if mine is None or theirs is None or node.kind.left_only:
        return mine
    pairing = pairing_of(node)

    def found(upto: int) -> int:
        time = pairing.still_needed(side, theirs(upto))
        return min(mine(upto), time if column == own else mine(time))

    return found


def promised(plan: n.Node, upto: int) -> list[Punctuation]:
    """What is known of all results to come, once everything born before an instant is told, in the plan's columns.

    >>> from panewise.core.schema import SourceSchema
    >>> a, b = (n.Qualify(n.Source(s, SourceSchema({"ts": None}, time="ts")), s) for s in "ab")
    >>> [str(p) for p in promised(n.Distinct(n.BandJoin(a, b, "a.ts", "b.ts", 3, 2)), 10)]
    ['(a.ts < 7)', '(b.ts < 8)', '(a.ts < 10, b.ts < 10)']
    """
    match plan:
        case n.Project() if not is_append_only(plan):
            names = {item.name: item.scalar.column_name for item in plan.items if item.scalar.column_name is not None}
            return [below for promise in promised(plan.input, upto) for below in promise.translate(names)]
        case n.Filter() | n.Explode() if not is_append_only(plan):
            return promised(plan.input, upto)
        case n.Distinct() if is_append_only(plan.input):
            return promised(plan.input, upto)
        case n.RelationToStream(kind=n.RelationToStreamKind.ISTREAM) if is_append_only(plan.input):
            return promised(plan.input, upto)
        case n.GroupAggregate():
            boxes = [_below((plan.keys[place].name for place in closer.places), closer.bound(upto))
                     for closer in closers(plan) if len(closer.places) > 1]
            keys = {key.scalar.column_name: key.name for key in plan.keys} if is_append_only(plan.input) else {}
            slabs = [(keys[column], bound) for column, bound in _slabs(plan.input, upto) if column in keys]
            return [*(_below([name], bound) for name, bound in slabs), *boxes]
    if not is_append_only(plan):
        return [_below([column], bound(upto)) for column in plan.columns
                if (bound := _shown_from(plan, column)) is not None]
    birth = births(plan)
    boxes = [] if birth is None or len(birth) < 2 else [_below(birth, upto)]
    return [*(_below([column], bound) for column, bound in _slabs(plan, upto)), *boxes]


def _shown_from(node: n.Node, column: str) -> Lowest | None:
    """How far back a column reaches in the rows that a relation shows at an instant or later, late ones included; None:
    not known. What comes in is shown, and what leaves was shown just before."""
    match node:
        case n.RelationToStream() if node.output_window is None:
            below = _shown_from(node.input, column)
            return None if below is None else lambda upto: below(upto - 1)
        case n.Window(clause=clause) if isinstance(clause.spec, SlidingWindow) and clause.spec.clock is Clock.TIME:
            back = clause.spec.range + clause.spec.slide + clause.spec.lag
            return (lambda upto: upto - back) if column == clause.attribute == time_column(node.input) else None
        case n.Filter() | n.Distinct() | n.SemiJoin() | n.AntiJoin() | n.BagDifference() | n.Explode() | n.Qualify() | \
                n.Project() | n.Join() | n.Union():
            return _of_inputs(_shown_from, node, column)
    return None


def _slabs(plan: n.Node, upto: int) -> list[tuple[str, int]]:
    found = [(column, lowest(plan, column)) for column in plan.columns]
    return [(column, bound(upto)) for column, bound in found if bound is not None]


def _below(columns: Iterable[str], bound: int) -> Punctuation:
    return Punctuation.of({name: Below(bound) for name in columns})
