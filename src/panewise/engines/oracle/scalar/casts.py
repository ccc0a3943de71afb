"""Casts between types, in ANSI mode: what does not fit is an error, and null under ``try_cast``."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from decimal import Decimal as Number
from decimal import InvalidOperation
from functools import lru_cache

from panewise.core.errors import UnsupportedError
from panewise.engines.oracle.scalar import calendars
from panewise.engines.oracle.scalar import types as T
from panewise.engines.oracle.scalar.decimals import SHORT_DIGITS, WIDE, fitted
from panewise.engines.oracle.scalar.float_text import double_text, single_text
from panewise.engines.oracle.scalar.session import zone
from panewise.engines.oracle.scalar.typed import Failure, MismatchError, Typed, strict

Convert = Callable[[T.Value], T.Value]
_LONG = re.compile(r"[+-]?\d+", re.ASCII)
_FLOAT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[dDfF]?", re.ASCII)
_SPECIAL = {"inf": math.inf, "+inf": math.inf, "infinity": math.inf, "+infinity": math.inf, "-inf": -math.inf,
            "-infinity": -math.inf, "nan": math.nan}
_TRUE, _FALSE = {"t", "true", "y", "yes", "1"}, {"f", "false", "n", "no", "0"}
_DECIMAL_DIGITS = 38


def cast(item: Typed, kind: T.Type, *, safe: bool = False) -> Typed:
    """The expression in another type; ``safe`` gives null where there is no value."""
    if item.type == kind:
        return item
    return strict(kind, converter(item.type, kind, safe), [item], item.sql)


@lru_cache(maxsize=4096)
def converter(source: T.Type, target: T.Type, safe: bool = False) -> Convert:
    """How a value that is not null is cast; refused where Spark knows no such cast."""
    if source in (target, T.NULL):
        return lambda value: value
    between_day_times = isinstance(source, T.DayTime) and isinstance(target, T.DayTime)
    if (T.is_interval(source) or T.is_interval(target)) and not between_day_times:
        raise UnsupportedError(f"the oracle casts no intervals: {source} to {target}")
    found = _nested(source, target, safe) or _plain(source, target)
    if found is None:
        raise MismatchError(f"cannot cast {source} to {target}", "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION")
    return _guarded(found) if safe else found


def _guarded(convert: Convert) -> Convert:
    def run(value: T.Value) -> T.Value:
        try:
            return convert(value)
        except Failure:
            return None

    return run


def _nested(source: T.Type, target: T.Type, safe: bool) -> Convert | None:
    match source, target:
        case T.Array(), T.Array():
            item = T.optional(converter(source.element, target.element, safe))
            return lambda value: [item(v) for v in value]
        case T.Map(), T.Map():
            if safe and source.key != target.key and source.key == T.STRING:
                return None  # a key that cannot be read would be null
            key, value_of = converter(source.key, target.key, safe), T.optional(
                converter(source.value, target.value, safe))
            return lambda value: [(key(k), value_of(v)) for k, v in value]
        case T.Struct(), T.Struct():
            if len(source.fields) != len(target.fields):
                return None
            parts = [T.optional(converter(one, other, safe))
                     for (_, one), (_, other) in zip(source.fields, target.fields, strict=True)]
            return lambda value: tuple(part(v) for part, v in zip(parts, value, strict=True))
    return None


def _plain(source: T.Type, target: T.Type) -> Convert | None:
    if target == T.STRING:
        return to_text(source)
    if target == T.BINARY:
        return str.encode if source == T.STRING else None
    if target == T.BOOLEAN:
        return _to_boolean(source)
    if target in T.INTEGRAL:
        return _to_integral(source, target)
    if target in (T.FLOAT, T.DOUBLE):
        return _to_float(source, target)
    if isinstance(target, T.Decimal):
        return _to_decimal(source, target)
    if target in (T.DATE, T.TIMESTAMP, T.NTZ):
        return _to_time(source, target)
    if isinstance(target, T.DayTime) and isinstance(source, T.DayTime):
        unit = (calendars.DAY, calendars.HOUR, calendars.MINUTE, 1)[target.end]
        return lambda value: value - (value % unit if value >= 0 else -(-value % unit))
    return None


# -- text ----------------------------------------------------------------------------------------------------------


def to_text(source: T.Type) -> Convert | None:
    """How a value is shown."""
    match source:
        case T.Decimal():
            return lambda value: f"{value:f}"
        case T.Array():
            item = _shown(source.element)
            return lambda value: f"[{', '.join(item(v) for v in value)}]"
        case T.Map():
            key, element = _shown(source.key), _shown(source.value)
            return lambda value: "{" + ", ".join(f"{key(k)} -> {element(v)}" for k, v in value) + "}"
        case T.Struct():
            parts = [_shown(field) for _, field in source.fields]
            return lambda value: "{" + ", ".join(part(v) for part, v in zip(parts, value, strict=True)) + "}"
        case T.DayTime() | T.Opaque():
            return None
    return _SHOWN.get(source, str)


def _shown(kind: T.Type) -> Convert:
    """How a part of an array, a map or a struct is shown."""
    text = to_text(kind) if kind != T.NULL else str
    if text is None:
        raise MismatchError(f"cannot cast {kind} to string", "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION")
    return lambda value: "null" if value is None else text(value)


def _from_utf8(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnsupportedError(f"the oracle has no text for {value!r}: it is not UTF-8") from error


_SHOWN: dict[T.Type, Convert | None] = {
    T.MONTHS: None, T.DOUBLE: double_text, T.FLOAT: single_text, T.BOOLEAN: lambda value: "true" if value else "false",
    T.BINARY: _from_utf8, T.DATE: calendars.date_text, T.NTZ: calendars.local_text,
    T.TIMESTAMP: lambda value: calendars.local_text(calendars.to_local(value, zone()))}


def _unreadable(value: object, target: T.Type) -> Failure:
    return Failure("CAST_INVALID_INPUT", f"{value!r} cannot be read as {target}")


def _overflow(value: object, target: T.Type) -> Failure:
    return Failure("CAST_OVERFLOW", f"{value} does not fit {target}")


# -- numbers ---------------------------------------------------------------------------------------------------------


def _to_boolean(source: T.Type) -> Convert | None:
    if source == T.STRING:
        def read(value: str) -> bool:
            word = calendars.trimmed(value).lower()
            if word in _TRUE or word in _FALSE:
                return word in _TRUE
            raise _unreadable(value, T.BOOLEAN)
        return read
    return (lambda value: value != 0) if T.is_numeric(source) else None


def _to_integral(source: T.Type, target: T.Type) -> Convert | None:
    def checked(value: int, shown: object) -> int:
        if not T.in_range(value, target):
            raise _overflow(shown, target)
        return value

    if source == T.STRING:
        def read(value: str) -> int:
            text = calendars.trimmed(value)
            if not _LONG.fullmatch(text) or not T.in_range(T.whole(text), target):
                raise _unreadable(value, target)
            return T.whole(text)
        return read
    if source == T.BOOLEAN:
        return int
    if source in T.INTEGRAL:
        return lambda value: checked(value, value)
    if isinstance(source, T.Decimal):
        return lambda value: checked(int(value), value)
    if source in (T.FLOAT, T.DOUBLE):
        def cut(value: float) -> int:
            if math.isnan(value) or math.isinf(value):
                raise _overflow(value, target)
            half = 1 << (T.BITS[target] - 1)
            # the bounds are compared as floating point numbers, in which 2^63 - 1 is 2^63
            if not (math.floor(value) <= float(half - 1) and math.ceil(value) >= -half):
                raise _overflow(value, target)
            return min(int(value), half - 1)
        return cut
    if source == T.TIMESTAMP:
        return lambda value: checked(value // calendars.SECOND, value)
    return None


def _to_float(source: T.Type, target: T.Type) -> Convert | None:
    narrow: Convert = T.single if target == T.FLOAT else lambda value: value
    if source == T.STRING:
        def read(value: str) -> float:
            text = value.strip(calendars.BLANKS)
            if _FLOAT.fullmatch(text):
                text = text.rstrip("dDfF")
                return _nearest_single(Number(text)) if target == T.FLOAT else float(text)
            if text.lower() in _SPECIAL:
                return _SPECIAL[text.lower()]
            raise _unreadable(value, target)
        return read
    if source == T.TIMESTAMP:
        return lambda value: narrow(value / calendars.SECOND)
    if source == T.BOOLEAN or T.is_numeric(source):
        if target == T.FLOAT and source != T.DOUBLE:
            return lambda value: _nearest_single(value) if isinstance(value, int | Number) else T.single(value)
        return lambda value: narrow(float(value))
    return None


def _nearest_single(value: int | Number) -> float:
    """The nearest number of single precision, rounded once."""
    exact = Number(value)
    first = T.single(float(exact))
    if math.isinf(first) or first == exact:
        return first
    near = [first, *(other for step in (1, -1) if math.isfinite(other := _next_single(first, step)))]
    return min(near, key=lambda other: (abs(WIDE.subtract(Number(other), exact)), _single_bits(other) % 2))


def _single_bits(value: float) -> int:
    return int(struct.unpack("<i", struct.pack("<f", value))[0])


def _next_single(value: float, step: int) -> float:
    bits = _single_bits(value) + step
    return float(struct.unpack("<f", struct.pack("<i", bits))[0]) if value != 0 else step * 2.0**-149


def _to_decimal(source: T.Type, target: T.Decimal) -> Convert | None:
    if source == T.STRING:
        return lambda value: fitted(_read_decimal(value, target), target)
    if source == T.BOOLEAN or source in T.INTEGRAL or isinstance(source, T.Decimal):
        return lambda value: fitted(Number(int(value) if isinstance(value, bool) else value), target)
    if source in (T.FLOAT, T.DOUBLE):
        def convert(value: float) -> Number | None:
            if math.isnan(value) or math.isinf(value):
                return None
            return fitted(Number(double_text(value)), target)
        return convert
    if source == T.TIMESTAMP:
        return lambda value: fitted(Number(value).scaleb(-6, WIDE), target)
    return None


def _read_decimal(value: str, target: T.Decimal) -> Number:
    text = calendars.trimmed(value)
    if not re.fullmatch(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", text):
        raise _unreadable(value, target)
    try:
        found = Number(text)
    except InvalidOperation:
        raise _unreadable(value, target) from None
    if found and found.adjusted() + 1 > _DECIMAL_DIGITS:
        raise Failure("NUMERIC_OUT_OF_SUPPORTED_RANGE", f"{value} has more digits than any decimal")
    return found


# -- times -----------------------------------------------------------------------------------------------------------


def _to_time(source: T.Type, target: T.Type) -> Convert | None:
    if source == T.STRING:
        return lambda value: _read_time(value, target)
    if target == T.DATE and source in (T.TIMESTAMP, T.NTZ):
        return lambda value: (calendars.to_local(value, zone()) if source == T.TIMESTAMP else value) // calendars.DAY
    if target == T.NTZ:
        if source == T.TIMESTAMP:
            return lambda value: calendars.to_local(value, zone())
        return (lambda value: value * calendars.DAY) if source == T.DATE else None
    if target == T.TIMESTAMP:
        if source in (T.DATE, T.NTZ):
            unit = calendars.DAY if source == T.DATE else 1
            return lambda value: calendars.to_instant(value * unit, zone())
        if source in T.INTEGRAL:
            return lambda value: _saturated(value * calendars.SECOND)
        if source in (T.FLOAT, T.DOUBLE):
            return _instant_of_float
        if isinstance(source, T.Decimal):
            return lambda value: T.low_bits(int(SHORT_DIGITS.multiply(value, calendars.SECOND)), 64)
    return None


def _instant_of_float(value: float) -> int:
    if math.isnan(value) or math.isinf(value):
        raise _unreadable(value, T.TIMESTAMP)
    micros = value * calendars.SECOND
    if not -(2.0**63) <= micros <= 2.0**63:
        raise _overflow(value, T.TIMESTAMP)
    return _saturated(int(micros))


def _saturated(value: int) -> int:
    return max(-(2**63), min(2**63 - 1, value))


def _read_time(value: str, target: T.Type) -> int:
    if target == T.DATE:
        days = calendars.read_date(value)
        if days is None:
            raise _unreadable(value, target)
        return days
    stamp = calendars.read_stamp(value)
    if stamp is None:
        raise _unreadable(value, target)
    try:
        named = zone() if stamp[1] is None else calendars.zone_of(stamp[1])
    except ValueError as error:
        raise _unreadable(value, target) from error
    found = stamp[0] if target == T.NTZ else calendars.to_instant(stamp[0], named)
    if not T.in_range(found, T.LONG):
        raise _unreadable(value, target)
    return found  # a zone that is named beside a time without one is checked and dropped
