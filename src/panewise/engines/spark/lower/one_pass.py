"""Parts of a UNION that read one stream: a single pass over its rows makes those of all of them.

Spark plans each part of a union as a query of its own and reads the stream again for each. Here a row of the stream
becomes an array with a struct for every part that takes it, which Spark spreads out again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from panewise.core.scalar import Scalar
from panewise.core.user_functions import called_in
from panewise.engines.spark.host.wire import CONTROL
from panewise.engines.spark.lower.quoting import quoted
from panewise.plan.nodes import Filter, Node, Project, Qualify, Source
from panewise.planner.rewrites.scalars import substituted

MOST_CONDITIONS = 200
"""Of so many parts the conditions are also given to Spark before the rows are spread, to read less of the stream."""


@dataclass(frozen=True)
class Branch:
    """A part as it reads its stream: which rows it takes, in the order in which they are judged, and what it shows."""

    source: Source
    conditions: tuple[Scalar, ...]
    items: tuple[tuple[str, Scalar], ...]

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        """All expressions."""
        return (*self.conditions, *(scalar for _, scalar in self.items))


def branch_of(part: Node) -> Branch | None:
    """A part that only selects from a stream and computes; None for any other.

    >>> from panewise.core.schema import SourceSchema
    >>> from panewise.plan.nodes import NamedScalar
    >>> s = Source("s", SourceSchema({"a": None}))
    >>> part = Filter(Project(s, (NamedScalar("b", Scalar("a + 1")),)), Scalar("b > 2"))
    >>> [str(scalar) for scalar in branch_of(part).scalars]
    ['(a + 1) > 2', 'a + 1']
    """
    match part:
        case Source() if not part.schema.open:
            return Branch(part, (), tuple((name, Scalar.column(name)) for name in part.columns))
        case Qualify() | Filter() | Project():
            below = branch_of(part.input)
        case _:
            return None
    if below is None:
        return None
    match part:
        case Qualify():
            found = replace(below, items=tuple((part.shown_as(name)[0], scalar) for name, scalar in below.items))
        case Filter():
            predicate = substituted(part.predicate, dict(below.items))
            found = replace(below, conditions=(*below.conditions, predicate))
        case Project():
            items = tuple((item.name, substituted(item.scalar, dict(below.items))) for item in part.items)
            found = replace(below, items=items)
    return None if any(called_in(scalar.sql) for scalar in found.scalars) else found


def spread_out(frame: DataFrame, branches: Sequence[Branch], names: Sequence[str], sides: Sequence[Sequence[Column]],
               of: str) -> DataFrame | None:
    """The rows of all branches over the rows of their stream; ``sides`` are the columns beside the data, of each.

    None where a column has several types: a union finds the one they have in common.
    """
    made = [[F.expr(f"{scalar.sql} /* {of} */" if scalar.column_name is None else scalar.sql).alias(name)
             for name, (_, scalar) in zip(names, branch.items, strict=True)] for branch in branches]
    typed = [column.alias(f"c{place}") for place, column in enumerate(column for row in made for column in row)]
    fields = frame.select(*typed).schema.fields
    if any(len({field.dataType.json() for field in fields[place::len(names)]}) > 1 for place in range(len(names))):
        return None
    conditions = [_condition(branch, frame, of) for branch in branches]
    taken = [condition for condition in conditions if condition is not None]
    if len(taken) == len(branches) <= MOST_CONDITIONS:
        frame = frame.where(reduce(or_, taken))
    rows = [F.struct(*columns, *beside) for columns, beside in zip(made, sides, strict=True)]
    rows = [row if condition is None else F.when(condition, row)
            for row, condition in zip(rows, conditions, strict=True)]
    whole = F.array(*rows)
    return frame.select(F.inline(F.filter(whole, lambda row: row.isNotNull()) if taken else whole))


def _condition(branch: Branch, frame: DataFrame, of: str) -> Column | None:
    """Which rows a branch takes; all punctuation."""
    if not branch.conditions:
        return None
    found = [F.coalesce(F.expr(f"{scalar.sql} /* {of} */"), F.lit(False)) for scalar in branch.conditions]
    holds = reduce(lambda one, other: one & other, found)
    return quoted(CONTROL).isNotNull() | holds if CONTROL in frame.columns else holds
