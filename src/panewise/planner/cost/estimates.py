"""Time and memory of each kernel for one window aggregate, from statistics and measured constants.

Kernels are described by the steps they really take: ``wid`` and ``panes`` both fold a row once, whatever RANGE/SLIDE is
(equal ranges of window ids share one partial, which is a pane under another name), so both follow the paned formulas,
with constants of their own. Formula 6.3, a row into each of its windows, is what a buffer that is scanned per window
pays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, exp, gcd, log2

import pyarrow as pa

from panewise.aggregates.base import AggClass
from panewise.aggregates.compiled_form import compiled_form
from panewise.kernels.catalog import Request
from panewise.plan.dataflow import Estimate
from panewise.planner.cost import formulas as cost
from panewise.planner.cost.constants import CONSTANTS
from panewise.planner.statistics.declared import Statistics
from panewise.windows.base import Clock

ALWAYS_DENSE, SPARSE = 2**25, 16
"""Arrays of the panes kernel: so many bytes are never too many, and so many times what is in them is too sparse."""
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
    columns: int
    """Numbers per group and pane in the arrays of the panes kernel, the count of rows among them."""
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
            invertible=all(a.function.is_invertible(a.inputs) for a in request.aggregates),
            columns=_array_columns(request), statistics=known)


def estimate(kernel: str, work: Workload) -> Estimate:
    """Time and memory of one kernel, or an estimate without figures when nothing is known of it."""
    constants = CONSTANTS["simple" if work.elementwise else "holistic"].get(kernel)
    if kernel not in MODELS or constants is None:
        return Estimate(kernel, None, None)
    model = MODELS[kernel]
    if model.otherwise is not None and not model.holds(work):
        return replace(estimate(model.otherwise, work), kernel=kernel)
    nanoseconds = sum(getattr(constants, step) * times for step, times in model.steps(work).items())
    return Estimate(kernel, nanoseconds / 1e9, model.memory(work), model.formula(work))


# -- the steps of each kernel, per window


@dataclass(frozen=True)
class Model:
    """How often a kernel takes each step for one window, and how much it keeps."""

    steps: Callable[[Workload], dict[str, float]]
    memory: Callable[[Workload], float]
    formula: Callable[[Workload], str]
    holds: Callable[[Workload], bool] = lambda _: True
    """Whether the kernel works this way at all; if not, it does as ``otherwise`` does."""
    otherwise: str | None = None


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
    """Li 6.2 in dense arrays: every group there is has a cell in every pane, filled or not."""
    merged = cost.paned_differential(0, 0, 1, T=work.T, P=work.P, G=_slots(work), panes_per_slide=_cuts(work))
    return _common(work) | {"merged": merged}


def _cuts(work: Workload) -> float:
    """Panes per slide when they are cut only where a window begins or ends: two at most, however small the gcd is."""
    return 1.0 if work.P % max(work.panes_per_slide, 1) == 0 or work.panes_per_slide > work.P else 2.0


def _slots(work: Workload) -> float:
    """Groups that have a place in the arrays."""
    return max(work.statistics.groups, work.groups_per_window)


def _range_steps(work: Workload) -> dict[str, float]:
    """As panes, but cut only where a window begins or ends: at most two per slide.

    Every promise that closes windows scans the panes of all of them anew (Li 6.1, once per promise).
    """
    per_slide = _cuts(work)
    panes = max(work.P / max(work.panes_per_slide, 1.0), 1.0) * per_slide
    together = max(1.0, work.statistics.batch_rows / work.rows_per_slide) if work.elementwise else 1.0
    merged = work.G * (panes / together + (per_slide if work.elementwise else 0.0))
    steps = _common(work) | {"filled": _filled(work), "merged": merged}
    if not work.elementwise:  # what is merged is as large as the rows it stands for
        steps["copy"] = cost.unpaned(1, T=work.T)
    return steps


def _panes_held(work: Workload) -> float:
    """Arrays of state column × pane × group; they grow by doubling."""
    panes = ceil(work.wed / work.slide) * _cuts(work)
    return 8.0 * work.columns * _doubled(panes) * _doubled(_slots(work))


def _dense(work: Workload) -> bool:
    """Whether the arrays are small, or full enough to be worth their size."""
    used = 8.0 * work.columns * work.G * ceil(work.wed / work.slide) * _cuts(work)
    return _panes_held(work) <= max(ALWAYS_DENSE, SPARSE * used / 2)  # arrays grow before they are full


USUAL_DIGITS = 3
"""Integers that sums of floats of ordinary range take."""


def _array_columns(request: Request) -> int:
    forms = [compiled_form(a.function, a.inputs) for a in request.aggregates]
    return 1 + sum(len(form.columns) + (USUAL_DIGITS if form.digits is not None else 0)
                   for form in forms if form is not None and form.fold != "rows")


def _doubled(size: float) -> int:
    """The room that so many take: a power of two, eight at least.

    >>> _doubled(3), _doubled(9.5)
    (8, 16)
    """
    return max(8, 1 << (ceil(size) - 1).bit_length())


def _ranges_held(work: Workload) -> float:
    """One partial per group and range of window ids; at most two ranges begin per slide."""
    return cost.pane_bytes(work.pane_partial, G=work.G, P=ceil(work.wed / work.slide) * _cuts(work))


def _buffer_steps(work: Workload) -> dict[str, float]:
    """Li 6.3; sorting rows into groups costs more the more groups there are, and every promise scans the buffer."""
    common = _common(work)
    return common | {"copy": cost.unpaned(1, T=work.T), "merged": work.T * log2(1 + work.groups_per_window),
                     "filled": work.T * common["batch"]}


def _rows_held(work: Workload) -> float:
    known = work.statistics
    return cost.lazy_bytes(work.row_bytes, vol=work.T / (work.P * work.pane), wed=work.wed, sources=known.offsets)


def _adaptive_held(work: Workload) -> float:
    """Condition 6.9 group by group: rows or partials, whichever is smaller.

    Partials are those of ranges of window ids, as in ``wid``: one per group and slide in which the group has a row.
    """
    known = work.statistics
    vol = work.T / (work.P * work.pane)
    sizes = known.sizes or ((1.0 / max(known.groups, 1.0), max(known.groups, 1.0)),)
    held = 0.0
    for share, count in sizes:
        sources = [(part * share, offset) for part, offset in known.offsets]
        rows = cost.lazy_bytes(work.row_bytes, vol=vol * share, wed=work.wed, sources=sources)
        present = 1.0 - exp(-share * work.rows_per_slide / _cuts(work))
        partials = cost.eager_bytes(work.pane_partial, wed=work.wed, SLIDE=work.slide) * _cuts(work) * present
        held += count * max(min(rows, partials), 0.0)
    return held


def _adaptive_steps(work: Workload) -> dict[str, float]:
    """Rows that are held go into every window when it closes (Li 6.3), the others into ranges as in ``wid``."""
    return _range_steps(work) | {"copy": cost.unpaned(1, T=work.T)}


MODELS: dict[str, Model] = {
    "wid": Model(_range_steps, _ranges_held, lambda _: "Li 6.1"),
    "panes": Model(_paned_steps, _panes_held, lambda _: "Li 6.2", _dense, otherwise="wid"),
    "two-level": Model(_range_steps, _ranges_held, lambda _: "Li 6.1"),
    "adaptive": Model(_adaptive_steps, _adaptive_held, lambda _: "Li 6.3, 6.9"),
    "buffering": Model(_buffer_steps, _rows_held, lambda _: "Li 6.3, 6.6"),
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
