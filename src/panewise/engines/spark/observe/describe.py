"""``explain`` for Spark: the operators of a window aggregate, each with what it moves and what it keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from panewise.engines.spark.host.sharding import default_shards
from panewise.engines.spark.lower.fragment import Fragment, take_apart
from panewise.engines.spark.lower.meaning import as_meant, note
from panewise.engines.spark.lower.stateless_steps import PASSING, is_stateless
from panewise.engines.spark.native.batch import batch_strategy
from panewise.engines.spark.queries.running import explain_hosting, is_hosted
from panewise.engines.spark.queries.windows import shared_columns
from panewise.engines.spark.session.failures import while_it_lives
from panewise.plan.nodes import Node
from panewise.plan.written import refuses_at_place
from panewise.planner.legal.capabilities import check
from panewise.planner.options import RunOptions
from panewise.planner.options.run_options import MEASURE


@dataclass(frozen=True)
class Step:
    """One operator of the physical plan."""

    operator: str
    does: str
    shuffle: str = "none"
    state: str = "none"


@while_it_lives()
@refuses_at_place
def explain_frames(plan: Node, inputs: Mapping[str, DataFrame], options: RunOptions | None = None, *,
                   shards: int | None = None, **given: Any) -> str:
    """How Spark will run the plan: strategy, copies saved, and for every operator its shuffle and its state.

    Of a plan that runs as a query per shard, how it is split, and which plan ``stats`` of its inputs choose.
    """
    options = RunOptions(**given) if options is None else options
    if options.stats == MEASURE:  # on the inputs in process
        options = options.without(("stats",))
    check(plan, "spark")
    if is_stateless(plan):
        return "\n".join([PASSING, *note(plan, inputs)])
    if is_hosted(plan):
        with as_meant(plan, inputs):
            hosted = explain_hosting(plan, inputs, options, shards)
        return "\n".join([hosted, *note(plan, inputs)])
    fragment = take_apart(plan, inputs, exact=options.exact)
    streaming = fragment.below.isStreaming
    lines = [f"strategy  {_streaming_strategy(fragment) if streaming else batch_strategy(fragment)}"]
    if fragment.paned:
        lines += [f"panes     {fragment.scheme.describe()}", f"copies    {copies(fragment)}"]
    found = streaming_steps(fragment, shards or default_shards(fragment.below)) if streaming else batch_steps(fragment)
    for step in found:
        lines += [f"{step.operator}: {step.does}", f"    shuffle {step.shuffle}", f"    state   {step.state}"]
    return "\n".join([*lines, *note(plan, inputs)])


def copies(fragment: Fragment) -> str:
    """What ``window()`` would have copied."""
    saved = fragment.window.ratio - 1
    if saved < 1:
        return "none needed, a row is in at most one window"
    return f"none; assigning rows to windows would make {saved} more of every row"


def batch_steps(fragment: Fragment) -> list[Step]:
    """The operators of a batch job."""
    groups = _groups(fragment)
    if not fragment.paned:
        together = shared_columns(fragment)
        where = f"all rows, by {', '.join(_public(fragment, together))}" if together else "all rows to one task"
        return [Step("rows", "columns that the aggregate reads, in the JVM"),
                Step("kernel", "windows of each group over its sorted rows, in Python workers (Arrow)", where,
                     "the open windows of one group at a time")]
    scheme = fragment.scheme
    first = Step("pane aggregate", f"one partial per {groups} and pane", f"partials (not rows), by {groups} and pane",
                 "a hash table of partials per task")
    if scheme.per_window <= scheme.per_slide:
        return [first]
    return [first, Step("roll-up", f"each window from {scheme.per_window} panes", f"partials, by {groups}",
                        f"{scheme.per_window} panes of one group at a time")]


def streaming_steps(fragment: Fragment, shards: int) -> list[Step]:
    """The operators of a streaming query."""
    together = fragment.keys if fragment.paned else shared_columns(fragment)
    count = shards if together else 1
    if fragment.paned:
        kept = f"panes of open windows, {fragment.scheme.per_window} to a window, and what came since they were written"
        first = Step("pane partials", f"one partial per {_groups(fragment)} and pane of a micro-batch, in Arrow")
        moved = "partials (not rows)"
    else:
        kept = "what the kernels need of the rows of open windows, and what came since it was last written"
        first = Step("rows", "columns that the kernels read, in Arrow")
        moved = "rows"
    why = f"{count} shards, by hash of {', '.join(_public(fragment, together))}" if together else "one shard"
    return [first, Step("kernel host", "closes windows as promises arrive; each result leaves once",
                        f"{moved} to {why}; promises to every shard", f"{kept}; and the bounds of every input")]


def _streaming_strategy(fragment: Fragment) -> str:
    how = "pane partials" if fragment.paned else "rows"
    return f"{how} per micro-batch (stateless), kernel host per shard (stateful)"


def _groups(fragment: Fragment) -> str:
    return ", ".join(_public(fragment, fragment.keys)) or "stream"


def _public(fragment: Fragment, internal: list[str]) -> list[str]:
    """Names of the query for internal ones."""
    names = dict(zip(fragment.keys, (k.name for k in fragment.node.keys), strict=True))
    names |= {i: c for i, c in zip(fragment.partition, fragment.clause.partition, strict=True) if i not in names}
    return [names.get(i, i) for i in internal]
