"""What ``explain`` says of the plans it chose from: label, cost, where each comes from, why one won, what it keeps."""

from __future__ import annotations

from dataclasses import replace

from panewise.plan import nodes as n
from panewise.planner.expiry_vectors import vector_of
from panewise.planner.forms import Form, form_of
from panewise.planner.held import maker_of
from panewise.planner.labels import label
from panewise.planner.optimizer import Candidate, Optimized
from panewise.planner.physical import BY_RULE, Physical
from panewise.planner.relation_cost import figure
from panewise.planner.structures import walk
from panewise.planner.working import working_labels

SHOWN = 8
"""Candidates that are listed; the rest are counted."""


def describe_candidates(found: Optimized) -> str:
    """A table of the candidates, cheapest first, and the reason for the choice."""
    known = "no statistics" if found.statistics is None else (
        "measured statistics" if found.statistics.measured else "declared statistics")
    count = len(found.candidates)
    head = f"plans: {count} candidate{'s' if count > 1 else ''}, style {found.style}, {known}"
    shown = list(found.candidates[:SHOWN])
    if found.chosen not in shown:
        shown.append(found.chosen)
    rows = [("", "label", "strict", "cost", "rows kept", "plan", "from"), *(_row(c, found) for c in shown)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    lines = [head, *("  ".join([*(cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=True)),
                                row[-1]]).rstrip() for row in rows)]
    if count > len(shown):
        lines.append(f"   … and {count - len(shown)} more")
    lines += [f"refused: {refused.message} [{', '.join(refused.by) or 'as written'}]" for refused in found.refused[:3]]
    unknown = sorted({node.name for node in found.written.walk() if isinstance(node, n.Named) and node.schema.open})
    if unknown:
        lines.append(f"not looked for: plans that must know columns, as other orders of joins do; give schemas or rows "
                     f"of {', '.join(unknown)}")
    return "\n".join([*lines, f"chosen: {found.reason}"])


def _row(candidate: Candidate, found: Optimized) -> tuple[str, ...]:
    mark = "*" if candidate is found.chosen else ""
    return (mark, str(candidate.label), str(candidate.strict), figure(candidate.cost.total),
            figure(candidate.cost.rows), candidate.formula, candidate.origin)


def state_notes(candidate: Candidate, *, costs: bool = True,
                decided: Physical = BY_RULE) -> dict[n.Node, list[tuple[str, str]]]:
    """For every node what is kept of its output, by which algorithm it runs, and what it costs."""
    found: dict[n.Node, list[tuple[str, str]]] = {}
    all_kept = decided.joined_at_once(maker_of(candidate.plan)) is not None and form_of(candidate.plan) is Form.CHANGES
    labels = working_labels(label(candidate.plan))
    inside = {node for joined in decided.at_once for node in joined.inner}
    for path, node in walk(candidate.plan):
        lines: list[tuple[str, str]] = []
        at_once = decided.joined_at_once(node)
        if at_once is not None:
            lines.append(("runs", str(at_once)))
        if node in inside:
            found.setdefault(node, [("runs", "with the join above, at once: nothing of it is kept")])
            continue
        operator, edge = candidate.structures.operator(path), candidate.structures.edge(path)
        if isinstance(node, n.Window | n.Join | n.TableJoin) and (vector := vector_of(node, labels)).order:
            lines.append(("expiry", str(vector)))
        if operator is not None:
            lines.append(("runs", f"{operator.algorithm.value}: {operator.reason}"))
        if edge is not None and edge.consumer is None and all_kept:  # of windows joined at once nobody names who leaves
            edge = replace(edge, held=vector_of(edge.node, labels).served, reason="to be named when they leave")
        if edge is not None:
            lines.append(("result" if edge.consumer is None else "kept as", str(edge)))
        cost = candidate.cost.processing.get(path, 0.0), candidate.cost.state.get(path, 0.0)
        if costs and sum(cost) > 0:
            lines.append(("cost", f"{figure(cost[0])} for rows, {figure(cost[1])} for state"))
        found.setdefault(node, lines)
    return found
