"""What a run has measured, in the words of ``explain --analyze``: beside the plan, and against the estimate."""

from __future__ import annotations

from collections.abc import Mapping

from panewise.engines.embedded.analyze import Analysis
from panewise.kernels.paned import PanedKernel
from panewise.plan import nodes as n
from panewise.planner.estimates import format_bytes, format_seconds
from panewise.planner.strategy import Choice

FAR = 3.0
"""An estimate that is so many times off is pointed out."""


def notes(plan: n.Node, found: Analysis, estimated: Mapping[n.Node, Choice]) -> dict[n.Node, list[tuple[str, str]]]:
    """Lines below the sources and the window aggregate."""
    lines: dict[n.Node, list[tuple[str, str]]] = {}
    for node in plan.walk():
        if isinstance(node, n.Source) and node.name in found.streams:
            seen = found.streams[node.name]
            how = f" (late={found.late_policy!r})" if seen["late"] and found.late_policy else ""
            bad = f", {seen['bad']:,} bad" if seen.get("bad") else ""
            lines[node] = [("rows", f"{seen['rows']:,}, {seen['late']:,} of them late{how}{bad}")]
        elif isinstance(node, n.WindowAggregate):
            lines[node] = [("state", _state(found)), ("windows", _windows(found)),
                           *_compared(found, estimated.get(node))]
    return lines


def _state(found: Analysis) -> str:
    peak = found.peak
    return (f"at most {peak['partials']:,} partials and {peak['buffered']:,} rows, {format_bytes(peak['bytes'])}, "
            f"for {peak['window_groups']:,} groups of open windows")


def _windows(found: Analysis) -> str:
    most = f"{found.peak['open_windows']:,}"
    return f"{found.windows:,} opened and closed, at most {most} open, {found.results:,} results"


def _compared(found: Analysis, by_cost: Choice | None) -> list[tuple[str, str]]:
    """Measured against estimated, for the kernel that ran."""
    if not found.windows:
        return []
    kernel = found.choice.kernel
    seconds, size = found.kernel_seconds / found.windows, float(found.peak["bytes"])
    lines = [("measured", f"{kernel}: {format_seconds(seconds)} per window, {format_bytes(size)}")]
    estimate = by_cost.estimate_of(kernel) if by_cost is not None else None
    if by_cost is not None and by_cost.kernel != kernel:
        lines.append(("advice", f"with these statistics {by_cost.kernel} would be chosen: {by_cost.reason}"))
    if estimate is None or estimate.seconds is None or estimate.bytes is None:
        return lines
    for what, real, expected in (("time", seconds, estimate.seconds), ("memory", size, estimate.bytes)):
        if real > FAR * expected:
            lines.append(("far off", f"{what}: {_ratio(real, expected)} times the estimate; {_hint(what, found)}"))
        elif expected > FAR * real:
            too_high = f"the estimate is {_ratio(expected, real)} times too high"
            lines.append(("far off", f"{what}: {too_high}; {_hint(what, found)}"))
    return lines


def _ratio(large: float, small: float) -> str:
    return f"{large / small:.2g}" if small > 0 and large / small < 100 else "more than 100"


def _hint(what: str, found: Analysis) -> str:
    if found.choice.kernel == PanedKernel.name and found.rows < PanedKernel.dense_after:
        return f"panes begin as wid, until {PanedKernel.dense_after:,} rows have come"
    if what == "time":
        return "constants are those of another machine, or there are too few windows to tell"
    return "declare groups and disorder, or measure them"


def steps(found: Analysis) -> str:
    """A table of the time per operator."""
    rows = [("operator", "rows", "calls", "time", "share")]
    total = sum(spent.seconds for spent in found.profile.values())
    for step, spent in found.profile.items():
        share = f"{100 * spent.seconds / total:.0f} %" if total else ""
        rows.append((step, f"{spent.rows:,}" if spent.rows else "", f"{spent.calls:,}", format_seconds(spent.seconds),
                     share))
    rows.append(("all of it, and reading", f"{found.rows:,}", "", format_seconds(found.seconds), ""))
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    return "\n".join("  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in
                                                           zip(row[1:], widths[1:], strict=True))]).rstrip()
                     for row in rows)
