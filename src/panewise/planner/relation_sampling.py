"""Statistics of a relational plan, measured on the first rows of its streams."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

import pyarrow as pa

from panewise.core.errors import PanewiseError
from panewise.plan import nodes as n
from panewise.planner.collecting import Collector
from panewise.planner.relation_statistics import RelationStatistics
from panewise.planner.sampling import SAMPLE_ROWS, arriving

READS_ROWS = (n.Source, n.Filter, n.Project, n.Explode, n.Qualify, n.Union)


def measured_relations(plan: n.Node, streams: Mapping[str, Iterable[pa.Table]], *,
                       rows: int = SAMPLE_ROWS) -> RelationStatistics:
    """Rates and values of every stream, and the share of rows that pass each selection next to a stream."""
    collector = Collector(plan)
    for name, batches in streams.items():
        left = rows
        for batch in islice(batches, rows):
            table = batch.slice(0, left)
            collector.rows(name, table)
            _selections(plan, name, table, collector)
            left -= table.num_rows
            if left <= 0:
                break
    return collector.statistics()


def _selections(plan: n.Node, name: str, table: pa.Table, collector: Collector) -> None:
    for node in plan.walk():
        below = _without_windows(node)
        if isinstance(below, n.Filter) and all(isinstance(b, READS_ROWS) for b in below.walk()):
            try:
                came = sum(part.num_rows for part in arriving(below.input, name, table))
                passed = sum(part.num_rows for part in arriving(below, name, table))
            except PanewiseError:  # what is wrong with a column is said by whoever runs the query
                continue
            collector.passed(below.predicate, passed, came, below.input)


def _without_windows(node: n.Node) -> n.Node:
    """A selection over a window as one over its stream: nearly the same share of rows passes."""
    if isinstance(node, n.Window):
        return _without_windows(node.input)
    return node.with_inputs(*map(_without_windows, node.inputs)) if node.inputs else node
