"""Streaming: pane partials of every micro-batch, gathered by shards that close windows as punctuation arrives.

``source ─ filter, project (JVM) ─ partials (stateless) ─ by shard ─ kernel host (stateful) ─ results``

Lateness. Where the source stamps rows with the bound in force at their arrival (panewise's file source does), each row
is judged by its own stamp, so results do not depend on how the stream is cut into micro-batches. Other DataFrames have
no order inside a micro-batch: their rows are judged by what was promised before it, a pane at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from panewise.core.errors import PlanError, SchemaError, UnsupportedError
from panewise.core.ordinals import OrdinalKind
from panewise.engines.spark.host.news import PROGRESS_COLUMN
from panewise.engines.spark.host.sharding import shard_labels, with_shard
from panewise.engines.spark.host.stage import RAW, Stage
from panewise.engines.spark.host.wire import CHANGE_COLUMN, INPUT, ROW_BOUND
from panewise.engines.spark.lower.fragment import Fragment, as_ordinal, field_of
from panewise.engines.spark.lower.lineage import Origin, origins
from panewise.engines.spark.lower.progress import Derived, Progress, derived, policies_of
from panewise.engines.spark.lower.stateless_steps import quoted
from panewise.engines.spark.queries.hosting import streamed
from panewise.engines.spark.queries.shard import QueryConfig
from panewise.engines.spark.queries.stage import RowStage
from panewise.engines.spark.queries.windows import of_fragment, partials_of, shared_columns, shown
from panewise.kernels.contract.emission import CHANGE, Emission
from panewise.progress.late import LatePolicy

NEEDS_STAMPS = ("late rows as an output need rows that carry the bound in force at their arrival: read files with "
                "panewise.read_stream, or choose another late policy")


def streaming(fragment: Fragment, *, late: LatePolicy, progress: Progress, shards: int,
              emit: str = "final") -> DataFrame:
    """The results of a fragment over streaming DataFrames: each window once, when it is complete, or early."""
    emission = Emission.parse(emit, fragment.clause.ordinal)
    config, stage, rows = prepare(fragment, late=late, progress=progress, shards=shards, emission=emission)
    results = streamed(rows, stage, config)
    finished = fragment.finished(shown(fragment, results.withColumnRenamed(CHANGE, CHANGE_COLUMN)))
    if not emission.early:
        return finished
    if CHANGE in finished.columns:
        raise PlanError(f"early results have a column {CHANGE!r}, and the query names one so: give it another name")
    return finished.withColumnRenamed(CHANGE_COLUMN, CHANGE)


def prepare(fragment: Fragment, *, late: LatePolicy, progress: Progress, shards: int, emission: Emission) \
        -> tuple[QueryConfig, Stage, DataFrame]:
    """The two halves of the operator, and the rows the first one reads: as they are, or by panes where those serve."""
    inputs = tuple(origins(fragment))
    follow = followed(inputs, progress, fragment.clause.ordinal)
    stamped = ROW_BOUND in fragment.rows.columns
    raw = late is LatePolicy.SIDE and stamped
    if late is LatePolicy.SIDE and not stamped and not fragment.by_position:
        raise UnsupportedError(NEEDS_STAMPS)
    together = fragment.keys if fragment.paned else shared_columns(fragment)
    labels = shard_labels(shards if together else 1)
    config = of_fragment(fragment, late, len(labels), emission=emission, raw=raw and not fragment.paned,
                         delays={tag: f.delay for tag, f in follow.items()}, partials=fragment.paned)
    stage: Stage
    if fragment.paned:
        stage = partials_of(fragment, config, labels, tuple(follow), counted=not stamped)
    else:
        stage = RowStage.of(config.inputs, labels, tuple(follow))
    more = _progress_columns(fragment, follow) + ([fragment.late_text.alias(RAW)] if raw else [])
    return config, stage, with_shard(fragment.rows_with(*more), together, labels)


def followed(inputs: Sequence[Origin], progress: Progress, kind: OrdinalKind) -> dict[str, Derived]:
    """The inputs whose bound follows their largest value, by tag; the others carry punctuation."""
    policies = policies_of(progress, (o.source.name for o in inputs))
    found = ((origin.tag, derived(policies[origin.source.name], kind)) for origin in inputs)
    return {tag: follow for tag, follow in found if follow is not None}


def _progress_columns(fragment: Fragment, follow: Mapping[str, Derived]) -> list[Column]:
    """What the bounds follow, where for one input it is not the windowing attribute."""
    if all(f.column is None for f in follow.values()):
        return []
    parts = []
    for tag, f in follow.items():
        value = fragment.ordinal if f.column is None else _progress_column(fragment, f.column)
        parts.append(F.when(quoted(INPUT) == tag, value) if INPUT in fragment.below.columns else value)
    return [F.coalesce(*parts).alias(PROGRESS_COLUMN)]


def _progress_column(fragment: Fragment, column: str) -> Column:
    """A column of the input that says how far the stream is, as a bigint; a null says nothing."""
    expected, found = (field_of(fragment.below, c).dataType for c in (fragment.clause.attribute, column))
    if type(expected) is not type(found):
        raise SchemaError(f"progress column {column!r} is {found.simpleString()}, but the windowing attribute is "
                          f"{expected.simpleString()}: both must be of one kind")
    return as_ordinal(fragment.below, quoted(column), fragment.clause.ordinal)
