"""``explain``: how a query runs, with the statistics a user gives, and, after a run, what happened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pyarrow as pa

from panewise.core.errors import PlanError
from panewise.engines.contract import InputStream, ordered_by, windowing_attribute
from panewise.engines.embedded.analyze import analyze
from panewise.engines.embedded.measured import notes, steps
from panewise.engines.embedded.run import locating
from panewise.plan.nodes import Node, Window
from panewise.plan.written import refuses_at_place
from panewise.planner.choose.choices import Choices, Stats
from panewise.planner.choose.dataflow import physical_plan
from panewise.planner.choose.optimizer import is_relational as worth_optimizing
from panewise.planner.explain.physical_text import explain_physical
from panewise.planner.explain.plan_text import Format
from panewise.planner.explain.plan_text import explain as explain_plan
from panewise.planner.facts.stream_joins import unused_statistics
from panewise.planner.legal.capabilities import check, supports
from panewise.planner.legal.legal_form import legal_form
from panewise.planner.options import DEFAULTS, PlanKind, RunOptions, kind_of
from panewise.planner.options.run_options import MEASURE
from panewise.planner.statistics.declared import Statistics, given_statistics
from panewise.planner.statistics.relation_sampling import measured_relations
from panewise.planner.statistics.relation_statistics import RelationStatistics, declared_relations, speaks_of_inputs
from panewise.planner.statistics.sampling import measured


@refuses_at_place
def explain_streams(plan: Node, streams: Mapping[str, InputStream] | None = None, format: Format = "text",
                    options: RunOptions = DEFAULTS) -> str:
    """How the embedded engine runs a plan: the plan that a query of the same options obeys.

    Statistics are what the user declares, as a mapping or as the text of the command line, or ``"measure"``. Names with
    a dot, such as ``S.rows_per_second``, speak of the inputs of a relational plan; then the plans there were to choose
    from are listed with label and cost. A plan that may not run as it is written is shown in the form that runs, with
    the reason, or refused as it is everywhere else.
    """
    legal = legal_form(plan)
    plan = legal.plan
    unused = None if options.stats == MEASURE else unused_statistics(plan, given_statistics(options.stats))
    stats = None if unused else known_statistics(plan, streams, options.stats)
    if format != "json" and not supports(plan, "embedded"):  # what it means can be shown all the same
        text = explain_plan(plan, format)
    else:
        check(plan, "embedded")
        text = explain_physical(physical_plan(plan, Choices(options, stats)), format)
    if format != "text":
        return text
    before = [] if legal.because is None else [str(legal)]
    return "\n\n".join([*before, text, *([f"statistics: not used, because {unused}"] if unused else [])])


@refuses_at_place
def analyze_streams(plan: Node, streams: Mapping[str, InputStream], options: RunOptions,
                    format: Format = "text") -> str:
    """A plan, what the embedded engine did when it ran, and how that compares with the estimate.

    Without statistics kernels are chosen by rule, as always, and the estimates they are compared with are measured on
    the streams.
    """
    plan = legal_form(plan).plan
    check(plan, "embedded")
    given, attribute = known_statistics(plan, streams, options.stats), windowing_attribute(plan)
    found = analyze(plan, lambda: {n: s.items(attribute=ordered_by(s, attribute)) for n, s in streams.items()},
                    replace(options, stats=given), lambda query: locating(query, streams))
    by_cost = physical_plan(plan, Choices(stats=statistics(plan, streams, MEASURE))) \
        if given is None and kind_of(plan) is PlanKind.WINDOWS else found.plan
    shown = explain_physical(found.plan, format, measured=notes(found, by_cost))
    return f"{shown}\n\n{steps(found)}" if format == "text" else shown


def known_statistics(plan: Node, streams: Mapping[str, InputStream] | None, stats: Stats | str) -> Stats:
    """Statistics in the form the planner takes: of the inputs of a relation, or of window aggregates."""
    relations = relation_statistics(plan, streams, stats)
    return statistics(plan, streams, stats) if relations is None else relations


def relation_statistics(plan: Node, streams: Mapping[str, InputStream] | None,
                        stats: Stats | str) -> RelationStatistics | None:
    """Statistics of the inputs of a relational plan; None if there are none, or if they speak of window aggregates."""
    if isinstance(stats, RelationStatistics):
        return stats
    if not worth_optimizing(plan) or stats is None or isinstance(stats, Statistics):
        return None
    if stats == MEASURE:
        if not streams or not any(isinstance(node, Window) for node in plan.walk()):
            return None
        return measured_relations(plan, {name: _tables(stream, None) for name, stream in streams.items()})
    named = {str(name): value for name, value in given_statistics(stats).items()}
    return declared_relations(named) if speaks_of_inputs(named) else None


def statistics(plan: Node, streams: Mapping[str, InputStream] | None, stats: Stats | str) -> Stats:
    """Statistics in the form the planner takes."""
    if stats != MEASURE:
        found: Stats = given_statistics(stats)
        return found
    if not streams:
        raise PlanError("statistics are measured on streams, and none were given: name their files, or declare "
                        "statistics such as rows_per_second=5000,groups=1000")
    return measured(plan, {name: _tables(stream, windowing_attribute(plan)) for name, stream in streams.items()})


def _tables(stream: InputStream, attribute: str | None) -> Iterator[pa.Table]:
    for item in stream.items(attribute=ordered_by(stream, attribute)):
        if isinstance(item, pa.RecordBatch):
            yield pa.Table.from_batches([item])
