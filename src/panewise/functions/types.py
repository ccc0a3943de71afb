"""Spark's types, written as Arrow types, and how they widen.

An expression has exactly one of these types. ``TIMESTAMP`` is an instant (microseconds UTC), ``TIMESTAMP_NTZ`` a clock
reading without a zone; ``INTERVAL_DAYS`` is Spark's day-time interval, ``INTERVAL_MONTHS`` its year-month interval,
``INTERVAL`` its calendar interval of months, days and time (only ``make_interval`` and casts of text give one).
"""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa
from pyarrow import types as t

BOOLEAN, BINARY, STRING, VOID = pa.bool_(), pa.binary(), pa.string(), pa.null()
TINYINT, SMALLINT, INT, BIGINT = pa.int8(), pa.int16(), pa.int32(), pa.int64()
FLOAT, DOUBLE = pa.float32(), pa.float64()
DATE, TIMESTAMP, TIMESTAMP_NTZ = pa.date32(), pa.timestamp("us", tz="UTC"), pa.timestamp("us")
INTERVAL_DAYS, INTERVAL = pa.duration("us"), pa.month_day_nano_interval()


class MonthsType(pa.ExtensionType):  # type: ignore[misc]
    """Spark's year-month interval: a number of months. Arrow has no array type of its own for it in Python."""

    def __init__(self) -> None:
        super().__init__(pa.int32(), "panewise.months")

    def __hash__(self) -> int:
        return hash(MonthsType)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MonthsType)

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> MonthsType:
        return cls()


INTERVAL_MONTHS = MonthsType()
INTEGERS = (TINYINT, SMALLINT, INT, BIGINT)
FLOATS = (FLOAT, DOUBLE)
MAX_PRECISION = 38
_DIGITS = {TINYINT: 3, SMALLINT: 5, INT: 10, BIGINT: 20}
"""The precision of the decimal that holds every value of an integer type, as Spark counts it."""

_NAMES = {BOOLEAN: "boolean", BINARY: "binary", STRING: "string", VOID: "void", TINYINT: "tinyint",
          SMALLINT: "smallint", INT: "int", BIGINT: "bigint", FLOAT: "float", DOUBLE: "double", DATE: "date",
          TIMESTAMP: "timestamp", TIMESTAMP_NTZ: "timestamp_ntz", INTERVAL_DAYS: "interval day to second",
          INTERVAL_MONTHS: "interval year to month", INTERVAL: "interval"}


def type_name(of: pa.DataType) -> str:
    """The type as Spark writes it.

    >>> type_name(pa.map_(STRING, pa.list_(pa.decimal128(10, 2))))
    'map<string,array<decimal(10,2)>>'
    """
    if of in _NAMES:
        return _NAMES[of]
    if is_decimal(of):
        return f"decimal({of.precision},{of.scale})"
    if t.is_list(of):
        return f"array<{type_name(of.value_type)}>"
    if t.is_map(of):
        return f"map<{type_name(of.key_type)},{type_name(of.item_type)}>"
    if t.is_struct(of):
        return f"struct<{','.join(f'{f.name}:{type_name(f.type)}' for f in of)}>"
    return str(of)


@lru_cache(maxsize=1024)
def spark_type(given: pa.DataType) -> pa.DataType | None:
    """The Spark type of a column of any Arrow type; None where Spark has none.

    >>> spark_type(pa.large_string()), spark_type(pa.uint64()), spark_type(pa.timestamp("ns"))
    (DataType(string), Decimal128Type(decimal128(20, 0)), TimestampType(timestamp[us]))
    """
    if given in _NAMES or is_decimal(given):
        return given
    if t.is_dictionary(given):
        return spark_type(given.value_type)
    if t.is_large_string(given) or t.is_string_view(given):
        return STRING
    if t.is_large_binary(given) or t.is_fixed_size_binary(given) or t.is_binary_view(given):
        return BINARY
    if t.is_unsigned_integer(given):
        return {8: SMALLINT, 16: INT, 32: BIGINT, 64: pa.decimal128(20, 0)}[given.bit_width]
    if t.is_float16(given):
        return FLOAT
    if t.is_date(given):
        return DATE
    if t.is_timestamp(given):
        return TIMESTAMP_NTZ if given.tz is None else TIMESTAMP
    if t.is_duration(given):
        return INTERVAL_DAYS
    if t.is_decimal(given) and given.precision <= MAX_PRECISION:
        return pa.decimal128(given.precision, given.scale)
    if t.is_list(given) or t.is_large_list(given) or t.is_fixed_size_list(given):
        inner = spark_type(given.value_type)
        return None if inner is None else pa.list_(inner)
    if t.is_map(given):
        key, item = spark_type(given.key_type), spark_type(given.item_type)
        return None if key is None or item is None else pa.map_(key, item)
    if t.is_struct(given):
        fields = [(f.name, spark_type(f.type)) for f in given]
        return None if any(inner is None for _, inner in fields) else pa.struct(fields)
    return None


def is_decimal(of: pa.DataType) -> bool:
    """Whether this is Spark's DECIMAL."""
    return bool(t.is_decimal128(of))


def is_integer(of: pa.DataType) -> bool:
    """TINYINT to BIGINT."""
    return of in INTEGERS


def is_float(of: pa.DataType) -> bool:
    """FLOAT and DOUBLE."""
    return of in FLOATS


def is_number(of: pa.DataType) -> bool:
    """Every numeric type."""
    return is_integer(of) or is_float(of) or is_decimal(of)


def is_time(of: pa.DataType) -> bool:
    """DATE and both timestamps."""
    return of in (DATE, TIMESTAMP, TIMESTAMP_NTZ)


def is_interval(of: pa.DataType) -> bool:
    """The three kinds of intervals."""
    return of in (INTERVAL_DAYS, INTERVAL_MONTHS, INTERVAL)


def is_nested(of: pa.DataType) -> bool:
    """ARRAY, MAP and STRUCT."""
    return bool(t.is_list(of) or t.is_map(of) or t.is_struct(of))


def decimal_of(of: pa.DataType) -> pa.DataType:
    """The decimal that holds every value of a numeric type (Spark's ``DecimalType.forType``)."""
    if is_decimal(of):
        return of
    if of == FLOAT:
        return pa.decimal128(14, 7)
    if of == DOUBLE:
        return pa.decimal128(30, 15)
    return pa.decimal128(_DIGITS[of], 0)


def adjusted_decimal(precision: int, scale: int) -> pa.DataType:
    """The result of decimal arithmetic: integral digits are kept, at least six fractional ones where there are six.

    >>> adjusted_decimal(77, 38)
    Decimal128Type(decimal128(38, 6))
    """
    if precision <= MAX_PRECISION:
        return pa.decimal128(precision, scale)
    integral = precision - scale
    kept = max(MAX_PRECISION - integral, min(scale, 6))
    return pa.decimal128(MAX_PRECISION, kept)


def wider_decimal(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """The decimal that holds the values of both; where it would be too long the fraction gives way.

    >>> wider_decimal(pa.decimal128(20, 0), pa.decimal128(38, 38))
    Decimal128Type(decimal128(38, 18))
    """
    integral = max(one.precision - one.scale, other.precision - other.scale)
    scale = min(max(one.scale, other.scale), MAX_PRECISION - integral)
    return pa.decimal128(integral + scale, scale)


def tightest(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The type both widen to without a cast that could fail (ANSI's type precedence); None if there is none.

    >>> tightest(INT, FLOAT), tightest(DATE, TIMESTAMP), tightest(INT, STRING)
    (DataType(double), TimestampType(timestamp[us, tz=UTC]), None)
    """
    if one == other:
        return one
    if one == VOID:
        return other
    if other == VOID:
        return one
    if is_integer(one) and is_integer(other):
        return INTEGERS[max(INTEGERS.index(one), INTEGERS.index(other))]
    if is_number(one) and is_number(other):
        if is_float(one) or is_float(other):
            return DOUBLE
        return wider_decimal(decimal_of(one), decimal_of(other))
    if {one, other} == {DATE, TIMESTAMP} or {one, other} == {DATE, TIMESTAMP_NTZ}:
        return other if one == DATE else one
    if {one, other} == {TIMESTAMP, TIMESTAMP_NTZ}:
        return TIMESTAMP
    if t.is_list(one) and t.is_list(other):
        inner = wider(one.value_type, other.value_type)
        return None if inner is None else pa.list_(inner)
    if t.is_map(one) and t.is_map(other):
        keys = {one.key_type, other.key_type}
        if (STRING in keys and keys - {STRING, BINARY, VOID}) or keys == {DATE, TIMESTAMP_NTZ}:
            return None  # casts that Spark does not trust to give a key, which may not be null
        key, item = wider(one.key_type, other.key_type), wider(one.item_type, other.item_type)
        return None if key is None or item is None else pa.map_(key, item)
    if t.is_struct(one) and t.is_struct(other) and len(one) == len(other) and \
            all(a.name.lower() == b.name.lower() for a, b in zip(one, other, strict=True)):
        fields = [(a.name, wider(a.type, b.type)) for a, b in zip(one, other, strict=True)]
        return None if any(inner is None for _, inner in fields) else pa.struct(fields)
    return None


def wider(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The common type of two operands or branches, text beside another atomic type included.

    Text beside an integer is read as BIGINT, beside a fraction as DOUBLE, beside anything else as that type; only
    beside an interval it does not say which kind of interval it is.

    >>> wider(STRING, INT), wider(STRING, DATE), wider(STRING, FLOAT)
    (DataType(int64), DataType(date32[day]), DataType(double))
    """
    found = tightest(one, other)
    if found is not None:
        return found
    for text, else_ in ((one, other), (other, one)):
        if text == STRING and not is_nested(else_):
            if is_integer(else_):
                return BIGINT
            return DOUBLE if is_number(else_) else None if is_interval(else_) else else_
    return None


def renamed(given: pa.DataType, like: pa.DataType) -> pa.DataType:
    """A struct with the names of another of as many fields: comparisons go by position, not by name.

    >>> str(renamed(pa.struct([("col1", INT)]), pa.struct([("x", BIGINT)])))
    'struct<x: int32>'
    """
    if t.is_struct(given) and t.is_struct(like) and len(given) == len(like):
        return pa.struct([(b.name, renamed(a.type, b.type)) for a, b in zip(given, like, strict=True)])
    if t.is_list(given) and t.is_list(like):
        return pa.list_(renamed(given.value_type, like.value_type))
    return given


def widest(types: list[pa.DataType]) -> pa.DataType | None:
    """The common type of several; None if there is none."""
    found = VOID
    # Text is looked at last, so that the order of the branches does not decide: as Spark's own rule does.
    for one in sorted(types, key=lambda one: one == STRING):
        common = wider(found, one)
        if common is None:
            return None
        found = common
    return found
