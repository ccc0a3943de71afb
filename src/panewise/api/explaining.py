"""``explain``: the plan, the strategy of every window aggregate with its estimate, and, after a run, what happened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from panewise.api.analysis import notes, steps
from panewise.api.inputs import LocalStream, ordered_by
from panewise.api.local import windowing_attribute
from panewise.core.errors import PlanError
from panewise.engines.embedded.analyze import analyze
from panewise.plan.nodes import Node, Window
from panewise.plan.written import refuses_at_place
from panewise.planner.candidates_text import describe_candidates, state_notes
from panewise.planner.capabilities import check
from panewise.planner.choices import Stats, choices, explained
from panewise.planner.explain import Format
from panewise.planner.explain import explain as explain_plan
from panewise.planner.held import Style
from panewise.planner.join_manner import Joins
from panewise.planner.legal_form import legal_form
from panewise.planner.optimizer import as_written, is_relational, optimize
from panewise.planner.physical import physical
from panewise.planner.relation_sampling import measured_relations
from panewise.planner.relation_statistics import RelationStatistics, declared_relations, speaks_of_inputs
from panewise.planner.sampling import measured
from panewise.planner.statistics import Statistics, parse_statistics
from panewise.planner.stream_joins import unused_statistics
from panewise.queries.admission import InputRules

MEASURE = "measure"
"""Given as statistics: look at the first rows of the streams."""


@refuses_at_place
def explain_streams(plan: Node, streams: Mapping[str, LocalStream] | None = None, format: Format = "text", *,
                    stats: Stats | str = None, strategy: str = "auto", style: Style = "upa",
                    joins: str = "auto") -> str:
    """A plan with the strategies the embedded engine would take.

    Of a relational plan also what every operator keeps, and with statistics the plans there are, with label and cost.
    ``stats`` are what the user declares, as a mapping or as the text of the command line, or ``"measure"``. Names with
    a dot, such as ``S.rows_per_second``, speak of the inputs of a relational plan. ``style`` is how expiry travels
    through such a plan: by update pattern, as negatives, or by searching lists; ``joins`` how its windows are joined.
    A plan that may not run as it is written is shown in the form that runs, with the reason, or refused as it is
    everywhere else.
    """
    legal = legal_form(plan)
    if legal.because is not None:
        other = explain_streams(legal.plan, streams, format, stats=stats, strategy=strategy, style=style, joins=joins)
        return f"{legal}\n\n{other}" if format == "text" else other
    said = parse_statistics(stats) if isinstance(stats, str) and stats != MEASURE else stats
    unused = unused_statistics(plan, said)
    if unused is not None and stats != MEASURE:
        shown_without = explain_streams(plan, streams, format, strategy=strategy, style=style, joins=joins)
        return f"{shown_without}\n\nstatistics: not used, because {unused}" if format == "text" else shown_without
    asked, relations = Joins.parse(joins), relation_statistics(plan, streams, stats)
    given = None if relations is not None else statistics(plan, streams, stats)
    shown = explained(choices(plan, given, strategy=strategy))
    if not is_relational(plan):
        return explain_plan(plan, format, **shown)
    found = optimize(plan, relations, style=style)
    decided = physical(found.chosen.plan, found.statistics if style == "upa" else None, asked)
    running = state_notes(found.chosen, costs=relations is not None, decided=decided)
    if format != "text" and (relations is not None or decided.at_once):  # a picture of the plan that won
        return explain_plan(found.chosen.plan, format, notes=running)
    if relations is None:
        if decided.at_once:  # what is kept is said of the plan that runs
            as_it_runs = explain_plan(found.chosen.plan, notes=running)
            return f"{explain_plan(plan, format, **shown)}\n\nas it runs\n{as_it_runs}"
        shown["notes"] = {**state_notes(as_written(found), costs=False), **shown["notes"]}
        return explain_plan(plan, format, **shown)
    text = f"{explain_plan(plan, format, **shown)}\n\n{describe_candidates(found)}"
    return f"{text}\n\n{explain_plan(found.chosen.plan, notes=running)}"


def analyze_streams(plan: Node, streams: Mapping[str, LocalStream], *, stats: Stats | str = None,
                    strategy: str = "auto", late: str = "generous", progress: str | Mapping[str, str] = "source",
                    rules: InputRules | None = None) -> str:
    """A plan, what the embedded engine did when it ran, and how that compares with the estimate.

    The kernel is the one a run would take. Without statistics it is chosen by rule, as always, and the estimates it is
    compared with are measured on the streams.
    """
    plan = legal_form(plan).plan
    given = statistics(plan, streams, stats)
    chosen = choices(plan, given, strategy=strategy)
    by_cost = choices(plan, statistics(plan, streams, MEASURE)) if given is None else chosen
    if not chosen:
        check(plan, "embedded")
    attribute = windowing_attribute(plan)
    kernel = next(iter(chosen.values())).choice.kernel if chosen else strategy
    found = analyze(plan, lambda: {n: s.items(attribute=ordered_by(s, attribute)) for n, s in streams.items()},
                    late=late, progress=progress, strategy=kernel, rules=rules)
    lines = notes(plan, found, {node: c.choice for node, c in by_cost.items()})
    shown = explained(chosen)
    shown["notes"] = {node: [*(by_cost[node].notes if node in by_cost else ()), *lines.get(node, ())]
                      for node in plan.walk()}
    return f"{explain_plan(plan, **shown)}\n\n{steps(found)}"


def relation_statistics(plan: Node, streams: Mapping[str, LocalStream] | None,
                        stats: Stats | str) -> RelationStatistics | None:
    """Statistics of the inputs of a relational plan; None if there are none, or if they speak of window aggregates."""
    if not is_relational(plan) or stats is None or isinstance(stats, Statistics):
        return None
    if stats == MEASURE:
        if not streams or not any(isinstance(node, Window) for node in plan.walk()):
            return None
        return measured_relations(plan, {name: _tables(stream, None) for name, stream in streams.items()})
    values = parse_statistics(stats) if isinstance(stats, str) else stats
    named = {str(name): value for name, value in values.items()}
    return declared_relations(named) if speaks_of_inputs(named) else None


def statistics(plan: Node, streams: Mapping[str, LocalStream] | None, stats: Stats | str) -> Stats:
    """Statistics in the form the planner takes."""
    if not isinstance(stats, str):
        return stats
    if stats != MEASURE:
        return parse_statistics(stats)
    if not streams:
        raise PlanError("statistics are measured on streams, and none were given: name their files, or declare "
                        "statistics such as rows_per_second=5000,groups=1000")
    return measured(plan, {name: _tables(stream, windowing_attribute(plan)) for name, stream in streams.items()})


def _tables(stream: LocalStream, attribute: str | None) -> Iterator[pa.Table]:
    for item in stream.items(attribute=ordered_by(stream, attribute)):
        if isinstance(item, pa.RecordBatch):
            yield pa.Table.from_batches([item])
