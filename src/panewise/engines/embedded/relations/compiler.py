"""From a plan to a tree of kernels; one short method per node kind."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from panewise.core.errors import PlanError, UnsupportedError
from panewise.engines.embedded.relations.aggregates import grouped_by
from panewise.engines.embedded.relations.ports import Ports
from panewise.engines.embedded.relations.predicates import match_of
from panewise.engines.embedded.relations.styles import Style, queue_for
from panewise.engines.embedded.relations.tree import Stage
from panewise.kernels.relations.count_window import CountedWindow
from panewise.kernels.relations.delta import Uids
from panewise.kernels.relations.difference import Difference
from panewise.kernels.relations.distinct import DistinctByCount, DistinctByEnd
from panewise.kernels.relations.existence import Existence, ExistenceOfPairs
from panewise.kernels.relations.group_aggregate import GroupAggregate
from panewise.kernels.relations.join import WindowJoin
from panewise.kernels.relations.operator import RelationOperator
from panewise.kernels.relations.stateless import FilterRows, ProjectRows, RenameRows, UnionRows
from panewise.kernels.relations.time_window import TimeWindow
from panewise.kernels.relations.waiting import SourceRows
from panewise.plan import nodes as n
from panewise.planner.forms import Form, is_append_only
from panewise.planner.labels import Label, Labels, UpdatePattern, label
from panewise.windows.base import Clock

TIME = "<time>"
"""The guard that is the source's own time column, whatever it is called on the way."""
Guard = str | None
"""The column whose bounds decide what is late, in a node's own names; None: nothing is."""


class Compiler:
    """Makes the stages of one plan; every occurrence of a node gets stages of its own."""

    def __init__(self, plan: n.Node, ports: Ports, style: Style) -> None:
        self.labels: Labels = label(plan)
        self.ports, self.style = ports, style
        self.uids = Uids()

    def root(self, plan: n.Node, form: Form) -> Stage:
        """The whole plan."""
        return self.stream(plan, None) if form is Form.STREAM else self.relation(plan)

    # -- relations

    def relation(self, node: n.Node) -> Stage:
        """A node as a relation at every instant."""
        if is_append_only(node):
            return self.stream(node, TIME)
        match node:
            case n.Filter():
                return self._filter(node, self.relation(node.input))
            case n.Project():
                return self._project(node, self.relation(node.input))
            case n.Qualify():
                return self._qualify(node, self.relation(node.input))
            case n.Union():
                return self._union(node, [self.relation(part) for part in node.parts])
            case n.Window():
                return self._window(node)
            case n.Join():
                return self._join(node, self.relation(node.left), self.relation(node.right))
            case n.SemiJoin() | n.AntiJoin():
                return self._existence(node, self.relation(node.left), self.relation(node.right))
            case n.BagDifference():
                return self._difference(node, self.relation(node.left), self.relation(node.right))
            case n.GroupAggregate():
                return self._aggregate(node, self.relation(node.input))
            case n.Distinct():
                return self._distinct(node, self.relation(node.input))
        raise UnsupportedError(f"{type(node).__name__} is not yet run by the embedded engine; use engine='oracle'")

    def _filter(self, node: n.Filter, below: Stage) -> Stage:
        return self._stage(node, FilterRows(below.schema, node.predicate), below)

    def _project(self, node: n.Project, below: Stage) -> Stage:
        operator = ProjectRows(below.schema, node.columns, [item.scalar for item in node.items])
        return self._stage(node, operator, below)

    def _qualify(self, node: n.Qualify, below: Stage) -> Stage:
        names = [f"{node.alias}.{name}" for name in below.schema.names]
        return self._stage(node, RenameRows(below.schema, names), below)

    def _union(self, node: n.Union, parts: list[Stage]) -> Stage:
        return self._stage(node, UnionRows([part.schema for part in parts]), *parts)

    def _window(self, node: n.Window) -> Stage:
        clause = node.clause
        if clause.spec.clock is not Clock.TIME:
            below = self.stream(node.input, TIME)
            counted = CountedWindow(below.schema, clause.spec, self.uids, partition=self._partition(clause),
                                    predicate=clause.predicate)
            return self._stage(node, counted, below)
        below = self.stream(node.input, clause.attribute)
        operator = TimeWindow(below.schema, clause.spec, clause.attribute, self.uids, predicate=clause.predicate,
                              negative=self.style is Style.NEGATIVE)
        return self._stage(node, operator, below)

    @staticmethod
    def _partition(clause: n.WindowClause) -> tuple[str, ...]:
        return clause.partition if clause.spec.clock is Clock.PARTITION_ORDER or clause.partition else ()

    def _join(self, node: n.Join, left: Stage, right: Stage) -> Stage:
        operator = WindowJoin(left.schema, right.schema, match_of(node.predicate, left.schema, right.schema), self.uids,
                              left_in_order=self.in_order(left), right_in_order=self.in_order(right),
                              catalogued=self.has_ends(left) or self.has_ends(right))
        return self._stage(node, operator, left, right)

    def _distinct(self, node: n.Distinct, below: Stage) -> Stage:
        if self.seen(node).pattern is UpdatePattern.STR or self.has_ends(below):
            counted = DistinctByCount(below.schema, self.uids, queue_for(below.label, self.style))
            return self._stage(node, counted, below)
        return self._stage(node, DistinctByEnd(below.schema, self.uids), below)

    def _existence(self, node: n.SemiJoin | n.AntiJoin, left: Stage, right: Stage) -> Stage:
        match, wanted = match_of(node.predicate, left.schema, right.schema), isinstance(node, n.SemiJoin)
        if match.residual is not None:
            pairs = ExistenceOfPairs(left.schema, right.schema, match, self.uids, wanted=wanted)
            return self._stage(node, pairs, left, right)
        by_key = Existence(left.schema, match, self.uids, queue_for(right.label, self.style), wanted=wanted)
        return self._stage(node, by_key, left, right)

    def _difference(self, node: n.BagDifference, left: Stage, right: Stage) -> Stage:
        operator = Difference(left.schema, right.schema, self.uids, queue_for(right.label, self.style))
        return self._stage(node, operator, left, right)

    def _aggregate(self, node: n.GroupAggregate, below: Stage, *, every: bool = False) -> Stage:
        grouped = grouped_by(node, below.schema)
        operator = GroupAggregate(grouped, self.uids, queue_for(below.label, self.style), every=every)
        return self._stage(node, operator, below)

    # -- streams

    def stream(self, node: n.Node, guard: Guard) -> Stage:
        """A node as an append-only stream: each row from its own instant on, for ever."""
        match node:
            case n.Source():
                return self._source(node, guard)
            case n.Filter():
                return self._filter(node, self.stream(node.input, guard))
            case n.Project():
                below = next((i.scalar.column_name for i in node.items if i.name == guard), TIME)
                return self._project(node, self.stream(node.input, guard and below))
            case n.Qualify():
                return self._qualify(node, self.stream(node.input, guard and guard.removeprefix(f"{node.alias}.")))
            case n.Union():
                return self._union(node, [self.stream(p, self._guard_of_part(node, p, guard)) for p in node.parts])
        raise UnsupportedError(f"{type(node).__name__} as a stream is not yet run by the embedded engine; "
                               "use engine='oracle'")

    @staticmethod
    def _guard_of_part(node: n.Union, part: n.Node, guard: Guard) -> Guard:
        if guard is None or guard not in node.columns:
            return guard
        return part.columns[node.columns.index(guard)]

    def _source(self, node: n.Source, guard: Guard) -> Stage:
        schema = node.schema
        if not schema.columns:
            raise PlanError(f"the columns of the stream {node.name!r} must be known: give the query a schema")
        if schema.time is None:
            raise UnsupportedError(f"the stream {node.name!r} has no time column, and a relation needs one: name it "
                                   "with time=, or use engine='oracle'")
        port = self.ports.of(node, schema.time if guard in {None, TIME} else guard)
        operator = SourceRows(pa.schema(list(schema.columns.items())), self.uids, by_arrival=guard is None)
        port.leaves.append(operator)
        return self._stage(node, operator)

    # -- what stages share

    def _stage(self, node: n.Node, operator: RelationOperator, *inputs: Stage) -> Stage:
        return Stage(operator, inputs, self.seen(node, inputs), type(node).__name__)

    def seen(self, node: n.Node, inputs: tuple[Stage, ...] = ()) -> Label:
        """The label of an edge as the kernels see it: in time, and strict throughout where negatives are sent."""
        found = self.labels[node].downgrade()
        if self.style is Style.NEGATIVE and found.pattern is not UpdatePattern.MON:
            return replace(found, pattern=UpdatePattern.STR, lifetime=None)
        return found

    @staticmethod
    def in_order(stage: Stage) -> bool:
        """Rows leave in the order they came."""
        return stage.label.pattern in {UpdatePattern.MON, UpdatePattern.WKS}

    @staticmethod
    def has_ends(stage: Stage) -> bool:
        """Rows may leave before they said."""
        return stage.label.pattern is UpdatePattern.STR

