"""How values of every Spark type are written in the files of answers, exactly.

==================================  =================================================================================
Spark type                          JSON
==================================  =================================================================================
boolean, integers                   true or false, number
float, double                       number that reads back to the same bits (a float as the double of equal value);
                                    ``"NaN"``, ``"Infinity"``, ``"-Infinity"``
decimal                             text without exponent
string                              text; ``{"repeat": [unit, times]}`` if long and periodic; ``{"utf8": hex}`` if its
                                    bytes are not valid UTF-8
binary                              hexadecimal text
date                                days since 1970-01-01
timestamp, timestamp_ntz            microseconds since 1970-01-01 (UTC, or on the clock without a zone)
interval (year to month, …)         months
interval (day to second, …)         microseconds
interval (calendar)                 [months, days, microseconds]
array, struct                       list of values
map                                 list of [key, value], in Spark's order
==================================  =================================================================================

Every type may be null. In place of an answer ``{"error": condition}`` says that Spark fails on this row.
"""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa

from functions.spark_types import SparkType, arrow_type

LONG = 120
"""Texts longer than this are written as repetitions where they are."""
UNITS = 24
"""The longest unit of repetition that is looked for."""


def shorten(value: Any) -> Any:
    """Write long periodic texts inside a value as repetitions.

    >>> shorten(["ab" * 500, "a"])
    [{'repeat': ['ab', 500]}, 'a']
    """
    if isinstance(value, list):
        return [shorten(one) for one in value]
    if isinstance(value, str) and len(value) > LONG:
        for size in range(1, UNITS + 1):
            if len(value) % size == 0 and value == value[:size] * (len(value) // size):
                return {"repeat": [value[:size], len(value) // size]}
    return value


def lengthen(value: Any) -> Any:
    """Undo `shorten`."""
    if isinstance(value, list):
        return [lengthen(one) for one in value]
    if isinstance(value, dict) and "repeat" in value:
        unit, times = value["repeat"]
        return unit * times
    return value


def dumps(value: Any) -> str:
    """JSON text on one line; the order of keys is that of the value."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def is_error(value: Any) -> bool:
    """Whether a recorded answer is an error."""
    return isinstance(value, dict) and "error" in value


def to_arrow(values: list[Any], of: SparkType, months: pa.DataType | None = None) -> pa.Array:
    """A column of recorded values. Built from buffers' own types so that no year is too early for Python's dates."""
    target = arrow_type(of, months)
    return _array([lengthen(value) for value in values], of, target)


def _array(values: list[Any], of: SparkType, target: pa.DataType) -> pa.Array:
    present = [value is not None for value in values]
    mask = pa.array([not one for one in present], pa.bool_())
    if of.name == "void":
        return pa.nulls(len(values))
    if of.name == "array":
        inside = [item for value in values if value is not None for item in value]
        return pa.ListArray.from_arrays(
            _offsets(values), _array(inside, of.of[0], target.value_type), type=target, mask=mask)
    if of.name == "map":
        pairs = [pair for value in values if value is not None for pair in value]
        return pa.MapArray.from_arrays(
            _offsets(values), _array([key for key, _ in pairs], of.of[0], target.key_type),
            _array([item for _, item in pairs], of.of[1], target.item_type), type=target, mask=mask)
    if of.name == "struct":
        if not of.of:
            return pa.array([None if value is None else {} for value in values], target)
        columns = [_array([None if value is None else value[at] for value in values], one, target.field(at).type)
                   for at, one in enumerate(of.of)]
        return pa.StructArray.from_arrays(columns, fields=list(target), mask=mask)
    if of.name.startswith("decimal"):
        return pa.array([None if value is None else Decimal(value) for value in values], target)
    if of.name in ("float", "double"):
        return pa.array([None if value is None else float(value) for value in values], pa.float64()).cast(target)
    if of.name.startswith("string"):
        raw = [None if value is None else bytes.fromhex(value["utf8"]) if isinstance(value, dict) else
               value.encode() for value in values]
        return pa.Array.from_buffers(target, len(values), pa.array(raw, pa.binary()).buffers())
    if of.name == "binary":
        return pa.array([None if value is None else bytes.fromhex(value) for value in values], target)
    if of.name == "interval":
        return pa.array([None if value is None else pa.MonthDayNano([value[0], value[1], value[2] * 1000])
                         for value in values], target)
    if of.name in ("date",) or of.is_months:
        numbers = pa.array(values, pa.int32())
        return pa.ExtensionArray.from_storage(target, numbers) if isinstance(target, pa.ExtensionType) else \
            numbers.cast(target)
    if of.name in ("timestamp", "timestamp_ntz") or of.is_days:
        return pa.array(values, pa.int64()).cast(target)
    return pa.array(values, target)


def _offsets(values: list[Any]) -> pa.Array:
    offsets = [0]
    for value in values:
        offsets.append(offsets[-1] + (len(value) if value is not None else 0))
    return pa.array(offsets, pa.int32())


def from_arrow(array: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The values of a column as they are recorded, in whatever Arrow type it has."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array.type, pa.ExtensionType):
        array = array.storage
    of = array.type
    present = array.is_valid().to_pylist()
    if pa.types.is_null(of):
        return [None] * len(array)
    if pa.types.is_map(of):
        keys, items = from_arrow(array.keys), from_arrow(array.items)
        return _sliced(array, present, [[key, item] for key, item in zip(keys, items, strict=True)])
    if pa.types.is_list(of):
        return _sliced(array, present, from_arrow(array.values))
    if pa.types.is_struct(of):
        columns = [from_arrow(column) for column in array.flatten()]
        return [[column[at] for column in columns] if there else None for at, there in enumerate(present)]
    if pa.types.is_floating(of):
        return [None if value is None else _written(value) for value in array.cast(pa.float64()).to_pylist()]
    if pa.types.is_decimal(of):
        return [None if value is None else f"{value:f}" for value in array.to_pylist()]
    if pa.types.is_string(of):
        raw = pa.Array.from_buffers(pa.binary(), len(array), array.buffers(), offset=array.offset).to_pylist()
        return [None if value is None else _text(value) for value in raw]
    if pa.types.is_binary(of):
        return [None if value is None else value.hex() for value in array.to_pylist()]
    if pa.types.is_date32(of):
        return array.cast(pa.int32()).to_pylist()
    if pa.types.is_timestamp(of) or pa.types.is_duration(of):
        return array.cast(pa.int64()).to_pylist()
    if pa.types.is_interval(of):
        return [None if value is None else [value.months, value.days, value.nanoseconds // 1000]
                for value in array.to_pylist()]
    return array.to_pylist()


def _sliced(array: pa.Array, present: list[bool], items: list[Any]) -> list[Any]:
    offsets = array.offsets.to_pylist()
    return [items[offsets[at]:offsets[at + 1]] if there else None for at, there in enumerate(present)]


def _written(value: float) -> Any:
    if math.isnan(value):
        return "NaN"
    return value if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"


def _text(raw: bytes) -> Any:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return {"utf8": raw.hex()}
