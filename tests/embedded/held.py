"""What the operators of a running query really are and keep, compared step by step with what ``explain`` prints."""

from __future__ import annotations

from typing import Any

from panewise.core.ordinals import OrdinalKind
from panewise.dataflow import Query
from panewise.dataflow.aggregate import WindowAggregation
from panewise.dataflow.graph import Entry, Node
from panewise.dataflow.inputs import StreamInput
from panewise.dataflow.operators.bucket import Bucket
from panewise.dataflow.operators.stream_join import StreamJoin
from panewise.dataflow.relations.region import Relation
from panewise.engines.embedded.explaining import explain_streams
from panewise.kernels.baselines.buffering import BufferingKernel
from panewise.kernels.baselines.row_buffer import RowBuffer
from panewise.kernels.baselines.slots import SlotTable
from panewise.kernels.baselines.two_level import TwoLevelKernel
from panewise.kernels.contract.wrapping import WrappingKernel
from panewise.kernels.growing.landmark import LandmarkKernel
from panewise.kernels.growing.session import SessionKernel, SessionState
from panewise.kernels.joins.oa_join import OAJoin
from panewise.kernels.panes.pane_kernel import PanedKernel
from panewise.kernels.positions.log_kernel import LogKernel
from panewise.kernels.positions.rows import RowKernel
from panewise.kernels.positions.tuple_slide import TupleSlideKernel
from panewise.kernels.window_ids.adaptive import AdaptiveKernel
from panewise.kernels.window_ids.range_state import RangeState
from panewise.kernels.window_ids.wid import WidKernel
from panewise.plan import dataflow as steps
from panewise.planner.explain.physical_text import explain_physical
from panewise.planner.options import RunOptions
from panewise.progress.generators import Generator
from panewise.progress.policy import parse_progress
from relations.held import assert_relation

KERNELS: dict[str, tuple[type, dict[str, type]]] = {
    "panes": (PanedKernel, {"ranges": RangeState}),
    "wid": (WidKernel, {"ranges": RangeState}),
    "adaptive": (AdaptiveKernel, {"_rows": RowBuffer, "_state": RangeState}),
    "buffering": (BufferingKernel, {"_rows": RowBuffer}),
    "two-level": (TwoLevelKernel, {"low": SlotTable, "_high": RangeState}),
    "landmark": (LandmarkKernel, {}), "session": (SessionKernel, {"_state": SessionState}),
    "rows": (RowKernel, {}), "slide by tuple": (TupleSlideKernel, {}),
}
"""By the name that is printed the class that runs, and its stores."""


def assert_runs_as_printed(query: Query, **options: Any) -> steps.PhysicalPlan:
    """Every step against its operator, and the text against what ``explain`` prints without a query."""
    plan = query.physical
    assert plan is not None
    assert len(plan.steps) == len(query.made)
    for step, made in zip(plan.steps, query.made, strict=True):
        assert_step(step, made, [query.made[below] for below in step.inputs])
    assert explain_streams(query.plan, options=RunOptions(**options)) == explain_physical(plan)
    return plan


def assert_step(step: steps.Step, made: Entry | Node, below: list[Entry | Node]) -> None:
    """One step."""
    for port, part in enumerate(below):
        assert (made, port) in part.readers
    if isinstance(step, steps.Entry):
        assert isinstance(made, Entry)
        source = made.source
        assert (type(source).__name__, source.name) == (step.operator, step.input.name)
        assert_progress(step, source)
        assert set(step.needed) <= set(source.needed)
        return
    assert isinstance(made, Node)
    assert type(made.operator).__name__ == step.operator
    match step:
        case steps.BucketStep():
            assert isinstance(made.operator, Bucket)
            window = step.window
            assert (made.operator.spec, made.operator.attribute) == (window.spec.plain, window.attribute)
        case steps.WindowAggregateStep():
            assert isinstance(made.operator, WindowAggregation)
            under = below[0].operator if isinstance(below[0], Node) else None
            assert isinstance(under, Bucket) is (step.bucket == "below")
            assert (made.operator._ids is not None) is (step.bucket == "inside")
            assert_aggregate(step, made.operator)
        case steps.StreamJoinStep():
            assert isinstance(made.operator, StreamJoin)
            assert_join(step, made.operator)
        case steps.RelationStep():
            assert isinstance(made.operator, Relation)
            assert_relation(made.operator)
            assert made.operator.physical is step.relation
            assert [port.key for port in made.operator.ports] == [_key(port, i) for i, port in enumerate(step.ports)]
            assert (made.operator.watch is not None) is step.watched


def assert_progress(step: steps.Entry, source: StreamInput) -> None:
    """What makes promises of a stream, and what holds its rows to them."""
    describe, guard = source.describe, source.guard
    assert source.attribute == step.guard.column
    assert guard.bounds.attribute == describe.attribute == (step.guard.column or "")
    assert describe.generator.describe() == policy_of(step).describe()
    assert describe.substreams is (step.describe.substreams is not None)
    assert step.describe.substreams in {None, *describe.generator.columns}
    assert len(guard.judges) == len(step.guard.judges)


def policy_of(step: steps.Entry) -> Generator:
    """The policy that is printed."""
    kind = OrdinalKind.INTEGER if step.guard.column is None else step.input.schema.ordinal_kind(step.guard.column)
    return parse_progress(step.describe.policy, kind)


def _key(port: steps.Port, number: int) -> str:
    return f"{port.node.name}.{port.guard}" if isinstance(port.node, steps.n.Named) \
        else f"{type(port.node).__name__} {number}"


def assert_aggregate(step: steps.WindowAggregateStep, operator: WindowAggregation) -> None:
    """Kernel, state, late policy, what is told and when."""
    kernel, choice = operator.kernel, step.choice
    assert choice is not None
    assert (type(kernel).__name__ == "EmptyWindows") is step.empty_windows
    while isinstance(kernel, WrappingKernel):
        kernel = kernel.inner
    kind, stores = KERNELS[choice.kernel]
    assert type(kernel) is kind
    for name, store in stores.items():
        assert type(getattr(kernel, name)) is store, choice.keeps
    if isinstance(kernel, LogKernel):
        assert choice.kernel in {"rows", "slide by tuple"}
    for name, value in choice.options.items():
        place = {"slots": "low.size", "flush": "low.flush", "m": "low.m", "i": "low.i", "wed_since": "time.since"}
        found: Any = kernel
        for part in place.get(name, name).split("."):
            found = getattr(found, part)
        assert found == value
    assert (kernel.late, operator.late) == (step.late, step.late)
    assert (operator.step.dated, operator.tells, operator.log.watch) == (step.dated, step.tells, step.events)
    assert (operator._waiting is not None) is step.in_order
    assert operator.emission.early is (step.emit != "final")


def assert_join(step: steps.StreamJoinStep, operator: StreamJoin) -> None:
    """Kernel, what is kept and told, and late rows."""
    assert type(operator.join) is OAJoin
    assert type(operator.join).__name__ == step.kernel
    assert operator.takes_late is step.takes_late
    assert bool(operator.lineage) is step.dated
    assert [len(joins) for joins in operator.below] == [len(joins) for joins in step.made_by]
    beside = {name for side in operator.lineage for name in side.names}
    shown = {name for side in operator.join.spec.sides for name in side.output} - beside
    assert shown <= step.wanted | set(operator.times)
