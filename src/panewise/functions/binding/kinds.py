"""Parameters that take several types."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import types as t

from panewise.functions.binding.registry import Kind
from panewise.functions.types import BIGINT, BINARY, DOUBLE, STRING, VOID, is_decimal, is_float, is_integer, is_number

ANY = Kind("anything", lambda given: True)
NUMBER = Kind("number", is_number, lambda given: DOUBLE if given in (STRING, VOID) else None)
INTEGER = Kind("integer", is_integer, lambda given: BIGINT if given in (STRING, VOID) else None)
FRACTION = Kind("float or double", is_float,
                lambda given: DOUBLE if is_number(given) or given in (STRING, VOID) else None)
DECIMAL = Kind("decimal", is_decimal)
ARRAY = Kind("array", t.is_list)
MAP = Kind("map", t.is_map)
STRUCT = Kind("struct", t.is_struct)
TEXT_OR_BINARY = Kind("string or binary", lambda given: given in (STRING, BINARY),
                      lambda given: None if t.is_nested(given) else STRING)
"""Text, bytes, and everything atomic as text."""


def same(given: pa.DataType, *_: pa.DataType) -> pa.DataType:
    """The result has the type of the first argument."""
    return given
