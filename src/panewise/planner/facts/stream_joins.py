"""Plans with joins of streams: which run as pairs, which as relations over pairs, and what is not run."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from panewise.plan import nodes as n
from panewise.planner.statistics.relation_statistics import speaks_of_inputs

STREAM_JOINS = (n.BandJoin, n.TumblingJoin)
BELOW = (n.Source, n.Filter, n.Project, n.Explode, n.Qualify, n.Union, *STREAM_JOINS)
"""What may stand below a join of streams."""
OF_ARRIVAL = frozenset({"first", "last"})
"""Aggregates whose answer depends on the order in which rows come."""


def has_stream_join(plan: n.Node) -> bool:
    """Whether a plan joins streams by their times."""
    return any(isinstance(node, STREAM_JOINS) for node in plan.walk())


def is_pairs(plan: n.Node) -> bool:
    """Whether a plan gives pairs as they are found, or window aggregates over them, and nothing else."""
    node = n.below_selections(plan)
    counted = node.input if isinstance(node, n.WindowAggregate) else plan
    return has_stream_join(plan) and all(isinstance(below, BELOW) for below in counted.walk())


def tops(plan: n.Node) -> list[n.BandJoin | n.TumblingJoin]:
    """The joins of streams that are under no other."""
    if isinstance(plan, n.BandJoin | n.TumblingJoin):
        return [plan]
    return [join for below in plan.inputs for join in tops(below)]


def missing_in(node: n.Node, column: str | None) -> str | None:
    """The kind of the outer join for want of whose partners a column may be null."""
    match node:
        case n.TimePairs() if column is not None:
            for number, side in enumerate(node.inputs):
                if column in side.columns:
                    return missing_in(side, column) if number in node.kind.whole else node.kind.value
        case n.Project() if column is not None and not node.comes_from(column):
            item = next((item.scalar.tree for item in node.items if item.name == column), None)
            if isinstance(item, exp.Null):  # an outer join of relations is a union with its rows without a partner
                return "outer"
            while isinstance(item, exp.Bracket | exp.Paren):  # a field, as of a window
                item = item.this
            return missing_in(node.input, item.name) if isinstance(item, exp.Column) else None
        case n.Project() | n.Qualify() | n.Union() | n.Filter() | n.Explode() if column is not None:
            found = [missing_in(below, name) for below, name in node.comes_from(column)]
            return next((kind for kind in found if kind is not None), None)
    return None


def is_birth(node: n.Node, column: str) -> bool:
    """Whether a column says when each row of a stream, or one of the rows it is made of, came."""
    match node:
        case n.Source():
            return column == node.schema.time
        case n.WindowAggregate():
            return column == n.INSTANT
        case n.Window() | n.RelationToStream(kind=n.RelationToStreamKind.ISTREAM):
            moving = (below.clause.spec for below in node.walk() if isinstance(below, n.Window))
            if any(getattr(spec, "slide", None) != 1 for spec in moving):  # rows show when it moves
                return False
        case n.Filter() | n.Project() | n.Qualify() | n.Explode() | n.Union() | n.Distinct() | n.TimePairs() | \
                n.TableJoin() | n.Lifetime():
            pass
        case _:
            return False
    found = node.comes_from(column)
    return bool(found) and all(is_birth(below, name) for below, name in found)


def unused_statistics(plan: n.Node, stats: object) -> str | None:
    """Why statistics decide nothing about a plan over the pairs of joined streams; None where they may.

    >>> from panewise.core.schema import SourceSchema
    >>> a, b = (n.Source(name, SourceSchema(open=True)) for name in "ab")
    >>> unused_statistics(n.BandJoin(a, b, "ts", "ts", 3, 2), {"a.rows_per_second": 5})
    'a join of streams by their times runs as it is written, and nothing above it is chosen by statistics of its inputs'
    """
    if stats is None or not has_stream_join(plan) or any(isinstance(node, n.Window) for node in plan.walk()):
        return None
    above = [node for node in plan.walk() if isinstance(node, n.WindowAggregate)]
    if above and not (isinstance(stats, Mapping) and speaks_of_inputs(stats)):
        return None
    kernel = "; those of the window aggregate have no dot: rows_per_second" if above else ""
    return ("a join of streams by their times runs as it is written, and nothing above it is chosen by statistics of "
            f"its inputs{kernel}")
