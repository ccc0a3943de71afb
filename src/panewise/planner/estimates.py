"""Time and memory of each kernel for one window aggregate, from statistics and measured constants.

Kernels are described by the steps they really take: ``wid`` and ``panes`` both fold a row once, whatever RANGE/SLIDE is
(equal ranges of window ids share one partial, which is a pane under another name), so both follow the paned formulas,
with constants of their own. Formula 6.3, a row into each of its windows, is what a buffer that is scanned per window
pays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, gcd

import pyarrow as pa

from panewise.aggregates.base import AggClass
from panewise.kernels.catalog import Request
from panewise.planner import cost
from panewise.planner.constants import CONSTANTS
from panewise.planner.statistics import Statistics
from panewise.windows.base import Clock

POINTER = 8
TEXT = 16
"""Bytes a text is taken to have until it is measured."""


@dataclass(frozen=True)
class Workload:
    """What one window of an aggregate is made of, in the letters of the formulas."""

    T: float
    """Rows of a window."""
    P: float
    """Panes of a window."""
    panes_per_slide: float
    G: float
    """Groups of a pane."""
    groups_per_window: float
    rows_per_slide: float
    """Rows that come from one window's end to the next."""
    wed: float
    """How long a window stays open, in steps."""
    slide: float
    pane: float
    row_bytes: float
    pane_partial: float
    window_partial: float
    elementwise: bool
    """Whether partials merge column by column, so that a window costs the same however many panes it has."""
    invertible: bool
    statistics: Statistics

    @classmethod
    def of(cls, request: Request, known: Statistics) -> Workload | None:
        """The workload of windows that have a RANGE and a SLIDE; other kinds have no formula."""
        length, slide = getattr(request.spec, "range", None), getattr(request.spec, "slide", None)
        if not isinstance(length, int) or not isinstance(slide, int):
            return None
        pane = gcd(length, slide)
        vol = known.rows_per_unit
        if request.spec.clock is Clock.PARTITION_ORDER:  # every partition counts its own rows
            vol = 1.0
        T = vol * length
        per_window = known.groups_per_window or known.groups_in(T)
        per_pane = min(known.groups_per_pane or known.groups_in(vol * pane), per_window)
        wed = cost.time_open(length, known.disorder) + known.batch_rows / vol
        return cls(
            T, length / pane, slide / pane, per_pane, per_window, vol * slide, wed, slide, pane,
            known.row_bytes or row_bytes(request),
            known.partial_bytes or partial_bytes(request, vol * pane / max(per_pane, 1.0)),
            known.partial_bytes or partial_bytes(request, T / max(per_window, 1.0)),
            elementwise=all(a.function.elementwise(a.inputs) is not None for a in request.aggregates),
            invertible=all(a.function.is_invertible(a.inputs) for a in request.aggregates), statistics=known)


@dataclass(frozen=True)
class Estimate:
    """What a kernel would take."""

    kernel: str
    seconds: float | None
    """Per window, all groups; None for a kernel without a formula."""
    bytes: float | None
    """Of state while windows are open."""
    formula: str = ""
    """Where the figures come from."""

    def __str__(self) -> str:
        if self.seconds is None or self.bytes is None:
            return f"{self.kernel}: no estimate"
        return f"{self.kernel}: {format_seconds(self.seconds)} per window, {format_bytes(self.bytes)}" + (
            f" ({self.formula})" if self.formula else "")


def estimate(kernel: str, work: Workload) -> Estimate:
    """Time and memory of one kernel, or an estimate without figures when nothing is known of it."""
    constants = CONSTANTS["simple" if work.elementwise else "holistic"].get(kernel)
    if kernel not in MODELS or constants is None:
        return Estimate(kernel, None, None)
    model = MODELS[kernel]
    nanoseconds = sum(getattr(constants, step) * times for step, times in model.steps(work).items())
    return Estimate(kernel, nanoseconds / 1e9, model.memory(work), model.formula(work))


# -- the steps of each kernel, per window


@dataclass(frozen=True)
class Model:
    """How often a kernel takes each step for one window, and how much it keeps."""

    steps: Callable[[Workload], dict[str, float]]
    memory: Callable[[Workload], float]
    formula: Callable[[Workload], str]


def _common(work: Workload) -> dict[str, float]:
    return {"row": work.rows_per_slide, "batch": work.rows_per_slide / work.statistics.batch_rows,
            "result": work.groups_per_window}


def _filled(work: Workload) -> float:
    """Partials that batches leave behind: a pane that comes in several batches is filled several times."""
    per_pane = work.T / work.P
    pieces = max(1.0, per_pane / work.statistics.batch_rows)
    groups = work.G if pieces == 1.0 else min(work.G, work.statistics.groups_in(work.statistics.batch_rows))
    return groups * pieces * min(work.panes_per_slide, work.P)


def _paned_steps(work: Workload) -> dict[str, float]:
    """Li 6.1 and 6.2: a, b and c are the constants of row, filled and merged."""
    filling = min(work.panes_per_slide, work.P)
    of_merging = cost.paned_differential if work.elementwise else cost.paned
    merged = of_merging(0, 0, 1, T=work.T, P=work.P, G=work.G, panes_per_slide=filling)
    return _common(work) | {"filled": _filled(work), "merged": merged}


def _paned_formula(work: Workload) -> str:
    return "Li 6.2" if work.elementwise else "Li 6.1"


def _range_steps(work: Workload) -> dict[str, float]:
    """As panes, but cut only where a window begins or ends: at most two per slide.

    Every promise that closes windows scans the panes of all of them anew (Li 6.1, once per promise).
    """
    per_slide = 1.0 if work.P % max(work.panes_per_slide, 1) == 0 else 2.0
    panes = max(work.P / max(work.panes_per_slide, 1.0), 1.0) * per_slide
    together = max(1.0, work.statistics.batch_rows / work.rows_per_slide) if work.elementwise else 1.0
    merged = work.G * (panes / together + (per_slide if work.elementwise else 0.0))
    return _common(work) | {"filled": _filled(work), "merged": merged}


def _panes_held(work: Workload) -> float:
    """Partials of all panes of open windows: one per group and pane."""
    return cost.pane_bytes(work.pane_partial, G=work.G, P=ceil(work.wed / work.pane))


def _ranges_held(work: Workload) -> float:
    """One partial per group and range of window ids; at most two ranges begin per slide."""
    per_slide = min(work.panes_per_slide, 1.0 if work.P % max(work.panes_per_slide, 1) == 0 else 2.0)
    return cost.pane_bytes(work.pane_partial, G=work.G, P=ceil(work.wed / work.slide) * max(per_slide, 1.0))


def _buffer_steps(work: Workload) -> dict[str, float]:
    return _common(work) | {"copy": cost.unpaned(1, T=work.T)}


def _differential_steps(work: Workload) -> dict[str, float]:
    if not work.invertible:
        return _buffer_steps(work)
    copies = cost.unpaned_differential(1, T=work.T, RANGE=work.T, SLIDE=work.rows_per_slide)
    return _common(work) | {"copy": copies}


def _rows_held(work: Workload) -> float:
    known = work.statistics
    return cost.lazy_bytes(work.row_bytes, vol=work.T / (work.P * work.pane), wed=work.wed, sources=known.offsets)


def _adaptive_held(work: Workload) -> float:
    """Condition 6.9 group by group: rows or partials, whichever is smaller."""
    known = work.statistics
    vol = work.T / (work.P * work.pane)
    sizes = known.sizes or ((1.0 / work.groups_per_window, work.groups_per_window),)
    scale = work.groups_per_window / max(sum(count * _present(share, work) for share, count in sizes), 1e-9)
    held = 0.0
    for share, count in sizes:
        sources = [(part * share, offset) for part, offset in known.offsets]
        rows = cost.lazy_bytes(work.row_bytes, vol=vol * share, wed=work.wed, sources=sources)
        partials = cost.eager_bytes(work.window_partial, wed=work.wed, SLIDE=work.slide) * _present(share, work)
        held += count * scale * max(min(rows, partials), 0.0)
    return held


def _present(share: float, work: Workload) -> float:
    """The chance that a group of this share has a row in a window."""
    return min(1.0, share * work.T)


def _adaptive_steps(work: Workload) -> dict[str, float]:
    """Rows go into every window they are in, when they come (partials) or when it closes (rows): Li 6.3."""
    return _common(work) | {"copy": cost.unpaned(1, T=work.T)}


MODELS: dict[str, Model] = {
    "wid": Model(_range_steps, _ranges_held, lambda _: "Li 6.1"),
    "panes": Model(_paned_steps, _panes_held, _paned_formula),
    "two-level": Model(_paned_steps, _panes_held, _paned_formula),
    "adaptive": Model(_adaptive_steps, _adaptive_held, lambda _: "Li 6.3, 6.9"),
    "buffering": Model(_buffer_steps, _rows_held, lambda _: "Li 6.3, 6.6"),
    "buffering-differential": Model(
        _differential_steps, _rows_held, lambda work: "Li 6.4, 6.6" if work.invertible else "Li 6.3, 6.6"),
}
"""By the kernel's name; a kernel without a line here has no estimate and is chosen only by rule."""


# -- sizes by type


def row_bytes(request: Request) -> float:
    """A row in a buffer: the windowing attribute, the keys, the arguments."""
    arguments = sum(_width(t) for a in request.aggregates for t in a.inputs)
    return 8 + sum(_width(field.type) for field in request.keys) + arguments


def partial_bytes(request: Request, rows: float) -> float:
    """A partial with its id and keys; holistic states grow with the rows they stand for."""
    size = 8.0 + sum(_width(field.type) for field in request.keys)
    for aggregate in request.aggregates:
        grows = aggregate.function.agg_class is AggClass.HOLISTIC
        for field in aggregate.state_schema:
            size += _width(field.type, max(rows, 1.0) if grows else 1.0)
    return size


def _width(data_type: pa.DataType, rows: float = 1.0) -> float:
    if pa.types.is_nested(data_type):
        inner = [data_type.field(i).type for i in range(data_type.num_fields)]
        listed = pa.types.is_list(data_type) or pa.types.is_large_list(data_type) or pa.types.is_map(data_type)
        return POINTER + (rows if listed else 1.0) * sum(_width(t) for t in inner)
    try:
        return float(data_type.bit_width) / 8
    except ValueError:  # text and bytes have no fixed width
        return POINTER + TEXT * rows


# -- for people


def format_seconds(seconds: float) -> str:
    """A time with three digits.

    >>> [format_seconds(s) for s in (0.0000000512, 0.0000123, 0.5, 125)]
    ['51 ns', '12.3 µs', '500 ms', '125 s']
    """
    for size, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= size:
            return f"{seconds / size:.3g} {name}"
    return f"{seconds * 1e9:.0f} ns"


def format_bytes(size: float) -> str:
    """A size with three digits.

    >>> [format_bytes(b) for b in (12, 4_700, 123_456_789)]
    ['12 B', '4.7 kB', '123 MB']
    """
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size:.0f} B"
