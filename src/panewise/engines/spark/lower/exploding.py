"""``explode`` as a DataFrame operation: Spark makes the rows, in the JVM, and punctuation passes.

Where an aggregate asks in which order rows came, the position of a row makes room for the places of its elements: all
rows of the query then count in these smaller steps.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from panewise.core.errors import SchemaError
from panewise.core.generators import Generator
from panewise.engines.spark.host.wire import CONTROL, POSITION
from panewise.engines.spark.lower.quoting import quoted
from panewise.engines.spark.lower.types import arrow_type
from panewise.engines.spark.session.failures import refuse
from panewise.plan.nodes import Explode, Node

PLACE, KEY, VALUE = "__pw_place", "__pw_key", "__pw_value"
ELEMENT_BITS = 20
"""Room for the elements of one array, of the 63 bits of a position."""


def exploded(node: Explode, below: DataFrame, collection: Column, *, ordered: bool) -> DataFrame:
    """The rows with those of their elements behind them; ``ordered`` where positions must tell elements apart."""
    (field,) = below.select(collection.alias(VALUE)).schema.fields
    made = node.generator.fields(arrow_type(field.dataType))  # what it cannot take is refused
    if len(made) != len(node.names):
        raise SchemaError(f"{node.call} makes {len(made)} columns ({', '.join(f.name for f in made)}), and "
                          f"{len(node.names)} are named ({', '.join(node.names)}): name all of them, or none")
    names = [PLACE, KEY, VALUE] if isinstance(field.dataType, T.MapType) else [PLACE, VALUE]
    promises = CONTROL in below.columns
    if promises:  # such a row has no data: it is one row before and after
        collection = F.when(quoted(CONTROL).isNull(), collection)
    generator = F.posexplode_outer if node.outer or promises else F.posexplode
    rows = below.select(*map(quoted, below.columns), generator(collection).alias(*names))
    if promises and not node.outer:
        rows = rows.where(quoted(CONTROL).isNotNull() | quoted(PLACE).isNotNull())
    shown = [column.alias(name) for name, column in zip(node.names, _columns(node, field.dataType, names), strict=True)]
    if ordered and POSITION in below.columns:
        rows = rows.withColumn(POSITION, _position(quoted(POSITION), F.coalesce(quoted(PLACE), F.lit(0))))
    return rows.select(*map(quoted, below.columns), *shown)


def _columns(node: Explode, collection: T.DataType, names: list[str]) -> list[Column]:
    if node.generator is Generator.INLINE:
        assert isinstance(collection, T.ArrayType)
        assert isinstance(collection.elementType, T.StructType)
        return [quoted(VALUE).getField(name) for name in collection.elementType.names]
    return [quoted(name) for name in (names if node.generator is Generator.POSEXPLODE else names[1:])]


def spread(frame: DataFrame, times: int) -> DataFrame:
    """Rows that stand beside others of which more were exploded, with positions in the same steps."""
    for _ in range(times):
        if POSITION in frame.columns:
            frame = frame.withColumn(POSITION, _position(quoted(POSITION), F.lit(0)))
    return frame


def depth(node: Node) -> int:
    """How often rows were exploded on the longest way to a node."""
    return max(map(depth, node.inputs), default=0) + isinstance(node, Explode)


def _position(position: Column, place: Column) -> Column:
    large = F.lit(f"an array with more than {1 << ELEMENT_BITS:,} elements, or a row at a position of more than "
                  f"{1 << 63 - ELEMENT_BITS:,}, in a query that asks in which order rows came: cut the array, or count "
                  "arrivals from 1")
    fits = (place < F.lit(1 << ELEMENT_BITS)) & (position < F.lit(1 << 63 - ELEMENT_BITS))
    return F.when(position.isNull() | fits, F.shiftleft(position, ELEMENT_BITS) + place.cast("bigint")).otherwise(
        refuse(SchemaError, large).cast("bigint"))
