"""From a physical plan to running operators: each step is made as it says, nothing is decided here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import pyarrow as pa

from panewise.core.errors import SchemaError
from panewise.core.ordinals import OrdinalKind
from panewise.dataflow.aggregate import WindowAggregation
from panewise.dataflow.arrivals import Arrivals
from panewise.dataflow.batch import Batch
from panewise.dataflow.graph import Dataflow, Entry, Node, Outlet
from panewise.dataflow.guard import Describe, Judge
from panewise.dataflow.inputs import StreamInput
from panewise.dataflow.late_output import refuse_late
from panewise.dataflow.operators.base import Mask, Operator
from panewise.dataflow.operators.bucket import Bucket
from panewise.dataflow.operators.computed_times import ComputedTimes
from panewise.dataflow.operators.row_step import RowStep
from panewise.dataflow.operators.stream_join import StreamJoin
from panewise.dataflow.operators.union import Merged
from panewise.dataflow.relations.ports import MadePort, Port, Ports, StreamPort
from panewise.dataflow.relations.region import Relation
from panewise.dataflow.relations.watched import PlanWatch
from panewise.functions.unions import united
from panewise.plan import dataflow as steps
from panewise.plan import nodes as n
from panewise.progress.late import LatePolicy
from panewise.progress.policy import parse_progress
from panewise.progress.watermarks import moved_bound

Kind = TypeVar("Kind", bound=Operator)


class Builder:
    """Makes the operators of one plan."""

    def __init__(self, plan: steps.PhysicalPlan, arrivals: Arrivals) -> None:
        self.plan, self.arrivals = plan, arrivals
        self.made: list[Entry | Node] = []
        """By the numbers of the steps."""

    def build(self) -> Dataflow:
        """The whole graph."""
        for step in self.plan.steps:
            made = self._make(step)
            self.made.append(made)
            if isinstance(made, Node):
                for port, below in enumerate(step.inputs):
                    self.made[below].readers.append((made, port))
        for step, made in zip(self.plan.steps, self.made, strict=True):
            if isinstance(step, steps.Entry) and isinstance(made, Entry):
                made.source.guard.judges += [self._judge(found, step.guard.late) for found in step.guard.judges]
        return Dataflow([part for part in self.made if isinstance(part, Entry)],
                        [part for part in self.made if isinstance(part, Node)])

    def _make(self, step: steps.Step) -> Entry | Node:
        match step:
            case steps.Entry():
                return Entry(_input(step))
            case steps.Stateless():
                schema, = self._schemas(step)
                return Node(ComputedTimes(step.node, schema, step.ahead, step.times) if step.times or step.ahead
                            else RowStep(step.node, schema, step.reads))
            case steps.UnionStep():
                return Node(self._union(step))
            case steps.BucketStep(window=window):
                return Node(Bucket(window.spec.plain, window.attribute, *self._schemas(step)))
            case steps.StreamJoinStep():
                return Node(self._join(step))
            case steps.WindowAggregateStep():
                return Node(WindowAggregation(step, *self._schemas(step)))
            case steps.RelationStep():
                watch = PlanWatch(step.chosen_from) if step.watched else None
                ports = [self._port(*found) for found in zip(step.ports, step.inputs, range(len(step.ports)),
                                                             strict=True)]
                return Node(Relation(step, Ports(ports), self.arrivals, watch=watch))
        assert isinstance(step, steps.Outlet), step
        return Node(Outlet(self._schemas(step)[0]))

    def _schemas(self, step: steps.Step) -> list[pa.Schema]:
        """The columns of its inputs."""
        return [_schema(self.made[below]) for below in step.inputs]

    def entry(self, number: int) -> Entry:
        """The stream of a step."""
        made = self.made[number]
        assert isinstance(made, Entry)
        return made

    def _union(self, step: steps.UnionStep) -> Merged:
        names = [part.columns for part in step.node.inputs]
        named = [pa.schema([schema.field(column) for column in columns])
                 for columns, schema in zip(names, self._schemas(step), strict=True)]
        return Merged(united(named), names, step.attribute)

    def _join(self, step: steps.StreamJoinStep) -> StreamJoin:
        left, right = self._schemas(step)
        return StreamJoin(step, left, right, [{None if join is None else self.operator(join, StreamJoin)
                                               for join in side} for side in step.made_by])

    def _judge(self, judge: steps.Judge, policy: LatePolicy) -> Judge:
        """Rows that break a promise of their stream, as they enter: whatever WHERE would say of them."""
        node = self.made[judge.step]
        assert isinstance(node, Node)
        reader = node.operator
        if isinstance(reader, StreamJoin):
            return _judge(lambda batch: batch.late(), policy, reader.times[judge.side], reader.kinds[judge.side])
        assert isinstance(reader, WindowAggregation)
        window = reader.node.window
        return _judge(_behind(reader, judge.ahead), policy, window.attribute, window.ordinal)

    def _port(self, port: steps.Port, below: int, number: int) -> Port:
        made, node = self.made[below], port.node
        if isinstance(made, Entry):
            assert isinstance(node, n.Named)
            return StreamPort(node, port.guard, made.source, self.arrivals)
        assert isinstance(made.operator, WindowAggregation | StreamJoin)
        return MadePort(port, number, made.operator, [self.entry(entry).source for entry in port.entries],
                        self.arrivals)

    def operator(self, number: int, kind: type[Kind]) -> Kind:
        """The operator of a step."""
        made = self.made[number]
        assert isinstance(made, Node)
        assert isinstance(made.operator, kind)
        return made.operator


def _schema(made: Entry | Node) -> pa.Schema:
    return made.operator.schema if isinstance(made, Node) else pa.schema(list(made.source.schema.columns.items()))


def _behind(made: WindowAggregation, ahead: int) -> Callable[[Batch], Mask]:
    """Which rows of a stream are late for an aggregate that goes by a time so much later."""
    return lambda batch: batch.late(moved_bound(made.watermark, -ahead))


def _judge(late: Callable[[Batch], Mask], policy: LatePolicy, attribute: str,
           kind: OrdinalKind) -> Judge:
    def judged(batch: Batch) -> Mask:
        if batch.values is None:
            return np.zeros(batch.table.num_rows, np.bool_)
        found = late(batch)
        refuse_late(policy, batch, found, attribute, kind, batch.values)
        return found
    return judged


def _input(entry: steps.Entry) -> StreamInput:
    node, guard, schema = entry.input, entry.guard.column, entry.input.schema
    if not schema.columns:
        raise SchemaError(f"the columns of the stream {node.name!r} must be known before it is read: declare them")
    if guard is not None and guard not in schema.columns:
        raise SchemaError(f"stream {node.name!r} has no column {guard!r} to order it; "
                          f"there are {', '.join(schema.columns)}")
    if guard is None:
        generator = parse_progress(entry.describe.policy, OrdinalKind.INTEGER)
    else:
        generator = parse_progress(entry.describe.policy, schema.ordinal_kind(guard), dict(schema.columns))
    describe = Describe(guard or "", generator, substreams=entry.describe.substreams is not None)
    return StreamInput(node.name, schema, guard, entry.needed, describe)
