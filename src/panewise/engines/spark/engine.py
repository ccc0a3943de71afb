"""The Spark engine's front door: a plan and DataFrames in, a DataFrame out."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from panewise.core.errors import PlanError
from panewise.engines.spark.admitting import admitted, unmarked
from panewise.engines.spark.batch import batch, batch_strategy
from panewise.engines.spark.failures import while_it_lives
from panewise.engines.spark.fragment import Fragment, take_apart
from panewise.engines.spark.meaning import as_meant
from panewise.engines.spark.queries.running import (
    PUNCTUATED,
    explain_hosting,
    is_hosted,
    query_batch,
    query_stream,
)
from panewise.engines.spark.relation import PASSING, is_stateless, passed_on
from panewise.engines.spark.row_batch import shared_columns
from panewise.engines.spark.sharding import default_shards
from panewise.engines.spark.streaming import streaming
from panewise.engines.spark.wire import CONTROL, ROW_BOUND
from panewise.plan.nodes import Node
from panewise.plan.run_instant import begun_at, instant_now, reads_the_clock
from panewise.plan.written import refuses_at_place
from panewise.planner.capabilities import check
from panewise.planner.choices import Stats
from panewise.progress.late import DEFAULT_LATE, LatePolicy
from panewise.queries.admission import InputRules

NOT_KEPT = ("now() is the instant the run began, also after a restart, and over a streaming DataFrame nothing here "
            "knows where Spark will keep its checkpoint: give the instant, now=pw.kept_instant('FOLDER'), which keeps "
            "it in a folder beside the checkpoint, or now=datetime(…, tzinfo=UTC); for the time of a row use its time "
            "column")


@while_it_lives()
def run(plan: Node, inputs: Mapping[str, DataFrame], *, late: str | LatePolicy = DEFAULT_LATE,
        progress: str | Mapping[str, str] = "source", emit: str = "final", stats: Stats = None,
        joins: str = "auto", rules: InputRules | None = None, exact: bool = False) -> DataFrame:
    """Batch for bounded DataFrames, streaming as soon as one of them is a stream.

    ``progress`` is one policy, or one per stream name. A bounded DataFrame takes none: all of it is there. A streaming
    one needs one, unless it carries punctuation. ``stats`` of the inputs (``S.rows_per_second``, …) choose among the
    plans of joins and changing relations. ``joins`` is about streams: ``"native"`` asks for Spark's own join, which is
    refused where it is not exact, ``"kernels"`` for that of the kernels. ``rules`` say what becomes of rows that
    cannot be used. ``exact`` sums floats in kernels where Spark would add, and round, them.
    """
    plan = _begun(plan, inputs)
    with as_meant(plan, inputs):
        usable = admitted(plan, inputs, rules)
        return usable.beside(_run(plan, usable.inputs, late, progress, emit, stats, joins, exact))


def _begun(plan: Node, inputs: Mapping[str, DataFrame]) -> Node:
    """The plan with the present instant, unless a later start would have another."""
    if any(frame.isStreaming for frame in inputs.values()) and reads_the_clock(plan):
        raise PlanError(NOT_KEPT)
    return begun_at(plan, instant_now())


def _run(plan: Node, inputs: Mapping[str, DataFrame], late: str | LatePolicy, progress: str | Mapping[str, str],
         emit: str, stats: Stats, joins: str, exact: bool) -> DataFrame:
    policies = {progress} if isinstance(progress, str) else set(progress.values()) or {"source"}
    if not any(frame.isStreaming for frame in inputs.values()):
        if policies != {"source"}:
            raise PlanError("a static DataFrame is complete and has no order of arrival, so a progress policy says "
                            "nothing: leave it out, or read the data as a stream")
        if emit.strip().lower() != "final":
            raise PlanError(f"emit={emit!r} shows results before they are final, and those of a static DataFrame are "
                            "final at once: leave it out, or read the data as a stream")
        if joins != "auto":
            raise PlanError(f"joins={joins!r} chooses how streams are joined, and static DataFrames are none: leave it "
                            "out")
        return run_batch(plan, inputs, late=late, stats=stats, exact=exact)
    silent = [name for name, frame in inputs.items() if frame.isStreaming and CONTROL not in frame.columns
              and (progress if isinstance(progress, str) else progress.get(name, "source")) == "source"]
    if silent:
        raise PlanError(f"no window of this stream would ever close: {silent[0]!r} carries no punctuation. Say how "
                        "late rows can be, progress='late:10 s', or that they come in order, progress='ordered'; "
                        "progress={'name': policy, …} gives each stream its own")
    return run_streaming(plan, inputs, late=late, progress=progress, emit=emit, stats=stats, joins=joins)


@while_it_lives()
@refuses_at_place
def run_batch(plan: Node, inputs: Mapping[str, DataFrame], *, late: str | LatePolicy = DEFAULT_LATE,
              stats: Stats = None, exact: bool = False) -> DataFrame:
    """The complete result of a plan over bounded DataFrames, one per stream name; nothing runs before an action.

    A DataFrame has no order of arrival, so no row of it is late, unless its rows carry the bound in force at their
    arrival (``read_batch`` of :mod:`panewise.engines.spark.sources` stamps them).
    """
    check(plan, "spark")
    plan = _begun(plan, inputs)
    with as_meant(plan, inputs):
        inputs = unmarked(plan, inputs)
        if is_stateless(plan):
            return passed_on(plan, inputs)
        if is_hosted(plan):
            return query_batch(plan, inputs, late=LatePolicy.parse(late), stats=stats)
        _no_choice(stats)
        return batch(take_apart(plan, inputs, exact=exact), LatePolicy.parse(late))


@while_it_lives()
@refuses_at_place
def run_streaming(plan: Node, inputs: Mapping[str, DataFrame], *, late: str | LatePolicy = DEFAULT_LATE,
                  progress: str | Mapping[str, str] = "source", shards: int | None = None,
                  emit: str = "final", stats: Stats = None, joins: str = "auto") -> DataFrame:
    """A streaming DataFrame of results: each window once, as soon as a punctuation or the policy says it is complete.

    ``progress`` is one policy, or one per stream name; a union promises what all its inputs promise.
    ``shards`` is how many stateful tasks share the work (default: Spark's shuffle partitions). The query keeps the
    number of shards it began with: a checkpoint fits no other.
    ``emit`` asks for early results: ``"change"`` shows after every micro-batch what has changed in open windows,
    ``"early:10 s"`` whenever promises have moved on so far. Results then are a log with a column ``change``: +1 for a
    row that holds now, -1 for one shown before that does not any more; added up they are the final results.
    ``"punctuated"`` is for changing relations and pairs of streams: rows whose column ``punctuation`` is not null say
    how far results are.
    """
    check(plan, "spark")
    plan = _begun(plan, inputs)
    if emit.strip().lower() == PUNCTUATED and (is_stateless(plan) or not is_hosted(plan)):
        raise PlanError(f"emit={emit!r} is for relations over windows and pairs of streams: other results say by their "
                        "window when they are complete, or need not say it")
    with as_meant(plan, inputs):
        return _streamed(plan, unmarked(plan, inputs), LatePolicy.parse(late), progress, shards, emit, stats, joins)


def _streamed(plan: Node, inputs: Mapping[str, DataFrame], late: LatePolicy, progress: str | Mapping[str, str],
              shards: int | None, emit: str, stats: Stats, joins: str) -> DataFrame:
    if is_stateless(plan):
        return passed_on(plan, inputs)
    if is_hosted(plan):
        return query_stream(plan, inputs, late=late, progress=progress, shards=shards, emit=emit, stats=stats,
                            joins=joins)
    _no_choice(stats)
    if joins != "auto":
        raise PlanError(f"joins={joins!r} chooses how streams are joined, and this query joins none: leave it out")
    fragment = take_apart(plan, judged_alike(inputs, progress))
    if not fragment.below.isStreaming:
        raise PlanError("run_streaming needs streaming DataFrames (spark.readStream …); run_batch takes bounded ones")
    return streaming(fragment, late=late, progress=progress,
                     shards=shards or default_shards(fragment.below), emit=emit)


def _no_choice(stats: Stats) -> None:
    if stats is not None:
        raise PlanError("how a window aggregate runs on Spark is chosen by rule, as explain() shows: leave stats= out; "
                        "it chooses among the plans of joins and changing relations")


def judged_alike(inputs: Mapping[str, DataFrame], progress: str | Mapping[str, str]) -> Mapping[str, DataFrame]:
    """The inputs, with bounds on their rows only where those say everything.

    A stamp is the bound at the source. Where a policy derives a further bound here, or another input has no stamps,
    all rows are judged here, by what was promised before their micro-batch.
    """
    policies = {progress} if isinstance(progress, str) else {progress.get(name, "source") for name in inputs}
    if policies == {"source"} and all(ROW_BOUND in frame.columns for frame in inputs.values()):
        return inputs
    return {name: frame.drop(ROW_BOUND) for name, frame in inputs.items()}


def explain_strategy(plan: Node, inputs: Mapping[str, DataFrame], *, shards: int | None = None,
                     stats: Stats = None, joins: str = "auto", late: str = "generous", exact: bool = False) -> str:
    """How Spark will run the plan and why, in a few lines."""
    check(plan, "spark")
    if is_stateless(plan):
        return PASSING
    if is_hosted(plan):
        with as_meant(plan, inputs):
            return explain_hosting(plan, inputs, shards=shards, stats=stats, joins=joins, late=late)
    fragment = take_apart(plan, inputs, exact=exact)
    lines = [f"panes: {fragment.scheme.describe()}", _copies(fragment)] if fragment.paned else []
    if fragment.below.isStreaming:
        together = fragment.keys if fragment.paned else shared_columns(fragment)
        count = shards or default_shards(fragment.below)
        alone = "windows are of the whole stream" if fragment.keys else "there is no GROUP BY"
        why = f"{count}, by hash of the group" if together else f"one, because {alone}"
        how = "pane partials" if fragment.paned else "rows"
        lines += [f"strategy: {how} per micro-batch (stateless), kernel host per shard (stateful)", f"shards: {why}"]
    else:
        lines.append(f"strategy: {batch_strategy(fragment)}")
    return "\n".join(lines)


def _copies(fragment: Fragment) -> str:
    saved = fragment.window.ratio - 1
    if saved < 1:
        return "copies: none needed, a row is in at most one window"
    return f"copies: none; assigning rows to windows would make {saved} more of every row"
