"""Spark's type text read once, for the generators of arguments and for the loader of answers.

>>> parse("map<string,array<decimal(10,2)>>")
SparkType(name='map', of=(SparkType(name='string'), SparkType(name='array', of=(SparkType(name='decimal(10,2)'),))))
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

import pyarrow as pa

_ARROW = {
    "void": pa.null(), "boolean": pa.bool_(), "tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(),
    "bigint": pa.int64(), "float": pa.float32(), "double": pa.float64(), "string": pa.string(),
    "binary": pa.binary(), "date": pa.date32(), "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"), "interval": pa.month_day_nano_interval(),
}


@dataclass(frozen=True, slots=True, repr=False)
class SparkType:
    """A type by its name; ``of`` holds the types inside arrays, maps and structs."""

    name: str
    of: tuple[SparkType, ...] = ()
    fields: tuple[str, ...] = field(default=())

    def __repr__(self) -> str:
        inside = f", of={self.of}" if self.of else ""
        return f"SparkType(name={self.name!r}{inside})"

    @property
    def is_months(self) -> bool:
        """Whether this is a year-month interval of any extent."""
        return self.name.startswith("interval") and self.name.split()[-1] in ("year", "month")

    @property
    def is_days(self) -> bool:
        """Whether this is a day-time interval of any extent."""
        return self.name.startswith("interval ") and not self.is_months


@lru_cache(maxsize=4096)
def parse(text: str) -> SparkType:
    """Read a type as Spark's ``catalogString`` writes it."""
    text = text.strip()
    if text.endswith(">"):
        name, inside = text[:-1].split("<", 1)
        parts = _split(inside)
        if name.strip().lower() == "struct":
            named = [re.match(r"\s*(`(?:[^`]|``)*`|[^:`]+?)\s*:(.*)", part, re.DOTALL) for part in parts if part]
            fields = tuple(found[1].strip("`").replace("``", "`") for found in named if found)
            return SparkType("struct", tuple(parse(found[2]) for found in named if found), fields)
        return SparkType(name.strip().lower(), tuple(parse(part) for part in parts))
    return SparkType(re.sub(r"\s*,\s*", ",", text.lower()))


def _split(text: str) -> list[str]:
    depth, parts, begin = 0, [], 0
    for at, letter in enumerate(text):
        depth += letter in "<("
        depth -= letter in ">)"
        if letter == "," and not depth:
            parts.append(text[begin:at])
            begin = at + 1
    return [*parts, text[begin:]]


def decimal_of(name: str) -> tuple[int, int]:
    """Precision and scale of a decimal type.

    >>> decimal_of("decimal(10,2)")
    (10, 2)
    """
    precision, scale = name[len("decimal("):-1].split(",")
    return int(precision), int(scale)


def arrow_type(of: SparkType, months: pa.DataType | None = None) -> pa.DataType:
    """The Arrow type that stands for a Spark type; ``months`` stands for year-month intervals (int32 by default).

    >>> arrow_type(parse("struct<x:timestamp,y:array<int>>"))
    StructType(struct<x: timestamp[us, tz=UTC], y: list<item: int32>>)
    """
    if of.name == "array":
        return pa.list_(arrow_type(of.of[0], months))
    if of.name == "map":
        return pa.map_(arrow_type(of.of[0], months), arrow_type(of.of[1], months))
    if of.name == "struct":
        return pa.struct([(name, arrow_type(one, months)) for name, one in zip(of.fields, of.of, strict=True)])
    if of.name.startswith("decimal"):
        return pa.decimal128(*decimal_of(of.name))
    if of.is_months:
        return months or pa.int32()
    if of.is_days:
        return pa.duration("us")
    if of.name.startswith("string collate"):
        return pa.string()
    return _ARROW[of.name]


def spark_name(of: pa.DataType) -> str:
    """An Arrow type as Spark's type text; what Arrow calls the items of lists and maps does not matter.

    >>> spark_name(pa.map_(pa.string(), pa.list_(pa.decimal128(10, 2))))
    'map<string,array<decimal(10,2)>>'
    """
    if isinstance(of, pa.ExtensionType):  # year-month intervals have no Arrow type in Python
        return "interval year to month"
    if pa.types.is_list(of):
        return f"array<{spark_name(of.value_type)}>"
    if pa.types.is_map(of):
        return f"map<{spark_name(of.key_type)},{spark_name(of.item_type)}>"
    if pa.types.is_struct(of):
        return f"struct<{','.join(f'{one.name}:{spark_name(one.type)}' for one in of)}>"
    if pa.types.is_decimal128(of):
        return f"decimal({of.precision},{of.scale})"
    if pa.types.is_duration(of):
        return "interval day to second"
    return next((name for name, known in _ARROW.items() if known == of), str(of))


def normal_name(of: SparkType) -> str:
    """A recorded type as `spark_name` writes it: intervals lose which fields they were declared with.

    >>> normal_name(parse("array<interval day>"))
    'array<interval day to second>'
    """
    if of.name == "struct":
        return f"struct<{','.join(f'{name}:{normal_name(one)}' for name, one in zip(of.fields, of.of, strict=True))}>"
    if of.of:
        return f"{of.name}<{','.join(normal_name(one) for one in of.of)}>"
    if of.is_months:
        return "interval year to month"
    if of.is_days:
        return "interval day to second"
    return "string" if of.name.startswith("string collate") else of.name
