"""A streaming query in a process of its own that is killed at a random moment; ``test_faults`` starts it again."""

from __future__ import annotations

import os
import random
import signal
import threading
from pathlib import Path
from random import Random

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from conformance.cases import Case
from conformance.generated import any_kind
from conformance.runners import write_case
from panewise.engines.spark.engine import run_streaming
from panewise.engines.spark.session import session
from panewise.engines.spark.sources import read_stream

BRACKETS = ("RANGE 9, SLIDE 4, WA ts", "SESSION 3, WA ts, PA k", "RANGE 3 rows, SLIDE 2 rows, WA row-num, PA k")
ROWS_PER_BATCH = 25


def case_of(seed: int) -> Case:
    """A few hundred rows, the same for the same seed."""
    draw = Random(seed)
    while True:
        case = any_kind(draw, (BRACKETS[seed % len(BRACKETS)],), grammatical=None, rows=300, aggregates=("avg(x)",))
        if len(case.streams["s"]) > 200:
            return case


def start(spark: SparkSession, case: Case, folder: Path) -> StreamingQuery:
    """The query over the case's file, into Parquet."""
    path = folder / "s.ndjson"
    if not path.exists():
        write_case(case, folder)
    stream = read_stream(spark, path, time="ts", progress=case.progress, rows_per_batch=ROWS_PER_BATCH)
    results = run_streaming(case.plan, {"s": stream}, late=case.late, shards=2)
    return (results.writeStream.format("parquet").option("path", str(folder / "out")).trigger(availableNow=True)
            .option("checkpointLocation", str(folder / "checkpoint")).start())


def main(folder: Path, seed: int, longest: float) -> None:
    """Run, and die within ``longest`` seconds of the start of the query; 0 for never."""
    spark = session("local[2]", **{"spark.sql.shuffle.partitions": 2})
    query = start(spark, case_of(seed), folder)
    if longest:
        fuse = threading.Timer(random.uniform(0, longest), os.kill, (os.getpid(), signal.SIGKILL))
        fuse.daemon = True
        fuse.start()
    query.awaitTermination()
    os._exit(0)
