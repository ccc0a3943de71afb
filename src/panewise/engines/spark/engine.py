"""The Spark engine's front door: a plan and DataFrames in, a DataFrame out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame

from panewise.core.errors import PlanError
from panewise.engines.spark.host.sharding import default_shards
from panewise.engines.spark.host.wire import CONTROL, ROW_BOUND
from panewise.engines.spark.lower.admitting import admitted, unmarked
from panewise.engines.spark.lower.fragment import take_apart
from panewise.engines.spark.lower.meaning import as_meant
from panewise.engines.spark.lower.stateless_steps import is_stateless, passed_on
from panewise.engines.spark.lower.watermarks import with_watermarks
from panewise.engines.spark.native.batch import batch
from panewise.engines.spark.queries.running import NO_STREAM, is_hosted, query_batch, query_stream
from panewise.engines.spark.session.failures import while_it_lives
from panewise.engines.spark.streaming import streaming
from panewise.plan.nodes import Node
from panewise.plan.run_instant import begun_at, instant_now, reads_the_clock
from panewise.plan.written import refuses_at_place
from panewise.planner.legal.capabilities import check
from panewise.planner.options import Mode, RunOptions

NOT_KEPT = ("now() is the instant the run began, also after a restart, and over a streaming DataFrame nothing here "
            "knows where Spark will keep its checkpoint: give the instant, now=pw.kept_instant('FOLDER'), which keeps "
            "it in a folder beside the checkpoint, or now=datetime(…, tzinfo=UTC); for the time of a row use its time "
            "column")


@while_it_lives()
def run(plan: Node, inputs: Mapping[str, DataFrame], options: RunOptions | None = None, **given: Any) -> DataFrame:
    """Batch for bounded DataFrames, streaming as soon as one of them is a stream; options also as keywords.

    ``progress`` is one policy, or one per stream name. A bounded DataFrame takes none: all of it is there. A streaming
    one needs one, unless it carries punctuation or a watermark. ``stats`` of the inputs (``S.rows_per_second``, …)
    choose among the plans of joins and changing relations. ``joins`` is about streams: ``"native"`` asks for Spark's
    own join, which is refused where it is not exact, ``"kernels"`` for that of the kernels. ``exact`` sums floats in
    kernels where Spark would add, and round, them.
    """
    options = RunOptions(**given) if options is None else options
    endless = any(frame.isStreaming for frame in inputs.values())
    options.refuse_for(plan, Mode.SPARK_STREAM if endless else Mode.SPARK_BATCH)
    plan = _begun(plan, inputs)
    with as_meant(plan, inputs):
        usable = admitted(plan, inputs, options.bad_rows)
        if endless:
            options = replace(options, progress=with_watermarks(plan, inputs, options.progress))
            _refuse_silence(inputs, options.progress)
        return usable.beside((run_streaming if endless else run_batch)(plan, usable.inputs, options))


def _begun(plan: Node, inputs: Mapping[str, DataFrame]) -> Node:
    """The plan with the present instant, unless a later start would have another."""
    if any(frame.isStreaming for frame in inputs.values()) and reads_the_clock(plan):
        raise PlanError(NOT_KEPT)
    return begun_at(plan, instant_now())


def _refuse_silence(inputs: Mapping[str, DataFrame], progress: str | Mapping[str, str]) -> None:
    """A stream that never says how far it is would never close a window."""
    silent = [name for name, frame in inputs.items() if frame.isStreaming and CONTROL not in frame.columns
              and (progress if isinstance(progress, str) else progress.get(name, "source")) == "source"]
    if silent:
        raise PlanError(f"no window of this stream would ever close: {silent[0]!r} carries no punctuation. Say how "
                        "late rows can be, progress='late:10 s' or withWatermark('ts', '10 seconds'), or that they "
                        "come in order, progress='ordered'; "
                        "progress={'name': policy, …} gives each stream its own")


@while_it_lives()
@refuses_at_place
def run_batch(plan: Node, inputs: Mapping[str, DataFrame], options: RunOptions | None = None,
              **given: Any) -> DataFrame:
    """The complete result of a plan over bounded DataFrames, one per stream name; nothing runs before an action.

    A DataFrame has no order of arrival, so no row of it is late, unless its rows carry the bound in force at their
    arrival (``read_batch`` of :mod:`panewise.engines.spark.io.sources` stamps them).
    """
    def answered(plan: Node, inputs: Mapping[str, DataFrame], options: RunOptions) -> DataFrame:
        if is_hosted(plan):
            return query_batch(plan, inputs, options)
        return batch(take_apart(plan, inputs, exact=options.exact), options.late)

    return _run(plan, inputs, RunOptions(**given) if options is None else options, Mode.SPARK_BATCH, answered)


@while_it_lives()
@refuses_at_place
def run_streaming(plan: Node, inputs: Mapping[str, DataFrame], options: RunOptions | None = None, *,
                  shards: int | None = None, **given: Any) -> DataFrame:
    """A streaming DataFrame of results: each window once, as soon as a punctuation or the policy says it is complete.

    ``shards`` is how many stateful tasks share the work (default: Spark's shuffle partitions). The query keeps the
    number of shards it began with: a checkpoint fits no other.
    ``emit`` asks for early results: ``"change"`` shows after every micro-batch what has changed in open windows,
    ``"early:10 s"`` whenever promises have moved on so far. Results then are a log with a column ``change``: +1 for a
    row that holds now, -1 for one shown before that does not any more; added up they are the final results.
    ``"punctuated"`` is for changing relations and pairs of streams: rows whose column ``punctuation`` is not null say
    how far results are.
    """
    def streamed(plan: Node, inputs: Mapping[str, DataFrame], options: RunOptions) -> DataFrame:
        if is_hosted(plan):
            return query_stream(plan, inputs, options, shards)
        fragment = take_apart(plan, judged_alike(inputs, options.progress))
        if not fragment.below.isStreaming:
            raise PlanError(NO_STREAM)
        return streaming(fragment, late=options.late, progress=options.progress,
                         shards=shards or default_shards(fragment.below), emit=options.emit)

    return _run(plan, inputs, RunOptions(**given) if options is None else options, Mode.SPARK_STREAM, streamed)


def _run(plan: Node, inputs: Mapping[str, DataFrame], options: RunOptions, mode: Mode,
         answered: Callable[[Node, Mapping[str, DataFrame], RunOptions], DataFrame]) -> DataFrame:
    """What both have in common: what is refused, what expressions mean, rows that pass as they come."""
    check(plan, "spark")
    options.refuse_for(plan, mode)
    plan = _begun(plan, inputs)
    with as_meant(plan, inputs):
        inputs = unmarked(plan, inputs)
        return passed_on(plan, inputs) if is_stateless(plan) else answered(plan, inputs, options)


def judged_alike(inputs: Mapping[str, DataFrame], progress: str | Mapping[str, str]) -> Mapping[str, DataFrame]:
    """The inputs, with bounds on their rows only where those say everything.

    A stamp is the bound at the source. Where a policy derives a further bound here, or another input has no stamps,
    all rows are judged here, by what was promised before their micro-batch.
    """
    policies = {progress} if isinstance(progress, str) else {progress.get(name, "source") for name in inputs}
    if policies == {"source"} and all(ROW_BOUND in frame.columns for frame in inputs.values()):
        return inputs
    return {name: frame.drop(ROW_BOUND) for name, frame in inputs.items()}
