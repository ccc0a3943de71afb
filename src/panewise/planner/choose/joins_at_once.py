"""Which joins of three or more windows on one attribute are run at once, without results in between (Golab 5.3).

A tree of joins of two makes and keeps what its lower joins give; joined at once, every new row walks through the other
windows again. Evaluation and expiry are `join_manner`'s.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from panewise.core.errors import PlanError
from panewise.kernels.relations.joins.key_codes import key_type
from panewise.kernels.relations.joins.many_join import Manner
from panewise.plan import nodes as n
from panewise.planner.choose.join_manner import AUTO, Joins, describe_manner, manner_of
from panewise.planner.choose.join_order import Stream, best_order, join_size
from panewise.planner.cost.relation_flow import Flows
from panewise.planner.facts.expiry_vectors import maker_of
from panewise.planner.facts.refreshing import eager, restored
from panewise.planner.facts.result_forms import Form, form_of, is_append_only, is_internal, is_mixed, time_kind
from panewise.planner.rewrites.columns import type_of
from panewise.planner.rewrites.join_orders import equal_columns, flattened, follows
from panewise.planner.statistics.relation_statistics import NOTHING_KNOWN, RelationStatistics

MAKE, STEP = 2.0, 0.15
"""What a result in between costs that is made and kept, against one that is only walked through; these and the next
were measured with ``bench/many_joins.py``."""
PAIR, KEEP, PASS = 0.25, 0.7, 0.05
"""A result that is put together of a row and a result in between, rather than of rows; one that is kept to be named
when it goes; a row that comes while one more operator looks for something to do."""


@dataclass(frozen=True)
class JoinedAtOnce:
    """A tree of joins that is run as one: its inputs from left to right, the column of each, who is probed when."""

    node: n.Node
    inputs: tuple[n.Node, ...]
    columns: tuple[str, ...]
    key: pa.DataType
    """The type of all these columns."""
    manner: Manner
    restore: bool = False
    """Its windows are run as if they had no SLIDE, to report what lives between refreshes, too."""

    @property
    def running(self) -> JoinedAtOnce:
        """As the query runs it."""
        if not self.restore:
            return self
        return replace(self, node=eager(self.node), inputs=tuple(map(eager, self.inputs)), restore=False)

    def __str__(self) -> str:
        names = ", ".join(self.columns[i] for i in self.manner.order)
        manner = describe_manner(self.manner, time_kind(self.node))
        return f"{len(self.inputs)} windows joined at once, probed in the order {names}: {manner}"


def joined_at_once(plan: n.Node, known: RelationStatistics | None, joins: Joins = AUTO) -> tuple[JoinedAtOnce, ...]:
    """The joins of a plan that are run as one, by what is known of its inputs and what was asked for."""
    if known is None and not joins.at_once:
        return ()
    flows = Flows(plan, NOTHING_KNOWN if known is None else known)
    told = maker_of(plan) if form_of(plan) is Form.CHANGES else None
    found = tuple(_at_once(plan, flows, joins, told)) if joins.at_once is not False else ()
    if joins.at_once and not found:
        raise PlanError("joins='at once': no join of this query can be run so, for that takes windows, none of them "
                        "INTERNAL, joined on one column of each and on nothing else; leave joins= out")
    return found


def _at_once(node: n.Node, flows: Flows, joins: Joins, told: n.Node | None,
             restore: n.Node | None = None) -> Iterator[JoinedAtOnce]:
    """``told``: the operator whose results are the query's, as changes, and are kept nowhere else."""
    found = one_attribute(node, least=2 if joins.at_once else 3)
    if found is not None:
        inputs, columns, key = found
        streams = [_stream(side, column, flows) for side, column in zip(inputs, columns, strict=True)]
        if joins.at_once or saves_work(streams, told=node is told):
            manner = manner_of(node, best_order(streams), joins, restore=restore)
            yield JoinedAtOnce(node, tuple(inputs), tuple(columns), key, manner, restore is not None)
            for side in inputs:
                yield from _at_once(side, flows, joins, told, restore)
            return
    if isinstance(node, n.RelationToStream):
        if restore is not None:  # a form within a form is left as it is written
            return
        restore = node.input if restored(node) is not None else None
    elif isinstance(node, n.Window):
        restore = None
    for child in node.inputs:
        yield from _at_once(child, flows, joins, told, restore)


def one_attribute(node: n.Node, least: int = 3) -> tuple[list[n.Node], list[str], pa.DataType] | None:
    """The inputs of a tree of joins whose only condition is that one column of each is equal, these columns, and their
    type, in which they are compared by their bits. None for fewer inputs than ``least``: two gain nothing by it."""
    if not isinstance(node, n.Join) or is_append_only(node) or is_internal(node) or is_mixed(node):
        return None
    inputs, parts = flattened(node, narrowed=True)
    if len(inputs) < least:
        return None
    classes = equal_columns(inputs, parts)
    if len(classes) != 1 or not all(follows(part, classes) for part in parts):
        return None
    columns = [[c for c in classes[0] if side.has(c)] for side in inputs]
    names = [name for side in inputs for name in side.columns]
    if any(len(mine) != 1 for mine in columns) or len(set(names)) < len(names):
        return None
    shared = type_of(inputs[0], columns[0][0])
    key = key_type(shared, shared) if isinstance(shared, pa.DataType) else None
    return None if key is None else (inputs, [mine[0] for mine in columns], key)


def saves_work(streams: Sequence[Stream], *, told: bool = False) -> bool:
    """Whether making and keeping what lower joins give costs more than walking through the windows again.

    Where results are ``told`` as changes, a join of two finds those that go by another look at its other side, and
    windows that are joined at once keep them. Who else reads results keeps them in either way.

    >>> wide, narrow = Stream(100, 10, 10), Stream(1, 10, 1000)
    >>> saves_work([wide, wide, wide]), saves_work([wide, wide, wide], told=True)
    (True, False)
    >>> saves_work([narrow, narrow, wide], told=True)
    True
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
    results = _rate(streams, range(len(streams)))
    further = PASS * (len(streams) - 2) * sum(stream.rate for stream in streams)
    return MAKE * made + PAIR * results + further > STEP * walked + (KEEP * results if told else 0.0)


def _rate(streams: Sequence[Stream], members: Sequence[int]) -> float:
    """Results of some windows per unit of time: each new row meets its share of them."""
    size = join_size(streams, list(members))
    return sum(streams[m].rate * size / streams[m].rows for m in members if streams[m].rows)


def _stream(side: n.Node, column: str, flows: Flows) -> Stream:
    flow = flows[side]
    values = max(1.0, flow.value_count(column))
    return Stream(flow.rate, flow.size / flow.rate if flow.rate else 0.0, values, values)
