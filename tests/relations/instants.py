"""The relation of a running query at every instant, kept and told, beside the oracle's relation of that instant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from oracle.questions import Oracle
from panewise.dataflow import Query, open_plan
from panewise.kernels.relations.edges.delta import FOREVER
from panewise.plan.nodes import Node
from panewise.planner.facts.result_forms import (
    CHANGE,
    EXPIRES_AT,
    VALID_FROM,
    Form,
    form_of,
    time_kind,
)
from panewise.progress.timeline import Timeline
from panewise.progress.watermarks import NO_BOUND
from relations.running import assert_like_the_oracle, bag, run_relation

MANY = 64
"""Where instants are so far apart (days), only those next to a change are asked for."""


def assert_like_the_oracle_at_every_instant(plan: Node, timeline: Timeline, cuts: frozenset[int] = frozenset(),
                                            saves: frozenset[int] = frozenset(), **options: Any) -> None:
    """Results are the oracle's, and so is the relation that they tell, and the one that is kept, at every instant."""
    assert_like_the_oracle(plan, timeline, cuts, saves, **options)
    if form_of(plan) not in {Form.LIVES, Form.CHANGES}:
        return
    oracle = Oracle(plan, timeline)
    told, _ = run_relation(plan, timeline, cuts, saves, **options)
    for tau in every_instant(oracle):
        assert (tau, relation_told(plan, told, tau)) == (tau, bag(oracle.relation_at(tau)))
    kept = open_plan(plan, current=True, **options)
    for place, arrival in enumerate(timeline):
        if place in saves:
            saved, kept = kept.snapshot(), open_plan(plan, current=True, **options)
            kept.restore(saved)
        if arrival.stream in kept.streams:
            kept.push(arrival.stream, [arrival.item] if arrival.is_row else arrival.item)
            assert_kept(kept, oracle)
    for stream in kept.streams:
        kept.finish(stream)
        assert_kept(kept, oracle)


def assert_kept(query: Query, oracle: Oracle) -> None:
    """What a query keeps is the relation at the last instant that is complete."""
    reached = query.watermark
    if reached != NO_BOUND:
        tau = max(oracle.instants(), default=0) + 1 if reached == FOREVER else reached - 1
        assert (tau, bag(query.current().to_pylist())) == (tau, bag(oracle.relation_at(tau)))


def every_instant(oracle: Oracle) -> list[int]:
    """All instants from before the first change to after the last, or those on both sides of every change."""
    changes = oracle.instants() or [0]
    if changes[-1] - changes[0] < MANY:
        return list(range(changes[0] - 1, changes[-1] + 3))
    between = [(one + other) // 2 for one, other in pairwise(changes)]
    return sorted({tau for at in changes for tau in (at - 1, at, at + 1)} | set(between))


def relation_told(plan: Node, results: Iterable[Mapping[str, Any]], tau: int) -> Counter[str]:
    """The relation at an instant as the results tell it: what came by then and has not gone."""
    kind = time_kind(plan)
    found: Counter[str] = Counter()
    for row in results:
        columns = {name: row[name] for name in plan.columns}
        since, until = row[VALID_FROM], row.get(EXPIRES_AT)
        if (since is None or kind.parse(since) <= tau) and (until is None or kind.parse(until) > tau):
            found.update({value: row.get(CHANGE, 1) for value in bag([columns])})
    assert min(found.values(), default=0) >= 0, "more copies left than came"
    return +found
