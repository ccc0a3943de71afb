"""The stateless part of a plan as DataFrame operations: sources, filters, projections, elements, names, unions.

Columns that travel beside the data (punctuation, bounds of rows) pass every operator untouched: a row that carries
punctuation has no data, so no filter may drop it and no expression may fail on it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import and_, or_

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from panewise.core.errors import SchemaError, UnsupportedError
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceSchema
from panewise.core.user_functions import called_in
from panewise.engines.spark.host.wire import CONTROL, INPUT, LATE_COLUMN, OWN, POSITION, SIDE_COLUMNS
from panewise.engines.spark.lower.exploding import depth, exploded, spread
from panewise.engines.spark.lower.one_pass import branch_of, spread_out
from panewise.engines.spark.lower.own_functions import computed_in_python
from panewise.engines.spark.lower.quoting import in_quotes
from panewise.engines.spark.lower.quoting import quoted as quoted  # noqa: PLC0414 (known by this name elsewhere)
from panewise.engines.spark.lower.types import arrow_type
from panewise.engines.spark.session.failures import refuse, while_it_lives
from panewise.plan.nodes import Explode, Filter, Named, Node, Project, Qualify, Source, Union
from panewise.planner.rewrites.scalars import conjuncts

STATELESS = (Source, Filter, Project, Explode, Qualify, Union)
MANY_TERMS = 200
"""Terms between ANDs that Spark may take apart."""
MOST_PARTS = 256
"""Parts of a UNION that Spark is given: it plans each of them as a query, and reads its stream for each."""
MANY_PARTS = 32
"""More parts than these are made in one pass if they can; of fewer Spark names better which expression fails."""
MOST_BRANCHES = 1_000
"""Parts that are made in one pass over their stream; the time to plan them grows faster than their number."""
PASSING = "strategy: columns and filters in the JVM, with functions of your own in Python; rows pass as they come"


def scalar_column(scalar: Scalar, frame: DataFrame, of: str = "") -> Column:
    """A scalar expression over rows of a DataFrame, as Spark evaluates it; in Python with functions of the user.

    ``of`` says what the rows are. It is a comment in the text that Spark shows where the expression fails on a row.
    """
    if called_in(scalar.sql):
        return computed_in_python(scalar, frame, of)
    return F.expr(f"{scalar.sql} /* {of} */" if of and scalar.column_name is None else scalar.sql)


def rows_of(*nodes: Node) -> str:
    """What rows of these nodes are called in a message.

    >>> from panewise.core.schema import SourceSchema
    >>> rows_of(Filter(Source("a*/b", SourceSchema()), Scalar("x > 1")))
    'of a b'
    """
    names = dict.fromkeys(below.name for node in nodes for below in node.walk() if isinstance(below, Named))
    return rows_of_streams(*names)


def rows_of_streams(*names: str) -> str:
    """The same by the names of the streams; nothing in them may end a comment, or begin another.

    Short, because Spark shows 32 characters behind an expression.
    """
    return "of " + ", ".join(re.sub(r"[^\w.-]+", " ", name) for name in names)


def condition_column(predicate: Scalar, frame: DataFrame, of: str = "") -> Column:
    """A condition by which Spark selects rows.

    Spark takes a condition apart at its ANDs and puts it together as one chain, whose depth is the number of terms:
    thousands of them overflow the JVM's stack. What is an argument of a function stays as it is; a condition that is
    null selects nothing, so it may be false.
    """
    found = scalar_column(predicate, frame, of)
    return F.coalesce(found, F.lit(False)) if len(conjuncts(predicate)) > MANY_TERMS else found


def undated(frame: DataFrame, attribute: str, stream: str | None = None) -> Column:
    """What a row without a time fails with; its position is known where the source numbers rows."""
    begins = "" if stream is None else f"stream {stream!r}: "
    ends = "; every row needs a value of the windowing attribute; bad_rows='skip' leaves such rows out and counts them"
    place = F.coalesce(F.concat(F.lit(" (position "), quoted(POSITION).cast("string"), F.lit(")")), F.lit("")) \
        if POSITION in frame.columns else F.lit("")
    return refuse(SchemaError, F.concat(F.lit(f"{begins}{attribute!r} is null in a row"), place, F.lit(ends)))


def lower(node: Node, inputs: Mapping[str, DataFrame], *, ordered: bool = False) -> DataFrame:
    """The DataFrame of a stateless plan: its columns, then whatever side columns the inputs have.

    ``ordered`` where something above asks in which order rows came.
    """
    if isinstance(node, Source):
        return _source(node, inputs)
    if isinstance(node, Union):
        return _union(node, inputs, ordered=ordered)
    if not isinstance(node, STATELESS):
        raise UnsupportedError(f"{type(node).__name__} below a window aggregate does not run on Spark yet: "
                               "use `--engine oracle` or `--engine embedded`")
    below = lower(node.inputs[0], inputs, ordered=ordered)
    if isinstance(node, Filter):
        return filtered(below, node.predicate, rows_of(node))
    if isinstance(node, Explode):
        require(below, node.collection.columns)
        made = exploded(node, below, scalar_column(node.collection, below, rows_of(node)), ordered=ordered)
        return made.select(*map(quoted, data_columns(made)), *map(quoted, side_columns(made)))
    if isinstance(node, Project):
        require(below, {c for item in node.items for c in item.scalar.columns})
        of = rows_of(node)
        items = [scalar_column(item.scalar, below, of).alias(item.name) for item in node.items]
    else:
        items = [quoted(c).alias(*node.shown_as(c)) for c in data_columns(below)]
    return below.select(*items, *map(quoted, side_columns(below)))


def is_stateless(plan: Node) -> bool:
    """Whether a plan is nothing but streams, filtered and projected."""
    return all(isinstance(node, STATELESS) for node in plan.walk())


def passed_on(plan: Node, inputs: Mapping[str, DataFrame]) -> DataFrame:
    """The rows of a stateless plan; punctuation has done its work."""
    frame = lower(plan, inputs)
    if CONTROL in frame.columns:
        frame = frame.where(quoted(CONTROL).isNull())
    return frame.select(*map(quoted, data_columns(frame)))


def filtered(frame: DataFrame, predicate: Scalar, of: str = "") -> DataFrame:
    """The rows for which the predicate is true, and all punctuation."""
    require(frame, predicate.columns)
    condition = condition_column(predicate, frame, of)
    if CONTROL in frame.columns:
        condition = quoted(CONTROL).isNotNull() | condition
    return frame.where(condition)


def over_results(results: DataFrame, steps: Sequence[Project | Filter], beside: Sequence[str]) -> DataFrame:
    """Results with projections and filters, the lowest first; columns beside the data pass untouched.

    Rows that are no results, late ones and punctuation, have no data: no filter drops them, nothing is computed there.
    """
    kept = [c for c in beside if c in results.columns]
    is_result = [quoted(c).isNull() for c in (LATE_COLUMN, CONTROL) if c in kept]

    of = rows_of(*steps[:1]).replace("of", "over", 1)

    def computed(scalar: Scalar) -> Column:
        if scalar.column_name is not None or not is_result:
            return scalar_column(scalar, results, of)
        return F.when(reduce(and_, is_result), scalar_column(scalar, results, of))

    for step in steps:
        if isinstance(step, Filter):
            require(results, step.predicate.columns)
            holds = condition_column(step.predicate, results)
            results = results.where(reduce(or_, (~c for c in is_result), holds) if is_result else holds)
        else:
            require(results, {c for item in step.items for c in item.scalar.columns})
            items = [computed(item.scalar).alias(item.name) for item in step.items]
            results = results.select(*items, *map(quoted, kept))
    return results


def data_columns(frame: DataFrame) -> list[str]:
    """The columns a query knows of."""
    return [c for c in frame.columns if c not in SIDE_COLUMNS]


@while_it_lives()
def source_schema(frame: DataFrame, *, time: str | None = None) -> SourceSchema:
    """What a query may refer to in a DataFrame; side columns such as punctuation are not among it."""
    wanted = set(data_columns(frame))
    fields = [pa.field(f.name, arrow_type(f.dataType)) for f in frame.schema.fields if f.name in wanted]
    return replace(SourceSchema.of(pa.schema(fields), time=time), zone=session_zone(frame))


def session_zone(frame: DataFrame) -> str:
    """The time zone in which the session of a DataFrame reads clocks."""
    return str(frame.sparkSession.conf.get("spark.sql.session.timeZone") or "UTC")


def refuse_own(frame: DataFrame, stream: str) -> None:
    """Refuse a column with a name of the kind that the engine gives to columns of its own."""
    for name in data_columns(frame):
        if name.lower().startswith(OWN):
            raise SchemaError(f"stream {stream!r} has a column {name!r}: names that begin with {OWN!r} are kept for "
                              "panewise's own columns; rename it")


def side_columns(frame: DataFrame) -> list[str]:
    """The columns that travel beside them."""
    return [c for c in frame.columns if c in SIDE_COLUMNS]


def require(frame: DataFrame, names: set[str] | frozenset[str]) -> None:
    """Refuse a name that is no column (or field of one), before anything runs."""
    known = data_columns(frame)
    folded = {c.lower() for c in known}
    for name in sorted(names):
        if name.lower() not in folded and not _is_field(frame, name):
            raise SchemaError(f"no column {name!r}; there are {', '.join(known)}")


def _is_field(frame: DataFrame, name: str) -> bool:
    """Whether some struct column has a field of this name: ``window.start`` reads ``start``."""
    fields = (getattr(f.dataType, "names", []) for f in frame.schema.fields)
    return any(name.lower() == str(n).lower() for names in fields for n in names)


def _source(node: Source, inputs: Mapping[str, DataFrame]) -> DataFrame:
    if node.name not in inputs:
        known = ", ".join(sorted(inputs)) or "none"
        raise SchemaError(f"no stream named {node.name!r}; the streams given are: {known}")
    frame = inputs[node.name]
    refuse_own(frame, node.name)
    if node.schema.open:
        return frame
    require(frame, set(node.columns))
    return frame.select(*map(quoted, [*node.columns, *side_columns(frame)]))


def _union(node: Union, inputs: Mapping[str, DataFrame], *, ordered: bool) -> DataFrame:
    """Rows by position, each with the number of the input it came from: only the minimum of their progress holds."""
    if MANY_PARTS < len(node.parts) <= MOST_BRANCHES and not ordered:
        passed = _in_one_pass(node, inputs)
        if passed is not None:
            return passed
    if len(node.parts) > MOST_PARTS:
        raise UnsupportedError(f"UNION of {len(node.parts):,} parts, of at most {MOST_PARTS} on Spark, which plans "
                               f"each as a query, or {MOST_BRANCHES:,} if all select from one stream: use "
                               "explode(array(...)) in SELECT, or engine='embedded'")
    deepest = depth(node) if ordered else 0
    parts = [spread(lower(part, inputs, ordered=ordered), deepest - depth(part) if ordered else 0)
             for part in node.parts]
    names = data_columns(parts[0])
    sides = [c for c in SIDE_COLUMNS if any(c in p.columns for p in parts)]
    if INPUT not in sides:
        sides.append(INPUT)
    aligned = []
    for number, part in enumerate(parts):
        columns = data_columns(part)
        if len(columns) != len(names):
            raise SchemaError(f"UNION needs equal numbers of columns: {', '.join(names)} and {', '.join(columns)}")
        renamed = [quoted(c).alias(n) for c, n in zip(columns, names, strict=True)]
        aligned.append(part.select(*renamed, *(_side(part, c, number) for c in sides)))
    return united(aligned)


def _in_one_pass(node: Union, inputs: Mapping[str, DataFrame]) -> DataFrame | None:
    """The union where all its parts select from one stream."""
    branches = [branch_of(part) for part in node.parts]
    known = [branch for branch in branches if branch is not None]
    if len(known) < len(branches) or any(branch.source != known[0].source for branch in known):
        return None
    frame = _source(known[0].source, inputs)
    sides = [*side_columns(frame), *([] if INPUT in frame.columns else [INPUT])]
    tag = f"concat('{{}}.', {in_quotes(INPUT)})" if INPUT in frame.columns else "'{}'"
    beside = [{name: tag.format(number) if name == INPUT else in_quotes(name) for name in sides}
              for number in range(len(known))]
    return spread_out(frame, known, node.columns, beside, rows_of(known[0].source))


def united(parts: Sequence[DataFrame]) -> DataFrame:
    """One after the other, in pairs of pairs: Spark looks through what it is given at each step."""
    level = list(parts)
    while len(level) > 1:
        level = [one.union(*other) if other else one for one, *other in
                 (level[place:place + 2] for place in range(0, len(level), 2))]
    return level[0]


def _side(part: DataFrame, name: str, number: int) -> Column:
    if name == INPUT:
        return F.lit(str(number)).alias(INPUT) if INPUT not in part.columns \
            else F.concat(F.lit(f"{number}."), quoted(INPUT)).alias(INPUT)
    if name in part.columns:
        return quoted(name)
    return F.lit(None).cast("string" if name == CONTROL else "bigint").alias(name)
