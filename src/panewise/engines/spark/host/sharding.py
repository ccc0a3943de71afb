"""Shards: which one a group is in, and numbers for them that Spark's hash partitioning spreads evenly.

Spark puts a group into the partition ``hash(key) mod partitions``. With the numbers 0, 1, 2… several shards would share
a partition while others stay empty; so the numbers are chosen, once and for all, to fall into different partitions
when there are as many partitions as shards.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from panewise.core.errors import PlanError
from panewise.engines.spark.lower.stateless_steps import quoted

SHARD = "__pw_shard"
_MASK = 0xFFFFFFFF


def shard_labels(shards: int) -> tuple[int, ...]:
    """One number per shard; the same for the same count, because checkpoints know shards by their number.

    >>> labels = shard_labels(4)
    >>> sorted(spark_hash(label) % 4 for label in labels)
    [0, 1, 2, 3]
    """
    if shards < 1:
        raise PlanError(f"a query needs at least one shard, not {shards}")
    found: dict[int, int] = {}
    candidate = 0
    while len(found) < shards:
        found.setdefault(spark_hash(candidate) % shards, candidate)
        candidate += 1
    return tuple(found[slot] for slot in range(shards))


def default_shards(frame: DataFrame) -> int:
    """As many shards as Spark has shuffle partitions."""
    return int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)


def with_shard(rows: DataFrame, keys: Sequence[str], labels: Sequence[int]) -> DataFrame:
    """The rows, each with the number of its group's shard."""
    if len(labels) == 1:
        return rows.withColumn(SHARD, F.lit(labels[0]))
    choice = F.pmod(F.xxhash64(*(plain_zero(rows, k) for k in keys)), F.lit(len(labels))).cast("int") + F.lit(1)
    return rows.withColumn(SHARD, F.element_at(F.array(*map(F.lit, labels)), choice))


def plain_zero(rows: DataFrame, key: str) -> Column:
    """-0.0 and 0.0 are one group, so they must be in one shard."""
    return one_zero(quoted(key), rows.schema[key].dataType)


def one_zero(value: Column, of: T.DataType) -> Column:
    """A value of this type with -0.0 as 0.0."""
    return value + F.lit(0.0) if isinstance(of, T.FloatType | T.DoubleType) else value


def spark_hash(value: int, seed: int = 42) -> int:
    """Murmur3 of a 32-bit integer, signed, as Spark's ``hash`` has it.

    >>> spark_hash(1)
    -559580957
    """
    k = (value & _MASK) * 0xCC9E2D51 & _MASK
    k = (k << 15 | k >> 17) & _MASK
    k = k * 0x1B873593 & _MASK
    h = seed ^ k
    h = (h << 13 | h >> 19) & _MASK
    h = (h * 5 + 0xE6546B64) & _MASK
    h ^= 4
    h ^= h >> 16
    h = h * 0x85EBCA6B & _MASK
    h ^= h >> 13
    h = h * 0xC2B2AE35 & _MASK
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h
