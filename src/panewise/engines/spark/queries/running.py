"""Plans that are more than one window aggregate, on Spark: joins, changing relations, aggregates over either.

``inputs ─ tagged and united ─ by shard (stateless) ─ one running query per shard ─ results``

A plan is split by the value of a column that all its operators keep together (`planner.partitioning`). Where that
column changes on the way up, the plan is cut (`planner.exchange`): what happens to the relation below goes, with a
punctuation that says how far it is, to the shards of the part above. What has no such column runs in one piece. Each
part is the very query that runs in process, so results are the same: told when their instants are complete, once,
wherever the input is cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from panewise.core.errors import PlanError, UnsupportedError
from panewise.core.scalar import Scalar
from panewise.dataflow import open_plan
from panewise.engines.spark.host.sharding import SHARD, default_shards
from panewise.engines.spark.host.wire import CONTROL, LATE_COLUMN, ROW_BOUND
from panewise.engines.spark.lower.progress import derived, policies_of
from panewise.engines.spark.lower.stateless_steps import over_results, scalar_column
from panewise.engines.spark.lower.types import arrow_type
from panewise.engines.spark.queries.choosing import JoinChoice, join_choice
from panewise.engines.spark.queries.hosting import answered, spark_schema, streamed
from panewise.engines.spark.queries.native import native_join
from panewise.engines.spark.queries.placing import Placed, with_columns
from panewise.engines.spark.queries.shard import FINAL, QueryConfig
from panewise.engines.spark.queries.stage import RowStage, plain
from panewise.engines.spark.streaming import NEEDS_STAMPS
from panewise.kernels.contract.state_file import table_bytes
from panewise.plan.nodes import Filter, Named, Node, Project, Relayed
from panewise.plan.physical import RelationPlan
from panewise.planner.choose.choices import Stats
from panewise.planner.choose.computed_outside import divided
from panewise.planner.choose.exchange import exchanged, relayed
from panewise.planner.choose.optimizer import is_relational as worth_optimizing
from panewise.planner.choose.optimizer import optimize
from panewise.planner.choose.partitioning import Placement
from panewise.planner.choose.physical import relation_plan
from panewise.planner.explain.formula import formula
from panewise.planner.facts.closing import promised
from panewise.planner.facts.result_forms import CHANGE, VALID_FROM, form_of
from panewise.planner.facts.stream_joins import has_stream_join, unused_statistics
from panewise.planner.legal.capabilities import check
from panewise.planner.legal.relational import is_nested, is_relational
from panewise.planner.options import RunOptions
from panewise.planner.options.run_options import PUNCTUATED, emission_mode
from panewise.planner.rewrites.join_orders import widened
from panewise.planner.statistics.declared import given_statistics
from panewise.planner.statistics.relation_statistics import RelationStatistics, known_inputs
from panewise.progress.late import DEFAULT_LATE, LatePolicy
from panewise.progress.punctuation import PUNCTUATION_KEY

NO_STREAM = "run_streaming needs streaming DataFrames (spark.readStream …); run_batch takes bounded ones"


def is_hosted(plan: Node) -> bool:
    """Whether a plan runs as a query per shard, rather than as panes or rows of one window aggregate."""
    return is_relational(plan) or is_nested(plan) or has_stream_join(plan)


# -- batch


def query_batch(plan: Node, inputs: Mapping[str, DataFrame], options: RunOptions) -> DataFrame:
    """The complete answer over bounded DataFrames."""
    cut = _cut(plan, inputs, options.late, given_statistics(options.stats))
    return cut.finished(_answered(cut, cut.plan, inputs, options.late))


def _answered(cut: Cut, plan: Node, inputs: Mapping[str, DataFrame], late: LatePolicy) -> DataFrame:
    """One part of a plan, after those below it."""
    inputs = {**inputs, **{part.name: _answered(cut, part.of, inputs, late) for part in relayed(plan)}}
    placed = _placed(plan, inputs, late, None)
    config = QueryConfig(placed.plan, placed.inputs, late, len(placed.labels), _schema(placed),
                         decided=cut.decided(plan))
    stage = RowStage.of(placed.inputs, placed.labels)
    rows = placed.rows()
    if CONTROL in rows.columns:  # all of it is there, whatever was promised on the way
        rows = rows.where(rows[CONTROL].isNull())
    return answered(rows, stage, config)


# -- streaming


def query_stream(plan: Node, inputs: Mapping[str, DataFrame], options: RunOptions, shards: int | None) -> DataFrame:
    """What happens, as it happens: a streaming DataFrame of the plan's results."""
    late, progress, stats = options.late, options.progress, given_statistics(options.stats)
    punctuated = emission_mode(options.emit) == PUNCTUATED
    emit = FINAL if punctuated else options.emit
    plan = with_columns(plan, inputs)
    check(plan, "spark")
    policies = policies_of(progress, (node.name for node in _named(plan)))
    choice = join_choice(plan, inputs, options, policies=policies)
    if choice.found is not None:
        return native_join(choice.found, plan, inputs, open_plan(plan).nothing().schema)
    cut = _cut(plan, inputs, late, _beside(choice, plan, stats), punctuated=punctuated)
    if punctuated:
        _check_punctuated(cut.plan, late)
    else:
        open_plan(plan, emit=emit)  # what cannot be early is refused in the words of the whole query
    below = {part.name: _relay(cut, part, inputs, late, policies, shards) for part in relayed(cut.plan)}
    found = _streamed(cut, cut.plan, {**inputs, **below}, late, {**policies, **dict.fromkeys(below, "source")}, shards,
                      punctuated=punctuated, emit=emit)
    return cut.finished(found, emit).withColumnRenamed(CONTROL, PUNCTUATION_KEY)


def _beside(choice: JoinChoice, plan: Node, stats: Stats) -> Stats:
    """What statistics are left to choose: of pairs of streams nothing else than who joins them."""
    return None if choice.by_rate and has_stream_join(plan) else stats


def _check_punctuated(plan: Node, late: LatePolicy) -> None:
    query = open_plan(plan)
    names = query.nothing().column_names
    if VALID_FROM not in names and (query.windows is not None or not promised(plan, 0)):
        raise PlanError(f"emit={PUNCTUATED!r} is for relations over windows, whose results are dated by "
                        f"{VALID_FROM!r}, and for pairs of streams that show one of the times they meet by; the "
                        f"results here have {', '.join(names)}")
    if late is LatePolicy.SIDE:
        raise PlanError(f"emit={PUNCTUATED!r} and late='side' are not for one query: choose one of them")
    if PUNCTUATION_KEY in names:
        raise PlanError(f"emit={PUNCTUATED!r} adds a column {PUNCTUATION_KEY!r}, and there is one: rename it with AS")


def _relay(cut: Cut, part: Relayed, inputs: Mapping[str, DataFrame], late: LatePolicy, policies: Mapping[str, str],
           shards: int | None) -> DataFrame:
    """What happens to the relation of a lower part; all of it at once where nothing below moves."""
    if not any(inputs[node.name].isStreaming for node in _named(part.of)):
        return _answered(cut, part.of, inputs, late)
    return _streamed(cut, part.of, inputs, late, policies, shards, relay=part.name)


def _streamed(cut: Cut, plan: Node, inputs: Mapping[str, DataFrame], late: LatePolicy, policies: Mapping[str, str],
              shards: int | None, relay: str | None = None, *, punctuated: bool = False,
              emit: str = FINAL) -> DataFrame:
    """One part of a plan, with a punctuation of its own where another part or the user reads it."""
    inputs = {name: frame if policies.get(name, "source") == "source" else frame.drop(ROW_BOUND)  # by the policy
              for name, frame in inputs.items()}
    placed = _placed(plan, inputs, late, shards)
    moving = [i for i in placed.inputs if inputs[i.name].isStreaming]
    if not moving:
        raise PlanError(NO_STREAM)
    if late is LatePolicy.SIDE and any(ROW_BOUND not in inputs[i.name].columns for i in moving):
        raise UnsupportedError(NEEDS_STAMPS)
    behind = _behind(placed, policies)
    config = QueryConfig(placed.plan, placed.inputs, late, len(placed.labels), _schema(placed, emit), behind,
                         _complete(placed), cut.decided(plan), cut.watched(plan, placed.found, len(placed.labels)),
                         relays=relay is not None, punctuated=punctuated, behind_results=cut.behind, emit=emit)
    stage = RowStage.of(tuple(moving), placed.labels, tuple(tag for tag, _ in behind))
    return streamed(placed.rows(moving), stage, config, relay)


def _behind(placed: Placed, policies: Mapping[str, str]) -> tuple[tuple[str, tuple[str, int]], ...]:
    """The inputs whose bound follows their largest value."""
    found = []
    for item in placed.inputs:
        policy = policies.get(item.name, "source")
        if item.attribute is None or not placed.frames[item.name].isStreaming:
            continue
        follow = derived(policy, item.kind)
        if follow is not None and follow.column not in (None, item.attribute):
            raise UnsupportedError(f"progress {policy!r}: a column of its own for progress is for window aggregates; "
                                   "use late:<duration>, ordered, or punctuation")
        if follow is not None:
            found.append((item.tag, (item.attribute, follow.delay)))
    return tuple(found)


def _complete(placed: Placed) -> tuple[tuple[str, tuple[tuple[int | None, bytes], ...]], ...]:
    """The inputs that do not move, read once, when the query is built: tables that a stream is joined with."""
    made = []
    for item in placed.static():
        rows = placed.rows([item]).toArrow()
        if CONTROL in rows.column_names:
            rows = rows.filter(rows.column(CONTROL).is_null())
        parts: list[tuple[int | None, bytes]] = []
        if rows.num_rows:
            own = plain(rows, item).select(item.schema.names)
            shards = rows.column(SHARD)
            for shard in shards.unique().to_pylist():
                mine = shards.is_null() if shard is None else pc.equal(shards, shard)
                parts.append((shard, table_bytes(own.filter(mine).combine_chunks())))
        made.append((item.tag, tuple(parts)))
    return tuple(made)


# -- both


@dataclass(frozen=True)
class Cut:
    """A plan as it will run, perhaps in several parts, and what is known of its inputs."""

    plan: Node
    written: Node
    known: RelationStatistics | None
    late: LatePolicy = DEFAULT_LATE
    behind: tuple[Project | Filter, ...] = ()
    """What Spark does with the results."""
    computed: tuple[str, ...] = ()
    """Which side computes what, in words."""

    def finished(self, results: DataFrame, emit: str = FINAL) -> DataFrame:
        """The results as the query asks for them; early ones are changes."""
        beside = (*form_of(self.plan).added, *([] if emit == FINAL else [CHANGE]), LATE_COLUMN, CONTROL)
        return over_results(results, self.behind, beside) if self.behind else results

    def decided(self, part: Node) -> RelationPlan | None:
        """How a part runs, where statistics decide it; None without them."""
        if self.known is None or has_stream_join(part):
            return None
        return relation_plan(part, part, self.known, generous=self.late is LatePolicy.GENEROUS)

    def watched(self, part: Node, found: Placement | None, shards: int) -> tuple[Node, RelationStatistics] | None:
        """What a shard of a part is watched for; of what comes from another part nothing was declared."""
        if self.known is None or relayed(part) or has_stream_join(part):
            return None
        keys = dict(found.keys) if found is not None else {}
        return self.written if part == self.plan else widened(part), self.known.of_a_part(shards, keys)


def _cut(plan: Node, inputs: Mapping[str, DataFrame], late: LatePolicy, stats: Stats = None, *,
         punctuated: bool = False) -> Cut:
    """The plan as it will run, the cheapest where statistics of its inputs are given.

    With late rows as an output it is one part, because they leave beside its results.
    """
    plan = with_columns(plan, inputs)
    check(plan, "spark")
    known, written = known_inputs(stats), plan
    if stats is not None:
        unused = unused_statistics(plan, stats)
        if unused is not None:
            raise PlanError(f"stats= chooses nothing here: {unused}; leave it out")
        if known is None or not worth_optimizing(plan):
            raise PlanError("on Spark stats= chooses among the plans of joins and relations that change, by what is "
                            "known of their inputs: stats={'stream.rows_per_second': 100}; leave it out here")
        chosen = optimize(plan, known)
        plan, known = chosen.plan, chosen.statistics
    # promises speak of the columns that shards put out, so nothing may rename those behind them
    found = divided(plan, lambda name, scalars: _types(inputs[name], scalars), behind=not punctuated)
    plan = found.plan
    if late is not LatePolicy.SIDE:
        plan = exchanged(plan, lambda part: {f.name: f.type for f in open_plan(part).nothing().schema})
    return Cut(plan, written, known, late, found.behind, tuple(found.lines()))


def _types(frame: DataFrame, scalars: Sequence[Scalar]) -> list[pa.DataType]:
    """What Spark says expressions over a DataFrame are."""
    made = frame.select(*(scalar_column(scalar, frame).alias(f"c{i}") for i, scalar in enumerate(scalars)))
    return [arrow_type(field.dataType) for field in made.schema.fields]


def _named(plan: Node) -> list[Named]:
    """The inputs a user gave, of all parts."""
    own = [node for node in plan.walk() if isinstance(node, Named) and not isinstance(node, Relayed)]
    return [*own, *(node for part in relayed(plan) for node in _named(part.of))]


def _placed(plan: Node, inputs: Mapping[str, DataFrame], late: LatePolicy, shards: int | None) -> Placed:
    read = [node.name for node in plan.walk() if isinstance(node, Named)]
    first = next((inputs[name] for name in read if name in inputs), None)
    return Placed(plan, inputs, late, shards or (default_shards(first) if first is not None else 1))


def _schema(placed: Placed, emit: str = FINAL) -> pa.Schema:
    return (placed.query if emit == FINAL else open_plan(placed.plan, emit=emit)).nothing().schema


def explain_hosting(plan: Node, inputs: Mapping[str, DataFrame], options: RunOptions,
                    shards: int | None = None) -> str:
    """How Spark will run the plan, in a few lines."""
    moving, policy = any(frame.isStreaming for frame in inputs.values()), options.late
    stats = given_statistics(options.stats)
    how = "rows to shards (stateless), a running query per shard " + ("(stateful)" if moving else "over all its rows")
    lines = [f"strategy: {how}"]
    if moving:
        plan = with_columns(plan, inputs)
        choice = join_choice(plan, inputs, options)
        if choice.found is not None:
            return f"strategy: rows below their bound put aside, punctuation as watermark (JVM)\njoin: {choice}"
        lines += [f"join: {choice}"] if choice.possible else []
        stats = _beside(choice, plan, stats)
    cut = _cut(plan, inputs, policy, stats)
    plan = cut.plan
    if stats is not None:
        lines.append(f"plan, by statistics: {formula(plan)}")
    for decided in (cut.decided(part) for part in (plan, *(below.of for below in relayed(plan)))):
        if decided is not None:
            lines += [f"every end is sent from: {type(node.node).__name__}" for node in decided.walk()
                      if node.kernel == "AnnouncedEnds"]
            lines += map(str, decided.at_once)
    for part in relayed(plan):
        below = _placed(part.of, inputs, policy, shards)
        lines.append(f"shards of {part.name}, the {type(part.of).__name__} below: {_split(below)}")
        session = inputs[below.inputs[0].name].sparkSession
        inputs = {**inputs, part.name: session.createDataFrame([], spark_schema(_schema(below)))}
    return "\n".join([*lines, *cut.computed, f"shards: {_split(_placed(plan, inputs, policy, shards))}"])


def _split(placed: Placed) -> str:
    if placed.found is None:
        return "one, because no column keeps together what every operator needs"
    keys = ", ".join(f"{stream}.{column}" for stream, column in placed.found.keys)
    found = f"{len(placed.labels)}, by hash of {keys}"
    everywhere = ", ".join(sorted(placed.found.everywhere))
    return f"{found}; {everywhere} in every shard" if everywhere else found
