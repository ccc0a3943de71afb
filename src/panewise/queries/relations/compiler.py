"""From a plan to a tree of kernels; one short method per node kind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pyarrow as pa

from panewise.aggregates.registry import resolve
from panewise.core.ages import numbered
from panewise.core.errors import PlanError, UnsupportedError
from panewise.core.scalar import Scalar
from panewise.core.schema import ROW_NUM_NAMES
from panewise.kernels.relations.announced import AnnouncedEnds
from panewise.kernels.relations.as_of import AsOfJoin
from panewise.kernels.relations.count_window import CountedWindow
from panewise.kernels.relations.delta import Uids
from panewise.kernels.relations.difference import Difference
from panewise.kernels.relations.distinct import DistinctByCount, DistinctByEnd
from panewise.kernels.relations.existence import Existence, ExistenceOfPairs
from panewise.kernels.relations.explode_rows import ExplodeRows
from panewise.kernels.relations.group_aggregate import GroupAggregate
from panewise.kernels.relations.join import WindowJoin
from panewise.kernels.relations.lifetime import StopAfter
from panewise.kernels.relations.many_join import JoinedWindow, ManyJoin
from panewise.kernels.relations.newest_row import DistinctByNewest
from panewise.kernels.relations.operator import RelationOperator
from panewise.kernels.relations.relayed_rows import RelayedChanges, RelayedLives
from panewise.kernels.relations.searched_distinct import DistinctBySearch
from panewise.kernels.relations.stateless import FilterRows, ProjectRows, RenameRows, UnionRows
from panewise.kernels.relations.table_rows import TableRows
from panewise.kernels.relations.time_window import TimeWindow
from panewise.kernels.relations.waiting import SourceRows
from panewise.plan import nodes as n
from panewise.planner.closing import closers
from panewise.planner.forms import (
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
from panewise.planner.labels import Label, UpdatePattern, label
from panewise.planner.physical import BY_RULE, JoinedAtOnce, Physical
from panewise.planner.read_columns import ReadOfElements, columns_of_elements, columns_read
from panewise.progress.late import LatePolicy
from panewise.queries.relations import as_streams, kept
from panewise.queries.relations.aggregates import grouped_by
from panewise.queries.relations.counted import CountedAggregate
from panewise.queries.relations.ports import Ports
from panewise.queries.relations.predicates import compared_columns, match_of
from panewise.queries.relations.styles import Style, codes_for, queue_for
from panewise.queries.relations.tree import Stage, with_one_zero
from panewise.queries.relations.watches import Watch
from panewise.windows.base import Clock

TIME = "<time>"
"""The guard that is the source's own time column, whatever it is called on the way."""
Guard = str | None
"""The column whose bounds decide what is late, in a node's own names; None: nothing is."""


class Compiler:
    """Makes the stages of one plan; every occurrence of a node gets stages of its own."""

    def __init__(self, ports: Ports, style: Style, physical: Physical = BY_RULE) -> None:
        self.ports, self.style, self.physical = ports, style, physical
        self.uids = Uids()
        self.watch = Watch()
        self._read: dict[str | n.Node, frozenset[str]] = {}
        self._read_of_elements: ReadOfElements = {}
        self._numbers: dict[str, int] = {}

    def root(self, plan: n.Node, form: Form) -> Stage:
        """The whole plan."""
        self._read = columns_read(plan)
        self._read_of_elements = columns_of_elements(plan)
        self._numbers = numbered(node.name for node in plan.walk() if isinstance(node, n.Named))
        if form is Form.STREAM:
            return self.stream(plan, TIME if stops(plan) else None)
        return self.stream(plan, TIME) if form is Form.EVENTS else self.relation(plan)

    @contextmanager
    def watching(self, watch: Watch) -> Iterator[None]:
        """While somebody wants to know something else."""
        before, self.watch = self.watch, watch
        try:
            yield
        finally:
            self.watch = before

    # -- relations

    def relation(self, node: n.Node) -> Stage:
        """A node as a relation at every instant."""
        if is_append_only(node):
            return self.stream(node, TIME)
        if is_internal(node):
            return kept.produced(self, node)
        if is_mixed(node):
            return kept.staying(self, node)
        match node:
            case n.TableJoin() if self.style is Style.NEGATIVE and not is_retroactive(node):
                return self._told_after_the_table(node)
            case n.RelationToStream(kind=n.RelationToStreamKind.RSTREAM):
                return self.relation(node.input)
            case n.RelationToStream(kind=n.RelationToStreamKind.WSTREAM):
                return self._output_window(node)
            case n.RelationToStream():
                return as_streams.to_stream(self, node)
            case n.Lifetime():
                return self.lifetime(node, self.relation(node.input))
            case n.Filter():
                return self.filter(node, self.relation(node.input))
            case n.Project():
                return self._project(node, self.relation(node.input))
            case n.Explode():
                return self._explode(node, self.relation(node.input))
            case n.Qualify():
                return self._qualify(node, self.relation(node.input))
            case n.Union():
                return self.union(node, [self.relation(part) for part in node.parts])
            case n.Window():
                return self._window(node)
            case n.Join() if (found := self.physical.joined_at_once(node)) is not None:
                return self._at_once(found)
            case n.Join():
                return self.join(node, self.relation(node.left), self.relation(node.right))
            case n.SemiJoin() | n.AntiJoin():
                return self.existence(node, self.relation(node.left), self.relation(node.right))
            case n.BagDifference():
                return self._difference(node, with_one_zero(self.relation(node.left)), self.relation(node.right))
            case n.GroupAggregate():
                return self._aggregate(node, self._members(node))
            case n.TableJoin():
                return self._table_join(node, self.relation(node.input))
            case n.Distinct():
                return self._distinct(node, with_one_zero(self.relation(node.input)))
            case n.Table() | n.Relayed():
                return self._table(node, []) if isinstance(node, n.Table) else self._relayed(node)
        raise UnsupportedError(f"{type(node).__name__} is not yet run by the embedded engine; use engine='oracle'")

    def filter(self, node: n.Filter, below: Stage) -> Stage:
        """Some rows."""
        return self.stage(node, FilterRows(below.schema, node.predicate), below)

    def _project(self, node: n.Project, below: Stage) -> Stage:
        operator = ProjectRows(below.schema, node.columns, [item.scalar for item in node.items])
        return self.stage(node, operator, below)

    def _explode(self, node: n.Explode, below: Stage) -> Stage:
        operator = ExplodeRows(below.schema, node.generator, node.collection, node.names, self.uids, outer=node.outer,
                               number=node.number, read=self._read_of_elements.get(node), strict=self.has_ends(below))
        return self.stage(node, operator, below)

    def _qualify(self, node: n.Qualify, below: Stage) -> Stage:
        names = [f"{node.alias}.{name}" for name in below.schema.names]
        return self.stage(node, RenameRows(below.schema, names), below)

    def union(self, node: n.Union, parts: list[Stage]) -> Stage:
        """Rows of all parts."""
        return self.stage(node, UnionRows([part.schema for part in parts]), *parts)

    def _window(self, node: n.Window) -> Stage:
        clause, by_time = node.clause, node.clause.spec.clock is Clock.TIME
        late = by_time and self.ports.late is LatePolicy.GENEROUS
        with self.watching(Watch(ordered=self.watch.ordered or not by_time, late=late)):
            below = self.stream(node.input, clause.attribute if by_time else TIME)
        return self.stage(node, self._windowed(clause, below), below)

    def _windowed(self, clause: n.WindowClause, below: Stage) -> RelationOperator:
        if clause.spec.clock is not Clock.TIME:
            return CountedWindow(below.schema, clause.spec, self.uids, partition=clause.partition,
                                 predicate=clause.predicate, ticking=self.watch.ticking,
                                 position=n.POSITION_COLUMN if clause.numbered else None)
        return TimeWindow(below.schema, clause.spec, clause.attribute, self.uids, predicate=clause.predicate,
                          negative=self.style is Style.NEGATIVE, ticking=self.watch.ticking, clock=self.watch.clock)

    def join(self, node: n.Join, left: Stage, right: Stage) -> Stage:
        """Pairs of two relations."""
        self.with_vectors(left, right)
        operator = WindowJoin(left.schema, right.schema, match_of(node.predicate, left.schema, right.schema), self.uids,
                              left_in_order=self.in_order(left), right_in_order=self.in_order(right),
                              strict=(self.has_ends(left), self.has_ends(right)))
        return self.stage(node, operator, left, right)

    def _at_once(self, found: JoinedAtOnce) -> Stage:
        """A join of many windows as one operator; columns that were left out between joins are left out at its end."""
        stages = self.with_vectors(*(self.relation(side) for side in found.inputs))
        windows = [JoinedWindow(stage.schema, column, self.in_order(stage), self.has_ends(stage))
                   for stage, column in zip(stages, found.columns, strict=True)]
        joined = self.stage(found.node, ManyJoin(windows, found.key, self.uids, found.manner), *stages)
        joined, names = replace(joined, runs=str(found)), list(found.node.columns)
        if joined.schema.names == names:
            return joined
        shown = ProjectRows(joined.schema, names, [Scalar.column(name) for name in names])
        return Stage(shown, (joined,), joined.label, "hidden")

    def _distinct(self, node: n.Distinct, below: Stage) -> Stage:
        newest = node.policy == "recent"
        replaced = newest and self.seen(node).pattern is UpdatePattern.STR
        if self.has_ends(below) or (replaced and self.style is not Style.UPA):
            self.with_vectors(below)
            queue = queue_for(below.label, self.style)
            return self.stage(node, DistinctByCount(below.schema, self.uids, queue, newest=newest), below)
        if self.style is Style.DIRECT and below.label.pattern is not UpdatePattern.MON:
            return self.stage(node, DistinctBySearch(below.schema, self.uids, newest=newest), below)
        if replaced:
            return self.stage(node, DistinctByNewest(below.schema, self.uids), below)
        return self.stage(node, DistinctByEnd(below.schema, self.uids, closers(node), newest=newest), below)

    def existence(self, node: n.SemiJoin | n.AntiJoin, left: Stage, right: Stage) -> Stage:
        """Rows with a match, or without."""
        self.with_vectors(left, right)
        match, wanted = match_of(node.predicate, left.schema, right.schema), isinstance(node, n.SemiJoin)
        if match.residual is not None:
            pairs = ExistenceOfPairs(left.schema, right.schema, match, self.uids, wanted=wanted)
            return self.stage(node, pairs, left, right)
        by_key = Existence(left.schema, match, self.uids, codes_for(right.label, self.style), wanted=wanted)
        return self.stage(node, by_key, left, right)

    def _difference(self, node: n.BagDifference, left: Stage, right: Stage) -> Stage:
        self.with_vectors(left, right)
        operator = Difference(left.schema, right.schema, self.uids, codes_for(right.label, self.style))
        return self.stage(node, operator, left, right)

    def _members(self, node: n.GroupAggregate) -> Stage:
        """The rows of its groups; FIRST and LAST ask for their exact ages, also where they are groups themselves."""
        if not any(resolve(call.function, call.parameters, call.distinct).needs_order for call in node.aggregates):
            return self.relation(node.input)
        with self.watching(replace(self.watch, every=True, ordered=True)):
            return self.relation(node.input)

    def _aggregate(self, node: n.GroupAggregate, below: Stage) -> Stage:
        self.with_vectors(below)
        queue = None if below.label.pattern is UpdatePattern.MON else queue_for(below.label, self.style)
        operator = GroupAggregate(grouped_by(node, below.schema), self.uids, queue, every=self.watch.every)
        return self.stage(node, operator, below)

    def lifetime(self, node: n.Lifetime, below: Stage) -> Stage:
        """What happens before the end."""
        sources = [s.operator for s in below.walk() if isinstance(s.operator, SourceRows)
                   and not isinstance(s.operator, TableRows)]  # counted from the first row of a stream
        return self.stage(node, StopAfter(below.schema, node.amount, sources), below)

    def _relayed(self, node: n.Relayed) -> Stage:
        schema = pa.schema([(c, node.schema.columns[c]) for c in node.columns])
        operator = RelayedChanges(schema, self.uids, CHANGE) if form_of(node.of) is Form.CHANGES else \
            RelayedLives(schema, self.uids, EXPIRES_AT)
        self.ports.of(node, VALID_FROM).leaves.append(operator)
        return self.stage(node, operator)

    # -- tables

    def _table_join(self, node: n.TableJoin, rows: Stage) -> Stage:
        """Rows with the table as it is, or as it was before each row's own instant."""
        retroactive = is_retroactive(node)
        with self.watching(Watch(ticking=self.watch.ticking and retroactive)):
            table = self._table(node.table, [] if retroactive else compared_columns(node))
        match = match_of(node.predicate, rows.schema, table.schema)
        if not retroactive:  # rows keep what they met: who looks at them again needs their ends
            return self.stage(node, AsOfJoin(rows.schema, table.schema, match, self.uids), rows, table)
        join = WindowJoin(rows.schema, table.schema, match, self.uids, left_in_order=self.in_order(rows),
                          strict=(self.has_ends(rows), True))
        return self.stage(node, join, rows, table)

    def _told_after_the_table(self, node: n.TableJoin) -> Stage:
        """Rows keep what they met, so their ends are known before the join, and sent as negatives behind it."""
        self.style = Style.UPA
        try:
            joined = self._table_join(node, self.relation(node.input))
        finally:
            self.style = Style.NEGATIVE
        return Stage(AnnouncedEnds(joined.schema), (joined,), self.seen(node), "announced ends")

    def _table(self, node: n.Node, fresh: list[str]) -> Stage:
        match node:
            case n.Filter():
                return self.filter(node, self._table(node.input, fresh))
            case n.Project():
                return self._project(node, self._table(node.input, fresh))
            case n.Qualify():
                return self._qualify(node, self._table(node.input, fresh))
            case n.Table() | n.Source():
                schema = pa.schema(list(node.schema.columns.items()))
                rows = TableRows(node.name, schema, self.uids, time=node.schema.time, fresh=fresh,
                                 ticking=self.watch.ticking, number=self._numbers[node.name])
                self.ports.of(node, node.schema.time).leaves.append(rows)
                return self.stage(node, rows)
        raise UnsupportedError(f"{type(node).__name__} in place of a table is not yet run by the embedded engine; "
                               "use engine='oracle'")

    # -- relations as streams

    def _output_window(self, node: n.RelationToStream) -> Stage:
        made = kept.produced(self, node.input, as_stream=True)
        if node.output_window is None:
            return made
        clause = replace(node.output_window, attribute="", partition=())  # by the instant at which a row is produced
        return self.stage(node, self._windowed(clause, made), made)

    # -- streams

    def stream(self, node: n.Node, guard: Guard) -> Stage:
        """A node as an append-only stream: each row from its own instant on, for ever."""
        match node:
            case n.Source():
                return self._source(node, guard)
            case n.Filter():
                return self.filter(node, self.stream(node.input, guard))
            case n.Project():
                below = next((i.scalar.column_name for i in node.items if i.name == guard), TIME)
                return self._project(node, self.stream(node.input, guard and below))
            case n.Explode():
                return self._explode(node, self.stream(node.input, TIME if guard in node.names else guard))
            case n.Qualify():
                return self._qualify(node, self.stream(node.input, guard and guard.removeprefix(f"{node.alias}.")))
            case n.Union():
                return self.union(node, [self.stream(p, self._guard_of_part(node, p, guard)) for p in node.parts])
            case n.WindowAggregate() if guard is not None and node.window.attribute in ROW_NUM_NAMES:
                return self._counted(node)
            case n.WindowAggregate() | n.TimePairs():
                inner = self.ports.inside(node, self._read.get(node))
                return self.stage(node, inner.leaf(self.uids, ticking=self.watch.ticking))
            case n.Lifetime():
                return self.lifetime(node, self.stream(node.input, guard))
            case n.TableJoin() if is_append_only(node):
                with self.watching(replace(self.watch, by_time=True)):
                    return self._table_join(node, self.stream(node.input, guard))
        with self.watching(replace(self.watch, late=False)):  # what relations put out keeps their promises
            if isinstance(node, n.RelationToStream) and node.kind is not n.RelationToStreamKind.WSTREAM:
                return as_streams.to_stream(self, node)
            return kept.produced(self, node)

    @staticmethod
    def _guard_of_part(node: n.Union, part: n.Node, guard: Guard) -> Guard:
        if guard is None or guard not in node.columns:
            return guard
        return part.columns[node.columns.index(guard)]

    def _source(self, node: n.Source, guard: Guard) -> Stage:
        time = node.schema.time
        by_arrival = guard is None and not self.watch.by_time
        return self._named(node, time if guard in {None, TIME} or time is None else guard, by_arrival=by_arrival)

    def _counted(self, node: n.WindowAggregate) -> Stage:
        counted = CountedAggregate(node, self.uids, ticking=self.watch.ticking)
        for source in {below.name: below for below in node.walk() if isinstance(below, n.Source)}.values():
            self.ports.of(source, source.schema.time).leaves.append(counted.from_stream(source.name))
        return self.stage(node, counted)

    def _named(self, node: n.Named, guard: str | None, *, by_arrival: bool) -> Stage:
        if not node.schema.columns:
            raise PlanError(f"the columns of {node.name!r} must be known: give the query a schema")
        port = self.ports.of(node, guard)
        columns = node.schema.columns
        read = [name for name in columns if name in self._read.get(node.name, columns)] or list(columns)[:1]
        operator = SourceRows(pa.schema([(name, columns[name]) for name in read]), self.uids, by_arrival=by_arrival,
                              ticking=self.watch.ticking, takes_late=self.watch.late)
        port.leaves.append(operator)
        return self.stage(node, operator)

    # -- what stages share

    def stage(self, node: n.Node, operator: RelationOperator, *inputs: Stage) -> Stage:
        """An operator with its label; above it every end is sent where that was decided."""
        stage = Stage(operator, inputs, self.seen(node, inputs), type(node).__name__, node=node)
        if node not in self.physical.announced:
            return stage
        return Stage(AnnouncedEnds(stage.schema), (stage,), stage.label, "announced ends")

    def seen(self, node: n.Node, inputs: tuple[Stage, ...] = ()) -> Label:
        """The label of an edge as the kernels see it: in time, and strict throughout where negatives are sent."""
        found = label(node).output.downgrade()
        if self.style is Style.NEGATIVE and found.pattern is not UpdatePattern.MON:
            return replace(found, pattern=UpdatePattern.STR, lifetime=None)
        return found

    def with_vectors(self, *stages: Stage) -> tuple[Stage, ...]:
        """Inputs of an operator that reads expiry vectors; others get ends, as all do where negatives are sent."""
        if self.style is Style.UPA:
            for stage in stages:
                stage.carry_vectors()
        return stages

    @staticmethod
    def in_order(stage: Stage) -> bool:
        """Rows leave in the order they came."""
        return stage.label.pattern in {UpdatePattern.MON, UpdatePattern.WKS}

    @staticmethod
    def has_ends(stage: Stage) -> bool:
        """Rows may leave before they said."""
        return stage.label.pattern is UpdatePattern.STR
