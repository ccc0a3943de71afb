"""Groups that are over: what the rows of a stream that still come in time cannot belong to any more.

A row that comes in late at an instant is left out of a group, or a value, that was over by then: its
result is final. A row in time is never of such a group. The same holds of pairs of late rows where a window aggregate,
or another join, groups by a time of theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from panewise.engines.oracle import operators
from panewise.engines.oracle.tuples import Tup, ordinal
from panewise.plan import nodes as n
from panewise.planner.facts.result_forms import is_append_only

if TYPE_CHECKING:
    from panewise.engines.oracle.definition import Definition


def of_open_groups(node: n.GroupAggregate | n.Distinct, rows: Sequence[Tup]) -> list[Tup]:
    """The rows without those that came in late, when their group was over."""
    if not is_append_only(node.input) or (isinstance(node, n.GroupAggregate) and node.internal):
        return list(rows)
    columns = node.columns if isinstance(node, n.Distinct) else [key.scalar.column_name for key in node.keys]
    keys = {column for column in columns if column is not None}
    return [t for t in rows if t.own_time is None or not _over(node.input, keys, t.values, t.ts)]


def _over(node: n.Node, keys: set[str], values: Mapping[str, Any], tau: int) -> bool:
    """Whether no row in time that comes at an instant or later can have these values of the keys.

    Where the keys show every time that says when a row is born, the last of them does. Else one of them is enough
    that is behind the smallest value it can still have.
    """
    born = born_at(node)
    if born is not None and set(born) <= keys:
        times = [ordinal(values[c], c) for c in born if values[c] is not None]
        return bool(times) and max(times) < tau
    for column in keys:
        first = smallest(node, column, tau)
        if first is not None and values[column] is not None and ordinal(values[column], column) < first:
            return True
    return False


def with_open_keys(d: Definition, node: n.Node, columns: Iterable[str], rows: Sequence[Tup]) -> list[Tup]:
    """Rows without the pairs that are late by one of the columns: of no group below that bound was more to come."""
    gone = {t.key for column in columns if _is_time_of_pairs(node, column)
            for t in d.stream(node, column) if t.entered is not None and t.late_by is not None}
    return [t for t in rows if t.key not in gone]


def _is_time_of_pairs(node: n.Node, column: str) -> bool:
    """Whether a column is what some join below goes by."""
    if isinstance(node, n.BandJoin | n.TumblingJoin):
        return column in {node.left_time, node.right_time}
    if isinstance(node, n.Union):
        return any(_is_time_of_pairs(part, name) for part, name in operators.below(node, column)
                   if isinstance(name, str))
    return isinstance(node, n.PerRow) and _is_time_of_pairs(node.inputs[0], operators.column_below(node, column))


def born_at(node: n.Node) -> list[str] | None:
    """The columns of which the latest is the instant of a row; None where they are not all shown."""
    match node:
        case n.Source():
            return None if node.schema.time is None else [node.schema.time]
        case n.Filter() | n.Explode() | n.Lifetime() | n.TableJoin():
            return born_at(node.inputs[0])
        case n.Qualify() | n.Project():
            names = [node.shown_as(column) for column in born_at(node.input) or ()]
            return [shown[-1] for shown in names] if names and all(names) else None
        case n.Union():
            parts = [born_at(part) for part in node.parts]
            at = [None if found is None else {part.columns.index(c) for c in found}
                  for part, found in zip(node.parts, parts, strict=True)]
            return parts[0] if all(places == at[0] for places in at) else None
        case n.BandJoin() | n.TumblingJoin():
            sides = [born_at(side) for side in (node.inputs[:1] if node.kind.left_only else node.inputs)]
            return None if None in sides else [c for side in sides for c in side or ()]
    return None


def smallest(node: n.Node, column: str, tau: int) -> int | None:
    """The smallest value of a column in rows in time that come at an instant or later; None: it is not known.

    >>> from panewise.core.schema import SourceSchema
    >>> a, b = (n.Qualify(n.Source(s, SourceSchema({"ts": None}, time="ts")), s) for s in "ab")
    >>> pairs = n.BandJoin(a, b, "a.ts", "b.ts", 3, 2)
    >>> smallest(pairs, "a.ts", 10), smallest(pairs, "b.ts", 10)  # with b at 10, with a at 10
    (7, 8)
    """
    match node:
        case n.Source():
            return tau if column == node.schema.time else None
        case n.BandJoin() | n.TumblingJoin():
            return _in_pairs(node, column, tau)
        case n.Filter() | n.Lifetime() | n.Explode() | n.TableJoin() | n.Qualify() | n.Project() | n.Union():
            parts = [smallest(below, name, tau) for below, name in node.comes_from(column)]
            known = [part for part in parts if part is not None]
            return min(known) if known and len(known) == len(parts) else None
    return None


def _in_pairs(node: n.BandJoin | n.TumblingJoin, column: str, tau: int) -> int | None:
    """A pair comes with its row of this side, or with the other one, that reaches back to older rows of this side."""
    left = column in node.left.columns
    own, other = (node.left, node.right) if left else (node.right, node.left)
    own_time, other_time = (node.left_time, node.right_time) if left else (node.right_time, node.left_time)
    mine, theirs = smallest(own, column, tau), smallest(other, other_time, tau)
    if node.kind.left_only or mine is None or theirs is None:
        return mine
    reached = operators.kept_left(node, theirs) if left else operators.kept_right(node, theirs)
    again = reached if column == own_time else smallest(own, column, reached)
    return None if again is None else min(mine, again)

