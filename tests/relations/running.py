"""Timelines through relational queries, with cuts and restarts, and the comparison with the oracle."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from oracle.questions import Oracle
from panewise.dataflow import Query, open_plan
from panewise.plan.nodes import Node
from panewise.plan.physical import Style
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Timeline


def bag(rows: Iterable[Mapping[str, Any]]) -> Counter[str]:
    return Counter(repr([(k, _plain(v)) for k, v in row.items()]) for row in rows)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else f"{value:.10g}"
    if isinstance(value, datetime):
        return value.replace(tzinfo=value.tzinfo or UTC).timestamp()
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return {k: _plain(v) for k, v in value.items()} if isinstance(value, dict) else value


def run_relation(plan: Node, timeline: Timeline, cuts: frozenset[int] = frozenset(),
                 saves: frozenset[int] = frozenset(), *, opened: Callable[[Query], None] = lambda _: None,
                 **options: Any) -> tuple[list[dict[str, Any]], Query]:
    """Push a timeline; batches end at punctuation, at another stream and at the cuts; states are saved and restored.

    ``style`` is how expiry travels through the plan, which users call its strategy; ``opened`` sees every query that
    runs.
    """
    if "style" in options:
        options["strategy"] = Style.parse(options.pop("style")).value
    query = open_plan(plan, **options)
    opened(query)
    timeline = [arrival for arrival in timeline if arrival.stream in query.streams]
    results: list[dict[str, Any]] = []
    batch: list[Any] = []
    stream = ""
    for i, arrival in enumerate([*timeline, Arrival("", Punctuation())]):
        if batch and (i in cuts or not arrival.is_row or arrival.stream != stream):
            results += query.push(stream, batch).to_pylist()
            batch = []
        if i in saves:
            saved = query.snapshot()
            query = open_plan(plan, **options)
            opened(query)
            query.restore(saved)
        stream = arrival.stream
        if i == len(timeline):
            break
        if isinstance(arrival.item, Punctuation):
            results += query.push(stream, arrival.item).to_pylist()
        else:
            batch.append(arrival.item)
    return results + query.finish().to_pylist(), query


def assert_like_the_oracle(plan: Node, timeline: Timeline, cuts: frozenset[int] = frozenset(),
                           saves: frozenset[int] = frozenset(), *, opened: Callable[[Query], None] = lambda _: None,
                 **options: Any) -> None:
    found, query = run_relation(plan, timeline, cuts, saves, **options)
    given = {name: options[name] for name in ("late", "progress") if name in options}
    oracle = Oracle(plan, timeline, **given)
    expected = oracle.results()
    missing, surplus = bag(expected) - bag(found), bag(found) - bag(expected)
    assert (sorted(missing)[:5], sorted(surplus)[:5]) == ([], [])
    assert tuple(query.nothing().column_names) == oracle.columns
    assert query.late_count == len(oracle.late_rows())
