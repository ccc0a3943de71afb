"""Expressions that call the user's own functions, on Spark: computed whole in Python, on Arrow columns.

Spark calls a Python function on every row, also where CASE or AND would not come to it. So not the call but the
expression around it is what Spark is given: it is computed as in process, and fails as there. Rows that carry
punctuation have no data and are left out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from panewise.core.errors import EvaluationError, UnsupportedError
from panewise.core.scalar import Scalar
from panewise.engines.spark.host.wire import CONTROL
from panewise.engines.spark.lower.quoting import quoted
from panewise.engines.spark.lower.types import arrow_type, spark_type
from panewise.functions import evaluate, type_of


def computed_in_python(scalar: Scalar, frame: DataFrame, of: str = "") -> Column:
    """A column of the expression over the rows of a DataFrame; ``of`` says what they are, where it fails on one."""
    if not hasattr(F, "arrow_udf"):
        raise UnsupportedError("functions of your own need Arrow functions, which PySpark has from 4.1 on")
    kinds = {field.name.lower(): field for field in frame.schema.fields}
    read = [kinds[name.lower()].name for name in sorted(scalar.columns)]
    schema = pa.schema([(written, arrow_type(kinds[written.lower()].dataType)) for written in sorted(scalar.columns)])
    zone = str(frame.sparkSession.conf.get("spark.sql.session.timeZone"))  # in which Spark computes all others
    returns = type_of(scalar, schema, zone)
    beside = [CONTROL] if CONTROL in frame.columns else []
    given = [quoted(name) for name in (*beside, *read)]
    if not given:  # Spark wants an argument, to say how many rows there are
        given = [F.lit(0)]
    udf = F.arrow_udf(_computation(scalar, schema, returns, zone, of, promises=bool(beside)), spark_type(returns))
    column: Column = udf(*given)
    return column


def _computation(scalar: Scalar, schema: pa.Schema, returns: pa.DataType, zone: str, of: str, *,
                 promises: bool) -> Callable[..., pa.Array]:
    """What workers run."""

    def compute(*columns: pa.Array) -> pa.Array:
        rows, data = len(columns[0]), list(columns[1:] if promises else columns)
        own = columns[0].is_null() if promises else None
        count = rows if own is None else own.true_count
        if count < rows:
            data = [column.filter(own) for column in data]
        arrays = [column.cast(field.type) for column, field in zip(data, schema, strict=False)]
        table = pa.table(arrays, schema=schema) if len(schema) else pa.table({"": pa.nulls(count)})
        try:
            (found,) = evaluate([scalar], table, zone)
        except EvaluationError as error:
            raise (error.placed(f"a row {of}") if of else error) from error.__cause__
        found = found.cast(returns)
        if own is None or count == rows:
            return found
        there = own.to_numpy(zero_copy_only=False)
        return found.take(pa.array(np.cumsum(there) - 1, mask=~there))

    return compute
