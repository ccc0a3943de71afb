"""Plans built straight from nodes, with integer time so that one step is one tick."""

from __future__ import annotations

from random import Random

import pyarrow as pa

from panewise.core.errors import PlanError
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceKind, SourceSchema
from panewise.plan import nodes as n
from panewise.planner.facts.labels import Labels, label
from panewise.planner.legal.legality import problems
from panewise.windows.base import WindowSpec
from panewise.windows.count import CountWindow
from planner.monotonicity import Event, Experiment, random_experiments

SCHEMA = pa.schema({"ts": pa.int64(), "a": pa.int64(), "k": pa.string()})
TIMED = pa.schema({"ts": pa.timestamp("us"), "a": pa.int64(), "k": pa.string()})


def source(name: str = "S", schema: pa.Schema = SCHEMA) -> n.Source:
    return n.Source(name, SourceSchema.of(schema))


def table(name: str = "T", kind: SourceKind = SourceKind.NRR) -> n.Table:
    return n.Table(name, SourceSchema.of(pa.schema({"a": pa.int64(), "name": pa.string()}), kind=kind))


def clause(spec: WindowSpec, *, internal: bool = False, partition: tuple[str, ...] = ()) -> n.WindowClause:
    ordinal = OrdinalKind.ROWS if isinstance(spec, CountWindow) else OrdinalKind.INTEGER
    attribute = "row-num" if ordinal is OrdinalKind.ROWS else "ts"
    return n.WindowClause(spec, attribute, ordinal, partition, internal=internal)


def window(spec: WindowSpec, stream: str = "S", *, internal: bool = False, partition: tuple[str, ...] = ()) -> n.Window:
    return n.Window(source(stream), clause(spec, internal=internal, partition=partition))


def filtered(node: n.Node, predicate: str = "a <> 0") -> n.Filter:
    return n.Filter(node, Scalar.parse(predicate))


def counted(node: n.Node, *keys: str, internal: bool = False) -> n.GroupAggregate:
    named = tuple(n.NamedScalar.column(k) for k in keys)
    return n.GroupAggregate(node, named, (n.AggregateCall("n", "count"),), internal)


def projected(node: n.Node, *columns: str) -> n.Project:
    return n.Project(node, tuple(n.NamedScalar.column(c) for c in columns))


def over_windows(node: n.Node, spec: WindowSpec, *keys: str) -> n.WindowAggregate:
    return n.WindowAggregate(node, clause(spec), tuple(n.NamedScalar.column(k) for k in keys),
                             (n.AggregateCall("n", "count"),))


def in_time(*streams: str, runs: int = 6, until: int = 22, seed: int = 1) -> list[Experiment]:
    """None to two rows of few values a tick and stream; futures share nothing but the past."""
    def arrive(random: Random, at: int) -> list[Event]:
        return [Event(at, (random.randrange(3), random.randrange(3)), stream)
                for stream in streams or ("S",) for _ in range(random.choice([0, 1, 1, 2]))]
    return random_experiments(arrive, runs=runs, now=10, until=until, seed=seed, futures=2)


def in_order(*streams: str, runs: int = 12, until: int = 26, seed: int = 1) -> list[Experiment]:
    """One row an instant; which stream and partition is admitted when is common to all futures, values are not."""
    names = streams or ("S",)

    def arrive(random: Random, at: int) -> list[Event]:
        return [Event(at, (random.randrange(3), at * at % 3), names[at * 7 % 5 % len(names)])]
    return random_experiments(arrive, runs=runs, now=10, until=until, seed=seed)


def check_legal(plan: n.Node) -> Labels:
    """The labels of a plan; its first problem, if it has one."""
    labels = label(plan)
    for problem in problems(plan, labels):
        raise PlanError(problem.message)
    return labels
