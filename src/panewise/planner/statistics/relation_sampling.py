"""Statistics of a relational plan, measured on the first rows of its streams."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa

from panewise.core.errors import PanewiseError
from panewise.plan import nodes as n
from panewise.planner.statistics.collecting import Collector
from panewise.planner.statistics.relation_statistics import RelationStatistics
from panewise.planner.statistics.sampling import SAMPLE_ROWS, arriving, head

READS_ROWS = (n.Source, n.Filter, n.Project, n.Explode, n.Qualify, n.Union)


def measured_relations(plan: n.Node, streams: Mapping[str, Iterable[pa.Table]], *,
                       rows: int = SAMPLE_ROWS) -> RelationStatistics:
    """Rates and values of every stream, and the share of rows that pass each selection next to a stream."""
    collector = Collector(plan)
    for name, batches in streams.items():
        for table in head(batches, rows):
            collector.rows(name, table)
            _selections(plan, name, table, collector)
    return collector.statistics()


def _selections(plan: n.Node, name: str, table: pa.Table, collector: Collector) -> None:
    for node in plan.walk():
        below = _without_windows(node)
        if isinstance(below, n.Filter) and all(isinstance(b, READS_ROWS) for b in below.walk()):
            try:
                came = sum(part.num_rows for part in arriving(below.input, name, table))
                passed = sum(part.num_rows for part in arriving(below, name, table))
            except PanewiseError:  # what is wrong with a column is said when the query runs
                continue
            collector.passed(below.predicate, passed, came, below.input)


def _without_windows(node: n.Node) -> n.Node:
    """A selection over a window as one over its stream: nearly the same share of rows passes."""
    if isinstance(node, n.Window):
        return _without_windows(node.input)
    return node.rebuilt(_without_windows)
