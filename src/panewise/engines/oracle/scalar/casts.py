"""Casts between types, in ANSI mode: what does not fit is an error, and null under ``try_cast``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal as Number
from decimal import InvalidOperation
from functools import lru_cache

from panewise.core.errors import UnsupportedError
from panewise.engines.oracle.scalar import calendars
from panewise.engines.oracle.scalar.decimals import SHORT_DIGITS, WIDE, fitted
from panewise.engines.oracle.scalar.float_text import double_text, single_text
from panewise.engines.oracle.scalar.session import zone
from panewise.engines.oracle.scalar.typed import Failure, MismatchError, Typed
from panewise.engines.oracle.scalar.types import (
    BINARY,
    BITS,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGRAL,
    MONTHS,
    NTZ,
    NULL,
    STRING,
    TIMESTAMP,
    Array,
    DayTime,
    Decimal,
    Map,
    Opaque,
    Struct,
    Type,
    Value,
    is_numeric,
    single,
)

Convert = Callable[[Value], Value]
_LONG = re.compile(r"[+-]?\d+", re.ASCII)
_FLOAT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[dDfF]?", re.ASCII)
_SPECIAL = {"inf": math.inf, "+inf": math.inf, "infinity": math.inf, "+infinity": math.inf, "-inf": -math.inf,
            "-infinity": -math.inf, "nan": math.nan}
_TRUE, _FALSE = {"t", "true", "y", "yes", "1"}, {"f", "false", "n", "no", "0"}
_DECIMAL_DIGITS = 38


def cast(item: Typed, kind: Type, *, safe: bool = False) -> Typed:
    """The expression in another type; ``safe`` gives null where there is no value."""
    if item.type == kind:
        return item
    convert = converter(item.type, kind, safe)

    def run(row: object) -> Value:
        value = item.run(row)  # type: ignore[arg-type]
        return None if value is None else convert(value)

    return Typed(kind, run, item.sql, constant=item.constant)


@lru_cache(maxsize=4096)
def converter(source: Type, target: Type, safe: bool = False) -> Convert:
    """How a value that is not null is cast; refused where Spark knows no such cast."""
    if source in (target, NULL):
        return lambda value: value
    between_day_times = isinstance(source, DayTime) and isinstance(target, DayTime)
    if (_is_interval(source) or _is_interval(target)) and not between_day_times:
        raise UnsupportedError(f"the oracle casts no intervals: {source} to {target}")
    found = _nested(source, target, safe) or _plain(source, target)
    if found is None:
        raise MismatchError(f"cannot cast {source} to {target}", "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION")
    return _guarded(found) if safe else found


def _is_interval(kind: Type) -> bool:
    return kind == MONTHS or isinstance(kind, DayTime)


def _guarded(convert: Convert) -> Convert:
    def run(value: Value) -> Value:
        try:
            return convert(value)
        except Failure:
            return None

    return run


def _optional(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _nested(source: Type, target: Type, safe: bool) -> Convert | None:
    match source, target:
        case Array(), Array():
            item = _optional(converter(source.element, target.element, safe))
            return lambda value: [item(v) for v in value]
        case Map(), Map():
            if safe and source.key != target.key and source.key == STRING:
                return None  # a key that cannot be read would be null
            key, value_of = converter(source.key, target.key, safe), _optional(
                converter(source.value, target.value, safe))
            return lambda value: [(key(k), value_of(v)) for k, v in value]
        case Struct(), Struct():
            if len(source.fields) != len(target.fields):
                return None
            parts = [_optional(converter(one, other, safe))
                     for (_, one), (_, other) in zip(source.fields, target.fields, strict=True)]
            return lambda value: tuple(part(v) for part, v in zip(parts, value, strict=True))
    return None


def _plain(source: Type, target: Type) -> Convert | None:
    if target == STRING:
        return to_text(source)
    if target == BINARY:
        return _utf8 if source == STRING else None
    if target == BOOLEAN:
        return _to_boolean(source)
    if target in INTEGRAL:
        return _to_integral(source, target)
    if target in (FLOAT, DOUBLE):
        return _to_float(source, target)
    if isinstance(target, Decimal):
        return _to_decimal(source, target)
    if target in (DATE, TIMESTAMP, NTZ):
        return _to_time(source, target)
    if isinstance(target, DayTime) and isinstance(source, DayTime):
        unit = (calendars.DAY, calendars.HOUR, calendars.MINUTE, 1)[target.end]
        return lambda value: value - (value % unit if value >= 0 else -(-value % unit))
    return None


# -- text ----------------------------------------------------------------------------------------------------------


def _utf8(value: str) -> bytes:
    return value.encode("utf-8")


def to_text(source: Type) -> Convert | None:
    """How a value is shown."""
    match source:
        case Decimal():
            return lambda value: f"{value:f}"
        case Array() | Map() | Struct():
            return _nested_text(source)
        case DayTime():
            return None
        case Opaque():
            return None
    if source == MONTHS:
        return None
    if source == DOUBLE:
        return double_text
    if source == FLOAT:
        return single_text
    if source == BOOLEAN:
        return lambda value: "true" if value else "false"
    if source == BINARY:
        return _from_utf8
    if source == DATE:
        return calendars.date_text
    if source == NTZ:
        return calendars.local_text
    if source == TIMESTAMP:
        return lambda value: calendars.local_text(calendars.to_local(value, zone()))
    return str


def _from_utf8(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnsupportedError(f"the oracle has no text for {value!r}: it is not UTF-8") from error


def _nested_text(source: Type) -> Convert | None:
    def shown(kind: Type) -> Convert:
        text = (lambda value: value) if kind in (STRING, NULL) else to_text(kind)
        if text is None:
            raise MismatchError(f"cannot cast {kind} to string", "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION")
        return lambda value: "null" if value is None else text(value)

    match source:
        case Array():
            item = shown(source.element)
            return lambda value: f"[{', '.join(item(v) for v in value)}]"
        case Map():
            key, element = shown(source.key), shown(source.value)
            return lambda value: "{" + ", ".join(f"{key(k)} -> {element(v)}" for k, v in value) + "}"
        case Struct():
            parts = [shown(field) for _, field in source.fields]
            return lambda value: "{" + ", ".join(part(v) for part, v in zip(parts, value, strict=True)) + "}"
    return None


def _unreadable(value: object, target: Type) -> Failure:
    return Failure("CAST_INVALID_INPUT", f"{value!r} cannot be read as {target}")


def _overflow(value: object, target: Type) -> Failure:
    return Failure("CAST_OVERFLOW", f"{value} does not fit {target}")


# -- numbers ---------------------------------------------------------------------------------------------------------


def _to_boolean(source: Type) -> Convert | None:
    if source == STRING:
        def read(value: str) -> bool:
            word = calendars.trimmed(value).lower()
            if word in _TRUE or word in _FALSE:
                return word in _TRUE
            raise _unreadable(value, BOOLEAN)
        return read
    return (lambda value: value != 0) if is_numeric(source) else None


def in_range(value: int, kind: Type) -> bool:
    """Whether an integer fits a type."""
    half = 1 << (BITS[kind] - 1)
    return -half <= value < half


def _to_integral(source: Type, target: Type) -> Convert | None:
    def checked(value: int, shown: object) -> int:
        if not in_range(value, target):
            raise _overflow(shown, target)
        return value

    if source == STRING:
        def read(value: str) -> int:
            text = calendars.trimmed(value)
            if not _LONG.fullmatch(text) or not in_range(int(text), target):
                raise _unreadable(value, target)
            return int(text)
        return read
    if source == BOOLEAN:
        return int
    if source in INTEGRAL:
        return lambda value: checked(value, value)
    if isinstance(source, Decimal):
        return lambda value: checked(int(value), value)
    if source in (FLOAT, DOUBLE):
        def cut(value: float) -> int:
            if math.isnan(value) or math.isinf(value):
                raise _overflow(value, target)
            half = 1 << (BITS[target] - 1)
            # the bounds are compared as floating point numbers, in which 2^63 - 1 is 2^63
            if not (math.floor(value) <= float(half - 1) and math.ceil(value) >= -half):
                raise _overflow(value, target)
            return min(int(value), half - 1)
        return cut
    if source == TIMESTAMP:
        return lambda value: checked(value // calendars.SECOND, value)
    return None


def _to_float(source: Type, target: Type) -> Convert | None:
    narrow: Convert = single if target == FLOAT else lambda value: value
    if source == STRING:
        def read(value: str) -> float:
            text = value.strip("".join(map(chr, range(33))))
            if _FLOAT.fullmatch(text):
                return _parsed(text.rstrip("dDfF"), target)
            if text.lower() in _SPECIAL:
                return _SPECIAL[text.lower()]
            raise _unreadable(value, target)
        return read
    if source == TIMESTAMP:
        return lambda value: narrow(value / calendars.SECOND)
    if source == BOOLEAN or is_numeric(source):
        if target == FLOAT and source != DOUBLE:
            return lambda value: _nearest_single(value) if isinstance(value, int | Number) else single(value)
        return lambda value: narrow(float(value))
    return None


def _parsed(text: str, target: Type) -> float:
    return _nearest_single(Number(text)) if target == FLOAT else float(text)


def _nearest_single(value: int | Number) -> float:
    """The nearest number of single precision, rounded once."""
    exact = Number(value)
    first = single(float(exact))
    if math.isinf(first) or first == exact:
        return first
    others = [first, _next_single(first, 1), _next_single(first, -1)]
    best = min(abs(WIDE.subtract(Number(other), exact)) for other in others if not math.isinf(other))
    nearest = [other for other in others if not math.isinf(other)
               and abs(WIDE.subtract(Number(other), exact)) == best]
    return nearest[0] if len(nearest) == 1 else next(n for n in nearest if _single_bits(n) % 2 == 0)


def _single_bits(value: float) -> int:
    import struct

    return int(struct.unpack("<i", struct.pack("<f", value))[0])


def _next_single(value: float, step: int) -> float:
    import struct

    bits = _single_bits(value) + step
    return float(struct.unpack("<f", struct.pack("<i", bits))[0]) if value != 0 else step * 2.0**-149


def _to_decimal(source: Type, target: Decimal) -> Convert | None:
    if source == STRING:
        return lambda value: fitted(_read_decimal(value, target), target)
    if source == BOOLEAN or source in INTEGRAL or isinstance(source, Decimal):
        return lambda value: fitted(Number(int(value) if isinstance(value, bool) else value), target)
    if source in (FLOAT, DOUBLE):
        def convert(value: float) -> Number | None:
            if math.isnan(value) or math.isinf(value):
                return None
            return fitted(Number(double_text(value)), target)
        return convert
    if source == TIMESTAMP:
        return lambda value: fitted(Number(value).scaleb(-6, WIDE), target)
    return None


def _read_decimal(value: str, target: Decimal) -> Number:
    text = calendars.trimmed(value)
    try:
        found = Number(text) if re.fullmatch(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", text) else None
    except InvalidOperation:
        found = None
    if found is None:
        raise _unreadable(value, target)
    if found and found.adjusted() + 1 > _DECIMAL_DIGITS:
        raise Failure("NUMERIC_OUT_OF_SUPPORTED_RANGE", f"{value} has more digits than any decimal")
    return found


# -- times -----------------------------------------------------------------------------------------------------------


def _to_time(source: Type, target: Type) -> Convert | None:
    if source == STRING:
        return lambda value: _read_time(value, target)
    if target == DATE and source in (TIMESTAMP, NTZ):
        return lambda value: (calendars.to_local(value, zone()) if source == TIMESTAMP else value) // calendars.DAY
    if target == NTZ:
        if source == TIMESTAMP:
            return lambda value: calendars.to_local(value, zone())
        return (lambda value: value * calendars.DAY) if source == DATE else None
    if target == TIMESTAMP:
        if source in (DATE, NTZ):
            unit = calendars.DAY if source == DATE else 1
            return lambda value: calendars.to_instant(value * unit, zone())
        if source in INTEGRAL:
            return lambda value: _saturated(value * calendars.SECOND)
        if source in (FLOAT, DOUBLE):
            return _instant_of_float
        if isinstance(source, Decimal):
            return lambda value: _low_bits(int(SHORT_DIGITS.multiply(value, calendars.SECOND)))
    return None


def _instant_of_float(value: float) -> int:
    if math.isnan(value) or math.isinf(value):
        raise _unreadable(value, TIMESTAMP)
    micros = value * calendars.SECOND
    if not -(2.0**63) <= micros <= 2.0**63:
        raise _overflow(value, TIMESTAMP)
    return _saturated(int(micros))


def _saturated(value: int) -> int:
    return max(-calendars.LONG_MAX - 1, min(calendars.LONG_MAX, value))


def _low_bits(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _read_time(value: str, target: Type) -> int:
    if target == DATE:
        days = calendars.read_date(value)
        if days is None:
            raise _unreadable(value, target)
        return days
    stamp = calendars.read_stamp(value)
    if stamp is None:
        raise _unreadable(value, target)
    try:
        named = zone() if stamp.zone is None else calendars.zone_of(stamp.zone)
    except ValueError as error:
        raise _unreadable(value, target) from error
    found = stamp.local if target == NTZ else calendars.to_instant(stamp.local, named)
    if not -calendars.LONG_MAX - 1 <= found <= calendars.LONG_MAX:
        raise _unreadable(value, target)
    return found  # a zone that is named beside a time without one is checked and dropped
