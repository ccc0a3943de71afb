"""Results that stay: of internal windows for ever, of internal ones beside external ones with the external rows.

The plan runs as if all its windows were external, and what is born there is put out. Where a result may be born twice,
because EXISTS has shown and hidden a row of it, it is known by the rows it comes from, as long as all of them are in
their windows: after that it cannot come again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from panewise.kernels.relations.streams.staying import row_column, until_column
from panewise.plan import nodes as n
from panewise.plan.physical import Asked, Departures, Layout, Path, PhysicalNode, State, Structure, Style
from panewise.planner.facts.refreshing import externalised, windows_move_in_steps
from panewise.planner.facts.result_forms import is_append_only, is_internal, is_mixed, shows_groups
from panewise.planner.facts.returning_results import SINGLE_ROWS, asks_for_matches, matches_leave, recurs

if TYPE_CHECKING:
    from panewise.planner.choose.relation_plan import RelationPlanner


def produced(planner: RelationPlanner, node: n.Node, path: Path, *, as_stream: bool = False) -> PhysicalNode:
    """Every result once; where windows move in steps, an aggregate produces a value at every step.

    ``as_stream``: when the windows below move does not matter, only when there is another result.
    """
    inside, asked = externalised(node), planner.asked
    every = shows_groups(node)
    wanted = Asked(every=every) if as_stream else Asked(every=every, ticking=asked.ticking, clock=asked.clock)
    if every and windows_move_in_steps(inside):
        clock = planner.clock(beside=wanted.clock)
        with planner.asking(replace(wanted, clock=clock)):
            below = planner.relation(inside, path)
        return planner.made("SnapshotStream", node, path, below, keeps=(State(Layout.ROWS, planner.store(below)),),
                            options={"clock": clock, "refreshes": None})
    with planner.asking(wanted):
        traced = _Traced(planner, named=True)
        below = traced.all_once(inside, path) if recurs(inside) else planner.relation(inside, path)
    return planner.made("Produced", node, path, below, options={"ticking": as_stream and asked.ticking})


def staying(planner: RelationPlanner, node: n.Node, path: Path) -> PhysicalNode:
    """Every result until the first of its external rows goes; one that EXISTS shows while any of its matches stays."""
    traced = _Traced(planner, named=asks_for_matches(node))
    with planner.asking(replace(planner.asked, every=True)):
        below = traced.rows(node, path)
    if recurs(node):
        below = traced.once(below)
    below = traced.until_the_first_goes(below, [origin for origin in traced.origins if not origin.internal])
    if not all(origin.shown for origin in traced.origins):
        below = traced.one_of_each(below, [origin for origin in traced.origins if origin.shown])
    return planner.made("ProjectRows", node, path, below, departures=below.departures, because=below.because,
                        options={"columns": "shown"})


@dataclass(frozen=True)
class Origin:
    """An input whose rows are followed through the plan."""

    number: int
    internal: bool
    strict: bool
    """Its rows leave at instants that are not known beforehand."""
    shown: bool
    """Its rows are part of the results, and not only the reason why EXISTS shows them."""
    columns: tuple[str, ...]
    """The hidden columns that say which row it is, and until when that stays."""


class _Traced:
    """A plan as if all its windows were external, with hidden columns for the rows each result comes from."""

    def __init__(self, planner: RelationPlanner, *, named: bool) -> None:
        self.planner, self.named = planner, named
        self.origins: list[Origin] = []
        self._shown = True

    def all_once(self, node: n.Node, path: Path) -> PhysicalNode:
        """Each result of a plan when it first comes."""
        return self.planner.helper("ProjectRows", self.once(self.rows(node, path, internal=True)),
                                   options={"columns": "shown"})

    def rows(self, node: n.Node, path: Path, *, internal: bool = False) -> PhysicalNode:
        """A node with what its rows come from; ``internal`` below a node that shows internal windows alone."""
        planner, inside = self.planner, externalised(node)
        internal = internal or is_internal(node)
        if not isinstance(inside, SINGLE_ROWS) or is_append_only(node) or not (
                recurs(node) if internal else is_mixed(node)):
            return self._origin(node if not internal else inside, path, internal)
        first, followed = len(self.origins), node.inputs[:1] if isinstance(node, n.SemiJoin) else node.inputs
        below = [self.rows(part, (*path, i), internal=internal) for i, part in enumerate(followed)]
        match inside:
            case n.Filter() | n.Project() | n.Qualify() | n.Lifetime():
                return planner.over(inside, path, *below)
            case n.Union():
                return planner.over(inside, path, *(self._padded(part, first) for part in below))
            case n.Join():
                return planner.join(inside, path, *below)
        assert isinstance(node, n.SemiJoin), node
        assert isinstance(inside, n.SemiJoin), inside
        if internal or is_internal(node.right) or not matches_leave(node):
            return planner.existence(inside, path, below[0], planner.relation(inside.right, (*path, 1)))
        return self._matches(inside, path, below[0], self._reasons(node.right, (*path, 1)))

    def _padded(self, part: PhysicalNode, first: int) -> PhysicalNode:
        hidden = sorted(column for origin in self.origins[first:] for column in origin.columns)
        return self.planner.helper("PadRows", part, options={"hidden": tuple(hidden)})

    def _reasons(self, node: n.Node, path: Path) -> PhysicalNode:
        before, self._shown = self._shown, False
        try:
            return self.rows(node, path)
        finally:
            self._shown = before

    def _matches(self, node: n.SemiJoin, path: Path, left: PhysicalNode, right: PhysicalNode) -> PhysicalNode:
        """A left row once for each match."""
        joined = replace(self.planner.join(node, path, left, right, narrow=True), title="hidden")
        return self.planner.helper("ProjectRows", joined, options={"columns": "left"})

    def _origin(self, node: n.Node, path: Path, internal: bool) -> PhysicalNode:
        below = self.planner.relation(node, path)
        strict = below.departures.strict
        known = not strict and (self.named or not internal)
        number, self.planner.origins = self.planner.origins, self.planner.origins + 1
        rows = self.named or (strict and not internal)
        columns = (*([row_column(number)] if rows else []), *([until_column(number)] if known else []))
        self.origins.append(Origin(number, internal, strict, self._shown, columns))
        return self.planner.helper("NoteRows", below, options={"number": number, "rows": rows, "until": known})

    # -- above the plan

    def once(self, below: PhysicalNode) -> PhysicalNode:
        """Each result when it first comes; its rows say which it is, and are remembered while all of them are there."""
        return self.one_of_each(self.until_the_first_goes(below, self.origins), self.origins)

    def until_the_first_goes(self, below: PhysicalNode, origins: Sequence[Origin]) -> PhysicalNode:
        """Results with the ends of some of their rows."""
        until = tuple(until_column(origin.number) for origin in origins if not origin.strict)
        strict = tuple(origin.number for origin in origins if origin.strict)
        told = Departures.ANY_ORDER if not strict else Departures.EARLY if until else Departures.ALL
        return self.planner.helper("StayOn", below, "stays", departures=told, timed=True,
                                   options={"until": until, "strict": strict})

    def one_of_each(self, below: PhysicalNode, origins: Sequence[Origin]) -> PhysicalNode:
        """One of all that come from the same rows of some inputs."""
        by = tuple(row_column(origin.number) for origin in origins)
        structure = {Style.NEGATIVE: Structure.NUMBERS, Style.DIRECT: Structure.LIST}.get(self.planner.style,
                                                                                          Structure.CALENDAR)
        return self.planner.helper("DistinctByCount", below, "once", departures=Departures.ALL, timed=False,
                                   keeps=(State(Layout.ROWS, structure),), options={"by": by})
