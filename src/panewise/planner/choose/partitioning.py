"""By which columns a plan can be split: rows with different values never meet, so each part runs on its own.

A *placement* gives every input the column whose value says where a row goes, and says which output columns carry that
value. Each operator allows some: a join those in which both sides of an equality are the key, DISTINCT those in which
the key is still visible, a window by rows those of its PARTITION BY. What no placement allows runs in one piece.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from panewise.core.join_kinds import LEFT, RIGHT
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.plan import nodes as n
from panewise.planner.facts.equi_keys import join_condition
from panewise.planner.facts.result_forms import Form, form_of
from panewise.windows.base import Clock

MOST = 64
"""So many placements are followed; queries have few columns that are equal to each other."""


@dataclass(frozen=True)
class Placement:
    """One way to split a plan."""

    keys: tuple[tuple[str, str], ...]
    """Input and column, in the order of the plan."""
    visible: frozenset[str]
    """The output columns that have the value of the key."""
    everywhere: frozenset[str] = frozenset()
    """Tables of which every part needs all rows."""

    def column(self, stream: str) -> str | None:
        """The key of an input; None when every part needs all of it."""
        return dict(self.keys).get(stream)

    def showing(self, visible: Iterable[str]) -> Placement:
        """The same with other columns to see it in."""
        return Placement(self.keys, frozenset(visible), self.everywhere)

    def beside(self, other: Placement, visible: Iterable[str]) -> Placement | None:
        """Both at once; None when one input would need two keys."""
        keys = dict(self.keys)
        for stream, column in other.keys:
            if keys.setdefault(stream, column) != column:
                return None
        everywhere = self.everywhere | other.everywhere
        return None if everywhere & keys.keys() else Placement(tuple(keys.items()), frozenset(visible), everywhere)


def placement(plan: n.Node) -> Placement | None:
    """The best way to split a plan, or None: then it runs in one piece.

    >>> from panewise.core.schema import SourceSchema
    >>> a, b = (n.Qualify(n.Source(s, SourceSchema({"ts": None, "k": None}, time="ts")), s) for s in ("a", "b"))
    >>> placement(n.Join(a, b, Scalar.parse("`a.k` = `b.k`"))).keys
    (('a', 'k'), ('b', 'k'))
    """
    # changes at one instant cancel out when the rows are equal, so equal rows must meet
    told_apart = form_of(plan) in (Form.CHANGES, Form.EVENTS)
    found = [p for p in _placements(plan) if p.visible or not told_apart]
    return max(found, key=lambda p: len(p.visible), default=None)


def _placements(node: n.Node) -> list[Placement]:
    seen: dict[tuple[object, ...], Placement] = {}
    for found in _of(node):
        seen.setdefault((found.keys, found.visible), found)
        if len(seen) >= MOST:
            break
    return list(seen.values())


def _of(node: n.Node) -> Iterator[Placement]:
    match node:
        case n.Source() | n.Relayed():
            yield from (Placement(((node.name, c),), frozenset({c})) for c in node.columns)
        case n.Table():  # not by its time: a row that deletes has another than the one it takes away
            apart = node.schema.key or [c for c in node.columns if c != node.schema.time]  # rows of one key meet
            yield from (Placement(((node.name, c),), frozenset({c})) for c in apart)
        case n.Filter() | n.Explode():
            yield from _placements(node.inputs[0])
        case n.Qualify():
            yield from (p.showing(f"{node.alias}.{c}" for c in p.visible) for p in _placements(node.input))
        case n.Project():
            for p in _placements(node.input):
                yield p.showing(i.name for i in node.items if i.scalar.column_name in p.visible)
        case n.Window():
            yield from (p for p in _placements(node.input) if _stays_together(node.clause, p))
        case n.Union() | n.BagDifference():
            yield from _by_position(node)
        case n.Join():
            yield from _pairs(node.left, node.right, node.predicate, frozenset({LEFT, RIGHT}))
            yield from _beside_tables(node.left, node.right)
            yield from _beside_tables(node.right, node.left)
        case n.BandJoin() | n.TumblingJoin():  # what is null for want of a partner says nothing of the place
            yield from _pairs(node.left, node.right, node.predicate, node.kind.whole)
        case n.SemiJoin() | n.AntiJoin():
            yield from _pairs(node.left, node.right, node.predicate, frozenset({LEFT}))
            yield from _beside_tables(node.left, node.right)
        case n.TableJoin():
            yield from _beside_tables(node.input, node.table)
        case n.Distinct():
            yield from (p for p in _placements(node.input) if p.visible)
        case n.GroupAggregate(internal=True):  # values come at refreshes, which go on while any row is there
            return
        case n.GroupAggregate() | n.WindowAggregate():
            for p in _placements(node.input):
                kept = [key.name for key in node.keys if key.scalar.column_name in p.visible]
                if kept and (isinstance(node, n.GroupAggregate) or _stays_together(node.window, p)):
                    yield p.showing(kept)
        case n.RelationToStream() if node.kind in (n.RelationToStreamKind.ISTREAM, n.RelationToStreamKind.DSTREAM):
            yield from (p for p in _placements(node.input) if p.visible)
        case _:  # Rstream and Wstream look at the whole relation whenever it changes, LIFETIME at the first row of all
            return


def _stays_together(clause: n.WindowClause, found: Placement) -> bool:
    """Whether a window over one part has the rows that the window over everything has of it."""
    if clause.internal or (clause.ordinal is OrdinalKind.ROWS and not clause.partition):
        return False
    if clause.ordinal is not OrdinalKind.ROWS and (clause.spec.clock is Clock.TIME or clause.spec.kind == "session"):
        return True
    return any(column in found.visible for column in clause.partition)


def _beside_tables(rows: n.Node, tables: n.Node) -> Iterator[Placement]:
    """Every part has all of the tables, and some of the rows that look at them; each row is somewhere once."""
    inputs = [below for below in tables.walk() if isinstance(below, n.Named)]
    names = frozenset(below.name for below in inputs)
    if all(isinstance(below, n.Table) for below in inputs):
        yield from (Placement(p.keys, p.visible, p.everywhere | names) for p in _placements(rows)
                    if not names & dict(p.keys).keys())


def _by_position(node: n.Node) -> Iterator[Placement]:
    """Columns correspond by their places; the result has the names of the first input."""
    names = node.inputs[0].columns
    for parts in product(*(_placements(part) for part in node.inputs)):
        places = [{place for place, column in enumerate(part.columns) if column in p.visible}
                  for part, p in zip(node.inputs, parts, strict=True)]
        shared = set.intersection(*places)
        if not shared:
            continue
        made: Placement | None = parts[0]
        for other in parts[1:]:
            made = made.beside(other, ()) if made is not None else None
        if made is not None:
            yield made.showing(names[place] for place in shared)


def _pairs(left: n.Node, right: n.Node, predicate: Scalar | None, shown: frozenset[int]) -> Iterator[Placement]:
    """Equal rows of both sides meet; ``shown`` are the sides whose columns say where a result is."""
    equal = [(pair.left.column_name, pair.right.column_name)
             for pair in join_condition(predicate, left.columns, right.columns).keys]
    for one, other in product(_placements(left), _placements(right)):
        if any(a in one.visible and b in other.visible for a, b in equal):
            seen = [side.visible for number, side in enumerate((one, other)) if number in shown]
            made = one.beside(other, frozenset().union(*seen))
            if made is not None:
                yield made
