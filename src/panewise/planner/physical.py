"""What statistics decide about how a plan runs, beside the plan itself.

Where every end is sent (`structures`), and which joins of three or more windows on one attribute are run at once,
without results in between (Golab 5.3). A tree of joins of two makes and keeps what its lower joins give; joined at
once, every new row walks through the other windows again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from panewise.kernels.relations.key_codes import key_type
from panewise.plan import nodes as n
from panewise.planner.forms import is_append_only, is_internal, is_mixed
from panewise.planner.join_order import Order, Stream, best_order, join_size
from panewise.planner.labels import UpdatePattern, label
from panewise.planner.relation_flow import Flows
from panewise.planner.relation_statistics import RelationStatistics
from panewise.planner.rewrites.columns import owns
from panewise.planner.rewrites.join_reorders import equal_columns, flattened, type_of
from panewise.planner.rewrites.scalars import equalities
from panewise.planner.structures import announced, choose_structures

MAKE, STEP = 4.0, 1.0
"""What a result in between costs that is made and kept, against one that is only walked through; see
``bench/many_joins.py``."""


@dataclass(frozen=True)
class JoinedAtOnce:
    """A tree of joins that is run as one: its inputs from left to right, the column of each, who is probed when."""

    node: n.Node
    inputs: tuple[n.Node, ...]
    columns: tuple[str, ...]
    key: pa.DataType
    """The type of all these columns."""
    order: Order

    @property
    def inner(self) -> list[n.Node]:
        """The joins below it that are done with it."""
        return list(_joins_between(self.node, self.inputs))

    def __str__(self) -> str:
        names = ", ".join(self.columns[i] for i in self.order)
        return f"{len(self.inputs)} windows joined at once, probed in the order {names}"


@dataclass(frozen=True)
class Physical:
    """What was decided; nothing without statistics."""

    announced: frozenset[n.Node] = frozenset()
    """The strict operators from which on every end is sent."""
    at_once: tuple[JoinedAtOnce, ...] = ()

    def joined_at_once(self, node: n.Node) -> JoinedAtOnce | None:
        """How a join is run as one, if it is."""
        return next((found for found in self.at_once if found.node == node), None)


BY_RULE = Physical()


def physical(plan: n.Node, known: RelationStatistics | None) -> Physical:
    """The decisions for a plan, by what is known of its inputs."""
    if known is None:
        return BY_RULE
    flows = Flows(plan, known)
    return Physical(announced(choose_structures(plan, flows=flows)), tuple(_at_once(plan, flows)))


def _at_once(node: n.Node, flows: Flows) -> Iterator[JoinedAtOnce]:
    found = one_attribute(node)
    if found is not None:
        inputs, columns, key = found
        streams = [_stream(side, column, flows) for side, column in zip(inputs, columns, strict=True)]
        if saves_work(streams):
            yield JoinedAtOnce(node, tuple(inputs), tuple(columns), key, best_order(streams))
            for side in inputs:
                yield from _at_once(side, flows)
            return
    for child in node.inputs:
        yield from _at_once(child, flows)


def _joins_between(node: n.Node, inputs: Sequence[n.Node]) -> Iterator[n.Node]:
    for child in node.inputs:
        if child not in inputs:
            yield child
            yield from _joins_between(child, inputs)


def one_attribute(node: n.Node) -> tuple[list[n.Node], list[str], pa.DataType] | None:
    """The inputs of a tree of joins whose only condition is that one column of each is equal, these columns, and their
    type, in which they are compared by their bits."""
    if not isinstance(node, n.Join) or is_append_only(node) or is_internal(node) or is_mixed(node):
        return None
    inputs, parts = flattened(node, narrowed=True)
    if len(inputs) < 3 or any(label(side).output.downgrade().pattern is UpdatePattern.STR for side in inputs):
        return None
    classes = equal_columns(inputs, parts)
    if len(classes) != 1 or any(len(equalities(part)) != 1 for part in parts):
        return None
    columns = [[c for c in classes[0] if owns(side, c)] for side in inputs]
    names = [name for side in inputs for name in side.columns]
    if any(len(mine) != 1 for mine in columns) or len(set(names)) < len(names):
        return None
    shared = type_of(inputs[0], columns[0][0])
    key = key_type(shared, shared) if isinstance(shared, pa.DataType) else None
    return None if key is None else (inputs, [mine[0] for mine in columns], key)


def saves_work(streams: Sequence[Stream]) -> bool:
    """Whether making and keeping what lower joins give costs more than walking through the windows again.

    >>> wide, narrow = Stream(100, 10, 10), Stream(1, 10, 1000)
    >>> saves_work([wide, wide, wide]), saves_work([narrow, narrow, Stream(1000, 10, 1)])
    (True, False)
    """
    made = sum(_rate(streams, range(count)) for count in range(2, len(streams)))
    walked = 0.0
    for arriving, stream in enumerate(streams):
        before = [arriving]
        for other in (i for i in best_order(streams) if i != arriving):
            before.append(other)
            if len(before) < len(streams):  # the last step makes results, in either way
                rows = join_size(streams, before) / stream.rows if stream.rows else 0.0
                walked += stream.rate * rows
    return MAKE * made > STEP * walked


def _rate(streams: Sequence[Stream], members: Sequence[int]) -> float:
    """Results of some windows per unit of time: each new row meets its share of them."""
    size = join_size(streams, list(members))
    return sum(streams[m].rate * size / streams[m].rows for m in members if streams[m].rows)


def _stream(side: n.Node, column: str, flows: Flows) -> Stream:
    flow = flows[side]
    values = max(1.0, flow.value_count(column))
    return Stream(flow.rate, flow.size / flow.rate if flow.rate else 0.0, values, values)
