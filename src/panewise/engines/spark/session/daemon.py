"""The parent of local Python workers, with the slow imports done once.

Spark forks its Python workers from a daemon process. Importing Arrow, pandas and the kernels here, before the forks,
spares every worker a few seconds of start-up.
"""

from __future__ import annotations

from pyspark.daemon import manager

import panewise.engines.spark.host.host_step
import panewise.engines.spark.queries.shard  # noqa: F401

if __name__ == "__main__":
    manager()
