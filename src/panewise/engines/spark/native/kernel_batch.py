"""Batch with kernels: for aggregates Spark SQL cannot split, such as medians, sketches or a user's own.

Every task makes pane partials of its rows; a shuffle by shard brings the partials of a group together; the query of the
shard merges them and puts the windows together. Python is called per batch of rows and per shard, never per group.

A key with most of the rows does not make one task slow where partials are small: its rows become partials wherever they
are. The states of medians and the like hold their values, so windows of many panes close a few at a time, each put
together by two stacks: they are let go before the next ones are made.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from panewise.engines.spark.host.sharding import default_shards, shard_labels, with_shard
from panewise.engines.spark.host.wire import POSITION
from panewise.engines.spark.lower.fragment import ORDINAL, Fragment
from panewise.engines.spark.lower.lineage import origins
from panewise.engines.spark.lower.stateless_steps import quoted
from panewise.engines.spark.queries.hosting import answered
from panewise.engines.spark.queries.shard import QueryConfig
from panewise.engines.spark.queries.windows import over_rows, partials_of, shown, types_of
from panewise.progress.late import DEFAULT_LATE


def kernel_batch(fragment: Fragment, rows: DataFrame) -> DataFrame:
    """The results of a fragment, computed by kernels; ``rows`` are those that count."""
    if POSITION not in rows.columns:
        rows = rows.withColumn(POSITION, F.monotonically_increasing_id())
    labels = shard_labels(default_shards(rows) if fragment.keys else 1)
    config = hosted_query(fragment, len(labels))
    stage = partials_of(fragment, config, labels)
    wanted = dict.fromkeys([ORDINAL, *fragment.keys, *(n for columns in stage.arguments for n in columns)])
    prepared = with_shard(rows.select(*map(quoted, wanted)), fragment.keys, labels)
    return shown(fragment, answered(prepared, stage, config))


def hosted_query(fragment: Fragment, shards: int) -> QueryConfig:
    """The query that every shard runs."""
    return over_rows(fragment, types_of(fragment), origins(fragment), DEFAULT_LATE, shards, partials=True)
