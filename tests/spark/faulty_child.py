"""A streaming query in a process of its own, to be killed; whoever started it starts it again."""

from __future__ import annotations

import os
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

import panewise
from conformance.cases import Case
from panewise.core.ordinals import OrdinalKind
from panewise.engines.spark.engine import run_streaming
from panewise.engines.spark.io.sinks import register_parts
from panewise.engines.spark.io.sources import read_stream
from panewise.engines.spark.lower.progress import arrival, punctuated
from panewise.engines.spark.observe.status import StatusListener
from panewise.engines.spark.session.failures import translate
from panewise.engines.spark.session.session import local_cores, session
from panewise.progress.punctuation import Punctuation
from spark.cases import write_ndjson
from spark.clusters import SETTINGS

QUERIES = (
    "SELECT k, count(*) AS n, max(v) AS top, avg(v) AS mean FROM s [RANGE 9, SLIDE 4, WA ts] GROUP BY k",
    "SELECT k, count(*) AS n, sum(v) AS total, avg(v) AS mean FROM s [SESSION 3, WA ts, PA k] GROUP BY k",
    "SELECT k, median(v) AS middle, count(*) AS n FROM s [RANGE 30, SLIDE 5, WA ts] GROUP BY k",
    "SELECT k, first(v) AS first, max(v) AS top FROM s [RANGE 5 rows, SLIDE 2 rows, WA row-num, PA k] GROUP BY k",
    "SELECT s.k, s.ts, s.v, t.ts AS at, t.v AS w FROM s [WA ts, RANGE 4], t [WA ts, RANGE 6] WHERE s.k = t.k",
    "SELECT DISTINCT s.k, t.v % 5 AS part FROM s [RANGE 3], t [RANGE 5] WHERE s.k = t.k",
    "SELECT k, ts, v FROM s [RANGE 9] WHERE NOT EXISTS (SELECT * FROM t [RANGE 2] WHERE t.k = s.k AND t.v > s.v)",
)
JOIN, DISTINCT, NEGATION = range(4, 7)
COLUMNS = {"k": pa.string(), "ts": pa.int64(), "v": pa.int64()}
ROWS, FILES = 400, 40
INSTALLED = {**SETTINGS, "spark.executorEnv.PYTHONPATH": str(Path(panewise.__file__).parents[1]),
             "spark.python.daemon.module": "panewise.engines.spark.session.daemon"}
"""Executors that have the package already: new ones are ready sooner."""


def case_of(seed: int) -> Case:
    """Streams in which time goes on, with disorder, and with promises for all rows and for groups that are kept."""
    query, draw = QUERIES[seed % len(QUERIES)], Random(seed)
    names = ("s", "t") if " t [" in query else ("s",)
    return Case(f"faults {seed}", query, {name: stream_of(draw) for name in names}, dict.fromkeys(names, COLUMNS))


def stream_of(draw: Random) -> list[Any]:
    rows = [{"k": draw.choice("abcdef"), "ts": number // 3 + draw.randint(-6, 6), "v": draw.randint(-99, 99)}
            for number in range(ROWS)]
    items: list[Any] = []
    for number, row in enumerate(rows):
        items.append(row)
        if draw.random() < 0.15:
            key = draw.choice("abcdef") if draw.random() < 0.3 else None
            future = [r["ts"] for r in rows[number + 1:] if key is None or r["k"] == key]
            items.append(Punctuation.below("ts", min(future, default=ROWS), **({} if key is None else {"k": key})))
    return items


def written(case: Case, stream: str, folder: Path) -> Path:
    """A stream of the case as files in the order of their names; rows are numbered as they arrive."""
    home = folder / "in" / stream
    if not home.exists():
        lines: list[dict[str, Any]] = []
        for item in case.streams[stream]:
            if isinstance(item, Punctuation):
                lines.append({"punctuation": item.to_json("ts", OrdinalKind.INTEGER)})
            else:
                lines.append({**item, "n": len(lines)})
        lines.append({"punctuation": {}})
        write_ndjson(home, [lines[len(lines) * i // FILES: len(lines) * (i + 1) // FILES] for i in range(FILES)])
        for number, path in enumerate(sorted(home.iterdir())):
            os.utime(path, (number, number))  # Spark takes files by their age
    return home


def start(spark: SparkSession, case: Case, folder: Path, *, cut: int = 4, sink: str = "parquet",
          reader: str = "json") -> StreamingQuery:
    """The query over the case's files, into files; a micro-batch takes so many of the input."""
    streams = {}
    for name in case.streams:
        home = written(case, name, folder)
        if reader == "json":  # Spark's own
            lines = spark.readStream.schema("k string, ts bigint, v bigint, n bigint, punctuation string")
            streams[name] = arrival(punctuated(lines.option("maxFilesPerTrigger", cut).json(str(home))), "n")
        else:
            streams[name] = read_stream(spark, home, time="ts", rows_per_batch=cut * ROWS // FILES)
    if sink != "parquet":
        register_parts(spark)
    results = run_streaming(case.plan, streams, shards=2)
    return (results.writeStream.format(sink).option("path", str(folder / "out")).trigger(availableNow=True)
            .option("checkpointLocation", str(folder / "checkpoint")).start())


def main(master: str, folder: Path, seed: int, sink: str, reader: str, cuts: list[int]) -> None:
    """Run to the end, and say which micro-batches are done.

    A query that breaks is started again from its checkpoint with another cut, as a service would do; only when the
    driver itself dies somebody else has to.
    """
    settings = {"spark.sql.shuffle.partitions": 2} if local_cores(master) is not None else INSTALLED
    spark = session(master, log=folder / "spark.log", **settings)
    spark.streams.addListener(StatusListener(lambda status: print(status.batch, flush=True)))
    case = case_of(seed)
    for cut in cycle(cuts):
        query = start(spark, case, folder, cut=cut, sink=sink, reader=reader)
        print("started", flush=True)
        try:
            query.awaitTermination()
            os._exit(0)
        except Exception as error:
            if translate(error) is not None:  # a dead process is no mistake of the user
                raise
            print(f"broken: {str(error)[:300]!r}", flush=True)
