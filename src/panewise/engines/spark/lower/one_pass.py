"""Parts of a UNION that read one stream: a single pass over its rows makes those of all of them.

Spark plans each part of a union as a query of its own and reads the stream again for each. Here a row of the stream
becomes an array with a struct for every part that takes it, which Spark spreads out again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from panewise.core.scalar import Scalar
from panewise.core.user_functions import called_in
from panewise.engines.spark.host.wire import CONTROL
from panewise.engines.spark.lower.quoting import in_quotes
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


def spread_out(frame: DataFrame, branches: Sequence[Branch], names: Sequence[str], sides: Sequence[Mapping[str, str]],
               of: str) -> DataFrame | None:
    """The rows of all branches over the rows of their stream; ``sides`` are the columns beside the data, of each.

    All of it is one text: to put thousands of columns together one by one takes longer than to compute them. None where
    a column has several types: a union finds the one they have in common.
    """
    shown = [[_text(scalar, of) for _, scalar in branch.items] for branch in branches]
    if not _of_one_type(frame, shown):
        return None
    conditions = [_condition(branch, frame, of) for branch in branches]
    if all(conditions) and len(conditions) <= MOST_CONDITIONS:
        frame = frame.where(F.expr(" OR ".join(f"({condition})" for condition in conditions)))
    rows = []
    for texts, beside, condition in zip(shown, sides, conditions, strict=True):
        fields = {**dict(zip(names, texts, strict=True)), **beside}
        row = f"struct({', '.join(f'{text} AS {in_quotes(name)}' for name, text in fields.items())})"
        rows.append(f"CASE WHEN {condition} THEN {row} END" if condition else row)
    return frame.select(F.expr(f"inline(filter(array({', '.join(rows)}), taken -> taken IS NOT NULL))"))


def _text(scalar: Scalar, of: str) -> str:
    """An expression, with what its rows are as a comment, which Spark shows where it fails on a row."""
    return scalar.sql if scalar.column_name is not None else f"({scalar.sql}) /* {of} */"


def _of_one_type(frame: DataFrame, shown: Sequence[Sequence[str]]) -> bool:
    """Whether columns at one place have one type in all branches."""
    for column in zip(*shown, strict=True):
        texts = dict.fromkeys(column)
        fields = ", ".join(f"{text} AS c{number}" for number, text in enumerate(texts))
        found = frame.select(F.expr(f"struct({fields})").alias("found")).schema["found"].dataType
        assert isinstance(found, StructType)
        if len({field.dataType.json() for field in found.fields}) > 1:
            return False
    return True


def _condition(branch: Branch, frame: DataFrame, of: str) -> str:
    """Which rows a branch takes; all punctuation. Empty where it takes all."""
    if not branch.conditions:
        return ""
    holds = " AND ".join(f"coalesce({_text(scalar, of)}, false)" for scalar in branch.conditions)
    return f"{in_quotes(CONTROL)} IS NOT NULL OR ({holds})" if CONTROL in frame.columns else holds
