"""Results that stay: of internal windows for ever, of internal ones beside external ones with the external rows.

The plan runs as if all its windows were external, and what is born there is put out. Where a result may be born twice,
because EXISTS has shown and hidden a row of it, it is known by the rows it comes from, as long as all of them are in
their windows: after that it cannot come again.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Protocol

from panewise.core.scalar import Scalar
from panewise.kernels.relations.delta import Uids
from panewise.kernels.relations.distinct import DistinctByCount
from panewise.kernels.relations.join import WindowJoin
from panewise.kernels.relations.operator import RelationOperator
from panewise.kernels.relations.refresh import RefreshClock
from panewise.kernels.relations.stateless import ProjectRows, RenameRows
from panewise.kernels.relations.staying import NoteRows, PadRows, StayOn, is_hidden
from panewise.kernels.relations.to_stream import Produced, SnapshotStream
from panewise.plan import nodes as n
from panewise.planner.forms import is_append_only, is_internal, is_mixed, shows_groups
from panewise.planner.labels import Label
from panewise.planner.recurring import SINGLE_ROWS, asks_for_matches, matches_leave, recurs
from panewise.planner.refreshing import externalised, windows_move_in_steps
from panewise.queries.relations.predicates import match_of
from panewise.queries.relations.styles import Style, queue_for
from panewise.queries.relations.tree import Stage
from panewise.queries.relations.watches import Watch


class Compiles(Protocol):
    """What is needed of the compiler."""

    uids: Uids
    style: Style
    watch: Watch

    def watching(self, watch: Watch) -> AbstractContextManager[None]:
        """While somebody wants to know something else."""

    def relation(self, node: n.Node) -> Stage:
        """A node as a relation at every instant."""

    def filter(self, node: n.Filter, below: Stage) -> Stage:
        """Some rows."""

    def union(self, node: n.Union, parts: list[Stage]) -> Stage:
        """Rows of all parts."""

    def join(self, node: n.Join, left: Stage, right: Stage) -> Stage:
        """Pairs of two stages."""

    def existence(self, node: n.SemiJoin | n.AntiJoin, left: Stage, right: Stage) -> Stage:
        """Rows with a match, or without."""

    def lifetime(self, node: n.Lifetime, below: Stage) -> Stage:
        """What happens before the end."""

    def with_vectors(self, *stages: Stage) -> tuple[Stage, ...]:
        """Inputs of an operator that reads expiry vectors."""

    def has_ends(self, stage: Stage) -> bool:
        """Rows may leave before they said."""

    def stage(self, node: n.Node, operator: RelationOperator, *inputs: Stage) -> Stage:
        """An operator with its label."""


def produced(compiler: Compiles, node: n.Node, *, as_stream: bool = False) -> Stage:
    """Every result once; where windows move in steps, an aggregate produces a value at every step.

    ``as_stream``: nobody asks when the windows below move, only when there is another result.
    """
    inside, asked = externalised(node), compiler.watch
    every = shows_groups(node)
    watch = Watch(every=every) if as_stream else Watch(every=every, ticking=asked.ticking, clock=asked.clock)
    ticking = as_stream and asked.ticking
    if every and windows_move_in_steps(inside):
        clock = RefreshClock(beside=watch.clock)
        with compiler.watching(replace(watch, clock=clock)):
            below = compiler.relation(inside)
        queue = queue_for(below.label, compiler.style)
        return compiler.stage(node, SnapshotStream(below.schema, compiler.uids, queue, clock, ticking=asked.ticking),
                              below)
    with compiler.watching(watch):
        below = _Traced(compiler, named=True).all_once(inside) if recurs(inside) else compiler.relation(inside)
    return compiler.stage(node, Produced(below.schema, compiler.uids, ticking=ticking), below)


def staying(compiler: Compiles, node: n.Node) -> Stage:
    """Every result until the first of its external rows goes; one that EXISTS shows while any of its matches stays."""
    traced = _Traced(compiler, named=asks_for_matches(node))
    with compiler.watching(replace(compiler.watch, every=True)):
        below = traced.rows(node)
    if recurs(node):
        below = traced.once(below)
    below = traced.until_the_first_goes(below, [origin for origin in traced.origins if not origin.internal])
    if not all(origin.shown for origin in traced.origins):
        below = traced.one_of_each(below, [origin for origin in traced.origins if origin.shown])
    return compiler.stage(node, _shown(below), below)


def _shown(below: Stage) -> ProjectRows:
    names = [name for name in below.schema.names if not is_hidden(name)]
    return ProjectRows(below.schema, names, [Scalar.column(name) for name in names])


@dataclass(frozen=True)
class _Origin:
    """An input whose rows are followed through the plan."""

    note: NoteRows
    internal: bool
    strict: bool
    """Its rows leave at instants nobody knows beforehand."""
    shown: bool
    """Its rows are part of the results, and not only the reason why EXISTS shows them."""


class _Traced:
    """A plan as if all its windows were external, with hidden columns for the rows each result comes from."""

    def __init__(self, compiler: Compiles, *, named: bool) -> None:
        self.compiler, self.named = compiler, named
        self.origins: list[_Origin] = []
        self._shown = True

    def all_once(self, node: n.Node) -> Stage:
        """Each result of a plan when it first comes."""
        below = self.once(self.rows(node, internal=True))
        return Stage(_shown(below), (below,), below.label, "hidden")

    def rows(self, node: n.Node, *, internal: bool = False) -> Stage:
        """A node with what its rows come from; ``internal`` below a node that shows internal windows alone."""
        compiler, inside = self.compiler, externalised(node)
        internal = internal or is_internal(node)
        if not isinstance(inside, SINGLE_ROWS) or is_append_only(node) or not (
                recurs(node) if internal else is_mixed(node)):
            return self._origin(node if not internal else inside, internal)
        followed = node.inputs[:1] if isinstance(node, n.SemiJoin) else node.inputs
        below = [self.rows(part, internal=internal) for part in followed]
        match inside:
            case n.Filter():
                return compiler.filter(inside, below[0])
            case n.Lifetime():
                return compiler.lifetime(inside, below[0])
            case n.Project():
                hidden = [name for name in below[0].schema.names if is_hidden(name)]
                scalars = [*(item.scalar for item in inside.items), *map(Scalar.column, hidden)]
                return compiler.stage(inside, ProjectRows(below[0].schema, [*inside.columns, *hidden], scalars), *below)
            case n.Qualify():
                names = [name if is_hidden(name) else f"{inside.alias}.{name}" for name in below[0].schema.names]
                return compiler.stage(inside, RenameRows(below[0].schema, names), *below)
            case n.Union():
                hidden = sorted({name for part in below for name in part.schema.names if is_hidden(name)})
                return compiler.union(inside, [self._stage(PadRows(part.schema, hidden), part) for part in below])
            case n.Join():
                return compiler.join(inside, *below)
        assert isinstance(node, n.SemiJoin), node
        assert isinstance(inside, n.SemiJoin), inside
        if internal or is_internal(node.right) or not matches_leave(node):
            return compiler.existence(inside, below[0], compiler.relation(inside.right))
        return self._matches(inside, below[0], self._reasons(node.right))

    def _reasons(self, node: n.Node) -> Stage:
        before, self._shown = self._shown, False
        try:
            return self.rows(node)
        finally:
            self._shown = before

    def _matches(self, node: n.SemiJoin, left: Stage, right: Stage) -> Stage:
        """A left row once for each match."""
        match = match_of(node.predicate, left.schema, right.schema)
        strict = self.compiler.has_ends(left), self.compiler.has_ends(right)
        pairs = WindowJoin(left.schema, right.schema, match, self.compiler.uids, strict=strict, narrow=True)
        joined = Stage(pairs, (left, right), Label.strict(), "hidden")
        names = [*left.schema.names, *(name for name in right.schema.names if is_hidden(name))]
        return self._stage(ProjectRows(pairs.schema, names, [Scalar.column(name) for name in names]), joined)

    def _origin(self, node: n.Node, internal: bool) -> Stage:
        below = self.compiler.relation(node)
        strict = self.compiler.has_ends(below)
        known = not strict and (self.named or not internal)
        note = NoteRows(below.schema, len(self.origins), rows=self.named or (strict and not internal), until=known)
        self.origins.append(_Origin(note, internal, strict, self._shown))
        return self._stage(note, below)

    # -- above the plan

    def once(self, below: Stage) -> Stage:
        """Each result when it first comes; its rows say which it is, and are remembered while all of them are there."""
        return self.one_of_each(self.until_the_first_goes(below, self.origins), self.origins)

    def until_the_first_goes(self, below: Stage, origins: Sequence[_Origin]) -> Stage:
        """Results with the ends of some of their rows."""
        until = [origin.note.until for origin in origins if not origin.strict]
        strict = [origin.note for origin in origins if origin.strict]
        return Stage(StayOn(below.schema, until, strict), (below,), below.label, "stays")

    def one_of_each(self, below: Stage, origins: Sequence[_Origin]) -> Stage:
        """One of all that come from the same rows of some inputs."""
        queue = queue_for(Label.strict(), self.compiler.style)
        by = [origin.note.row for origin in origins]
        return Stage(DistinctByCount(below.schema, self.compiler.uids, queue, by), (below,), Label.strict(), "once")

    @staticmethod
    def _stage(operator: RelationOperator, below: Stage) -> Stage:
        return Stage(operator, (below,), below.label, "hidden")
