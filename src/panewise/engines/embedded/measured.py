"""What a run has measured, in the words of ``explain --analyze``: beside the plan, and against the estimate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from panewise.dataflow.profile import Spent
from panewise.engines.embedded.analyze import Analysis, Windows
from panewise.kernels.panes.pane_kernel import PanedKernel
from panewise.plan import nodes as n
from panewise.plan.dataflow import (
    KernelChoice,
    PhysicalPlan,
    RelationStep,
    WindowAggregateStep,
    format_bytes,
    format_seconds,
)
from panewise.plan.physical import Path

FAR = 3.0
"""An estimate that is so many times off is pointed out."""
Lines = list[tuple[str, str]]


def notes(found: Analysis, by_cost: PhysicalPlan) -> dict[Path, Lines]:
    """Lines below every node that ran; ``by_cost`` is how it would be planned with statistics of these rows."""
    plan = found.plan
    lines: dict[Path, Lines] = defaultdict(list)
    for path, node in plan.running.paths():
        if isinstance(node, n.Source) and node.name in found.streams:
            seen = found.streams[node.name]
            how = f" (late={found.late_policy!r})" if seen["late"] and found.late_policy else ""
            bad = f", {seen['bad']:,} bad" if seen.get("bad") else ""
            lines[path].append(("rows", f"{seen['rows']:,}, {seen['late']:,} of them late{how}{bad}"))
    for path, number in plan.places.items():
        if number in found.windows:
            lines[path] += _of_windows(found.windows[number], _choice(by_cost, path))
        for below, spent in _ran(found, number):
            lines[*path, *below].append(("ran", _spent(spent)))
    return lines


def _choice(plan: PhysicalPlan, path: Path) -> KernelChoice | None:
    step = plan.steps[plan.places[path]] if path in plan.places else None
    return step.choice if isinstance(step, WindowAggregateStep) else None


def _ran(found: Analysis, number: int) -> Iterator[tuple[Path, Spent]]:
    """What the operators of a step did, by their places below it."""
    step, profile = found.plan.steps[number], found.profile
    if number in profile.stages:
        assert isinstance(step, RelationStep)
        relation = step.relation
        for place, operator in enumerate(relation.walk()):
            yield operator.path, profile.stages[number][place]
    elif number in profile.steps:
        yield (), profile.steps[number]


def _spent(spent: Spent) -> str:
    """What an operator did.

    >>> _spent(Spent("WindowJoin", seconds=0.002, rows=12, out=3, kept=7, bytes=560))
    'WindowJoin: 12 rows in, 3 out, at most 7 kept (560 B), 2 ms'
    """
    kept = f", at most {spent.kept:,} kept ({format_bytes(spent.bytes)})" if spent.kept else ""
    late = f", {spent.late:,} late" if spent.late else ""
    return f"{spent.name}: {spent.rows:,} rows in, {spent.out:,} out{late}{kept}, {format_seconds(spent.seconds)}"


def _of_windows(ran: Windows, by_cost: KernelChoice | None) -> Iterator[tuple[str, str]]:
    if by_cost is not None and not ran.choice.given and by_cost.given:
        yield "given", by_cost.given
        yield from (("estimate", str(estimate)) for estimate in by_cost.estimates)
    peak = ran.peak
    yield "state", (f"at most {peak['partials']:,} partials and {peak['buffered']:,} rows, "
                    f"{format_bytes(peak['bytes'])}, for {peak['window_groups']:,} groups of open windows")
    yield "windows", (f"{len(ran.seen):,} opened and closed, at most {peak['open_windows']:,} open, "
                      f"{ran.results:,} results")
    yield from _compared(ran, by_cost)


def _compared(ran: Windows, by_cost: KernelChoice | None) -> Lines:
    """Measured against estimated, for the kernel that ran."""
    if not ran.seen:
        return []
    kernel = ran.choice.kernel
    seconds, size = ran.kernel_seconds / len(ran.seen), float(ran.peak["bytes"])
    lines = [("measured", f"{kernel}: {format_seconds(seconds)} per window, {format_bytes(size)}")]
    estimate = by_cost.estimate_of(kernel) if by_cost is not None else None
    if by_cost is not None and by_cost.given and by_cost.kernel != kernel:
        lines.append(("advice", f"with these statistics {by_cost.kernel} would be chosen: {by_cost.reason}"))
    if estimate is None or estimate.seconds is None or estimate.bytes is None:
        return lines
    for what, real, expected in (("time", seconds, estimate.seconds), ("memory", size, estimate.bytes)):
        if real > FAR * expected:
            lines.append(("far off", f"{what}: {_ratio(real, expected)} times the estimate; {_hint(what, ran)}"))
        elif expected > FAR * real:
            too_high = f"the estimate is {_ratio(expected, real)} times too high"
            lines.append(("far off", f"{what}: {too_high}; {_hint(what, ran)}"))
    return lines


def _ratio(large: float, small: float) -> str:
    return f"{large / small:.2g}" if small > 0 and large / small < 100 else "more than 100"


def _hint(what: str, ran: Windows) -> str:
    if ran.choice.kernel == PanedKernel.name and ran.rows < PanedKernel.dense_after:
        return f"panes begin as wid, until {PanedKernel.dense_after:,} rows have come"
    if what == "time":
        return "constants are those of another machine, or there are too few windows to tell"
    return "declare groups and disorder, or measure them"


def steps(found: Analysis) -> str:
    """A table of the time per operator; what an aggregate does is told part by part."""
    profile, ran = found.profile, list[Spent]()
    for number, spent in profile.steps.items():
        ran += profile.parts[number].values() if number in profile.parts else \
            profile.stages[number].values() if number in profile.stages else [spent]
    rows = [("operator", "rows", "calls", "time", "share")]
    total = sum(spent.seconds for spent in ran)
    for spent in ran:
        share = f"{100 * spent.seconds / total:.0f} %" if total else ""
        rows.append((spent.name, f"{spent.rows:,}" if spent.rows else "", f"{spent.calls:,}",
                     format_seconds(spent.seconds), share))
    rows.append(("all of it, and reading", f"{found.rows:,}", "", format_seconds(found.seconds), ""))
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    return "\n".join("  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in
                                                           zip(row[1:], widths[1:], strict=True))]).rstrip()
                     for row in rows)
