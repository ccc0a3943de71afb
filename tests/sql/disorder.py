"""Rows as streams bring them: some overtake others, and after each comes a promise, which is not always kept."""

from __future__ import annotations

from random import Random

from panewise.dataflow import open_plan
from panewise.plan.nodes import Named, Node, Table
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Timeline
from sql.rows import arrivals

REACH = 6
"""So many rows of its own stream may overtake a row."""
BROKEN = 9
"""Every so manyth promise of all is more than will be kept."""


def disordered(plan: Node, most: int | None = None, *, kept: bool = False) -> Timeline:
    """The rows of a plan out of order, with promises about the columns that order its streams.

    A promise that is broken speaks of all rows but the earliest that are still to come; ``kept`` has none of them.
    """
    nodes = {node.name: node for node in plan.walk() if isinstance(node, Named)}
    ordering = open_plan(plan).ordering_columns()
    random, made = Random(len(nodes)), arrivals(plan, most)
    reach = REACH * len(nodes)
    places = [(place + random.uniform(0, reach) * (not isinstance(nodes[a.stream], Table)), place)
              for place, a in enumerate(made)]
    timeline = [made[place] for _, place in sorted(places)]
    found: Timeline = []
    for place, arrival in enumerate(timeline):
        found.append(arrival)
        column, schema = ordering.get(arrival.stream), nodes[arrival.stream].schema
        ahead = {a.item[column] for a in timeline[place + 1:] if a.stream == arrival.stream} if column else set()  # type: ignore[index]
        if column and ahead:
            bounds = sorted(schema.ordinal_kind(column).parse(value) for value in ahead)
            broken = not kept and place % BROKEN == 0 and len(bounds) > 1
            found.append(Arrival(arrival.stream, Punctuation.below(column, bounds[broken])))
    return found
