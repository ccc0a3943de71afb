"""The operators of a relation: from a logical plan to physical nodes, one short method per kind of node.

Demands go down (what is asked of the windows, how departures are to be told), properties come up (how they are told,
whether ends are known at birth). A kernel is named here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from panewise.aggregates.registry import resolve
from panewise.core.ages import numbered
from panewise.core.errors import UnsupportedError
from panewise.core.schema import ROW_NUM_NAMES, SourceKind
from panewise.plan import nodes as n
from panewise.plan.physical import (
    Algorithm,
    Asked,
    AtOnce,
    Departures,
    Layout,
    Path,
    PhysicalNode,
    State,
    Structure,
    Style,
)
from panewise.planner.choose import as_streams, results_that_stay
from panewise.planner.choose.joins_at_once import JoinedAtOnce
from panewise.planner.choose.node_maker import STR, NodeMaker, merges_states
from panewise.planner.cost.relation_flow import Flows
from panewise.planner.facts.closing import closers
from panewise.planner.facts.matches import needs_pairs
from panewise.planner.facts.read_columns import columns_of_elements, columns_read
from panewise.planner.facts.result_forms import (
    CHANGE,
    EXPIRES_AT,
    VALID_FROM,
    Form,
    form_of,
    is_append_only,
    is_internal,
    is_mixed,
    is_retroactive,
    stops,
)
from panewise.planner.facts.same_instant import meets_at_birth
from panewise.planner.rewrites.distinct import newest_row_is_enough
from panewise.windows.base import Clock as WindowClock

TIME = "<time>"
"""The guard that is the source's own time column, whatever it is called on the way."""
Guard = str | None
"""The column whose bounds decide what is late, in a node's own names; None: nothing is."""
PASSING = {n.Filter: "FilterRows", n.Project: "ProjectRows", n.Qualify: "RenameRows", n.Lifetime: "StopAfter"}
"""Nodes that drop rows, or show them otherwise, and pass on whatever is said of them."""
OF_ONE_INSTANT = "rows meet only those of their own instant, and are forgotten with it"
SENT, VECTORS, NAMED = Departures.ALL, Departures.VECTORS, Departures.NAMED
"""How a consumer wants to be told."""


class RelationPlanner(NodeMaker):
    """Makes the operators of one plan; every occurrence of a node gets operators of its own.

    ``generous`` says that late rows count where they can, ``flows`` what is known of the rows, ``at_once`` which joins
    are run as one.
    """

    def __init__(self, running: n.Node, style: Style, *, generous: bool = False, flows: Flows | None = None,
                 at_once: Sequence[JoinedAtOnce] = ()) -> None:
        super().__init__(running, style, flows)
        self.generous, self._at_once = generous, at_once
        self.origins = 0
        self._read = columns_read(running)
        self._read_of_elements = columns_of_elements(running)
        self._numbers = numbered(node.name for node in running.walk() if isinstance(node, n.Named))

    def root(self, form: Form, to: Departures = SENT) -> PhysicalNode:
        """The whole plan."""
        if form is Form.STREAM or form is Form.EVENTS:
            guard = TIME if form is Form.EVENTS or stops(self.running) else None
            with self.asking(Asked(late=self.generous)):
                return self.stream(self.running, guard)
        return self.relation(self.running, (), to)

    # -- relations

    def relation(self, node: n.Node, path: Path, to: Departures = SENT) -> PhysicalNode:
        """A node as a relation at every instant, whose consumer asks to be told of departures in this way."""
        if is_append_only(node):
            with self.asking(replace(self.asked, late=self.generous)):
                return self.stream(node, TIME, path)
        if is_internal(node):
            return results_that_stay.produced(self, node, path)
        if is_mixed(node):
            return results_that_stay.staying(self, node, path)
        below = (*path, 0)
        match node:
            case n.TableJoin() if self.style is Style.NEGATIVE and not is_retroactive(node):
                return self._told_after_the_table(node, path)
            case n.RelationToStream(kind=n.RelationToStreamKind.RSTREAM):
                return self.relation(node.input, below, to)
            case n.RelationToStream(kind=n.RelationToStreamKind.WSTREAM):
                return self._output_window(node, path)
            case n.RelationToStream():
                return as_streams.to_stream(self, node, path)
            case n.Filter() | n.Project() | n.Qualify() | n.Explode() | n.Lifetime() | n.Union():
                if isinstance(node, n.Explode | n.Lifetime):
                    to = SENT
                elif isinstance(node, n.Union) and to is NAMED:
                    to = VECTORS
                return self.over(node, path, *(self.relation(part, (*path, i), to)
                                               for i, part in enumerate(node.inputs)))
            case n.Window():
                return self._window(node, path)
            case n.Join() if (found := self._joined_at_once(node)) is not None:
                return self._many_join(found, path, to)
            case n.Join():
                return self.join(node, path, *self._both(node, path), to=to)
            case n.SemiJoin() | n.AntiJoin():
                return self.existence(node, path, *self._both(node, path), to=to)
            case n.BagDifference():
                return self._difference(node, path, *self._both(node, path))
            case n.GroupAggregate():
                return self._aggregate(node, path)
            case n.TableJoin():
                return self._table_join(node, path, to)
            case n.Distinct():
                return self._distinct(node, path)
            case n.Table():
                return self._table(node, path)
            case n.Relayed():
                return self._relayed(node, path)
        raise UnsupportedError(f"{type(node).__name__} is not yet run by the embedded engine; use engine='oracle'")

    def _both(self, node: n.Node, path: Path) -> tuple[PhysicalNode, PhysicalNode]:
        left, right = (self.relation(side, (*path, i), self.vectors) for i, side in enumerate(node.inputs))
        return left, right

    def over(self, node: n.Node, path: Path, *below: PhysicalNode) -> PhysicalNode:
        """An operator whose rows are those of its inputs, in part or shown otherwise."""
        match node:
            case n.Explode():
                return self.made("ExplodeRows", node, path, *below, options={"reads": self._read_of_elements.get(node)})
            case n.Union():  # where some parts carry vectors all do
                vectors = any(part.departures is VECTORS for part in below)
                return self.made("UnionRows", node, path, *below, departures=VECTORS if vectors else None)
        return self.made(PASSING[type(node)], node, path, *below, departures=below[0].departures,
                         because=below[0].because)

    def _window(self, node: n.Window, path: Path) -> PhysicalNode:
        clause, by_time = node.clause, node.clause.spec.clock is WindowClock.TIME
        with self.asking(Asked(ordered=self.asked.ordered or not by_time, late=by_time and self.generous)):
            below = self.stream(node.input, clause.attribute if by_time else TIME, (*path, 0))
        return self.windowed(node, path, clause, below)

    def windowed(self, node: n.Node, path: Path, clause: n.WindowClause, below: PhysicalNode) -> PhysicalNode:
        """A window over rows of a stream."""
        if clause.spec.clock is not WindowClock.TIME:
            return self.made("CountedWindow", node, path, below, timed=False, options={"clause": clause})
        negative = self.style is Style.NEGATIVE and self.seen(node) is STR
        return self.made("TimeWindow", node, path, below, timed=not negative,
                         keeps=(State(Layout.TO_SEND) if negative else None,), options={"clause": clause})

    def join(self, node: n.Node, path: Path, left: PhysicalNode, right: PhysicalNode, *, to: Departures = SENT,
             **options: Any) -> PhysicalNode:
        """Pairs of two relations."""
        at_birth = _meet_at_birth(node, left, right)
        return self.made("WindowJoin", node, path, left, right, departures=self._of_pairs((left, right), to),
                         keeps=(None, None) if at_birth else (self.chains(left), self.chains(right)),
                         because=OF_ONE_INSTANT if at_birth else "", options={**options, "at_birth": at_birth})

    def _of_pairs(self, inputs: Sequence[PhysicalNode], to: Departures) -> Departures | None:
        if not any(below.departures.strict for below in inputs):
            return None
        if self.style is Style.UPA and to in {VECTORS, NAMED}:
            return to
        return Departures.EARLY if any(below.timed for below in inputs) else Departures.ALL

    def _joined_at_once(self, node: n.Join) -> JoinedAtOnce | None:
        return next((found for found in self._at_once if found.node == node), None) or \
            next((found.running for found in self._at_once if found.restore and found.running.node == node), None)

    def _many_join(self, found: JoinedAtOnce, path: Path, to: Departures) -> PhysicalNode:
        """A join of many windows as one operator; columns that were left out between joins are left out at its end."""
        places = {below: place for place, below in found.node.paths(path)}
        inputs = [self.relation(side, places[side], self.vectors) for side in found.inputs]
        joined = self.made("ManyJoin", found.node, path, *inputs,
                           departures=self._of_pairs(inputs, VECTORS if to is NAMED else to),
                           keeps=tuple(map(self.chains, inputs)),
                           algorithm=AtOnce(found.columns, found.key, found.manner, str(found)))
        names = [name for side in found.inputs for name in side.columns]
        if names == list(found.node.columns):
            return joined
        return self.helper("ProjectRows", joined, options={"columns": tuple(found.node.columns)})

    def _distinct(self, node: n.Distinct, path: Path) -> PhysicalNode:
        below = self.one_zero(self._of_open_groups(node, self.relation(node.input, (*path, 0), self.vectors)))
        replaced = node.policy == "recent" and self.seen(node) is STR
        algorithm, why = _algorithm(node, below, self.style, replaced=replaced)
        kernel, state = {
            Algorithm.COUNTERS: ("DistinctByCount", State(Layout.ROWS, self.store(below), self.catalogues(below))),
            Algorithm.SEARCH: ("DistinctBySearch", State(Layout.ROWS, Structure.LIST)),
            Algorithm.NEWEST_ROW: ("DistinctByNewest", State(Layout.LAST_ENDS, Structure.CALENDAR)),
            Algorithm.FIRST_ROW: ("DistinctByEnd", State(Layout.FIRST_ROWS)),
            Algorithm.DELTA_STAR: ("DistinctByEnd", State(Layout.SPARES, Structure.CALENDAR))}[algorithm]
        counted = algorithm in {Algorithm.COUNTERS, Algorithm.NEWEST_ROW}
        return self.made(kernel, node, path, below, timed=not counted and below.timed, keeps=(state,),
                         algorithm=algorithm, why=why,
                         because="a value ends when its last row does" if counted else "")

    def existence(self, node: n.SemiJoin | n.AntiJoin, path: Path, left: PhysicalNode, right: PhysicalNode,
                  to: Departures = SENT) -> PhysicalNode:
        """Rows with a match, or without."""
        pairs = needs_pairs(node)
        named = to is NAMED and self.style is Style.UPA and not pairs and self.seen(node) is STR
        state = self.chains(right) if pairs else State(Layout.COUNTS, self.store(right), self.catalogues(right))
        at_birth = _meet_at_birth(node, left, right)
        return self.made("ExistenceOfPairs" if pairs else "Existence", node, path, left, right, timed=left.timed,
                         departures=NAMED if named else None, because=OF_ONE_INSTANT if at_birth else "",
                         keeps=(self.chains(left), state), options={"at_birth": at_birth})

    def _difference(self, node: n.BagDifference, path: Path, left: PhysicalNode, right: PhysicalNode) -> PhysicalNode:
        keeps = (State(Layout.VALUE_CHAINS, Structure.CALENDAR, self.catalogues(left)),
                 State(Layout.VALUE_COUNTS, self.store(right), self.catalogues(right)))
        return self.made("Difference", node, path, self.one_zero(left), right, timed=left.timed, keeps=keeps)

    def _of_open_groups(self, node: n.GroupAggregate | n.Distinct, below: PhysicalNode) -> PhysicalNode:
        """The input of an operator that forgets what is over, without late rows of that."""
        if not self.generous or not closers(node):
            return below
        return self.helper("OpenGroups", below, options={"of": node})

    def _aggregate(self, node: n.GroupAggregate, path: Path) -> PhysicalNode:
        """Groups; FIRST and LAST ask for the exact ages of their rows, also where they are groups themselves."""
        ordered = any(resolve(c.function, c.parameters, c.distinct).needs_order for c in node.aggregates)
        with self.asking(replace(self.asked, every=True, ordered=True) if ordered else self.asked):
            below = self.relation(node.input, (*path, 0), self.vectors)
        below = self._of_open_groups(node, below)
        if below.departures is Departures.NEVER:
            state = State(Layout.STATES)
        else:
            layout = Layout.BLOCKS if self.asked.every or merges_states(node) else Layout.ROWS
            state = State(layout, self.store(below), self.catalogues(below))
        return self.made("GroupAggregate", node, path, below, timed=False, keeps=(state,))

    def _relayed(self, node: n.Relayed, path: Path) -> PhysicalNode:
        changes = form_of(node.of) is Form.CHANGES
        return self.made("RelayedChanges" if changes else "RelayedLives", node, path, timed=not changes,
                         because="the part below sends every change" if changes else "",
                         options={"column": CHANGE if changes else EXPIRES_AT, "guard": VALID_FROM})

    # -- tables

    def _table_join(self, node: n.TableJoin, path: Path, to: Departures) -> PhysicalNode:
        """Rows with the table as it is, or as it was before each row's own instant."""
        return self._with_table(node, path, self.relation(node.input, (*path, 0)), to)

    def _with_table(self, node: n.TableJoin, path: Path, rows: PhysicalNode, to: Departures = SENT) -> PhysicalNode:
        retroactive = is_retroactive(node)
        with self.asking(Asked(ticking=self.asked.ticking and retroactive)):
            table = self._table(node.table, (*path, 1))
        if not retroactive:  # rows keep what they met: who looks at them again needs their ends
            return self.made("AsOfJoin", node, path, rows, table, timed=rows.timed, keeps=(None, State(Layout.CHAINS)))
        why = "few are taken back: only by updates of the table"
        return self.made("WindowJoin", node, path, rows, table, departures=self._of_pairs((rows, table), to),
                         keeps=(self.chains(rows), State(Layout.CHAINS)), because=why)

    def _told_after_the_table(self, node: n.TableJoin, path: Path) -> PhysicalNode:
        """Rows keep what they met, so their ends are known before the join, and sent as negatives behind it."""
        self.style = Style.UPA
        try:
            joined = self._table_join(node, path, SENT)
        finally:
            self.style = Style.NEGATIVE
        return self.announced(joined, "style: every expiry is sent")

    def _table(self, node: n.Node, path: Path) -> PhysicalNode:
        match node:
            case n.Filter() | n.Project() | n.Qualify():
                return self.over(node, path, self._table(node.input, (*path, 0)))
            case n.Table() | n.Source():
                return self.made("TableRows", node, path, timed=False, departures=Departures.ALL,
                                 because="a table changes as its owner likes",
                                 options={"fresh": node.schema.kind is SourceKind.NRR, "guard": node.schema.time,
                                          "number": self._numbers[node.name]})
        raise UnsupportedError(f"{type(node).__name__} in place of a table is not yet run by the embedded engine; "
                               "use engine='oracle'")

    # -- relations as streams

    def _output_window(self, node: n.RelationToStream, path: Path) -> PhysicalNode:
        made = results_that_stay.produced(self, node.input, (*path, 0), as_stream=True)
        if node.output_window is None:
            return made
        clause = replace(node.output_window, attribute="", partition=())  # by the instant at which a row is produced
        return self.windowed(node, path, clause, made)

    # -- streams

    def stream(self, node: n.Node, guard: Guard, path: Path = ()) -> PhysicalNode:
        """A node as an append-only stream: each row from its own instant on, for ever."""
        below = (*path, 0)
        match node:
            case n.Source():
                return self._source(node, path, guard)
            case n.Filter() | n.Project() | n.Qualify() | n.Explode() | n.Union() | n.Lifetime():
                return self.over(node, path, *(self.stream(part, _guard_below(node, part, guard), (*path, i))
                                               for i, part in enumerate(node.inputs)))
            case n.WindowAggregate() | n.TimePairs():  # windows by rows are as old as their newest row, where it counts
                by_rows = guard is not None and isinstance(node, n.WindowAggregate) and \
                    node.window.attribute in ROW_NUM_NAMES
                return self.made("MadeRows", node, path, options={"reads": self._read.get(node), "by_rows": by_rows})
            case n.TableJoin() if is_append_only(node):
                with self.asking(replace(self.asked, by_time=True)):
                    return self._with_table(node, path, self.stream(node.input, guard, below))
        with self.asking(replace(self.asked, late=False)):  # what relations put out keeps their promises
            if isinstance(node, n.RelationToStream) and node.kind is not n.RelationToStreamKind.WSTREAM:
                return as_streams.to_stream(self, node, path)
            return results_that_stay.produced(self, node, path)

    def _source(self, node: n.Source, path: Path, guard: Guard) -> PhysicalNode:
        time, columns = node.schema.time, list(node.schema.columns)
        read = self._read.get(node.name)
        named = [name for name in columns if read is None or name in read] or columns[:1]
        return self.made("SourceRows", node, path, options={
            "guard": time if guard in {None, TIME} or time is None else guard, "reads": tuple(named),
            "by_arrival": guard is None and not self.asked.by_time})

def _meet_at_birth(node: n.Node, left: PhysicalNode, right: PhysicalNode) -> bool:
    """Whether nothing need be kept for rows that come later."""
    never = left.departures is right.departures is Departures.NEVER
    return never and meets_at_birth(node)


def _guard_below(node: n.Node, part: n.Node, guard: Guard) -> Guard:
    """What an input calls the guard; its own time where the column is computed."""
    if guard is None or guard == TIME or (isinstance(node, n.Union) and guard not in node.columns):
        return guard
    return node.below(part, guard) or TIME


def _algorithm(node: n.Distinct, below: PhysicalNode, style: Style, *, replaced: bool) -> tuple[Algorithm, str]:
    """Duplicate elimination has several algorithms (Golab 2.2.2, 3.5.2; law L4)."""
    if below.departures.strict:
        why = "style: every expiry arrives as a negative" if style is Style.NEGATIVE else "rows leave by arrivals" \
            if not below.timed else "the input may take rows back"
        return Algorithm.COUNTERS, why
    if replaced and style is not Style.UPA:
        return Algorithm.COUNTERS, f"style: {'negatives' if style is Style.NEGATIVE else 'lists'} know no newest row"
    if style is Style.DIRECT and below.departures is not Departures.NEVER:
        return Algorithm.SEARCH, "style: lists are searched for a replacement"
    if replaced:
        return Algorithm.NEWEST_ROW, "the newest row of a value leaves last (law L4)" if newest_row_is_enough(node) \
            else "of a value only the row counts that leaves last"
    if below.departures is Departures.NEVER:
        return Algorithm.FIRST_ROW, "nothing leaves"
    return Algorithm.DELTA_STAR, "when a row leaves is known: one replacement a value"
