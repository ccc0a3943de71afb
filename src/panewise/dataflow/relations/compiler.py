"""From the physical plan of a relation to running operators: each node is made as it says, nothing is decided here."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from panewise.core.errors import PlanError
from panewise.core.scalar import Scalar
from panewise.dataflow.relations.ports import MadeRows, Ports
from panewise.dataflow.relations.tree import Stage
from panewise.functions import type_of
from panewise.kernels.relations.aggregates.group_aggregate import GroupAggregate, GroupedBy
from panewise.kernels.relations.distinct.distinct import DistinctByCount, DistinctByEnd
from panewise.kernels.relations.distinct.newest_row import DistinctByNewest
from panewise.kernels.relations.distinct.searched_distinct import DistinctBySearch
from panewise.kernels.relations.edges.announced import AnnouncedEnds
from panewise.kernels.relations.edges.closing import OpenGroups
from panewise.kernels.relations.edges.delta import Uids
from panewise.kernels.relations.edges.operator import RelationOperator
from panewise.kernels.relations.edges.refresh import RefreshClock
from panewise.kernels.relations.edges.waiting import SourceRows
from panewise.kernels.relations.joins.as_of import AsOfJoin
from panewise.kernels.relations.joins.join import WindowJoin
from panewise.kernels.relations.joins.many_join import JoinedWindow, ManyJoin
from panewise.kernels.relations.leaves.count_window import CountedWindow
from panewise.kernels.relations.leaves.explode_rows import ExplodeRows
from panewise.kernels.relations.leaves.lifetime import StopAfter
from panewise.kernels.relations.leaves.relayed_rows import RelayedChanges, RelayedLives
from panewise.kernels.relations.leaves.stateless import FilterRows, OneZero, ProjectRows, RenameRows, UnionRows
from panewise.kernels.relations.leaves.table_rows import TableRows
from panewise.kernels.relations.leaves.time_window import TimeWindow
from panewise.kernels.relations.negation.difference import Difference
from panewise.kernels.relations.negation.existence import Existence, ExistenceOfPairs
from panewise.kernels.relations.stores.codes import LeavingCodes
from panewise.kernels.relations.stores.queues import ExpiryQueue
from panewise.kernels.relations.streams.staying import NoteRows, PadRows, StayOn, is_hidden
from panewise.kernels.relations.streams.to_stream import ChangesAsStream, Produced, RestoredSnapshots, SnapshotStream
from panewise.plan import nodes as n
from panewise.plan.physical import NOT_KEPT, AtOnce, Clock, Departures, Layout, PhysicalNode, State, Structure
from panewise.planner.facts.closing import closers
from panewise.planner.facts.matches import match_of
from panewise.planner.facts.requests import bound_calls

_NOTHING = pa.schema([])


class Compiler:
    """Makes the operators of one plan."""

    def __init__(self, ports: Ports) -> None:
        self.ports = ports
        self.uids = Uids()
        self._clocks: dict[int, RefreshClock] = {}
        self._notes: dict[int, NoteRows] = {}

    def stage(self, plan: PhysicalNode) -> Stage:
        """A node and all below it."""
        inputs = tuple(self.stage(below) for below in plan.inputs)
        return Stage(self._made(plan, *inputs), inputs, plan)

    def _made(self, plan: PhysicalNode, *inputs: Stage) -> RelationOperator:
        """The operator of a node: by its kernel, with what the node says."""
        node: Any = plan.node
        uids, asked, options, told = self.uids, plan.asked, plan.options, plan.departures
        first, second = (*(stage.schema for stage in inputs[:2]), *[_NOTHING] * 2)[:2]
        clause: Any = options.get("clause")
        clock = self._clock(options.get("clock"))
        match plan.kernel:
            case "SourceRows" | "TableRows" | "RelayedLives" | "RelayedChanges":
                return self._leaf(plan)
            case "MadeRows":
                return MadeRows(self.ports.inside(node), uids, ticking=asked.ticking, takes_late=asked.late)
            case "TimeWindow":
                return TimeWindow(first, clause.spec, clause.attribute, uids, predicate=clause.predicate,
                                  negative=_keeps(plan).layout is Layout.TO_SEND, ticking=asked.ticking,
                                  clock=self._clock(asked.clock))
            case "CountedWindow":
                return CountedWindow(first, clause.spec, uids, partition=clause.partition, predicate=clause.predicate,
                                     ticking=asked.ticking, position=n.POSITION_COLUMN if clause.numbered else None)
            case "FilterRows":
                return FilterRows(first, node.predicate)
            case "ProjectRows":
                return ProjectRows(first, *_projection(plan, *inputs))
            case "RenameRows":
                return RenameRows(first, [c if is_hidden(c) else f"{node.alias}.{c}" for c in first.names])
            case "ExplodeRows":
                return ExplodeRows(first, node.generator, node.collection, node.names, uids, outer=node.outer,
                                   number=node.number, read=options["reads"], strict=_told(inputs[0]).strict)
            case "UnionRows":
                strict = [_told(part).strict for part in inputs] if told is Departures.VECTORS else None
                return UnionRows([part.schema for part in inputs], strict)
            case "StopAfter":
                sources = [stage.operator for stage in inputs[0].walk() if isinstance(stage.operator, SourceRows)
                           and not isinstance(stage.operator, TableRows)]  # counted from the first row of a stream
                return StopAfter(first, node.amount, sources)
            case "WindowJoin":
                return WindowJoin(first, second, match_of(node.predicate, first, second), uids, tells=told,
                                  leave=(_told(inputs[0]), _told(inputs[1])), narrow=options.get("narrow", False),
                                  at_birth=options.get("at_birth", False))
            case "ManyJoin":
                found = plan.algorithm
                assert isinstance(found, AtOnce)
                windows = [JoinedWindow(stage.schema, column, _told(stage))
                           for stage, column in zip(inputs, found.columns, strict=True)]
                return ManyJoin(windows, found.key, uids, found.manner, tells=told)
            case "AsOfJoin":
                return AsOfJoin(first, second, match_of(node.predicate, first, second), uids)
            case "ExistenceOfPairs":
                return ExistenceOfPairs(first, second, match_of(node.predicate, first, second), uids,
                                        wanted=isinstance(node, n.SemiJoin), at_birth=options["at_birth"])
            case "Existence":
                return Existence(first, match_of(node.predicate, first, second), uids, _codes(plan, inputs[1]),
                                 wanted=isinstance(node, n.SemiJoin), tells=told, at_birth=options["at_birth"])
            case "Difference":
                return Difference(first, second, uids, _codes(plan, inputs[1]))
            case "DistinctByCount":
                return DistinctByCount(first, uids, _queue(plan), options.get("by"), newest=_is_newest(plan))
            case "DistinctBySearch":
                return DistinctBySearch(first, uids, newest=_is_newest(plan))
            case "DistinctByNewest":
                return DistinctByNewest(first, uids)
            case "DistinctByEnd":
                return DistinctByEnd(first, uids, closers(node), newest=_is_newest(plan))
            case "OpenGroups":
                of = options["of"]
                keys = of.columns if isinstance(of, n.Distinct) else [key.scalar.column_name for key in of.keys]
                return OpenGroups(first, closers(of), keys)
            case "GroupAggregate":
                queue = None if _keeps(plan).structure is None else _queue(plan)
                return GroupAggregate(_grouped(node, first), uids, queue, every=asked.every)
            case "Produced":
                return Produced(first, uids, ticking=options["ticking"])
            case "SnapshotStream":
                return SnapshotStream(first, uids, _queue(plan), clock, ticking=asked.ticking)
            case "RestoredSnapshots":
                assert clock is not None
                return RestoredSnapshots(first, uids, (_queue(plan), _queue(plan)), options["refreshes"], clock,
                                         ticking=asked.ticking)
            case "ChangesAsStream":
                return ChangesAsStream(first, uids, _queue(plan), sign=options["sign"],
                                       refreshes=options["refreshes"], ticking=asked.ticking)
            case "NoteRows":
                noted = NoteRows(first, options["number"], rows=options["rows"], until=options["until"])
                self._notes[options["number"]] = noted
                return noted
            case "StayOn":
                return StayOn(first, options["until"], [self._notes[number] for number in options["strict"]])
            case "PadRows":
                return PadRows(first, options["hidden"])
            case "OneZero":
                return OneZero(first)
            case "AnnouncedEnds":
                return AnnouncedEnds(first)
        raise AssertionError(f"no kernel of relations is called {plan.kernel}")

    def _leaf(self, plan: PhysicalNode) -> RelationOperator:
        """Where rows of a stream, of a table or of a relation that runs elsewhere come in."""
        node, options, ticking = plan.node, plan.options, plan.asked.ticking
        assert isinstance(node, n.Named)
        if not node.schema.columns:
            raise PlanError(f"the columns of {node.name!r} must be known: give the query a schema")
        types = node.schema.columns
        shown = options.get("reads", types) if plan.kernel in {"SourceRows", "TableRows"} else node.columns
        schema = pa.schema([(name, types[name]) for name in shown])
        operator: SourceRows
        match plan.kernel:
            case "SourceRows":
                operator = SourceRows(schema, self.uids, by_arrival=options["by_arrival"], ticking=ticking,
                                      takes_late=plan.asked.late)
            case "TableRows":
                operator = TableRows(node.name, schema, self.uids, time=options["guard"], key=node.schema.key,
                                     fresh=options["fresh"], ticking=ticking, number=options["number"])
            case _:
                kernel = RelayedChanges if plan.kernel == "RelayedChanges" else RelayedLives
                operator = kernel(schema, self.uids, options["column"])
        self.ports.of(node, options["guard"]).leaves.append(operator)
        return operator

    def _clock(self, clock: Clock | None) -> RefreshClock | None:
        if clock is None:
            return None
        if clock.number not in self._clocks:
            self._clocks[clock.number] = RefreshClock(beside=self._clock(clock.beside))
        return self._clocks[clock.number]


def _projection(plan: PhysicalNode, below: Stage) -> tuple[list[str], list[Scalar]]:
    """What a projection shows: that of the plan with what is hidden, or some columns of its input."""
    names, columns = below.schema.names, plan.options.get("columns")
    hidden = [name for name in names if is_hidden(name)]
    if columns is None:
        assert isinstance(plan.node, n.Project)
        scalars = [*(item.scalar for item in plan.node.items), *map(Scalar.column, hidden)]
        return [*plan.node.columns, *hidden], scalars
    if columns == "shown":
        columns = [name for name in names if name not in hidden]
    elif columns == "left":
        columns = [*(left := below.inputs[0].schema.names), *(name for name in hidden if name not in left)]
    return list(columns), [Scalar.column(name) for name in columns]


def _grouped(node: n.GroupAggregate, schema: pa.Schema) -> GroupedBy:
    """Keys and aggregates with their types."""
    keys = pa.schema([(key.name, type_of(key.scalar, schema)) for key in node.keys])
    return GroupedBy(keys, [key.scalar for key in node.keys], bound_calls(node.aggregates, schema),
                     [list(call.arguments) for call in node.aggregates], closers(node))


def _told(stage: Stage) -> Departures:
    return stage.plan.departures


def _keeps(plan: PhysicalNode, side: int = 0) -> State:
    return (plan.keeps[side] if plan.keeps else None) or NOT_KEPT


def _structure(plan: PhysicalNode, side: int = 0) -> Structure:
    structure = _keeps(plan, side).structure
    assert structure is not None, f"the plan names no structure for {plan.kernel}"
    return structure


def _queue(plan: PhysicalNode) -> ExpiryQueue:
    return _structure(plan).queue()


def _codes(plan: PhysicalNode, right: Stage) -> LeavingCodes:
    """What counts the values of the right side."""
    return _structure(plan, 1).codes(strict=_told(right).strict)


def _is_newest(plan: PhysicalNode) -> bool:
    return isinstance(plan.node, n.Distinct) and plan.node.policy == "recent" and not plan.options
