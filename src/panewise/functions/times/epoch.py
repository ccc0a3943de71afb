"""Timestamps as numbers since 1970, and instants seen from other zones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.functions.binding.binder_services import Binding
from panewise.functions.binding.bound import Bound
from panewise.functions.binding.frame import Here
from panewise.functions.binding.registry import Kind, function, operator
from panewise.functions.times.calendar import SECOND, numbers_of, times_from
from panewise.functions.types import (
    BIGINT,
    DOUBLE,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    is_decimal,
    is_float,
    is_integer,
    type_name,
)
from panewise.functions.zones import zone_of

BAD_ZONE = "INVALID_TIMEZONE"
INSTANT = Kind("timestamp", lambda given: given == TIMESTAMP,
               lambda given: TIMESTAMP if given in (TIMESTAMP_NTZ, STRING, VOID) else None)


def _since(unit: int) -> Callable[[pa.Array], pa.Array]:
    def run(values: pa.Array) -> pa.Array:
        mask = values.is_null().to_numpy(zero_copy_only=False)
        return pa.array(numbers_of(values) // unit, BIGINT, mask=mask)
    return run


function("unix_seconds", takes=[INSTANT], gives=BIGINT, arrays=True)(_since(SECOND))
function("unix_millis", takes=[INSTANT], gives=BIGINT, arrays=True)(_since(1000))
function("unix_micros", takes=[INSTANT], gives=BIGINT, arrays=True)(_since(1))


def _from(unit: int) -> Callable[..., pa.Array]:
    def run(values: pa.Array, here: Here) -> pa.Array:
        try:
            return pc.multiply_checked(values.cast(BIGINT), unit).view(TIMESTAMP)
        except pa.ArrowInvalid:
            most = (1 << 63) // unit
            outside = pc.or_(pc.greater(values, most), pc.less(values, -most))
            here.fail_where(outside, "DATETIME_OVERFLOW", "{} is beyond the range of timestamps", values)
            raise
    return run


for _name, _unit in (("timestamp_millis", 1000), ("timestamp_micros", 1)):
    function(_name, takes=[BIGINT], gives=TIMESTAMP, arrays=True)(_from(_unit))


@operator("timestamp_seconds")
def timestamp_seconds(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """The instant so many seconds after 1970 began; fractions count."""
    if len(arguments) != 1:
        raise binder.error("timestamp_seconds takes one argument", tree)
    (value,) = arguments
    if value.type in (STRING, VOID):
        value = binder.cast(value, DOUBLE)
    if is_integer(value.type):
        return binder.made(TIMESTAMP, tree, [value], _from(SECOND), needs_arrays=True)
    if is_decimal(value.type):
        return binder.made(TIMESTAMP, tree, [value], _from_decimal, needs_arrays=True)
    if not is_float(value.type):
        raise binder.error(f"timestamp_seconds takes a number, not {type_name(value.type)}", tree)
    return binder.made(TIMESTAMP, tree, [binder.cast(value, DOUBLE)], _from_float, needs_arrays=True)


def _from_float(values: pa.Array, here: Here) -> pa.Array:
    """NaN and infinities give null; others are cut to microseconds, and to the range of timestamps."""
    numbers = values.fill_null(np.nan).to_numpy(zero_copy_only=False)
    known = np.isfinite(numbers)
    micros = np.where(known, numbers, 0.0) * SECOND
    top, bottom = micros >= 2.0 ** 63, micros <= -2.0 ** 63
    cut = np.where(top | bottom, 0.0, np.trunc(micros)).astype(np.int64)
    cut = np.where(top, (1 << 63) - 1, np.where(bottom, -(1 << 63), cut))
    return pa.array(cut, BIGINT, mask=~known).view(TIMESTAMP)


def _from_decimal(values: pa.Array, here: Here) -> pa.Array:
    found: list[int | None] = []
    for row, value in enumerate(values.to_pylist()):
        if value is None:
            found.append(None)
            continue
        micros = value * SECOND
        if micros != micros.to_integral_value():
            here.fail(row, "_LEGACY_ERROR_TEMP_2071", "{} is finer than a microsecond", values)
        if not -(1 << 63) <= micros < 1 << 63:
            here.fail(row, "DATETIME_OVERFLOW", "{} is beyond the range of timestamps", values)
        found.append(int(micros))
    return pa.array(found, BIGINT).view(TIMESTAMP)


def _moved(forward: bool) -> Callable[..., pa.Array]:
    def run(values: pa.Array, zones: pa.Array, here: Here) -> pa.Array:
        numbers = numbers_of(values)
        found = np.zeros(len(values), np.int64)
        encoded = zones.dictionary_encode()
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        known = values.is_valid().to_numpy(zero_copy_only=False)
        for code, name in enumerate(encoded.dictionary.to_pylist()):
            rows = (codes == code) & known
            zone = zone_of(name)
            if zone is None:
                if rows.any():
                    here.fail(int(np.argmax(rows)), BAD_ZONE, "no time zone {}", zones)
                continue
            found[rows] = zone.to_local(numbers[rows]) if forward else zone.to_instant(numbers[rows])
        return times_from(found, pc.if_else(zones.is_null(), pa.scalar(None, values.type), values), here.type)
    return run


function("from_utc_timestamp", takes=[TIMESTAMP, STRING], gives=TIMESTAMP, arrays=True)(_moved(forward=True))
function("to_utc_timestamp", takes=[TIMESTAMP, STRING], gives=TIMESTAMP, arrays=True)(_moved(forward=False))


@function("convert_timezone", takes=[STRING, STRING, TIMESTAMP_NTZ], gives=TIMESTAMP_NTZ, arrays=True)
def convert_timezone(source: pa.Array, target: pa.Array, values: pa.Array, here: Here) -> pa.Array:
    """A clock reading in one zone as the reading in another at the same instant."""
    instants = _moved(forward=False)(values, source, Here(here.frame, TIMESTAMP, here.zone, here.expression))
    return _moved(forward=True)(instants, target, here)


@function("convert_timezone", takes=[STRING, TIMESTAMP_NTZ], gives=TIMESTAMP_NTZ, arrays=True)
def from_session_zone(target: pa.Array, values: pa.Array, here: Here) -> pa.Array:
    """A clock reading in the zone of the session as the reading in another."""
    return convert_timezone(pa.array([here.zone] * here.rows, STRING), target, values, here=here)


@function("current_timezone", takes=[], gives=STRING)
def current_timezone(here: Here) -> pa.Array:
    """The zone of the session."""
    return pa.array([here.zone], STRING)


