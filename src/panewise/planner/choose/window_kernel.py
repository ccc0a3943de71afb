"""Which kernel runs a window aggregate: by cost where statistics are known, by rule where not, always with a reason."""

from __future__ import annotations

from dataclasses import replace

from panewise.core.errors import UnsupportedError
from panewise.core.names import did_you_mean
from panewise.core.ordinals import OrdinalKind
from panewise.kernels.catalog import Request, able
from panewise.plan.dataflow import Estimate, KernelChoice, format_bytes, format_seconds
from panewise.planner.choose.strategies import Strategy
from panewise.planner.cost.estimates import Workload, estimate
from panewise.planner.statistics.declared import MEMORY_LIMIT, Statistics, describe_statistics

DOUBT = 2.0
"""Estimated times are off by a third on average and by twice at times."""


def choose(request: Request, statistics: Statistics | None = None, *, strategy: Strategy | str = "auto",
           ordinal: OrdinalKind = OrdinalKind.INTEGER, here: bool = True) -> KernelChoice:
    """The kernel for a window aggregate.

    A ``strategy`` that is named is taken; where it is for other aggregates of the query than ``here``, this one may be
    run by another. With statistics it is the fastest kernel whose state stays below their ``memory_limit``, or the
    smallest when none does; the usual one is left only for one that is clearly faster. The usual one, and the choice
    without statistics, is panes where they can be compiled, else window ids.
    """
    strategy, request = Strategy.parse(strategy), replace(request, spec=request.spec.plain)
    entries = {entry.name: entry for entry in able(request)}
    names = tuple(entries)
    if not names:
        raise UnsupportedError(f"no kernel runs {request.spec.kind} windows; use engine='oracle'")
    work = Workload.of(request, statistics) if statistics is not None else None
    estimates = tuple(estimate(name, work) for name in names) if work is not None else ()
    limit = statistics.memory_limit if statistics is not None else MEMORY_LIMIT
    asked, unfit = strategy.kernel, ""
    if asked not in {"auto", *names}:
        if here:
            raise UnsupportedError(f"the strategy {asked!r} does not run these {request.spec.kind} windows: "
                                   f"use {', '.join(names)}{did_you_mean(asked, names)}")
        asked, unfit = "auto", f"; the strategy {asked!r} does not run {request.spec.kind} windows"
    kernel, reason = (asked, "asked for") if asked != "auto" else _pick(request, names, estimates, limit)
    options = strategy.options_of(entries[kernel], ordinal) if asked != "auto" else {}
    given = "" if statistics is None else describe_statistics(statistics, ordinal)
    return KernelChoice(kernel, reason + unfit, estimates, names, options, given, entries[kernel].keeps)


def _pick(request: Request, names: tuple[str, ...], estimates: tuple[Estimate, ...],
          limit: float) -> tuple[str, str]:
    if len(names) == 1:
        return names[0], f"the only kernel that runs {request.spec.kind} windows with these aggregates"
    known = {e.kernel: (e.seconds, e.bytes) for e in estimates if e.seconds is not None and e.bytes is not None}
    if len(known) > 1:
        return _by_cost(known, limit, _by_rule(request, names)[0])
    kernel, why = _by_rule(request, names)
    return kernel, f"by rule: {why} ({'no formula for these windows' if estimates else 'no statistics'})"


def _by_cost(known: dict[str, tuple[float, float]], limit: float, usual: str) -> tuple[str, str]:
    """The fastest that fits; the usual kernel unless another is faster by more than an estimate may be wrong."""
    fitting = {name: figures for name, figures in known.items() if figures[1] <= limit}
    if not fitting:
        best = min(known, key=lambda name: known[name][1])
        return best, (f"least memory: no kernel keeps its state below {format_bytes(limit)}, "
                      f"this one comes nearest with {format_bytes(known[best][1])}")
    fastest = best = min(fitting, key=lambda name: fitting[name])
    if usual in fitting and fitting[usual][0] < DOUBT * fitting[fastest][0]:
        best = usual
    seconds, size = fitting[best]
    reason = f"least time: {format_seconds(seconds)} per window"
    others = {name: figures for name, figures in fitting.items() if name != best}
    if best != fastest:
        reason = (f"{format_seconds(seconds)} per window; {fastest} is estimated at "
                  f"{format_seconds(fitting[fastest][0])}, too near to be sure")
    elif others:
        second = min(others, key=lambda name: others[name])
        reason += f", {second} would take {_times(others[second][0], seconds)}"
    if left_out := sorted(set(known) - set(fitting)):
        reason += f"; {', '.join(left_out)} would need more than {format_bytes(limit)}"
    smallest = min(fitting, key=lambda name: fitting[name][1])
    if fitting[smallest][1] < size / 2:
        reason += f"; {smallest} would keep {_times(fitting[smallest][1], size)} of its memory"
    return best, reason


def _times(value: float, than: float) -> str:
    """A ratio in words.

    >>> _times(3.0, 2.0), _times(1.0, 5.0)
    ('1.5 times as much', '20 %')
    """
    return f"{value / than:.2g} times as much" if value >= than else f"{100 * value / than:.2g} %"


def _by_rule(request: Request, names: tuple[str, ...]) -> tuple[str, str]:
    """Panes where they can be compiled, else window ids, else what the catalog has first."""
    ratio = getattr(request.spec, "ratio", 1)
    overlap = f"a row is in up to {ratio:,} windows" if ratio > 1 else "windows do not overlap"
    if "panes" in names and _elementwise(request):
        return "panes", (f"{overlap}, and partials merge element by element, so that a window costs the same however "
                         "many panes it has")
    kernel = "wid" if "wid" in names else names[0]
    why = f"{overlap}, and " + ("partials merge element by element" if _elementwise(request) else
                                "partials do not merge element by element")
    return kernel, f"{why}; no rows are kept"


def _elementwise(request: Request) -> bool:
    return all(a.function.elementwise(a.inputs) is not None for a in request.aggregates)
