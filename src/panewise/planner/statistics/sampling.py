"""A sample of the streams as a window aggregate would receive it, to measure statistics on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

import pyarrow as pa

from panewise.core.errors import PlanError
from panewise.plan import nodes as n
from panewise.plan.row_steps import mapped
from panewise.planner.statistics.declared import Statistics, measure

SAMPLE_ROWS = 200_000
"""Rows of each stream that are looked at."""


def measured(plan: n.Node, streams: Mapping[str, Iterable[pa.Table]], *,
             rows: int = SAMPLE_ROWS) -> dict[n.Node, Statistics]:
    """Statistics of every window aggregate, from the first rows of each stream; streams take turns, as in a run."""
    heads = {name: list(head(batches, rows)) for name, batches in streams.items()}
    turns = max(map(len, heads.values()), default=0)
    arrivals = [(name, head[i]) for i in range(turns) for name, head in heads.items() if i < len(head)]
    found: dict[n.Node, Statistics] = {}
    for node in plan.walk():
        if isinstance(node, n.WindowAggregate) and not _reads_results(node):
            sample = [(name, part) for name, table in arrivals for part in arriving(node.input, name, table)]
            if node.window.predicate is not None:
                inside = n.Filter(node.input, node.window.predicate)
                sample = [(name, mapped(inside, part).table) for name, part in sample]
            found[node] = measure(sample, node)
    return found


def _reads_results(node: n.WindowAggregate) -> bool:
    """Whether its rows are what other operators make of those of streams: they are not there before the query runs."""
    return any(isinstance(below, n.WindowAggregate | n.Distinct | n.RelationToStream | n.TableJoin)
               for below in node.input.walk())


def head(batches: Iterable[pa.Table], rows: int) -> Iterator[pa.Table]:
    """Batches until there are enough rows."""
    left = rows
    for batch in islice(batches, rows):
        yield batch.slice(0, left)
        left -= batch.num_rows
        if left <= 0:
            return


def arriving(node: n.Node, stream: str, table: pa.Table) -> list[pa.Table]:
    """Rows of one stream as a node puts them out; a stream that is read twice arrives twice."""
    match node:
        case n.Source():
            return [table] if node.name == stream else []
        case n.Filter() | n.Project() | n.Explode() | n.Qualify():
            return [mapped(node, part).table for part in arriving(node.input, stream, table)]
        case n.Union():
            return [part.rename_columns(list(node.columns)) if node.columns else part
                    for branch in node.parts for part in arriving(branch, stream, table)]
    raise PlanError(f"statistics cannot be measured through {type(node).__name__}: declare them")
