"""Spark's types, and the Python values that stand for their values while an expression is computed.

Inside the evaluator a date is its day number, a timestamp its microseconds since 1970 (of UTC, or of the wall clock
where it has no time zone), an interval its months or microseconds, a struct a tuple, a map a list of pairs. Integers
therefore carry every calendar computation, also outside the years that Python's dates know.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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

    name: str = "interval day to second"
    start: int = 0
    end: int = 3


@dataclass(frozen=True)
class Decimal(Type):
    """A decimal number of so many digits, so many of them behind the point."""

    name: str = "decimal"
    precision: int = 10
    scale: int = 0

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"


@dataclass(frozen=True)
class Array(Type):
    """A list of values of one type."""

    name: str = "array"
    element: Type = NULL

    def __str__(self) -> str:
        return f"array<{self.element}>"


@dataclass(frozen=True)
class Map(Type):
    """Pairs of keys and values."""

    name: str = "map"
    key: Type = NULL
    value: Type = NULL

    def __str__(self) -> str:
        return f"map<{self.key},{self.value}>"


@dataclass(frozen=True)
class Struct(Type):
    """Named fields."""

    name: str = "struct"
    fields: tuple[tuple[str, Type], ...] = ()

    def __str__(self) -> str:
        return f"struct<{','.join(f'{name}:{field}' for name, field in self.fields)}>"


@dataclass(frozen=True)
class Opaque(Type):
    """A column type that no expression computes with; such columns can only be passed on."""

    name: str = "opaque"
    arrow: pa.DataType = None

    def __str__(self) -> str:
        return str(self.arrow)


def decimal(precision: int, scale: int) -> Decimal:
    """A decimal type."""
    return Decimal(precision=precision, scale=scale)


def array_of(element: Type) -> Array:
    """An array type."""
    return Array(element=element)


def map_of(key: Type, value: Type) -> Map:
    """A map type."""
    return Map(key=key, value=value)


def is_numeric(kind: Type) -> bool:
    """Whether values are numbers."""
    return kind in INTEGRAL or kind in (FLOAT, DOUBLE) or isinstance(kind, Decimal)


def is_atomic(kind: Type) -> bool:
    """Whether values have no parts."""
    return not isinstance(kind, Array | Map | Struct | Opaque) and kind != NULL


# -- Arrow ---------------------------------------------------------------------------------------------------------

_FROM_ARROW: dict[pa.DataType, Type] = {
    pa.null(): NULL, pa.bool_(): BOOLEAN, pa.int8(): BYTE, pa.int16(): SHORT, pa.int32(): INT, pa.int64(): LONG,
    pa.uint8(): SHORT, pa.uint16(): INT, pa.uint32(): LONG, pa.uint64(): decimal(20, 0), pa.float16(): FLOAT,
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
        return decimal(kind.precision, kind.scale)
    if pa.types.is_dictionary(kind):
        return from_arrow(kind.value_type)
    if pa.types.is_map(kind):
        return map_of(from_arrow(kind.key_type), from_arrow(kind.item_type))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return array_of(from_arrow(kind.value_type))
    if pa.types.is_struct(kind):
        return Struct(fields=tuple((field.name, from_arrow(field.type)) for field in kind))
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


def inferred(value: object) -> Type:
    """The type of a Python value in a column that declares none."""
    match value:
        case None:
            return NULL
        case bool():
            return BOOLEAN
        case int():
            return LONG
        case float():
            return DOUBLE
        case str():
            return STRING
        case bytes():
            return BINARY
        case datetime():
            return NTZ if value.tzinfo is None else TIMESTAMP
        case date():
            return DATE
        case timedelta():
            return DayTime()
        case PyDecimal():
            _, digits, exponent = value.as_tuple()
            scale = max(0, -int(exponent))
            return decimal(max(len(digits) + max(0, int(exponent)), scale), scale)
        case Mapping():
            return Struct(fields=tuple((str(name), inferred(field)) for name, field in value.items()))
        case list() | tuple():
            return array_of(next((inferred(item) for item in value if item is not None), NULL))
    raise UnsupportedError(f"the oracle computes nothing with a value of {type(value).__name__}: {value!r}")


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


def reader(kind: Type) -> Convert:
    """How a Python value of a column becomes a value of the evaluator."""
    match kind:
        case Array():
            return _optional(_each(reader(kind.element)))
        case Map():
            return _optional(_pairs(reader(kind.key), reader(kind.value)))
        case Struct():
            parts = [(name, reader(field)) for name, field in kind.fields]
            return _optional(lambda value: tuple(read(value.get(name)) for name, read in parts))
        case DayTime():
            return _optional(lambda value: value if isinstance(value, int) else value // timedelta(microseconds=1))
        case Decimal():
            return _optional(PyDecimal)
    if kind == DATE:
        return _optional(lambda value: value if isinstance(value, int) else value.toordinal() - EPOCH_DAY)
    if kind in (TIMESTAMP, NTZ):
        return _optional(_micros)
    if kind == FLOAT:
        return _optional(single)
    return _optional(float) if kind == DOUBLE else lambda value: value


def writer(kind: Type) -> Convert:
    """How a value of the evaluator becomes a plain Python value."""
    match kind:
        case Array():
            return _optional(_each(writer(kind.element)))
        case Map():
            return _optional(_pairs(writer(kind.key), writer(kind.value)))
        case Struct():
            parts = [(name, writer(field)) for name, field in kind.fields]
            return _optional(lambda value: {name: write(v) for (name, write), v in zip(parts, value, strict=True)})
        case DayTime():
            return _optional(lambda value: timedelta(microseconds=value))
    if kind == DATE:
        return _optional(lambda value: date.fromordinal(value + EPOCH_DAY))
    if kind == NTZ:
        return _optional(lambda value: EPOCH + timedelta(microseconds=value))
    if kind == TIMESTAMP:
        return _optional(lambda value: (EPOCH + timedelta(microseconds=value)).replace(tzinfo=UTC))
    return lambda value: value


def _optional(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _each(item: Convert) -> Convert:
    return lambda value: [item(v) for v in value]


def _pairs(key: Convert, item: Convert) -> Convert:
    def convert(value: Any) -> Any:
        pairs = value.items() if isinstance(value, Mapping) else value
        return [(key(k), item(v)) for k, v in pairs]

    return convert


def _micros(value: Any) -> int:
    if isinstance(value, int):
        return value
    plain = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo is not None else value
    return int((plain - EPOCH) // timedelta(microseconds=1))
