"""What the operators of a running relation really hold, compared node by node with the physical plan they obey.

Looked at are objects: classes of operators and stores, catalogues, and the deltas that leave each operator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from panewise.dataflow.relations.tree import Stage
from panewise.kernels.relations.aggregates.group_contents import KeptRows, OnlyStates
from panewise.kernels.relations.edges.delta import FOREVER, Delta
from panewise.kernels.relations.stores.codes import CodesByNumber
from panewise.kernels.relations.stores.queues import Calendar, ExpiryQueue, Fifo, Scanned, Unqueued
from panewise.plan.physical import Departures, Layout, PhysicalNode, RelationPlan, State, Structure

QUEUES: dict[Structure, type[ExpiryQueue]] = {
    Structure.GROWING: Fifo, Structure.FIFO: Fifo, Structure.CALENDAR: Calendar, Structure.NUMBERS: Unqueued,
    Structure.LIST: Scanned}
BY_KEY: dict[str, Callable[[Any], list[Any]]] = {
    "WindowJoin": lambda o: [o._pairing.left, o._pairing.right], "ManyJoin": lambda o: o._sides,
    "Existence": lambda o: [o._left], "ExistenceOfPairs": lambda o: [o._pairs._pairing.left, o._pairs._pairing.right],
    "AsOfJoin": lambda o: [None, o._table]}
"""By kernel the stores that find rows of each input by key."""
ROWS: dict[str, Callable[[Any], list[Any]]] = {
    "DistinctByCount": lambda o: [o._rows.queue], "DistinctBySearch": lambda o: [o._rows.queue],
    "SnapshotStream": lambda o: [o._rows.queue], "ChangesAsStream": lambda o: [o._net._rows.queue],
    "RestoredSnapshots": lambda o: [o._snapshots._rows.queue, o._net._rows.queue],
    "AnnouncedEnds": lambda o: [o._rows.queue], "DistinctByNewest": lambda o: [o._queue],
    "GroupAggregate": lambda o: [o.contents.rows.queue], "ChangesForm": lambda o: [o._net._rows.queue],
    "CurrentLivesForm": lambda o: [o._rows.queue], "EndedLivesForm": lambda o: [o._rows.queue]}
"""By kernel the queues of the rows it keeps."""


def assert_held(query: Any) -> RelationPlan:
    """The relation whose changes are the results."""
    assert query.physical.steps[query.physical.relation].relation is query.relation.physical
    return assert_relation(query.relation)


def assert_relation(relation: Any) -> RelationPlan:
    """Every node of the plan against the operator that runs it."""
    plan: RelationPlan = relation.physical
    stages = list(relation.root.walk())
    nodes = list(plan.walk())
    assert [stage.plan for stage in stages] == nodes
    for stage, node in zip(stages, nodes, strict=True):
        assert_runs(stage.operator, node)
    assert type(relation._results).__name__ == plan.form
    if plan.result is None or plan.result.layout is Layout.NOTHING:
        assert "rows" not in relation._results.counters()
    else:
        assert_queues(ROWS[plan.form](relation._results), plan.result)
    return plan


def assert_runs(operator: Any, node: PhysicalNode) -> None:
    """One operator against its node."""
    assert type(operator).__name__ == node.kernel
    assert_told(operator, node)
    for side, state in enumerate(node.keeps):
        if state is not None:
            assert_kept(operator, node, side, state)


def assert_queues(found: list[ExpiryQueue], state: State) -> None:
    assert state.structure is not None
    assert {type(queue) for queue in found} == {QUEUES[state.structure]}


def assert_kept(operator: Any, node: PhysicalNode, side: int, state: State) -> None:
    """The store of one input."""
    below = node.inputs[side].departures if node.inputs else Departures.NEVER
    match state.layout:
        case Layout.CHAINS:
            kept = BY_KEY[node.kernel](operator)[side]
            if node.kernel in {"WindowJoin", "ManyJoin"} and not node.options.get("narrow"):
                assert (type(kept.arena).__name__, kept._in_order) == ("Arena", below.in_order)
        case Layout.COUNTS | Layout.VALUE_COUNTS:
            assert_queues([operator._right.queue], state)
            assert isinstance(operator._right, CodesByNumber) is below.strict
        case Layout.VALUE_CHAINS:
            assert_queues([operator._left_ends], state)
        case Layout.STATES:
            assert isinstance(operator.contents, OnlyStates)
        case Layout.BLOCKS:
            assert isinstance(operator.contents, KeptRows)
            assert operator.contents.blocks is not None
            assert_queues(ROWS[node.kernel](operator), state)
        case Layout.ROWS:
            if node.kernel == "GroupAggregate":
                assert operator.contents.blocks is None
            assert_queues(ROWS[node.kernel](operator), state)
        case Layout.LAST_ENDS:
            assert_queues([operator._queue], state)
        case Layout.SPARES | Layout.FIRST_ROWS:
            assert type(operator._held).__name__ == "Representatives"
        case Layout.TO_SEND:
            assert operator._negatives is not None
        case _:
            raise AssertionError(f"{node.kernel} keeps {state}")


def assert_told(operator: Any, node: PhysicalNode) -> None:
    """How the operator is made to tell of departures."""
    told = node.departures
    if node.kernel in {"WindowJoin", "ManyJoin"}:
        assert operator._vectors is (told is Departures.VECTORS)
        assert (operator._catalogue is not None) is (told in {Departures.EARLY, Departures.ALL} and any(
            below.departures.strict for below in node.inputs))
    if node.kernel in {"WindowJoin", "Existence"}:
        assert (operator._leaving is not None) is (told is Departures.NAMED)
    if node.kernel == "UnionRows":
        assert (operator._strict is not None) is (told is Departures.VECTORS)
    if node.kernel == "TimeWindow":
        assert (operator._negatives is not None) is (told is Departures.ALL)


@dataclass
class Heard:
    """What left the operators of a query while it ran, beside what the plan says of it."""

    steps: int = 0
    found: list[str] = field(default_factory=list)

    def listen(self, query: Any) -> None:
        """From now on."""
        for stage in query.relation.root.walk():
            self._listen(stage)

    def _listen(self, stage: Stage) -> None:
        step = stage.operator.step

        def heard(inputs: Any, upto: int) -> Delta:
            delta = step(inputs, upto)
            self.steps += 1
            self.found += [f"{stage.plan.kernel} {stage.plan.departures.name}: {what}"
                           for what, wrong in _wrong(delta, stage.plan, upto) if wrong]
            return delta

        stage.operator.step = heard  # type: ignore[method-assign]


def _wrong(delta: Delta, node: PhysicalNode, upto: int) -> list[tuple[str, bool]]:
    told, lives = node.departures, delta.lives
    lasting = lives.expires[lives.expires >= upto]
    return [("ends were sent", bool(len(delta.ends)) and told not in {
                Departures.EARLY, Departures.ALL, Departures.REPLACED, Departures.NAMED}),
            ("rows were named", delta.gone is not None and told is not Departures.NAMED),
            ("rows were not named", delta.gone is None and told is Departures.NAMED),
            ("vectors came", lives.order is not None and told is not Departures.VECTORS),
            ("no vectors came", bool(len(lives)) and lives.order is None and told is Departures.VECTORS),
            ("rows knew their ends", bool((lasting < FOREVER).any()) and not node.timed),
            ("ends came out of order", told is Departures.IN_ORDER and bool((lasting[1:] < lasting[:-1]).any())),
            ("rows will leave", told is Departures.NEVER and bool((lives.expires < FOREVER).any()))]
