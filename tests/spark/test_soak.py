"""A long streaming run over an unbounded source: state and memory stay flat.

``PANEWISE_SOAK_SECONDS=1800 make soak`` is the half hour of the documentation.
"""

from __future__ import annotations

import os
import statistics
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from panewise.core.ordinals import OrdinalKind
from panewise.core.time import SECOND
from panewise.engines.spark.engine import run_streaming
from panewise.windows.sliding import SlidingWindow
from spark.cases import plan, source

ROWS_PER_SECOND = 20_000
KEYS = 500
SAMPLE = 5


def resident_bytes() -> int:
    """The memory of this process and everything under it: the JVM, Spark's daemon and the Python workers."""
    parents, sizes = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                sizes[int(entry.name)] = int((entry / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            except OSError:  # gone meanwhile
                continue
    total = 0
    for process, size in sizes.items():
        ancestor = process
        while ancestor in parents and ancestor != os.getpid():
            ancestor = parents[ancestor]
        total += size if ancestor == os.getpid() else 0
    return total


@pytest.mark.spark
@pytest.mark.soak
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_state_and_memory_of_a_long_run_stay_flat(spark: SparkSession, tmp_path: Path) -> None:
    seconds = int(os.environ.get("PANEWISE_SOAK_SECONDS", "1800"))
    stream = spark.readStream.format("rate").option("rowsPerSecond", ROWS_PER_SECOND).load().select(
        (F.col("value") % KEYS).cast("string").alias("k"), F.col("timestamp").alias("t"), F.col("value").alias("v"))
    schema = pa.schema({"k": pa.string(), "t": pa.timestamp("us", tz="UTC"), "v": pa.int64()})
    query = plan(SlidingWindow(10 * SECOND, SECOND), below=source(schema), kind=OrdinalKind.TIMESTAMP)
    results = run_streaming(query, {"s": stream}, progress="late:2 s")
    running = (results.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint"))
               .trigger(processingTime="1 second").start())
    samples: list[tuple[int, int]] = []
    try:
        for _ in range(seconds // SAMPLE):
            running.awaitTermination(SAMPLE)  # the run is the clock
            progress = running.lastProgress
            if progress is not None and progress.stateOperators:
                samples.append((int(progress.stateOperators[0].numRowsTotal), resident_bytes()))
    finally:
        running.stop()
    third = len(samples) // 3
    assert third >= 2, "too short to show anything"
    middle, last = samples[third: 2 * third], samples[2 * third:]
    for name, index, growth in (("state rows", 0, 1.5), ("resident bytes", 1, 1.25)):
        before, after = (statistics.median(s[index] for s in part) for part in (middle, last))
        print(f"{name}: {before:,.0f} in the middle third, {after:,.0f} in the last")
        assert after <= before * growth
