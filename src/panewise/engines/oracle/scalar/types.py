"""Spark's types, and the Python values that stand for their values while an expression is computed.

Inside the evaluator a date is its day number, a timestamp its microseconds since 1970 (of UTC, or of the wall clock
where it has no time zone), an interval its months or microseconds, a struct a tuple, a map a list of pairs. Integers
therefore carry every calendar computation, also outside the years that Python's dates know.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal as PyDecimal
from typing import Any

import pyarrow as pa

from panewise.core.errors import UnsupportedError

MAX_PRECISION = 38
EPOCH, EPOCH_DAY = datetime(1970, 1, 1), date(1970, 1, 1).toordinal()
Value = Any
"""A value as it is inside the evaluator; None is null."""


@dataclass(frozen=True)
class Type:
    """A type without parameters; its name is Spark's."""

    name: str

    def __str__(self) -> str:
        return self.name


NULL, BOOLEAN, STRING, BINARY = Type("void"), Type("boolean"), Type("string"), Type("binary")
BYTE, SHORT, INT, LONG = Type("tinyint"), Type("smallint"), Type("int"), Type("bigint")
FLOAT, DOUBLE = Type("float"), Type("double")
DATE, TIMESTAMP, NTZ = Type("date"), Type("timestamp"), Type("timestamp_ntz")
MONTHS = Type("interval year to month")
INTEGRAL = (BYTE, SHORT, INT, LONG)
BITS = {BYTE: 8, SHORT: 16, INT: 32, LONG: 64}


@dataclass(frozen=True)
class DayTime(Type):
    """An interval of days, hours, minutes and seconds, with the units it is declared over (0 day … 3 second)."""

    name: str = field(default="interval day to second", init=False)
    start: int = 0
    end: int = 3


@dataclass(frozen=True)
class Decimal(Type):
    """A decimal number of so many digits, so many of them behind the point."""

    name: str = field(default="decimal", init=False)
    precision: int
    scale: int

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"


@dataclass(frozen=True)
class Array(Type):
    """A list of values of one type."""

    name: str = field(default="array", init=False)
    element: Type

    def __str__(self) -> str:
        return f"array<{self.element}>"


@dataclass(frozen=True)
class Map(Type):
    """Pairs of keys and values."""

    name: str = field(default="map", init=False)
    key: Type
    value: Type

    def __str__(self) -> str:
        return f"map<{self.key},{self.value}>"


@dataclass(frozen=True)
class Struct(Type):
    """Named fields."""

    name: str = field(default="struct", init=False)
    fields: tuple[tuple[str, Type], ...]

    def __str__(self) -> str:
        return f"struct<{','.join(f'{name}:{field}' for name, field in self.fields)}>"


@dataclass(frozen=True)
class Opaque(Type):
    """A column type that no expression computes with; such columns can only be passed on."""

    name: str = "opaque"
    arrow: pa.DataType = None

    def __str__(self) -> str:
        return str(self.arrow)


def is_numeric(kind: Type) -> bool:
    """Whether values are numbers."""
    return kind in (*INTEGRAL, FLOAT, DOUBLE) or isinstance(kind, Decimal)


def is_interval(kind: Type) -> bool:
    """Whether values are intervals."""
    return kind == MONTHS or isinstance(kind, DayTime)


def is_atomic(kind: Type) -> bool:
    """Whether values have no parts."""
    return not isinstance(kind, Array | Map | Struct | Opaque) and kind != NULL


# -- Arrow ---------------------------------------------------------------------------------------------------------

_FROM_ARROW: dict[pa.DataType, Type] = {
    pa.null(): NULL, pa.bool_(): BOOLEAN, pa.int8(): BYTE, pa.int16(): SHORT, pa.int32(): INT, pa.int64(): LONG,
    pa.uint8(): SHORT, pa.uint16(): INT, pa.uint32(): LONG, pa.uint64(): Decimal(20, 0), pa.float16(): FLOAT,
    pa.float32(): FLOAT, pa.float64(): DOUBLE, pa.string(): STRING, pa.large_string(): STRING, pa.binary(): BINARY,
    pa.large_binary(): BINARY, pa.date32(): DATE, pa.date64(): DATE, pa.string_view(): STRING,
}
_TO_ARROW: dict[Type, pa.DataType] = {
    NULL: pa.null(), BOOLEAN: pa.bool_(), BYTE: pa.int8(), SHORT: pa.int16(), INT: pa.int32(), LONG: pa.int64(),
    FLOAT: pa.float32(), DOUBLE: pa.float64(), STRING: pa.string(), BINARY: pa.binary(), DATE: pa.date32(),
    TIMESTAMP: pa.timestamp("us", "UTC"), NTZ: pa.timestamp("us"),
}


def from_arrow(kind: pa.DataType) -> Type:
    """The Spark type of an Arrow column.

    >>> str(from_arrow(pa.map_(pa.string(), pa.decimal128(5, 2))))
    'map<string,decimal(5,2)>'
    """
    if kind in _FROM_ARROW:
        return _FROM_ARROW[kind]
    if pa.types.is_timestamp(kind):
        return NTZ if kind.tz is None else TIMESTAMP
    if pa.types.is_duration(kind):
        return DayTime()
    if pa.types.is_decimal(kind) and kind.precision <= MAX_PRECISION:
        return Decimal(kind.precision, kind.scale)
    if pa.types.is_dictionary(kind):
        return from_arrow(kind.value_type)
    if pa.types.is_map(kind):
        return Map(from_arrow(kind.key_type), from_arrow(kind.item_type))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return Array(from_arrow(kind.value_type))
    if pa.types.is_struct(kind):
        return Struct(tuple((part.name, from_arrow(part.type)) for part in kind))
    return Opaque(arrow=kind)


def to_arrow(kind: Type) -> pa.DataType:
    """The Arrow type of a result."""
    match kind:
        case Decimal():
            return pa.decimal128(kind.precision, kind.scale)
        case DayTime():
            return pa.duration("us")
        case Array():
            return pa.list_(to_arrow(kind.element))
        case Map():
            return pa.map_(to_arrow(kind.key), to_arrow(kind.value))
        case Struct():
            return pa.struct([(name, to_arrow(field)) for name, field in kind.fields])
        case Opaque():
            return kind.arrow
    if kind not in _TO_ARROW:
        raise UnsupportedError(f"the oracle has no column type for {kind}; cast it")
    return _TO_ARROW[kind]


_PLAIN = {type(None): NULL, bool: BOOLEAN, int: LONG, float: DOUBLE, str: STRING, bytes: BINARY, timedelta: DayTime(),
          date: DATE}


def inferred(value: object) -> Type:
    """The type of a Python value in a column that declares none."""
    match value:
        case datetime():
            return NTZ if value.tzinfo is None else TIMESTAMP
        case PyDecimal():
            _, digits, exponent = value.as_tuple()
            scale = max(0, -int(exponent))
            return Decimal(max(len(digits) + max(0, int(exponent)), scale), scale)
        case Mapping():
            return Struct(tuple((str(name), inferred(part)) for name, part in value.items()))
        case list() | tuple():
            return Array(next((inferred(item) for item in value if item is not None), NULL))
    for kind in type(value).__mro__:
        if kind in _PLAIN:
            return _PLAIN[kind]
    raise UnsupportedError(f"the oracle computes nothing with a value of {type(value).__name__}: {value!r}")


def whole(text: str) -> int:
    """An integer as it is written, of any number of digits: Python itself reads no more than some thousands."""
    return int(PyDecimal(text))


def in_range(value: int, kind: Type) -> bool:
    """Whether an integer fits a type."""
    half = 1 << (BITS[kind] - 1)
    return -half <= value < half


def low_bits(value: int, bits: int) -> int:
    """What Java's arithmetic leaves of a number that is too large."""
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half


# -- values at the borders -------------------------------------------------------------------------------------------

Convert = Callable[[Any], Any]


def single(value: float) -> float:
    """The nearest number of single precision.

    >>> single(0.1), single(1e39)
    (0.10000000149011612, inf)
    """
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _moment(value: Any) -> int:
    if isinstance(value, int):
        return value
    plain = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo is not None else value
    return int((plain - EPOCH) // timedelta(microseconds=1))


_READ: dict[Type, Convert] = {
    DATE: lambda value: value if isinstance(value, int) else value.toordinal() - EPOCH_DAY,
    TIMESTAMP: _moment, NTZ: _moment, FLOAT: single, DOUBLE: float}
_WRITTEN: dict[Type, Convert] = {
    DATE: lambda value: date.fromordinal(value + EPOCH_DAY),
    NTZ: lambda value: EPOCH + timedelta(microseconds=value),
    TIMESTAMP: lambda value: (EPOCH + timedelta(microseconds=value)).replace(tzinfo=UTC)}


def reader(kind: Type) -> Convert:
    """How a Python value of a column becomes a value of the evaluator."""
    match kind:
        case Struct():
            parts = [(name, reader(part)) for name, part in kind.fields]
            return optional(lambda value: tuple(read(value.get(name)) for name, read in parts))
        case DayTime():
            return optional(lambda value: value if isinstance(value, int) else value // timedelta(microseconds=1))
        case Decimal():
            return optional(PyDecimal)
    return _of_elements(kind, reader) or optional(_READ.get(kind, _unchanged))


def writer(kind: Type) -> Convert:
    """How a value of the evaluator becomes a plain Python value."""
    match kind:
        case Struct():
            parts = [(name, writer(part)) for name, part in kind.fields]
            return optional(lambda value: {name: write(v) for (name, write), v in zip(parts, value, strict=True)})
        case DayTime():
            return optional(lambda value: timedelta(microseconds=value))
    return _of_elements(kind, writer) or optional(_WRITTEN.get(kind, _unchanged))


def _of_elements(kind: Type, converter: Callable[[Type], Convert]) -> Convert | None:
    match kind:
        case Array():
            item = converter(kind.element)
            return optional(lambda value: [item(v) for v in value])
        case Map():
            key, item = converter(kind.key), converter(kind.value)
            return optional(lambda value: [
                (key(k), item(v)) for k, v in (value.items() if isinstance(value, Mapping) else value)])
    return None


def optional(convert: Convert) -> Convert:
    """The same where null stays null."""
    return lambda value: None if value is None else convert(value)


def _unchanged(value: Any) -> Any:
    return value
