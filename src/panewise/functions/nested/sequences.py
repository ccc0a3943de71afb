"""sequence: the numbers, dates or timestamps from one to another, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.sizes import ELEMENT
from panewise.functions.binding.binder_services import Binding
from panewise.functions.binding.bound import Bound
from panewise.functions.binding.frame import Here
from panewise.functions.binding.registry import operator
from panewise.functions.binding.sizes import must_fit
from panewise.functions.nested.lists import rebuilt
from panewise.functions.times.calendar import DAY, numbers_of, plus_months, times_from
from panewise.functions.times.clocks import on_the_clock, readings
from panewise.functions.types import (
    DATE,
    INTERVAL_DAYS,
    INTERVAL_MONTHS,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    is_integer,
    tightest,
    type_name,
)

Array = np.ndarray[Any, Any]
MOST = (1 << 31) - 16
"""Elements that an array of Spark may have."""


@operator("sequence")
def sequence(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """Both ends belong to it; the step is one, or one day, towards the end where it is not given."""
    if len(arguments) not in (2, 3):
        raise binder.error("sequence takes a start, an end and a step", tree)
    common = tightest(arguments[0].type, arguments[1].type)
    times = (DATE, TIMESTAMP, TIMESTAMP_NTZ)
    if common is None or not (is_integer(common) or common in times):
        given = " and ".join(type_name(a.type) for a in arguments[:2])
        raise binder.error(f"sequence takes integers, dates or timestamps, not {given}", tree)
    ends = [binder.cast(a, common) for a in arguments[:2]]
    if len(arguments) == 2:
        step = None
    elif is_integer(common):
        step = binder.cast(arguments[2], common)
    else:
        step = arguments[2]
        if step.type not in (INTERVAL_DAYS, INTERVAL_MONTHS):
            raise binder.error(f"the step of {type_name(common)} is an interval, not {type_name(step.type)}", tree)
    return binder.made(pa.list_(common), tree, [*ends, *([] if step is None else [step])], _run, needs_arrays=True,
                       strict=True)


def _run(start: pa.Array, stop: pa.Array, step: pa.Array | None = None, *, here: Here) -> pa.Array:
    of = start.type
    known = pc.and_(start.is_valid(), stop.is_valid())
    if step is not None:
        known = pc.and_(known, step.is_valid())
    there = known.to_numpy(zero_copy_only=False)
    first, last = (_numbers(v) for v in (start, stop))
    if step is None:
        unit = DAY if of in (TIMESTAMP, TIMESTAMP_NTZ) else 1
        by, months = np.where(last >= first, unit, -unit), False
    else:
        by, months = _numbers(step), step.type == INTERVAL_MONTHS
        if of == DATE and not months:
            here.fail_where(pa.array(there & (by % DAY != 0)), "DATATYPE_MISMATCH.SEQUENCE_WRONG_INPUT_TYPES",
                            "the step of dates is whole days")
            by = by // DAY
    wrong = there & (first != last) & ((by == 0) | ((by > 0) != (last > first)))
    here.fail_where(pa.array(wrong), "ILLEGAL_SEQUENCE", "there is no way from {} to {} by that step", start, stop)
    # exact: the distance of two 64-bit numbers fits into an unsigned one
    with np.errstate(over="ignore"):
        far = np.where(last >= first, last.astype(np.uint64) - first.astype(np.uint64),
                       first.astype(np.uint64) - last.astype(np.uint64))
    if months or (of == TIMESTAMP and (np.abs(by[there]) >= DAY).any()):
        longest = np.abs(by) * (31 * (1 if of == DATE else DAY) if months else 1)  # so there are at least so many
        least = np.where(there, far // np.maximum(longest, 1).astype(np.uint64), np.uint64(0))
        must_fit("sequence", least.astype(np.int64) * ELEMENT, here)
        return _one_by_one(start, first, last, by, months, there, here)
    counts = np.where(there, far // np.maximum(np.abs(by), 1).astype(np.uint64) + np.uint64(1), np.uint64(0))
    here.fail_where(pa.array(counts > MOST), "COLLECTION_SIZE_LIMIT_EXCEEDED.PARAMETER", "the array would be too long")
    sizes = counts.astype(np.int64)
    must_fit("sequence", sizes * ELEMENT, here)
    within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return _listed(np.repeat(first, sizes) + within * np.repeat(by, sizes), sizes, there, of, here)


def _numbers(values: pa.Array) -> Array:
    if is_integer(values.type):
        found: Array = values.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        return found
    return numbers_of(values)


def _listed(numbers: Array, sizes: Array, there: Array, of: pa.DataType, here: Here) -> pa.Array:
    elements = pa.array(numbers, pa.int64()).cast(of) if is_integer(of) else times_from(numbers, None, of)
    return rebuilt(elements, sizes, pa.array(~there), here.type)


def _one_by_one(start: pa.Array, first: Array, last: Array, by: Array, months: bool, there: Array,
                here: Here) -> pa.Array:
    """Steps on the calendar: as many passes as the longest sequence has elements, over the rows that go on."""
    rows, values, places = [np.flatnonzero(there)], [first[there]], [np.zeros(int(there.sum()), np.int64)]
    place = 0
    while len(rows[-1]):
        place += 1
        going = np.flatnonzero(there)
        moved = _moved(start.take(pa.array(going)), by[going] * place, months, here)
        inside = np.where(by[going] > 0, moved <= last[going], moved >= last[going]) & (by[going] != 0)
        rows.append(going[inside])
        values.append(moved[inside])
        places.append(np.full(int(inside.sum()), place))
        there = there.copy()
        there[going[~inside]] = False
    every = np.concatenate(rows)
    order = np.lexsort((np.concatenate(places), every))
    missing = np.ones(len(first), np.bool_)
    missing[rows[0]] = False
    sizes = np.bincount(every, minlength=len(first))
    return _listed(np.concatenate(values)[order], sizes, ~missing, start.type, here)


def _moved(start: pa.Array, by: Array, months: bool, here: Here) -> Array:
    if start.type == DATE:
        return plus_months(numbers_of(start), by)
    local = readings(start, here.zone)
    if months:
        return on_the_clock(start, plus_months(local // DAY, by) * DAY + local % DAY, here.zone)
    days = (by - np.fmod(by, DAY)) // DAY
    return np.asarray(on_the_clock(start, local + days * DAY, here.zone) + np.fmod(by, DAY))
