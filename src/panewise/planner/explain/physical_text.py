"""``explain``: the physical plan as text, as data, and as a picture. Nothing is chosen or derived again here."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from panewise.core.scalar import Scalar
from panewise.plan import nodes as n
from panewise.plan.dataflow import (
    Entry,
    PhysicalPlan,
    RelationStep,
    Step,
    StreamJoinStep,
    WindowAggregateStep,
)
from panewise.plan.physical import AtOnce, Departures, Layout, Path, PhysicalNode, RelationPlan, State
from panewise.planner.cost.relation_cost import figure
from panewise.planner.explain.candidates_text import describe_candidates
from panewise.planner.explain.describe import head
from panewise.planner.explain.plan_text import Format, details, explain
from panewise.planner.facts.labels import Labels

VERSION = 1
"""Of the form of the data."""
SAID = {Departures.EARLY, Departures.ALL, Departures.VECTORS, Departures.NAMED}
"""Ways to tell of departures that the label of an edge does not show."""
Notes = dict[Path, list[tuple[str, str]]]


def explain_physical(plan: PhysicalPlan, format: Format = "text", *, measured: Notes | None = None) -> str:
    """How a query runs; ``measured`` are lines about what a run has shown.

    Where something else runs than what was asked, that comes first, and what there was to choose from.
    """
    if format == "json":
        return json.dumps(as_data(plan, measured), indent=1)
    notes = notes_of(plan)
    for path, lines in (measured or {}).items():
        notes[path] += lines
    as_it_runs = explain(plan.running, format, notes=notes, labels=_labels(plan), flows=plan.progress)
    if format != "text":
        return as_it_runs
    found = [step.chosen_from for step in plan.steps if isinstance(step, RelationStep) and not step.relation.inside
             and step.chosen_from is not None and step.chosen_from.statistics is not None]
    if found:
        return "\n\n".join([explain(plan.plan), *map(describe_candidates, found), as_it_runs])
    return as_it_runs if plan.is_as_asked else f"{explain(plan.plan)}\n\nas it runs\n{as_it_runs}"


def _labels(plan: PhysicalPlan) -> Labels:
    assert isinstance(plan.labels, Labels)
    return plan.labels


# -- lines below a node


def notes_of(plan: PhysicalPlan) -> Notes:
    """By place in the plan that runs, the lines about its operators."""
    found: Notes = defaultdict(list)
    for path, number in plan.places.items():
        step = plan.steps[number]
        if isinstance(step, RelationStep):
            for below, lines in relation_notes(step.relation).items():
                found[*path, *below] += lines
            for below, operator in _leaves(step.relation):
                found[*path, *below] += _of_entry(plan, step, operator)
        else:
            found[path] += list(_of_step(step))
    if plan.outlet.promises:
        found[()].append(("promises", "; ".join(plan.outlet.promises)))
    return found


def _leaves(plan: RelationPlan) -> Iterator[tuple[Path, PhysicalNode]]:
    return ((node.path, node) for node in plan.walk() if isinstance(node.node, n.Named) and not node.inputs)


def _of_entry(plan: PhysicalPlan, step: RelationStep, leaf: PhysicalNode) -> list[tuple[str, str]]:
    for port, number in zip(step.ports, step.inputs, strict=True):
        entry = plan.steps[number]
        if isinstance(entry, Entry) and port.node == leaf.node and port.guard == leaf.options["guard"]:
            return list(_of_step(entry))
    return []


def _of_step(step: Step) -> Iterator[tuple[str, str]]:
    match step:
        case Entry():
            if step.guard.column not in {None, step.input.schema.time}:
                yield "ordered", f"by {step.guard.column}"
            if step.describe.policy != "source":
                alone = "" if step.describe.substreams is None else f"; each {step.describe.substreams} by itself, too"
                yield "describe", step.describe.policy + alone
            if step.guard.judges:
                for_steps = ", ".join(str(judge.step) for judge in step.guard.judges)
                yield "guard", f"finds late rows here, for step {for_steps}"
        case StreamJoinStep():
            yield "kept as", "rows of both sides that may still meet others, by key"
            yield "late", step.late.value
        case WindowAggregateStep():
            if step.choice is not None:
                told = ", ".join(f"{name}={value}" for name, value in step.choice.options.items())
                yield "strategy", f"{step.choice.kernel}: {step.choice.reason}" + (f" ({told})" if told else "")
                if step.choice.given:
                    yield "given", step.choice.given
                yield from (("estimate", str(estimate)) for estimate in step.choice.estimates)
                if step.bucket == "below":
                    yield "ids", f"from the Bucket of step {step.inputs[0]}, with bounds on them"
                yield "kept as", step.choice.keeps
            yield "late", step.late.value
            if step.emit != "final":
                yield "emits", step.emit
            if step.empty_windows:
                yield "empty", "groups that were seen have a result for windows without rows, too"


def describe_state(kept: State, below: PhysicalNode) -> str:
    """What is kept of an edge, how its consumer hears of departures, and why."""
    told = f", {below.departures.value}" if below.departures in SAID else ""
    return f"{kept}{told} ({below.because})"


def relation_notes(plan: RelationPlan) -> Notes:
    """By path the lines below a node of one relation."""
    found: Notes = defaultdict(list)
    tops: dict[Path, PhysicalNode] = {}
    kernels: dict[Path, list[str]] = defaultdict(list)
    for operator in plan.walk():
        tops[operator.path] = operator
        kernels[operator.path].append(operator.kernel)
    at_once = [node.path for node in plan.walk() if isinstance(node.algorithm, AtOnce)]
    for path, _ in plan.running.paths():
        if path in tops and tops[path].expiry:
            found[path].append(("expiry", tops[path].expiry))
        if path not in tops and any(path[: len(above)] == above for above in at_once) and \
                any(below[: len(path)] == path for below in tops):
            found[path].append(("runs", "with the join above, at once: nothing of it is kept"))
    for path, top in tops.items():
        found[path].append(("kernel", ", ".join([*kernels[path][:-1], top.kernel])))
    for operator in plan.walk():
        if operator.algorithm is not None:
            runs = str(operator.algorithm) if isinstance(operator.algorithm, AtOnce) else operator.algorithm.value
            found[operator.path].append(("runs", f"{runs}: {operator.why}" if operator.why else runs))
        if operator.kernel == "AnnouncedEnds":
            found[operator.path].append(("sends", f"every end ({operator.because})"))
        for below, kept in zip(operator.inputs, operator.keeps, strict=False):
            if kept is not None and operator.kernel != "AnnouncedEnds":
                told = operator if kept.layout is Layout.TO_SEND else below
                found[below.path].append(("kept as", describe_state(kept, told)))
    if plan.result is not None:
        found[plan.root.path].append(("result", describe_state(plan.result, plan.root)))
    for path, (rows, state) in plan.cost.items():
        if rows + state > 0:
            found[path].append(("cost", f"{figure(rows)} for rows, {figure(state)} for state"))
    return found


# -- as data


def as_data(plan: PhysicalPlan, measured: Mapping[Path, Collection[tuple[str, str]]] | None = None) -> dict[str, Any]:
    """The plan as JSON has it: the tree that runs, and the steps that its nodes are made of."""
    notes = notes_of(plan)

    def tree(node: n.Node, path: Path) -> dict[str, Any]:
        name, parameters = head(node)
        found: dict[str, Any] = {"node": name, "parameters": parameters, "pattern": str(plan.labels[node])}
        if path in plan.places:
            found["step"] = plan.places[path]
        found["notes"] = [list(line) for line in (*details(node, plan.progress), *notes.get(path, ()),
                                                  *(measured or {}).get(path, ()))]
        return found | {"inputs": [tree(below, (*path, i)) for i, below in enumerate(node.inputs)]}

    return {"version": VERSION, "as_asked": plan.is_as_asked, "plan": tree(plan.running, ()),
            "steps": [_step(step) for step in plan.steps],
            "results": {"step": plan.outlet.inputs[0], "form": plan.outlet.form, "columns": list(plan.outlet.columns)}}


def _step(step: Step) -> dict[str, Any]:
    own = {f.name: _data(getattr(step, f.name)) for f in fields(step)
           if f.name not in {"node", "inputs", "chosen_from", "relation"}}
    found = {"runs": step.operator, "of": " ".join(head(step.node)), "inputs": list(step.inputs), **own}
    if isinstance(step, RelationStep):
        found["style"], found["shown_by"] = step.relation.style.value, step.relation.form
        found["result"] = None if step.relation.result is None else str(step.relation.result)
        found["operators"] = [{"runs": node.kernel, "of": " ".join(head(node.node)), "path": list(node.path),
                               "pattern": node.pattern, "tells": node.departures.value, "because": node.because,
                               "keeps": [None if kept is None else str(kept) for kept in node.keeps],
                               "algorithm": None if node.algorithm is None else _data(node.algorithm)}
                              for node in step.relation.walk()]
    return found


def _data(value: Any) -> Any:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Enum():
            return value.value
        case n.Node():
            return " ".join(head(value))
        case AtOnce() | Scalar():
            return str(value)
        case Mapping():
            return {str(key): _data(found) for key, found in value.items()}
        case frozenset():
            return sorted(map(_data, value))
        case tuple() | list():
            return [_data(found) for found in value]
    assert is_dataclass(value), value
    return {f.name: _data(getattr(value, f.name)) for f in fields(value)}
