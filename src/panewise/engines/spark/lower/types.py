"""Arrow types and Spark types, both ways; the only place that maps them."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_type

from panewise.core.errors import SchemaError

INTEGERS = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)


def arrow_type(data_type: T.DataType) -> pa.DataType:
    """The type of a column as ``mapInArrow`` hands it over."""
    try:
        return to_arrow_type(data_type, timezone="UTC")
    except Exception as error:
        raise SchemaError(f"a window aggregate cannot use a column of type {data_type.simpleString()}") from error


def spark_type(data_type: pa.DataType) -> T.DataType:
    """The Spark type of an Arrow column."""
    if pa.types.is_timestamp(data_type):
        return T.TimestampType() if data_type.tz else T.TimestampNTZType()
    if pa.types.is_unsigned_integer(data_type):
        return T.LongType()
    try:
        return from_arrow_type(data_type)
    except Exception as error:
        raise SchemaError(f"Spark has no column type for {data_type}") from error
