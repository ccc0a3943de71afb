"""The parent of local Python workers, with the slow imports done once.

Spark forks its Python workers from a daemon process. Importing Arrow, pandas and the kernels there, before the forks,
spares every worker a few seconds of start-up.
"""

from __future__ import annotations

from pyspark.daemon import manager

import panewise.engines.spark.host
import panewise.engines.spark.host_step
import panewise.engines.spark.kernel_batch
import panewise.engines.spark.sources  # noqa: F401

if __name__ == "__main__":
    manager()
