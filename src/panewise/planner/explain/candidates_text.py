"""What ``explain`` says of the plans it chose from: label, cost, where each comes from, why one won."""

from __future__ import annotations

from panewise.plan import nodes as n
from panewise.planner.choose.optimizer import Candidate, Optimized
from panewise.planner.cost.relation_cost import figure

SHOWN = 8
"""Candidates that are listed; the rest are counted."""


def describe_candidates(found: Optimized) -> str:
    """A table of the candidates, cheapest first, and the reason for the choice."""
    known = "no statistics" if found.statistics is None else (
        "measured statistics" if found.statistics.measured else "declared statistics")
    count = len(found.candidates)
    head = f"plans: {count} candidate{'s' if count > 1 else ''}, style {found.style.value}, {known}"
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
